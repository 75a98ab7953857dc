"""Hot reload: take the steps of a game again when the files of its scenario have changed."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count

from gv_engine.play.session import timeline
from gv_engine.play.session.episode import make_episode
from gv_engine.play.session.game import Game
from gv_engine.play.session.timeline import Timeline, Watch, run_generator
from gv_engine.rules.errors import ScenarioError, Stopped
from gv_engine.scenario.documents.rule_errors import make_rule_error

_MAX_INCREMENTAL_TRIES = 2  # reloads that let the player step meanwhile, before one blocks


class HotReload:
    """Changes of the scenario files of `game`, and what they change in its episode."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def has_file_changes(self) -> bool:
        """Return whether a file of the scenario has changed on disk since the scenario was last
        read.

        Cheap enough for several calls a second: only file times are read.
        """
        return self._game.timeline.watch.differs(self._game.scenario.watched_files())

    def reload(self) -> str:
        """Read the scenario files again, take the steps of the episode again, and return a message
        for the player; see `reload_incrementally`."""
        return run_generator(self.reload_incrementally())

    def reload_incrementally(self) -> Generator[None, None, str]:
        """Read the scenario files again, take the steps of the episode again with the new rules,
        and return a message. The generator pauses after each small part, so that the window stays
        responsive.

        The game does not change before the end, so the player can go on meanwhile. The result is
        compared with the timeline of the player's last steps.

        Yields:
            None after each part.

        Returns:
            Message for the player, one or more lines: `Reloaded` and the first difference, or an
            error with step, file and line, or the rule that was stopped; after an error the game is
            unchanged. Empty if the player has switched to another episode meanwhile.
        """
        game = self._game
        for attempt in count():
            old, steps = game.timeline, [*game.timeline.steps]
            watch = Watch(old.scenario.watched_files())
            try:
                work = _replay_reloaded(old, watch)
                # the last attempt blocks, so that further steps cannot delay the end
                is_last = attempt >= _MAX_INCREMENTAL_TRIES
                new = run_generator(work) if is_last else (yield from work)
            except ScenarioError as error:
                new, message = old, str(error)
            except (Exception, Stopped) as error:  # any error of a custom rule
                new, message = old, str(make_rule_error(error))
            if game.timeline is not old:
                return ""  # the other timeline has a watch of its own
            if new is old:  # the reload has failed
                old.watch = watch
                return message
            if old.steps == steps:
                break
        is_at_end = old.position == len(steps)
        game.timeline = new
        game.seek(new.length if is_at_end else old.position)
        difference = game.difference
        return "Reloaded" if difference is None else f"Reloaded: {difference.message}"

    def game_before(self) -> Game | None:
        """Return a game that shows the episode as it was before the last reload, at the current
        position or the last comparable step before it; None if the reload changed nothing."""
        if (comparison := self._game.comparison) is None:
            return None
        before = Game.from_timeline(comparison.timeline)
        before.seek(min(self._game.position, comparison.num_steps))
        return before

    def differences(self) -> list[str]:
        """Return sentences about the differences between the current state and the same state
        before the last reload; [] if there is no such state."""
        before = self.game_before()
        if before is None or before.position != self._game.position:
            return []
        return timeline.timeline_differences(before.timeline, self._game.timeline)


def _replay_reloaded(old: Timeline, watch: Watch) -> Generator[None, None, Timeline]:
    """Read the scenario of the timeline `old` again, take its steps again with the new rules,
    pausing between steps, and return the new timeline, whose files `watch` watches."""
    scenario = old.scenario.reload()
    episode = make_episode(scenario)
    if len(old.episode.agents) > 1:
        episode.controlled, episode.partners = old.episode.controlled, old.episode.partners
    base = old if old.has_new_steps or not old.comparison else old.comparison.timeline
    new = yield from timeline.replay_timeline(base, scenario, episode, watch)
    episode.frame("")
    return new
