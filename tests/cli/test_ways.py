"""Games that were played, and shortest ways, as rollouts; rollouts as replays."""

from pathlib import Path

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.envs.level_sets import level_set
from gv_engine.envs.rollout import episode_folder
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from tests.games import take

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("here")]

LEVEL = "keydoor-5x5"


@pytest.mark.sample("keydoor")
@pytest.mark.parametrize(
    ("level", "policy", "options"),
    [
        ("keydoor-5x5", "valid", ["--masks", "--representation", "cells"]),
        ("hunt", "hunters=valid", []),
        ("mathy-poly-simplify-easy", "valid", []),
    ],
)
def test_a_replay_and_a_rollout_of_the_same_episode_are_the_same_folder(level, policy, options):
    same = ["--policy", policy, "--seed", "3"]
    assert main(["record", level, "3.gvreplay", *same, "--steps", "1000"]) == 0
    assert Replay.load(Path("3.gvreplay")).outcome
    rollout = ["rollout", level, *options]
    assert main([*rollout, *same, "--episodes", "1", "--out", "played"]) == 0
    assert main([*rollout, "--from-replays", "3.gvreplay", "--out", "again"]) == 0
    played, _ = episode_folder.read("played")
    again, about = episode_folder.read("again")
    assert about["replays"] == ["3.gvreplay"]
    assert played.keys() == again.keys()
    for name, array in played.items():
        assert np.array_equal(array, again[name]), name


@pytest.mark.thorough
def test_games_of_people_become_episodes_in_their_order(capsys):
    for seed in ("12", "7"):
        words = ["--policy", "solver", "--seed", seed]
        assert main(["record", LEVEL, f"{seed}.gvreplay", *words]) == 0
    game = take(Session(Scenario.load(LEVEL), 5), "TURN_LEFT")
    game.replay().save(Path("left.gvreplay"))
    take(game, game.wait).replay().save(Path("waits.gvreplay"))
    files = [f"{name}.gvreplay" for name in ("12", "left", "7", "waits")]
    assert main(["rollout", LEVEL, "--from-replays", *files, "--out", "games"]) == 0
    told = capsys.readouterr().err
    assert "skipped left.gvreplay: the episode has no end" in told
    assert "skipped waits.gvreplay: an agent does not act in step 2" in told
    arrays, about = episode_folder.read("games")
    assert about["complete"]
    assert arrays["episode_seed"].tolist() == [12, 7]
    assert arrays["episode_success"].all()
    steps = [step for seed in (12, 7) for step in Replay.load(Path(f"{seed}.gvreplay")).steps]
    actions = [about["action_names"][k] for k in arrays["action"]]
    assert actions == [step.action for step in steps]


def test_the_solver_plays_the_levels_of_a_set():
    words = ["--policy", "solver", "--levels", "test", "--episodes", "5", "--seed", "2"]
    assert main(["rollout", LEVEL, *words, "--out", "shortest"]) == 0
    arrays, about = episode_folder.read("shortest")
    seeds = level_set(Scenario.load(LEVEL), "test").seeds
    assert tuple(arrays["episode_seed"].tolist()) == seeds[2:7]
    assert arrays["episode_success"].all()
    assert about["steps"] < 5 * 12


def test_parts_of_shortest_ways_are_parts_of_the_whole(capsys):
    def seeds(*words: str, out: str) -> list[int]:
        solved = ["--policy", "solver", "--max-steps", "8", "--out", out]
        assert main(["rollout", LEVEL, *solved, *words]) == 0
        found: list[int] = episode_folder.read(out)[0]["episode_seed"].tolist()
        return found

    whole = seeds("--episodes", "8", out="whole")
    assert "skipped seed 2: cannot be won" in capsys.readouterr().err
    parts = seeds("--episodes", "4", out="a"), seeds("--episodes", "4", "--first", "4", out="b")
    assert parts[0] + parts[1] == whole == [0, 1, 3, 4, 5, 6, 7]
    assert seeds("--episodes", "3", "--seed", "3", "--first", "1", out="c") == [4, 5, 6]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from-replays", "none.gvreplay"], "none.gvreplay"),
        (["--from-replays", "3.gvreplay", "--policy", "valid"], "leave out --policy"),
        (["--from-replays", "3.gvreplay", "--levels", "test"], "leave out --levels"),
        (["--from-replays", "3.gvreplay", "--first", "1"], "leave out --first"),
        (["--from-replays", "3.gvreplay", "--max-steps", "9"], "leave out --max-steps"),
        (["--from-replays", "left.gvreplay"], "keydoor-5x5: no episode to play"),
        (["--from-replays", "other.gvreplay"], "a replay of 'empty-4x4', not of 'keydoor-5x5'"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_cannot_be_played_again_is_told(words, message, capsys):
    Session(Scenario.load(LEVEL), 5).replay().save(Path("left.gvreplay"))
    Session(Scenario.load("empty-4x4"), 5).replay().save(Path("other.gvreplay"))
    assert main(["rollout", LEVEL, *words, "--out", "games"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("games").exists()


TWO = """
map: |
  ######
  #>.E.#
  #>..E#
  ######
agents: [ann, bob]
transition_functions: [move_agent]
reward_functions: [reach_exit]
observation_function: {name: fully_transparent, area: [[-2, 0], [-1, 1]]}
terminating_function: reach_exit
"""


@pytest.mark.thorough
def test_who_is_done_need_not_act_and_who_waits_cannot_be_played_again(capsys):
    Path("two.yaml").write_text(TWO)
    for name, steps in {
        "done": ["ann MOVE_FORWARD | bob MOVE_FORWARD"] * 2 + ["bob MOVE_FORWARD"],
        "waits": ["ann MOVE_FORWARD"] * 2 + ["bob MOVE_FORWARD"] * 3,
    }.items():
        game = take(Session(Scenario.load("two.yaml"), 0), *steps)
        game.replay().save(Path(f"{name}.gvreplay"))
        assert game.replay().outcome
    files = ["done.gvreplay", "waits.gvreplay"]
    assert main(["rollout", "two.yaml", "--from-replays", *files, "--out", "games"]) == 0
    told = "skipped waits.gvreplay: an agent does not act in step 1"
    assert told in capsys.readouterr().err
    assert episode_folder.read("games")[1]["steps"] == 3


def test_the_solver_knows_no_ways_of_algebra(capsys):
    pytest.importorskip("mathy_core")
    assert main(["rollout", "mathy-poly-simplify-easy", "--policy", "solver"]) == 2
    assert "the solver plays only grids with one agent" in capsys.readouterr().err
