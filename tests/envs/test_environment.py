"""One world as a Gymnasium environment; which kind of world runs it, nobody can tell."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import NormalizeObservation, TimeAwareObservation

from gv_engine import (
    AgentsVectorEnv,
    DoesNotCompileError,
    GridEnv,
    GridVectorEnv,
    RuleError,
    Scenario,
    ScenarioError,
)
from gv_engine.compiler import batch_program, stepping
from gv_engine.envs.registration import make_env
from gv_engine.play.grid.hooks import check_scenario
from gv_engine.plugins.algebra import ExpressionEnv
from gv_engine.plugins.algebra.vector_env import ExpressionVectorEnv
from gv_engine.scenario.domains import CheckPlan
from gv_engine.scenario.library import gym_id
from tests.boards import RULES, scenario
from tests.comparing import same
from tests.levels import NOT_OF_GALLERY
from tests.processes import traces

# Gymnasium finds a space odd in which all states are 0, as those of walls, floors and exits are

IDS = [gym_id(name) for name in NOT_OF_GALLERY]
KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])


def begun(level: Any = "keydoor-5x5", world: str = "object", seed: int = 0, **options: Any) -> Any:
    env = GridEnv(level, world=world, **options)
    env.reset(seed=seed)
    return env


def count_warnings(env: Any, action: Any, steps: int = 3) -> list[int]:
    """How many warnings each of some steps gives."""
    counts = []
    for _ in range(steps):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            env.step(action)
        assert all(issubclass(each.category, UserWarning) for each in given)
        assert all(each.filename == __file__ for each in given)
        counts.append(len(given))
    return counts


@KINDS
def test_the_first_step_after_the_end_warns(kind):
    env = begun(world=kind, max_steps=2)
    assert count_warnings(env, 4, 4) == [0, 0, 1, 0]
    env.reset()
    assert count_warnings(env, 4, 2) == [0, 0]
    envs = GridVectorEnv("keydoor-5x5", 2, world=kind, max_steps=2, autoreset_mode="Disabled")
    envs.reset(seed=0)
    over = envs.snapshot(0)
    assert count_warnings(envs, [4, 4], 2) == [0, 0]
    envs.reset(options={"reset_mask": np.array([True, True])})
    envs.restore(envs.snapshot())
    assert count_warnings(envs, [4, 4], 2) == [0, 0]
    envs.restore(over, 1)
    assert count_warnings(envs, [4, 4], 2) == [1, 0]
    for mode in ("NextStep", "SameStep"):
        envs = GridVectorEnv("keydoor-5x5", 2, world=kind, max_steps=2, autoreset_mode=mode)
        envs.reset(seed=0)
        assert count_warnings(envs, [4, 4], 7) == [0] * 7


@pytest.mark.parametrize("make", [begun, partial(ExpressionEnv, "mathy-poly-simplify-easy")])
def test_a_step_after_close_warns_and_a_reset_opens_again(make):
    env = make()
    env.reset(seed=0)
    env.close()
    action = int(np.argmax(env.reset(seed=0)[1]["action_mask"]))
    assert count_warnings(env, action, 1) == [0]
    env.close()
    with pytest.warns(UserWarning, match=r"step\(\) after close\(\)"):
        env.step(action)


@pytest.mark.parametrize("make", [GridVectorEnv, AgentsVectorEnv, ExpressionVectorEnv])
def test_closed_vector_environments_do_nothing(make):
    level = {GridVectorEnv: "keydoor-5x5", AgentsVectorEnv: "hold-plates"}
    options = {} if make is ExpressionVectorEnv else {"world": "object"}
    envs = make(level.get(make, "mathy-poly-simplify-easy"), 1, **options)
    envs.reset(seed=0)
    envs.close()
    with pytest.raises(ClosedEnvironmentError, match=r"step\(\) after close\(\)"):
        envs.step(np.zeros(np.shape(envs.action_space.sample()), np.int64))
    with pytest.raises(ClosedEnvironmentError, match=r"reset\(\) after close\(\)"):
        envs.reset(seed=0)


# ---- Gymnasium ---------------------------------------------------------------------------------


@pytest.mark.sample("Keydoor-5x5", "Medley", "Memory-5x5", "DynamicObstacles-5x5", "Sokoban")
@pytest.mark.sample("object", "Keydoor-5x5")
@KINDS
@pytest.mark.parametrize("env_id", IDS)
def test_gymnasiums_own_check(env_id, kind):
    env = gymnasium.make(env_id, world=kind)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec is not None
    assert env.spec.id == env_id


def test_a_scenario_of_ones_own():
    env = gymnasium.make("GV-Scenario-v0", scenario=scenario("^.E"), world="object")
    env.reset(seed=0)
    assert env.step(3)[1] == -1.0


@KINDS
def test_seeds_are_episodes_and_without_one_the_generator_goes_on(kind):
    one, other = (GridEnv("keydoor-5x5", world=kind) for _ in range(2))
    seeds = (3, None, None, 3)
    shown = [one.reset(seed=seed) for seed in seeds]
    assert same(shown[0], shown[3])
    assert same(tuple(shown), tuple(other.reset(seed=seed) for seed in seeds))
    assert one.snapshot() == other.snapshot()
    assert not all(same(shown[0], later) for later in shown[1:3])


@KINDS
def test_observations_are_the_receivers_to_keep(kind):
    env = GridEnv("keydoor-5x5", world=kind)
    observation, _ = env.reset(seed=0)
    kept = copy.deepcopy(observation)
    observation["agent_id_grid"][:] = 9
    observation["grid"][:] = 9
    assert same(env.reset(seed=0)[0], kept)


@KINDS
def test_info(kind):
    env = GridEnv("keydoor-5x5", world=kind)
    _, info = env.reset(seed=0)
    assert info["action_mask"].dtype == np.int8
    assert env.action_space.contains(env.action_space.sample(info["action_mask"]))
    assert set(info["reward_terms"].values()) == {0.0}
    _, reward, *_, info = env.step(4)
    assert list(info["reward_terms"]) == list(env.scenario.reward_names)
    assert sum(info["reward_terms"].values()) == reward == -0.05


@KINDS
@pytest.mark.parametrize(("limit", "steps"), [(1, 1), (None, 500)])
def test_max_steps_truncates(kind, limit, steps):
    env = begun(world=kind, max_steps=limit)
    ends = [env.step(4)[2:4] for _ in range(steps)]
    assert ends == [(False, False)] * (steps - 1) + [(False, True)]
    env.reset()
    assert env.step(4)[3] is (steps == 1)


@pytest.mark.sample("object")
@KINDS
def test_max_steps_can_be_lifted_and_an_end_is_no_truncation(kind):
    env = begun(world=kind, max_steps=0)
    assert not any(env.step(4)[3] for _ in range(600))
    assert begun(scenario(">E"), kind, max_steps=1).step(0)[2:4] == (True, False)


# ---- mistakes ----------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("action", [-1, 8, 2.5])
def test_an_action_outside_of_the_space(kind, action):
    env = begun(world=kind)
    with pytest.raises(ValueError, match=r"allowed are 0 to 7, for MOVE_FORWARD, .*PICK_N_DROP"):
        env.step(action)


@pytest.mark.parametrize(
    ("make", "method", "given"),
    [
        *((make, "snapshot", ()) for make in (GridEnv, GridVectorEnv)),
        *((GridEnv, "step", (0,)), (GridVectorEnv, "step", ([0],)), (GridEnv, "render", ())),
    ],
)
def test_what_wants_a_reset_before(make, method, given):
    env = make("keydoor-5x5", world="object", render_mode="ansi")
    with pytest.raises(ValueError, match=rf"call reset\(\) before the first {method}\(\)"):
        getattr(env, method)(*given)


def test_a_world_of_many_steps_can_be_restored():
    env = begun(max_steps=0)
    row = env.snapshot()
    row["steps"] = 2**31 - 3
    env.restore(row)
    env.step(0)
    env.restore(env.snapshot())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"world": "quantum"}, "world='quantum': allowed are 'auto', 'compiled' and 'object'"),
        ({"render_mode": "smell"}, "render_mode='smell': allowed are None and human, rgb_array"),
        ({"max_steps": -1}, "max_steps=-1: allowed are whole numbers from 0 on"),
        ({"max_steps": 10**30}, f"max_steps={10**30}: allowed are 0 to 2147483647"),
        ({"scenario": "keydoor-5x6"}, "did you mean 'keydoor-5x5'"),
    ],
)
def test_wrong_arguments(arguments, message):
    expected = ScenarioError if "scenario" in arguments else ValueError
    with pytest.raises(expected, match=message):
        GridEnv(**{"scenario": "keydoor-5x5", **arguments})


@pytest.mark.parametrize(
    ("make", "source"),
    [
        (GridEnv, "keydoor-5x5"),
        (GridEnv, Scenario.load("keydoor-5x5")),
        (make_env, {"extends": "keydoor-5x5"}),
        (make_env, "mathy-poly-simplify-easy"),
    ],
)
def test_the_limit_of_gymnasium_names_that_of_ours(make, source):
    with pytest.raises(ScenarioError, match=r"no option 'max_episode_steps'; .*take 'max_steps'"):
        make(source, max_episode_steps=5)


@pytest.mark.parametrize("make", [GridEnv, partial(GridVectorEnv, num_envs=3)])
def test_a_rule_that_is_not_defined_names_the_world(make):
    """Where it is compiled: `tests/vector/test_bounds.py`."""
    nearer = {"name": "getting_closer", "object_type": "Key"}
    env = make(scenario("K<", reward_functions=[nearer]), world="object")
    env.reset(seed=0)
    actions, world = (7, 0) if make is GridEnv else ([0, 7, 0], 1)
    with pytest.raises(
        RuleError, match=rf"^world {world}: needs exactly one object of its object_"
    ):
        env.step(actions)


# ---- the whole state ---------------------------------------------------------------------------

COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


@KINDS
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_has_the_same_future_and_a_life_of_its_own(kind, copied):
    env = gymnasium.make("GV-Keydoor-5x5-v0", world=kind, render_mode="ansi")
    env.reset(seed=2)
    for action in (4, 0, 7):
        env.step(action)
    env.render()
    twin = copied(env)
    assert twin.render() == env.render()
    before = env.render()
    shown = [twin.step(action) for action in (1, 5, 6, 0)]
    assert env.render() == before
    assert same(tuple(shown), tuple(env.step(action) for action in (1, 5, 6, 0)))
    assert same(twin.reset(), env.reset())


@pytest.mark.parametrize(("source", "target"), [("object", "compiled"), ("compiled", "object")])
def test_a_snapshot_goes_from_one_kind_of_world_to_the_other(source, target):
    one, other = begun(world=source, seed=2), GridEnv("keydoor-5x5", world=target)
    observation = one.step(4)[0]
    shown, info = other.restore(one.snapshot())
    assert same(shown, observation)
    assert info["action_mask"].any()
    for action in (0, 7, 1, 6):
        assert same(one.step(action), other.step(action))


def test_a_snapshot_of_another_scenario_is_refused():
    env = GridEnv(scenario("^"), world="object")
    with pytest.raises(ValueError, match="restore it into an environment of the same scenario"):
        env.restore(begun().snapshot())


# ---- pictures ----------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", ["GV-Keydoor-5x5-v0", "GV-MathyPolySimplify-easy-v0"])
@pytest.mark.parametrize("mode", ["rgb_array", "ansi", None])
def test_gymnasiums_check_of_pictures_without_a_screen(env_id, mode, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    env = gymnasium.make(env_id, render_mode=mode)
    assert env.unwrapped.metadata["render_modes"] == ["rgb_array", "ansi"]
    check_env(env.unwrapped)
    human = gymnasium.make(env_id, render_mode="human")
    with pytest.raises(RuntimeError, match="No window can be opened: there is no screen"):
        human.reset(seed=0)
    monkeypatch.setenv("DISPLAY", ":99")
    assert "human" in gymnasium.make(env_id).unwrapped.metadata["render_modes"]


@KINDS
def test_pictures(kind):
    env = begun(world=kind, render_mode="rgb_array")
    first = env.render()
    assert (first.dtype, first.ndim, first.shape[2]) == (np.uint8, 3, 3)
    row = env.snapshot()
    np.testing.assert_array_equal(env.render(), first)
    assert env.snapshot() == row
    env.step(4)
    assert (env.render() != first).any()
    env.close()
    env.close()


@pytest.mark.compiled
def test_text_shows_the_same_in_both_worlds():
    def drawn(kind: str) -> list[Any]:
        env = begun(world=kind, render_mode="ansi")
        return [(env.step(action), env.render())[1] for action in (4, 0, 0, 7)]

    assert drawn("object") == drawn("compiled")


# ---- rules that do not compile -----------------------------------------------------------------

PYTHON = '''
import json

from gv_engine import TRANSITION, system


@system(TRANSITION)
def tidy(w, agent):
    """Doors close when nobody looks."""
    for e in json.loads(json.dumps(list(range(1, w.capacity)))):
        if w.door.has[e]:
            w.door.status[e] = 1
'''


@pytest.mark.compiled
def test_any_python_runs_and_is_named_once(tmp_path):
    (tmp_path / "rules.py").write_text(PYTHON)
    rules = {"transition_functions": ["./rules.py:tidy", "turn_agent"], "reward_functions": []}
    played = Scenario.load({**RULES, "map": "^_", **rules}, tmp_path)
    with pytest.warns(RuntimeWarning, match=r"rules\.py:\d+: .*stepping object worlds") as caught:
        env = GridEnv(played)
    assert len(caught) == 1
    assert env.world == "object"
    other = GridEnv(played, world="object")
    assert same(env.reset(seed=0), other.reset(seed=0))
    assert all(same(env.step(action), other.step(action)) for action in (0, 5, 4))
    with pytest.raises(DoesNotCompileError, match=r"rules\.py:\d+: in tidy: json.dumps"):
        GridEnv(played, world="compiled")


CALLING = """
from gv_engine import TRANSITION, World, system

@system(TRANSITION)
def count(w: World, agent: int) -> None:
    {rule}
"""


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("print(w.steps)", r"rules\.py:6: in count: the function print does not compile"),
        (
            "print(w.steps) if w.action[agent] != 'DROP' else 0",
            r"rules\.py:6: in count: found a comparison of an integer with .DROP.",
        ),
    ],
)
def test_the_compiler_refuses_prints_and_comparisons_with_texts(rule, says, tmp_path, capsys):
    (tmp_path / "rules.py").write_text(CALLING.format(rule=rule))
    rules = {"transition_functions": ["./rules.py:count"], "reward_functions": []}
    played = Scenario.load({**RULES, "map": "^_", **rules}, tmp_path)
    with pytest.raises(DoesNotCompileError, match=says):
        GridEnv(played, world="compiled").step(0)
    env = GridEnv(played, world="object")
    env.reset(seed=0)
    capsys.readouterr()
    env.step(0)
    assert capsys.readouterr().out == "0\n"


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("w.position.x[agent] = 1.5", "found a float in place of an integer"),
        ("w.removee(agent)", "there is no 'removee' here; did you mean 'remove'?"),
    ],
)
def test_the_compiler_names_the_line_of_the_rule_and_what_is_near(rule, says, tmp_path):
    (tmp_path / "rules.py").write_text(CALLING.format(rule=rule))
    rules = {"transition_functions": ["./rules.py:count"], "reward_functions": []}
    played = Scenario.load({**RULES, "map": "^_", **rules}, tmp_path)
    with pytest.raises(DoesNotCompileError, match=rf"rules\.py:6: in count: {re.escape(says)}"):
        GridEnv(played, world="compiled")


def broken(w, agent, view, grid, item):
    grid[0, 0, 0] = w.nothing


broken.__module__ = "gv_engine.compiler.sight"


@pytest.mark.sample("GridEnv")
@pytest.mark.compiled
@pytest.mark.parametrize(
    "make", [GridEnv, GridVectorEnv, lambda played: check_scenario(played, CheckPlan(1, 0, 10))]
)
def test_a_built_in_rule_that_does_not_compile_is_an_error(make, monkeypatch):
    monkeypatch.setattr(batch_program, "_PROGRAMS", {})
    monkeypatch.setattr(stepping, "write_seen", broken)
    said = r"nothing.*; a fault of the engine"
    own_cell = {"name": "fully_transparent", "area": [[0, 0], [0, 0]]}
    few = {"transition_functions": [], "reward_functions": [], "observation_function": own_cell}
    with pytest.raises(DoesNotCompileError, match=said):
        make(scenario("^E", **few))


@pytest.mark.parametrize(
    ("env_id", "options", "world"),
    [
        ("GV-Keydoor-5x5-v0", {}, "compiled"),
        ("GV-Keydoor-5x5-v0", {"world": "object"}, "object"),
        ("GV-MathyPolySimplify-easy-v0", {}, "object"),
    ],
)
def test_environments_say_which_world_they_step(env_id, options, world):
    env = gymnasium.make(env_id, **options)
    made: Any = env.unwrapped
    said = f"{type(made).__name__} {made.scenario.name}, {world}"
    assert made.world == env.get_wrapper_attr("world") == world
    assert repr(made) == f"<{said}>"
    assert repr(env) == f"<OrderEnforcing<PassiveEnvChecker<{said}>>>"
    several: Any = gymnasium.make_vec(env_id, num_envs=3, **options)
    assert several.world == world
    assert re.fullmatch(rf"<\w+ {made.scenario.name}, 3 \w+, {world}>", repr(several))


# ---- other processes ---------------------------------------------------------------------------

TRACE = """
import hashlib, sys
from gv_engine import GridEnv, parallel_env
from tests.strategies import meadow
digest = hashlib.sha256()
env = GridEnv(meadow(), world=sys.argv[1])
crew = parallel_env("commons", world=sys.argv[1])
for seed in (1, 2):
    env.reset(seed=seed)
    crew.reset(seed=seed)
    for step in range(50):
        observation, reward, *_ = env.step(step * 5 % 8)
        digest.update(observation["grid"].tobytes() + repr(reward).encode())
        digest.update(env.snapshot()["rng"].tobytes())
        said = {agent: (step * 5 + k) % 6 for k, agent in enumerate(crew.agents)}
        seen, rewards, *_ = crew.step(said)
        digest.update(repr(sorted(rewards.items())).encode())
        for agent in sorted(seen):
            digest.update(seen[agent]["grid"].tobytes())
        if not crew.agents:
            crew.reset()
    digest.update(crew.snapshot()["rng"].tobytes())
print(digest.hexdigest())
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_a_seed_is_the_same_episode_in_every_process():
    assert len(traces(TRACE)) == 1


@pytest.mark.parametrize("limit", [None, 7])
def test_wrappers_know_the_limit_of_steps(limit):
    env = gymnasium.make("GV-Keydoor-5x5-v0", world="object", max_steps=limit)
    assert env.spec is not None
    assert env.spec.max_episode_steps == (limit or 500)
    timed = TimeAwareObservation(env, flatten=False, normalize_time=True)
    timed.reset(seed=0)
    assert timed.step(4)[0]["time"] == pytest.approx(1 / (limit or 500))
    again = gymnasium.make(env.spec)
    again.reset(seed=0)
    assert [again.step(4)[3] for _ in range(limit or 1)][-1] == (limit == 7)


def test_observations_of_one_line_are_normalised():
    env = gymnasium.make("GV-Keydoor-5x5-v0", world="object", observation_representation="flat")
    seen, _ = NormalizeObservation(env).reset(seed=0)
    assert (seen.shape, seen.dtype) == ((50,), np.float32)


def test_an_info_is_flat_on_request():
    env = GridEnv("keydoor-5x5", world="object", flat_info=True)
    usual = GridEnv("keydoor-5x5", world="object")
    many = GridVectorEnv("keydoor-5x5", 2, world="object", flat_info=True)
    for each in (env, usual, many):
        each.reset(seed=0)
    info, terms = env.step(2)[4], usual.step(2)[4]["reward_terms"]
    told = many.step([2, 2])[4]
    assert not any(isinstance(value, dict) for value in (*info.values(), *told.values()))
    assert terms == {name: info[f"reward_terms/{name}"] for name in terms}
    assert terms == {name: told[f"reward_terms/{name}"][0] for name in terms}
