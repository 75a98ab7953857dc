"""What runs have learned, as policies: no torch is needed. Here their weights are drawn."""

import io
import json
import os
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv
from gv_engine.cli import create_parser, main
from gv_engine.cli.play import begin_session
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.network_spec import ScenarioSpec
from gv_engine.envs.rollout.policy import PolicyError, load_policy
from gv_engine.envs.rollout.policy_file import RunError
from gv_engine.envs.rollout.shards import Job
from gv_engine.play.session.autoplay import play_steps
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.session import Session
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.scenario.scenario import Scenario
from tests.learning.drawn import drawn
from tests.processes import run_program

PLAY = """
import sys
from gv_engine.cli import main
from gv_engine.play.ui.drawing.sprites import pygame
pygame.display.flip = lambda: pygame.event.post(pygame.event.Event(pygame.QUIT))
assert main(["play", "keydoor-5x5", "--policy", "run", "--seed", "0"]) == 0
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("memory", [False, True], ids=["alone", "memory"])
def test_episodes_do_not_depend_on_the_number_of_worlds(memory):
    drawn(Path("run"), memory=memory)
    for policy in ("run", "run:greedy"):
        found = []
        for number in ("1", "8"):
            out = f"{policy}-{number}"
            given = ["--episodes", "8", "--num-envs", number, "--max-steps", "9", "--out", out]
            assert main(["rollout", "keydoor-5x5", "--policy", policy, *given]) == 0
            found.append(episode_folder.read(out)[0])
        assert all(np.array_equal(array, found[1][name]) for name, array in found[0].items())
        level = "keydoor-5x5", "--policy", policy, "--seed", "0"
        game = begin_session(create_parser().parse_args(["play", *level]))
        game.seek(game.length)
        actions = [game.actions.index(taken.action) for taken in game.past_steps]
        of_first = found[0]["action"][: found[0]["episode_start"][1]].tolist()
        assert actions[: len(of_first)] == of_first


def test_a_policy_remembers_nothing_of_the_episode_before():
    drawn(Path("run"), memory=True)
    env = GridVectorEnv("keydoor-5x5", 2, world="object", autoreset_mode="Disabled")
    seen, info = env.reset(seed=0)
    policy = load_policy("run", 2, env.num_actions, scenario=env.scenario)
    told = []
    for forgets in ([0, 1], [], [], [1]):
        policy.begin(forgets, 0, forgets)
        policy.act(seen, info)
        assert policy.probabilities is not None
        told.append(policy.probabilities)
    assert np.array_equal(told[3][1], told[0][1])
    assert not np.allclose(told[3][0], told[0][0])


def test_what_is_shut_is_never_done_unless_all_is():
    drawn(Path("run"))
    env = GridVectorEnv("keydoor-5x5", 64, world="object", autoreset_mode="Disabled")
    seen, _ = env.reset(seed=0)
    masks = (np.random.default_rng(0).random((64, env.num_actions)) < 0.3).astype(np.int8)
    masks[0] = 0
    policy = load_policy("run", 64, env.num_actions, scenario=env.scenario)
    for _ in range(20):
        chosen = policy.act(seen, {"action_mask": masks})
        assert masks[np.arange(64), chosen][1:][masks[1:].any(1)].all()
        assert policy.probabilities is not None
        assert (policy.probabilities[0] > 0).all()
        assert np.allclose(policy.probabilities.sum(1), 1)


@pytest.mark.slow
def test_an_agent_in_the_window_needs_neither_torch_nor_a_compiler(here):
    drawn(Path("run"))
    own = {f"XDG_{name}_HOME": str(here / name.lower()) for name in ("CONFIG", "DATA")}
    surroundings = {**os.environ, **own, "SDL_VIDEODRIVER": "dummy"}
    done = run_program(PLAY, env=surroundings)
    assert "pygame" in done.stdout
    assert not {*done.stdout.split()} & {"torch", "llvmlite"}


BACKWARDS = {
    "extends": "keydoor-5x5",
    "action_space": [*reversed(Scenario.load("keydoor-5x5").action_names)],
}
SMALL = "keydoor-5x5"
DOORS = {"mixture": [SMALL, "doors"]}
"""Its first member asks nothing."""
MINI = "MiniGrid-{}-v0".format
GO_TO_DOOR = MINI("GoToDoor-5x5")


def of_agents(number: int) -> dict[str, Any]:
    return {"extends": "keydoor-7x7", "agents": number}


OTHERS: dict[str, tuple[Any, Any, str]] = {
    "actions": (SMALL, BACKWARDS, r"the actions MOVE_FORWARD, .* has the actions PICK_N_DROP, "),
    "fewer actions": (SMALL, "kick", "has the actions MOVE_FORWARD, TURN_LEFT"),
    "view": (SMALL, "fog", "a view of 7×7 cells, and fog has a view of 3×3 cells: let it act"),
    "lava": ("coins", "lava", "Coin as object type 15, and lava has Lava as object type 15"),
    "slime": ("coins", "slime", "Coin as object type 15, and slime has Slime as object type 15"),
    "a mission": (SMALL, "doors", "no mission, and doors has the missions 'go to the"),
    "no mission": (DOORS, SMALL, "'go to the {color} door', and keydoor-5x5 has no mission"),
    "fewer numbers": (GO_TO_DOOR, MINI("Fetch-5x5-N2"), "has the missions 'get a {color}"),
    "missions": (GO_TO_DOOR, MINI("GoToObject-6x6-N2"), "'go to the {color} key', 'go"),
    "more missions": (GO_TO_DOOR, MINI("PutNear-6x6-N2"), "has the missions 'put the"),
    "one of several": (of_agents(1), of_agents(3), "one agent, and scenario has 3 agents"),
    "alone": (of_agents(3), of_agents(1), "with 3 agents, and scenario has one agent"),
    "fewer agents": (of_agents(3), of_agents(2), "with 3 agents, and scenario has 2 agents"),
    "more agents": (of_agents(3), of_agents(4), "with 3 agents, and scenario has 4 agents"),
}


@pytest.mark.parametrize(("learned", "other", "says"), OTHERS.values(), ids=OTHERS)
def test_other_worlds_are_told_before_anything_is_played(learned, other, says):
    drawn(Path("run"), learned)
    job = Job(Scenario.load(other), "run", 0, 1, options={"world": "object"})
    with closing(job.make_env(1)) as env, pytest.raises(RunError) as told:
        job.make_policy(env)
    assert "run was trained on" in str(told.value)
    assert re.search(says.replace("{", r"\{"), str(told.value))


FITTING = {
    "larger": ("keydoor-5x5", "keydoor-9x9"),
    "a mixture": ("keydoor-5x5", {"mixture": ["keydoor-5x5", "keydoor-9x9"]}),
    "of a mixture": (DOORS, "doors"),
    "fewer types": ("coins", "keydoor-5x5"),
    "MiniGrid": (MINI("DoorKey-5x5"), MINI("DoorKey-8x8")),
    "agents": (of_agents(3), {**of_agents(3), "max_steps": 3}),
}


@pytest.mark.parametrize(("learned", "other"), FITTING.values(), ids=FITTING)
def test_it_acts_where_all_is_as_it_knows_it(learned, other):
    drawn(Path("run"), learned)
    scenario = Scenario.load(other).with_(max_steps=5)
    job = Job(scenario, "run", 0, 2, options={"world": "object"})
    with closing(job.make_env(2)) as env:
        assert len([*job.play(env, job.make_policy(env), 0, 2)]) == 2


def test_whoever_lets_it_act_is_told():
    drawn(Path("run"))
    Path("other.yaml").write_text(json.dumps(BACKWARDS), "utf-8")
    other, algebra = Scenario.load(BACKWARDS), load_playable("mathy-poly-simplify")
    options = create_parser().parse_args(["play", "other.yaml", "--policy", "run"])
    ways: list[Callable[[], Any]] = [
        lambda: begin_session(options),
        lambda: run_differential_test(other, 1, 5, compiled=False, policy="run"),
        lambda: play_steps(Session(other, 0), "run", 1),
        lambda: play_steps(Session(algebra, 0), "run", 1),
        lambda: load_policy("run", 1, 8),
    ]
    for way in ways:
        with pytest.raises(RunError, match="run was trained on keydoor-5x5"):
            way()


def test_things_that_it_has_never_seen_are_told():
    drawn(Path("run"))
    env = GridVectorEnv("coins", 64, world="object", autoreset_mode="Disabled")
    policy = load_policy("run", 64, env.num_actions, scenario=env.scenario)
    seen = env.reset(seed=0)
    with pytest.raises(RunError, match=r"keydoor-5x5 and has never seen Coin, which is "):
        policy.act(*seen)


def test_numbers_of_missions_and_states_are_compared():
    fit = ScenarioSpec.of_scenario(Scenario.load("doors"))
    wording, kind, color = fit.mission_fields
    number, door = next((number, said) for number, said in fit.types.items() if "OPEN" in said)
    fewer, more = (
        fit._replace(mission_fields=(wording, kind, (color[0], color[1] + k))) for k in (-1, 1)
    )
    assert fit.find_mismatch(fewer) is None
    assert "other fields, wording of 2, kind of 16, color of 10" in str(fit.find_mismatch(more))
    assert fit.find_mismatch(fit._replace(mission_fields=(wording, kind))) is not None
    ajar = fit._replace(types={**fit.types, number: (*door, "AJAR")})
    assert "AJAR) as object type" in str(fit.find_mismatch(ajar))


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    """A change of the arrays in a file."""

    def apply(data: bytes) -> bytes:
        arrays = dict(np.load(io.BytesIO(data)))
        change(arrays)
        packed = io.BytesIO()
        np.savez(packed, **arrays)
        return packed.getvalue()

    return apply


def spec_changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    """A change of what a file says that a run has to fit."""

    def apply(arrays: dict[str, Any]) -> None:
        about = json.loads(str(arrays["about"]))
        change(about["scenario_spec"])
        arrays["about"] = np.array(json.dumps(about))

    return changed(apply)


def replaced(**others: Any) -> Callable[[bytes], bytes]:
    return changed(lambda arrays: arrays.update(others))


def with_view(*shape: int) -> Callable[[bytes], bytes]:
    return spec_changed(lambda spec: spec.update(view=shape))


DAMAGES = {
    "empty": (lambda data: b"", "not a NumPy archive"),
    "cut": (lambda data: data[: len(data) // 2], "not a NumPy archive"),
    "renamed": (lambda data: data.replace(b"net.first_bias", b"net.first_wave"), "first_bias"),
    "objects": (replaced(about=np.array([len], object)), "objects"),
    "without a bias": (changed(lambda arrays: arrays.pop("net.second.bias")), "second.bias"),
    "without codes": (changed(lambda arrays: arrays.pop("cells")), "cells is missing"),
    "without names": (spec_changed(lambda spec: spec.pop("actions")), "KeyError: 'actions'"),
    "few names": (spec_changed(lambda spec: spec["actions"].pop()), "has 8 actions, expected 7"),
    "a small view": (with_view(3, 3), "slots and codes, expected"),
    "a view of nothing": (with_view(0, 7), "its network sizes are"),
    "a vast view": (with_view(2**20, 2**20), "its network sizes are"),
    "of nothing": (replaced(about=np.array("[]")), "TypeError"),
    "wide": (replaced(**{"net.actor.bias": np.ones(2)}), "float64"),
    "few": (changed(lambda arrays: arrays.update({"net.first": arrays["net.first"][:3]})), "slots"),
}


@pytest.mark.parametrize(("damage", "says"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_files_are_told(damage, says):
    drawn(Path("run"))
    file = Path("run", "policy.npz")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(RunError, match=rf"policy\.npz is damaged, or of another version: .*{says}"):
        load_policy("run", 1, 8, scenario=Scenario.load(SMALL))


@pytest.mark.compiled
def test_a_folder_without_a_policy_is_told(capsys):
    Path("run").mkdir()
    assert main(["rollout", "keydoor-5x5", "--policy", "run"]) == 2
    assert "there is no policy.npz, which gv-engine train writes" in capsys.readouterr().err


@pytest.mark.sample("hold-plates")
@pytest.mark.parametrize("level", ["keydoor-5x5", "hold-plates"])
def test_it_plays_the_episodes_that_are_compared(level):
    drawn(Path("run"), level)
    scenario = Scenario.load(level).with_(max_steps=20)
    report = run_differential_test(scenario, 2, 5, compiled=False, policy="run")
    job = Job(scenario, "run", 5, 2, options={"world": "object"})
    with closing(job.make_env(2)) as env:
        lengths = [episode.length for episode in job.play(env, job.make_policy(env), 0, 2)]
    assert report == (2, sum(lengths), "")
    with pytest.raises(PolicyError, match="run acts by what the representation default shows"):
        replace(job, options={"observation_representation": "compact"}).make_policy(None)
    with pytest.raises(PolicyError, match=r"run/policy.npz is of a run; name its folder, run"):
        load_policy("run/policy.npz", 1, 6)
    with pytest.raises(PolicyError, match="no policy 'nobody'"):
        run_differential_test(scenario, 2, 5, compiled=False, policy="nobody")
