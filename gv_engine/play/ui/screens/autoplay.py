"""Screens on which an agent plays: alone until the player takes over, or in a race."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gv_engine.play.session import autoplay
from gv_engine.play.session.episode import ACTION_SEPARATOR
from gv_engine.play.session.session import Session
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.stage import Stage, make_stage
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.game_screen import POLL_INTERVAL, RELOAD_SLICE
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.objects import Color

_RIVAL = int(Color.BLUE)

BAR_ROWS = 4
MAX_BARS = 12
WINNER_SECONDS = 8.0  # a note says who has won the race
TIMELINE_COMMANDS = ("undo", "redo", "first", "last", "game_before", "game_after")


class AutoplayScreen(PlayScreen):
    """Play screen with an agent that acts, can be paused, single-stepped and taken over from.

    Args:
        app: app of the screen.
        game: session to play.
        autoplayer: agent that acts.
    """

    menu_commands: tuple[str, ...] = (
        *("agent", "agent_step", "agent_faster", "agent_slower"),
        *PlayScreen.menu_commands,
    )
    has_opponents = prepares_hints = starts_time = False
    always_research = True
    controls = 7.25
    tight_controls = 3.0

    def __init__(self, app: AppContext, game: Session, autoplayer: autoplay.Autoplayer) -> None:
        super().__init__(app, game)
        self.extra_groups = (*self.extra_groups, "agent")
        self.autoplayer = autoplayer
        self._is_acting = True
        self._next_action = 0.0  # time
        self._choice: autoplay.ActionChoice | None = None
        self.shows_values = False
        self._maps = autoplay.PolicyMaps(autoplayer.name)
        self._map_steps: autoplay.MapSteps | None = None  # computation of the policy map
        self._mapped_state = ""  # digest of the state that the policy map is about

    # ---- events ----------------------------------------------------------------------

    def tick(self, now: float) -> float:
        """Let the agent (policy or solver) choose its next action and, unless paused, take that
        action as soon as the chosen speed allows at the time `now`. Return the seconds until the
        next call."""
        seconds = super().tick(now)
        if self.shows_values:
            seconds = min(seconds, self._update_map())
        if self.frame.outcome:
            return seconds
        if self._choice is None and not self._poll_agent():
            return min(seconds, POLL_INTERVAL)
        if self._is_acting:
            if now >= self._next_action:
                self._next_action = now + 1 / self.app.settings.speed
                self._act()
            seconds = min(seconds, max(0.0, self._next_action - now))
        return seconds

    def _update_map(self) -> float:
        """Continue for a short time to compute the agent's action and value in each cell, and draw
        the results; return the seconds until the next call."""
        state = self.game.state_digest()
        if self._map_steps is None and state != self._mapped_state:
            self._mapped_state, self._map_steps = state, self._maps.start(self.game)
        end_time = time.monotonic() + RELOAD_SLICE
        while self._map_steps is not None and time.monotonic() < end_time:
            try:
                if seconds := next(self._map_steps):
                    return seconds
            except StopIteration as end:
                self._map_steps = None
                self.stage.show_policy_map(end.value)
                self.app.needs_redraw = True
            except GVEngineError:
                self._map_steps = None
                raise
        return math.inf if self._map_steps is None and state == self._mapped_state else 0.0

    def _switch_view(self) -> None:
        """Switch to the next view; the view of the agent's values comes after the first one."""
        first = next(iter(self.domain.views))
        if self.shows_values:
            self.show_values(False)
        elif self.stage.view == first and self._maps.start(self.game) is not None:
            self.show_values(True)
            self.app.show_note(f"View: values of {self.autoplayer.name}", stays=1.5)
            return
        super()._switch_view()

    def show_values(self, shows: bool) -> None:
        """If `shows`, draw the agent's action and value in each cell over the state view; else show
        the first view."""
        first, state, *_ = self.domain.views
        self.shows_values, self._map_steps, self._mapped_state = shows, None, ""
        self.stage.show_policy_map(None)
        self.stage.view = state if shows else first

    def _poll_agent(self) -> bool:
        """Ask the agent (policy or solver) for its next action, which may be computed in the
        background; return True once the action is known."""
        try:
            self._choice = self.autoplayer.choose(self.game)
        except GVEngineError:
            self._pause()
            self._choice = autoplay.ActionChoice("", {})  # so that the agent is not asked again
            raise
        self.app.needs_redraw |= self._choice is not None
        return self._choice is not None

    def _act(self) -> None:
        """Take the action that the agent has chosen; pause the agent if the session refuses the
        action."""
        if self.frame.outcome or not (self._choice or self._poll_agent()):
            return
        position_before = self.game.position
        if self._choice and (action := self._choice.action):
            self.step(lambda: self.game.redo_or_step(action))
            if self.game.position == position_before:  # refused: it would be refused again
                self._pause()

    def take_action(self, action: str) -> None:
        """Pause the agent and take the player's `action`. With several agents, the others take the
        actions that the agent had chosen for them."""
        if action:
            self._pause()
            agent_action = self._choice.action if self._choice else ""
            action = self.game.merge_actions(action, agent_action or self.game.wait)
        super().take_action(action)

    def seek(self, position: int) -> None:
        """Pause the agent, and go to the state after `position` steps."""
        self._pause()
        super().seek(position)

    def show(self, animate: bool = True) -> None:
        """Show the current state of the game, and discard the action that the agent has chosen for
        an earlier state."""
        self._choice = None
        super().show(animate)

    def run_command(self, name: str) -> None:
        """Run the command `name`: pause, single-step, speed up or slow down the agent; pass other
        commands to the play screen."""
        if name == "agent":
            self._is_acting, self._next_action = not self._is_acting, 0.0
        elif name == "agent_step":
            self._pause()
            self._act()
        elif name in ("agent_faster", "agent_slower"):
            self.change_speed(1 if name == "agent_faster" else -1)
            self._next_action = 0.0
        else:
            if name in TIMELINE_COMMANDS:
                self._pause()
            super().run_command(name)

    def _rebuild_stage(self) -> None:
        """Replace the object that draws the world; if the scenario has changed, also create the
        agent again."""
        if self._stage_scenario is not self.game.scenario:  # the agent belongs to a scenario
            self.autoplayer.close()
            self.autoplayer = autoplay.make_autoplayer(self.game, self.autoplayer.name)
            self._map_steps = None
        self._mapped_state = ""
        super()._rebuild_stage()

    def on_close(self) -> None:
        """Close the screen as a play screen, and end the agent's background searches."""
        super().on_close()
        self.autoplayer.close()
        self._maps.close()

    def _start_race(self) -> None:
        self.app.start_race(autoplay.Opponent.load(self.autoplayer.name, self.game))

    def _pause(self) -> None:
        self._is_acting = False
        self.app.needs_redraw = True

    # ---- drawing ---------------------------------------------------------------------

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel: the texts of the play screen, and whether the
        agent acts or waits."""
        state = f"acts, {self.app.settings.speed} steps a second" if self._is_acting else "waits"
        return (*super().facts(), f"{self.autoplayer.name} {state}")

    def hints(self) -> Sequence[str]:
        """Return short texts such as `P pause` on the keys that control the agent, for the bottom
        of the screen."""
        toggle = "pause, or take over by any move" if self._is_acting else "let it act"
        agent_texts = {"agent": toggle, "agent_step": "one step of it"}
        agent_texts |= {"agent_slower": "slower", "agent_faster": "faster"}
        play_texts = {"undo": "undo"}
        if self.has_command("race"):
            play_texts["race"] = "race it"
        view_texts = {"view": "its values, other views", "help": "all keys"}
        return (
            *self.hints_of("agent", agent_texts),
            *self.hints_of("play", play_texts),
            *self.hints_of("view", view_texts),
        )

    def draw_controls(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the timeline, the pause button, the agent's next action and the
        probabilities of its actions."""
        line, rest = painter.line_height, rect.copy()
        super().draw_controls(painter, cut(rest, "top", line, line // 4))
        has_room = rest.h >= (BAR_ROWS + 1) * line
        row = cut(rest, "top", line * 7 // 4).inflate(-line, 0)
        row.h = line * 3 // 2
        button = cut(row, "left", min(row.w // 2, 14 * line), line // 2)
        label = "Pause" if self._is_acting else "Let it act"
        key = self.app.bindings.label("agent", "agent")
        painter.draw_button(button, label, lambda: self.run_command("agent"), key)
        painter.draw_text(row, self._describe_choice(), "muted")
        if has_room and self._choice and self._choice.probabilities:
            self._draw_probabilities(painter, rest.inflate(-line, 0), self._choice)

    def _describe_choice(self) -> str:
        """Return a text with the action that the agent has chosen; "" at the end of the episode."""
        if self.frame.outcome:
            return ""
        if self._choice is None:
            return f"{self.autoplayer.name} thinks"
        action = self._choice.action
        return action and f"{self.autoplayer.name}: {_describe_action(action)}"

    def _draw_probabilities(
        self, painter: Painter, rect: Rect, choice: autoplay.ActionChoice
    ) -> None:
        """Draw into `rect` a bar with the probability of each action in `choice`, or of the most
        likely ones if there are many."""
        line = painter.line_height
        actions = likely_actions(choice)
        width = rect.w // -(-len(actions) // BAR_ROWS)
        for index, (action, probability) in enumerate(actions):
            column, row = divmod(index, BAR_ROWS)
            rest = Rect(rect.x + column * width, rect.y + row * line, width - line, line)
            is_chosen = action == choice.action
            color = "accent" if is_chosen else "text" if probability else "muted"
            name_rect = cut(rest, "left", rest.w * 9 // 20, line // 4)
            painter.draw_text(name_rect, _describe_action(action), color, size=0.9)
            text_rect = cut(rest, "right", 5 * line // 2, line // 4)
            text = f"{probability:.1%}" if 0 < probability < 0.0995 else f"{probability:.0%}"
            painter.draw_text(text_rect, text, color, "right", 0.9)
            bar = Rect(rest.x, rest.y + line // 4, rest.w, line // 2)
            painter.draw_card(bar, "well")
            bar.w = round(bar.w * min(1.0, max(0.0, probability)))
            painter.draw_card(bar, "accent" if is_chosen else "outline")


def likely_actions(choice: autoplay.ActionChoice) -> list[tuple[str, float]]:
    """Return the (action, probability) pairs of the `MAX_BARS` most likely actions in `choice`, in
    the order of the level's actions."""
    probabilities = choice.probabilities

    def rank(action: str) -> tuple[float, bool]:
        return -probabilities[action], action != choice.action

    most_likely = sorted(probabilities, key=rank)[:MAX_BARS]
    return [pair for pair in probabilities.items() if pair[0] in most_likely]


def _describe_action(action: str) -> str:
    """Return `action` in words such as `Move forward`; if it joins the actions of several agents,
    each with the agent's name."""
    texts = []
    for part in action.split(ACTION_SEPARATOR):
        name, _, agent_action = part.rpartition(" ")
        words = agent_action.replace("_", " ")
        texts.append(f"{name}: {words.lower()}" if name else words.capitalize())
    return ", ".join(texts)


class RaceScreen(PlayScreen):
    """Play screen with an opponent's game beside the player's. The opponent takes a step for each
    step of the player, and plays on to the end after the player's game is over.

    Args:
        app: app of the screen.
        game: session of the player, at its beginning.
        opponent: opponent with a session of the same level.
    """

    has_opponents = prepares_hints = False

    def __init__(self, app: AppContext, game: Session, opponent: autoplay.Opponent) -> None:
        super().__init__(app, game)
        self.opponent = opponent
        self._extra_steps = 0  # steps of the opponent after the end of the player's game
        self._next_step = 0.0  # time of the next extra step
        self._is_waiting = True  # until the opponent is at the player's step
        self._end_reason = ""  # message after the opponent has stopped
        self._opponent_frame = self._read_opponent_frame()
        self._opponent_stage = self._make_opponent_stage()

    def _read_opponent_frame(self) -> Any:
        """Return the frame of the opponent's game, with an agent in another colour than the
        player's if agents have no colours."""
        frame: Any = self.opponent.session.frame()
        return replace(frame, color=_RIVAL) if getattr(frame, "color", _RIVAL) == 0 else frame

    def _make_opponent_stage(self) -> Stage:
        stage = make_stage(self.opponent.session, self._theme)
        stage.begin(None, self._opponent_frame)
        return stage

    # ---- events ----------------------------------------------------------------------

    def show(self, animate: bool = True) -> None:
        """Show the current state of the player's game, and let the opponent go to the same step."""
        super().show(animate)
        self._extra_steps, self._is_waiting = 0, True

    def tick(self, now: float) -> float:
        """Let the opponent catch up with the player's step and, after the player's game is over,
        play on to its own end. Return the seconds until the next call."""
        seconds = super().tick(now)
        if self._end_reason:
            return seconds
        if self._is_waiting:
            self._is_waiting = not self._advance_opponent()
            return min(seconds, POLL_INTERVAL) if self._is_waiting else seconds
        if self.frame.outcome and not self.opponent.is_over:
            if now >= self._next_step:
                self._next_step = now + 1 / self.app.settings.time_speed
                self._extra_steps += 1
                self._is_waiting = True
            seconds = min(seconds, self._next_step - now)
        return seconds

    def _advance_opponent(self) -> bool:
        """Move the opponent's game to the player's step; return False if the opponent's next action
        is still being computed."""
        try:
            if not self.opponent.follow_level(self.game):
                self._end_reason = f"{self.opponent.name} has played another level"
            elif not self.opponent.go_to(self.game.position + self._extra_steps):
                return False
        except GVEngineError as error:
            self._end_reason = f"{self.opponent.name}: {error}"
        previous, self._opponent_frame = self._opponent_frame, self._read_opponent_frame()
        is_next_step = self._opponent_frame.steps == previous.steps + 1
        self._opponent_stage.begin(previous if is_next_step else None, self._opponent_frame)
        self.app.needs_redraw = True
        if winner := self._winner_text:
            self.app.show_note(winner, stays=WINNER_SECONDS)
        return True

    def on_close(self) -> None:
        """Close the screen as a play screen, and end the opponent's background search."""
        super().on_close()
        self.opponent.close()

    # ---- drawing ---------------------------------------------------------------------

    def draw_stage(self, painter: Painter, rect: Rect, progress: float) -> None:
        """Draw both games into `rect`, side by side or one above the other, each with its steps and
        return. `progress` of the player's animation is from 0 to 1."""
        line = painter.line_height
        player_rect = rect.copy()
        if rect.w >= rect.h:
            half = (rect.w - line) // 2
            opponent_rect = cut(player_rect, "right", half)
            player_rect.w = half
        else:
            half = (rect.h - line // 2) // 2
            opponent_rect = cut(player_rect, "bottom", half)
            player_rect.h = half
        rival = self.opponent.session
        player_text = autoplay.describe_standing("You", self.game, self.is_research, rival)
        for half_rect, text in ((player_rect, player_text), (opponent_rect, self._opponent_text)):
            color = "accent" if text.endswith(autoplay.AHEAD) else "text"
            painter.draw_text(cut(half_rect, "top", line, line // 2), text, color, "center")
        self._opponent_stage.line, self._opponent_stage.view = line, self.stage.view
        super().draw_stage(painter, player_rect, progress)
        self._opponent_stage.draw(painter.surface, opponent_rect, 1.0)

    @property
    def _opponent_text(self) -> str:
        if self._end_reason:
            return self._end_reason
        name, session = self.opponent.name, self.opponent.session
        if self._is_waiting:
            return f"{name} thinks"
        return autoplay.describe_standing(name, session, self.is_research, self.game)

    def _rebuild_stage(self) -> None:
        super()._rebuild_stage()
        self._opponent_stage = self._make_opponent_stage()

    @property
    def stage_shape(self) -> tuple[int, int] | None:
        """Return height and width of both games side by side; None if they have no shape."""
        shape = super().stage_shape
        return shape and (shape[0], 2 * shape[1])

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel: the texts of the play screen, and at the end the
        winner."""
        return (*super().facts(), *filter(None, [self._winner_text]))

    @property
    def _winner_text(self) -> str:
        """Sentence that says who has won; "" until both games are over."""
        is_over = self.frame.outcome and self.opponent.is_over and not self._end_reason
        return autoplay.describe_winner(self.game, self.opponent) if is_over else ""
