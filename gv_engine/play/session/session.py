"""Interactive sessions: a player's games one after another, with undo, redo and levels."""

from __future__ import annotations

from gv_engine.play.session.catalogue import find_level_at_offset
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.timeline import EpisodeSummary, SessionHistory, Timeline


class Session(Game):
    """Game that remembers the games before it: the player can go back to every timeline that was
    left, by a restart, by a change of the level, or by a step that differs from the undone one.

    Episode k equals that of an environment with `reset(seed=seed + k)`: the same actions give the
    same rewards, observations and end.

    Args:
        scenario: scenario to play.
        seed: seed of the first episode; sampled if None.
    """

    def _open(self, timeline: Timeline) -> None:
        super()._open(timeline)
        self._history = SessionHistory()

    # ---- undo ----------------------------------------------------------------------------

    def step(self, action: str) -> bool:
        """Take `action` as `Game.step` does. Steps that were undone before are kept as an earlier
        game, to which `previous_timeline` returns."""
        num_undone = self.length - self.position
        undone_timeline = self.timeline.copy() if num_undone else None
        has_stepped = super().step(action)
        if undone_timeline and has_stepped:
            undone_timeline.is_listed = False
            self._history.append(undone_timeline)
            steps, them = f"{num_undone} undone steps are", "them"
            if num_undone == 1:
                steps, them = "1 undone step is", "it"
            self.message = f"{steps} kept; “back to the game before” returns to {them}"
        return has_stepped

    def undo(self, steps: int = 1) -> None:
        """Go back `steps` steps of the episode; at its beginning, go back to the game played
        before, if there is one."""
        if self._history.before and not self.position:
            self.previous_timeline()
        else:
            self.seek(self.position - steps)

    def redo(self, steps: int = 1) -> None:
        """Go forward `steps` undone steps of the episode; at its last step, go on to the game
        played after it, if there is one."""
        if self._history.after and self.position == self.length:
            self.next_timeline()
        else:
            self.seek(self.position + steps)

    def previous_timeline(self) -> None:
        """Go back to the game (timeline) before the current one in the history; only set a message
        if there is none."""
        if self._history.before:
            self._history.after.insert(0, self._leave_timeline())
            self._switch_timeline(self._history.before.pop(), "Back to the game before")
        else:
            self.message = "There is no game before this"

    def next_timeline(self) -> None:
        """Go forward to the game (timeline) that `previous_timeline` left; only set a message if
        there is none."""
        if self._history.after:
            self._history.before.append(self._leave_timeline())
            self._switch_timeline(self._history.after.pop(0), "On to the game after")
        else:
            self.message = "There is no game after this"

    @property
    def titled_summaries(self) -> list[tuple[str, EpisodeSummary]]:
        """Scenario name and summary of each episode with at least one step, in order of the
        history."""
        return self._history.titled_summaries(self.timeline)

    def _leave_timeline(self) -> Timeline:
        """Return the current timeline, with its summary, to be kept in the history."""
        self.timeline.summary = self.timeline.summarize()
        self.timeline.is_listed = True
        return self.timeline

    # ---- levels --------------------------------------------------------------------------

    def continue_play(self) -> None:
        """Start the next level if the episode has ended; start the same level again if it can be
        won and was lost. Do nothing before the end.

        Raises:
            GVEngineError: a rule failed, or the next level cannot be read; the session is
                unchanged.
        """
        if self.is_lost:
            self.restart()
        elif self.outcome:
            self.next_level()

    def next_level(self) -> None:
        """Start the next level of the current pack (file of levels), or without a pack the level of
        the next seed.

        Raises:
            GVEngineError: as for `continue_play`.
        """
        self._go_to_level(1, "This was the last level")

    def previous_level(self) -> None:
        """Start the level before the current one in its pack (file of levels), or without a pack
        the level of the seed before.

        Raises:
            GVEngineError: as for `continue_play`.
        """
        self._go_to_level(-1, "This is the first level")

    def _go_to_level(self, step: int, end_message: str) -> None:
        """Start another level: in a pack, the one at the current index plus `step`; without a pack,
        that of the current seed plus `step`. Show `end_message` if the pack has no such level."""
        level = find_level_at_offset(self.scenario, step)
        if level is not None:
            self.change_scenario(level)
        elif self.pack_level:
            self.message = end_message
        elif self.seed + step < 0:
            self.message = "There is no level before that of seed 0"
        else:
            self.reset(self.seed + step)

    def reset(self, seed: int | None = None) -> None:
        """Start a new episode with the level of `seed`; None stands for the current seed plus 1.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        previous = self._leave_timeline()
        self._start_episode(self.seed + 1 if seed is None else seed)
        self._history.append(previous)

    def restart(self) -> None:
        """Start the current episode again from its first state.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        previous = self._leave_timeline()
        self._start_episode(self.seed, self.timeline.row)
        if previous.steps:
            self._history.append(previous)

    def change_scenario(self, scenario: Playable) -> None:
        """Start an episode of another scenario with the current seed.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        new_game = Game(scenario, self.seed)
        self._history.append(self._leave_timeline())
        self.timeline, self.message = new_game.timeline, new_game.message
