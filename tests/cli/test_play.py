"""`gv-engine play --policy`: an episode that a policy has played."""

from pathlib import Path

import numpy as np
import pytest

from gv_engine.cli import create_parser, main
from gv_engine.cli.play import begin_session
from gv_engine.envs.rollout import episode_folder

pytestmark = [pytest.mark.slow, pytest.mark.compiled]


@pytest.mark.parametrize("name", ["empty-4x4", "mathy-poly-simplify-easy"])
def test_a_game_is_the_first_episode_of_a_rollout(here: Path, name):
    acting = "--policy", "valid", "--seed", "3"
    assert main(["rollout", name, *acting, "--episodes", "1", "--out", "a"]) == 0
    arrays, _ = episode_folder.read("a")
    game = begin_session(create_parser().parse_args(["play", name, *acting]))
    assert (game.seed, game.position, game.length) == (3, 0, len(arrays["action"]))
    total = 0.0
    for number, reward in enumerate(arrays["reward"], start=1):
        game.seek(number)
        total += reward
        assert np.isclose(game.replay().steps[number - 1].reward, reward)
    assert np.isclose(game.replay().total, total)


def test_what_a_file_begins_with_is_for_the_player(capsys):
    assert main(["play", "--from", "worlds.npz", "--policy", "valid", "--terminal"]) == 2
    assert "--policy valid plays a level from its beginning; leave out --from" in (
        capsys.readouterr().err
    )
