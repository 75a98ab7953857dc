"""Episodes of a rollout folder as sessions that can be watched like replays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from gv_engine.envs.render_modes import NotebookView
from gv_engine.envs.rollout import episode_folder
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import Difference, TimelineStep
from gv_engine.rules.errors import RuleError
from gv_engine.scenario.documents.loading import load_reference
from gv_engine.scenario.documents.trust import Consent
from gv_engine.scenario.readers.map import format_reward

if TYPE_CHECKING:
    from gv_engine.play.session.episode import Playable


class RolloutSessions(NotebookView):
    """Sessions of the episodes of a rollout folder, also of an unfinished one.

    Args:
        path: rollout folder.
        scenario: scenario of the episodes; by default the one that the folder names.
        consent: as for `gv_engine.scenario.documents.loading.load_reference`.

    Attributes:
        path: rollout folder.

    Raises:
        RolloutError: the folder holds no rollout, or a damaged one.
        ScenarioError: its scenario is missing.
    """

    def __init__(
        self, path: Path, scenario: Playable | None = None, **consent: Unpack[Consent]
    ) -> None:
        self.path = path
        self._arrays, listing = episode_folder.read(path, check=False)
        loaded = scenario or load_reference(listing["scenario"], path, **consent)
        self._scenario = cast("Playable", loaded)

    def __len__(self) -> int:
        return len(self._arrays["episode_start"])

    def open_session(self, number: int) -> Game:
        """Replay the steps of episode `number` (from 0), and return the session, moved back to the
        beginning of the episode. Its `difference` is the first step that differs from the saved
        one, if any.

        Args:
            number: number of the episode, from 0.
        """
        starts, actions = self._arrays["episode_start"], self._arrays["action"]
        begin = int(starts[number])
        end = int(starts[number + 1]) if number + 1 < len(starts) else len(actions)
        session = Game(self._scenario, int(self._arrays["episode_seed"][number]))
        for step in range(begin, end):
            expected = float(self._arrays["reward"][step])
            try:
                result = session.apply_action(session.actions[int(actions[step])])
            except (RuleError, IndexError) as error:
                result = str(error)
            if isinstance(result, TimelineStep):
                if math.isclose(result.reward, expected, abs_tol=1e-9):
                    continue
                result = f"the reward is {format_reward(result.reward)}"
            message = f"Step {step - begin + 1}: {result}, and was {format_reward(expected)}"
            session.timeline.difference = Difference(step - begin + 1, message)
            break
        session.seek(0)
        return session


def is_rollout(path: Path) -> bool:
    """Return whether `path` is a folder of episodes saved by `gv-engine rollout`."""
    try:
        return (path / episode_folder.LISTING).is_file()
    except OSError:
        return False
