"""Episodes of a rollout on disk as games that can be watched like replays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from gv_engine.rollout import episode_folder
from gv_engine.rules.errors import RuleError
from gv_engine.scenario.lookup import load_reference
from gv_engine.scenario.map import format_reward
from gv_engine.scenario.trust import Consent
from gv_engine.session.replay import Difference
from gv_engine.session.session import Session

if TYPE_CHECKING:
    from gv_engine.session.episode import Playable


class RolloutGames:
    """The episodes of a folder, also of one that is still being written.

    Args:
        path: of the folder.
        scenario: what was played, where the folder's word for it is not to be taken.
        consent: as for `gv_engine.scenario.lookup.load_reference`.

    Attributes:
        path: the same.

    Raises:
        RolloutError: the folder holds no rollout, or a damaged one.
        ScenarioError: its scenario is not there any more.
    """

    def __init__(
        self, path: Path, scenario: Playable | None = None, **consent: Unpack[Consent]
    ) -> None:
        self.path = path
        self._arrays, about = episode_folder.read(path, check=False)
        found = scenario or load_reference(about["scenario"], path, **consent)
        self._scenario = cast("Playable", found)

    def __len__(self) -> int:
        return len(self._arrays["episode_start"])

    def game(self, number: int) -> Session:
        """The game of an episode, at its beginning; `difference` says where it goes another way.

        Args:
            number: of the episode, from 0 on.
        """
        starts, steps = self._arrays["episode_start"], self._arrays["action"]
        begin = int(starts[number])
        end = int(starts[number + 1]) if number + 1 < len(starts) else len(steps)
        game = Session(self._scenario, int(self._arrays["episode_seed"][number]))
        for step in range(begin, end):
            said = float(self._arrays["reward"][step])
            try:
                found = game.take_on(game.actions[int(steps[step])])
            except (RuleError, IndexError) as error:
                found = str(error)
            if isinstance(found, str) or not math.isclose(found.reward, said, abs_tol=1e-9):
                was = (
                    found
                    if isinstance(found, str)
                    else f"the reward is {format_reward(found.reward)}"
                )
                message = f"Step {step - begin + 1}: {was}, and was {format_reward(said)}"
                game.goes_another_way(Difference(step - begin + 1, message))
                break
        game.seek(0)
        return game


def is_rollout(path: Path) -> bool:
    """Whether it is the folder of a rollout."""
    try:
        return (path / episode_folder.LISTING).is_file()
    except OSError:
        return False
