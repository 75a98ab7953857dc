"""Tests of the bot for BabyAI's missions, beside MiniGrid's own."""

from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.policy import PolicyError, load_policy
from gv_engine.envs.rollout.rollout import FinishedEpisode, rollout
from gv_engine.play.session.autoplay import play_steps
from gv_engine.play.session.session import Session
from tests.minigrid_bot import MEAN_STEPS


def play(
    name: str, num_envs: int, episodes: int, world: str, seed: int = 0
) -> list[FinishedEpisode]:
    """Return episodes that the bot plays, from the first seed on."""
    scenario = Scenario.load(name)
    env = GridVectorEnv(scenario, num_envs, autoreset_mode="Disabled", world=world)
    policy = load_policy("bot", num_envs, env.num_actions, world == "compiled", scenario)
    return [*rollout(env, policy, episodes, seed, keep_steps=True)]


@pytest.mark.sample("GoToSeq", "OpenDoorsOrder", "KeyCorridor")
@pytest.mark.parametrize("name", MEAN_STEPS)
def test_bot_needs_at_most_the_steps_of_minigrids_bot(name):
    episodes = play(name, 20, 20, "object")
    assert all(episode.success for episode in episodes)
    assert np.mean([episode.length for episode in episodes]) <= MEAN_STEPS[name]


@pytest.mark.parametrize("name", ["BabyAI-KeyInBox-v0", "BabyAI-PutNextS5N2Carrying-v0"])
def test_bot_solves_what_minigrids_bot_does_not(name):
    assert all(episode.success for episode in play(name, 5, 5, "object"))


@pytest.mark.parametrize(
    ("name", "seed"),
    [("BabyAI-MiniBossLevel-v0", 252), ("BabyAI-SynthSeq-v0", 248), ("BabyAI-SynthSeq-v0", 298)],
)
def test_bot_ends_where_objects_that_others_go_next_to_are_unknown(name, seed):
    assert play(name, 1, 1, "object", seed)[0].success


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["BabyAI-MiniBossLevel-v0", "BabyAI-PickupLoc-v0"])
def test_bot_acts_the_same_compiled_and_in_any_number_of_worlds(name):
    no_steps: dict[str, Any] = {}
    runs = play(name, 4, 8, "object"), play(name, 1, 8, "compiled"), play(name, 8, 8, "compiled")
    actions = [[list((each.steps or no_steps)["action"]) for each in run] for run in runs]
    assert actions[0] == actions[1] == actions[2]


def test_bot_plays_in_a_session_as_in_a_rollout():
    name = "BabyAI-UnlockLocal-v0"
    session = Session(Scenario.load(name), 0)
    play_steps(session, "bot")
    assert session.outcome
    assert session.length == play(name, 1, 1, "object")[0].length


@pytest.mark.thorough
@pytest.mark.compiled
def test_demonstrations_are_saved_by_one_command(tmp_path):
    out = tmp_path / "demos"
    assert not main(
        ["rollout", "BabyAI-PickupLoc-v0", "--policy=bot", "--episodes=5", f"--out={out}"]
    )
    arrays, about = episode_folder.read(out)
    assert about["policy"] == "bot"
    assert about["episodes"] == 5
    assert (arrays["reward"] > 0).sum() == 5


def test_levels_of_authors_are_played_with_babyais_actions():
    level = {"extends": "BabyAI-GoToLocal-v0", "mission": {"pick_up": {"type": "Ball"}}}
    scenario = Scenario.load(level)
    load_policy("bot", 1, 7, scenario=scenario)
    other = Scenario.load({**level, "action_space": ["MOVE_FORWARD", "PICK_UP"]})
    with pytest.raises(PolicyError, match="found actions MOVE_FORWARD, PICK_UP, expected TURN_L"):
        load_policy("bot", 1, 2, scenario=other)


def test_other_scenarios_have_no_bot():
    message = "--policy bot .* the scenario keydoor-5x5 has none: choose random, valid"
    with pytest.raises(PolicyError, match=message):
        load_policy("bot", 1, 8, scenario=Scenario.load("keydoor-5x5"))
