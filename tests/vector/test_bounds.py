"""An index beyond its array, a draw from nothing: an error of the one world that meets it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import DoesNotCompileError, GridEnv, GridVectorEnv, RuleError, Scenario
from gv_engine.envs.backends import compiled_backend
from gv_engine.envs.backends.backend import Backend, make_batch
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.play.grid import hooks as grid_domain
from gv_engine.play.session.session import Session
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.scenario.domains import CheckPlan
from gv_engine.world.simulation import DISABLED, KEEP, NEXT_STEP, RESTART
from gv_engine.world.world import NOT_OF_OBJECTS
from tests import boards
from tests.world.test_worlds import assert_same_rows

pytestmark = pytest.mark.compiled

CAPACITY = 170


def beyond(index: int, axis: int = 0, size: int = CAPACITY) -> str:
    return f"{{stray}}: index {index} is out of bounds for axis {axis} with size {size}"


def no_entity(e: int) -> str:
    return f"{{stray}}: {e} is no entity: allowed are 1 to {CAPACITY - 1}, and 0 for none"


PUT, HOLD, FILL = "w.at[y, x] = e", "w.agent.holding[1] = e", "w.box.content[y] = e"
FULL = "the world is full: all of its entities are in use; raise `capacity` in the scenario"
NO_TYPE = "w.spawn: an object type that is not in the scenario's state_space"
NOT_SO_MANY = "Cannot take a larger sample than population when replace is False"
NONE_TO_TAKE = "a must be a positive integer unless no samples are taken"
OUTSIDE = "a rule has put the agent outside the grid, or made it look in no direction"
STRAYS: list[tuple[str, dict[str, int], str]] = [
    ("w.steps += w.door.status[e]", {"e": 999}, beyond(999)),
    ("w.agent.facing[e] = 1", {"e": CAPACITY}, beyond(CAPACITY)),
    ("w.steps += w.door.has[e]", {"e": -CAPACITY - 1}, beyond(-CAPACITY - 1)),
    ("w.steps += w.at[y, x]", {"y": 1, "x": 10**6}, beyond(10**6, 1, 10)),
    ("w.at[y, x] = 0", {"y": -11}, beyond(-11, 0, 10)),
    *(
        (write, {"e": e, "y": 1, "x": 1}, no_entity(e))
        for write in (PUT, HOLD, FILL)
        for e in (-1, CAPACITY, 10**6)
    ),
    ("made = np.zeros(4, np.int64); made[e] = 1; w.steps += made[0]", {"e": 4}, beyond(4, 0, 4)),
    ("w.steps += blocks_movement(w, e)", {"e": 10**9}, beyond(10**9)),
    ("w.steps += ahead(w, e)", {"e": 999}, beyond(999)),
    ("w.place(e, 2, 1)", {"e": 999}, beyond(999)),
    ("w.lift(e)", {"e": 999}, beyond(999)),
    ("w.remove(e)", {"e": 999}, beyond(999)),
    ("w.remove(e)", {"e": -1}, beyond(-1)),
    ("w.add(e, 'solid')", {"e": -1}, beyond(-1)),
    ("w.take(e, 'solid')", {"e": CAPACITY}, beyond(CAPACITY)),
    ("w.set_state(e, 1)", {"e": 999}, beyond(999)),
    ("w.steps += w.unique(e)", {"e": 99}, beyond(99, 0, 16)),
    ("w.steps += w.alive[e]", {"e": 999}, beyond(999)),
    ("w.steps += w.agent.facing[e]", {"e": 999}, beyond(999)),
    ("w.add(e, 'agent')", {"e": 5}, NOT_OF_OBJECTS),
    ("w.rng.integers(5, 5)", {}, "{stray}: ValueError: low >= high"),
    ("w.rng.integers(0)", {}, "{stray}: ValueError: high <= 0"),
    ("w.rng.choice(0)", {}, f"{{stray}}: ValueError: {NONE_TO_TAKE}"),
    ("w.rng.choice(3, size=5, replace=False)", {}, f"{{stray}}: ValueError: {NOT_SO_MANY}"),
    ("w.steps += 1 // w.door.status[0]", {}, "{stray}: ZeroDivisionError: division by zero"),
    ("w.steps += 1 % w.door.status[0]", {}, "{stray}: ZeroDivisionError: division by zero"),
    ("raise ValueError('not this one')", {}, "{stray}: ValueError: not this one"),
    ("w.position.y[1] = y", {"y": 50}, OUTSIDE),
    ("w.position.y[1] = y", {"y": -2}, OUTSIDE),
    ("w.agent.facing[1] = e", {"e": 9}, OUTSIDE),
    # the first of two failed spawns
    ("w.spawn(99); spawn_too_many(w)", {}, NO_TYPE),
    ("spawn_too_many(w); w.spawn(99)", {}, FULL),
]
"""What a rule does, its parameters, and what is wrong with it."""

OF_NOTHING = "w.door.status[0] = 1", "w.add(0, 'solid')", "w.take(0, 'solid')"
MOVE = "w.position.y[e] = y"
DAMAGE = (  # what is beyond all that a reset of a large row looks at
    "w.color.value[150] = 2; w.door.status[160] = 1; w.placed[3] = 7; w.at[8, 8] = 150; "
    "w.steps += w.door.status[e]"
)
FROM_THE_END = (
    "w.agent.holding[1 - w.capacity] = 0; w.at[-1, -1] = 0; w.steps += w.door.status[-1]; "
    # only agents have it, so its columns end with them
    "w.steps += w.agent.facing[5] + w.agent.has[w.capacity - 1] + w.agent.holding[-1]"
)
DOES = [*(does for does, *_ in STRAYS), *OF_NOTHING, MOVE, DAMAGE, FROM_THE_END]
BRANCHES = "\n".join(f"    if how == {k}:\n        {does}" for k, does in enumerate(DOES))
RULES = f"""
import numpy as np
from gv_engine import REWARD, TRANSITION, VISIBILITY, system
from gv_engine.rules.geometry import ACTUATE
from systems.queries import ahead, blocks_movement


def does(w, how, e, y, x):
{BRANCHES}


def spawn_too_many(w):
    for _ in range(w.capacity):
        w.spawn(w.kind.value[2])


@system(TRANSITION)
def stray(w, how: int = -1, e: int = 0, y: int = 0, x: int = 0):
    if w.action[1] == ACTUATE:
        does(w, how, e, y, x)


def door_status(w, agent, action, e):
    return action == ACTUATE and w.door.status[e] == 0


@system(TRANSITION, when=door_status)
def masked(w, agent, e: int = 0):
    pass


def before(w, agent, e):
    return w.door.status[e] if w.action[agent] == ACTUATE else 0


@system(REWARD, remember=before)
def remembered(w, agent, was, e: int = 0):
    return was


@system(REWARD)
def summed(w, agent, reward_functions, e: int = 0):
    return w.door.status[e] + reward_functions[0] if w.action[agent] == ACTUATE else 0.0


@system(TRANSITION)
def flat(w, agent):
    w.at.flat[99] = 0


@system(VISIBILITY)
def glance(w, agent, view, i: int = 0):
    view.seen.fill(1)
    if w.action[agent] == ACTUATE:
        view.seen[i, 0] = 1
"""

SIGHT: dict[str, Any] = boards.RULES["observation_function"]
"""With the size of the map, as `boards.RULES` has them: what both programs share compiles once."""
LEVEL: dict[str, Any] = {
    "map": "#######\n#>KEd.#\n#.d..D#\n#######",
    "max_steps": 50,
    "transition_functions": ["move_agent", "turn_agent", "pickndrop"],
    "reward_functions": ["living_reward"],
    "observation_function": SIGHT,
    "terminating_function": "reach_exit",
}
BEYOND = f"index 999 is out of bounds for axis 0 with size {CAPACITY}"
WALK, ACTUATE, PICK = 0, 6, 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bounds")
    (folder / "rules.py").write_text(RULES)
    return folder


def level(folder: Path, does: str = "", **astray: Any) -> Scenario:
    """One program for all: which rule goes astray is data.

    Args:
        does: what `stray` does on ACTUATE.
        astray: a rule that goes astray and its parameters, or parameters of what `stray` does.
    """
    if does:
        astray = {"stray": {"how": DOES.index(does), **astray}}

    def rule(name: str, **more: Any) -> dict[str, Any]:
        return {"name": f"./rules.py:{name}", **more, **astray.get(name, {})}

    sight = {"visibility_function": rule("glance"), "area": SIGHT["area"]}
    summed = rule("summed", reward_functions=["living_reward"])
    changes = {
        "transition_functions": [*LEVEL["transition_functions"], rule("stray"), rule("masked")],
        "reward_functions": ["living_reward", rule("remembered"), summed],
        "observation_function": {"name": "from_visibility", **sight},
    }
    return Scenario.load({**LEVEL, **changes}, folder=folder)


@pytest.fixture
def outside(folder: Path) -> Scenario:
    """A level whose rule reads beyond an array."""
    return level(folder, STRAYS[0][0], e=999)


def place_of(folder: Path, rule: str) -> str:
    """As messages name a rule: by where its decorator stands."""
    line = RULES[: RULES.index(f"def {rule}(")].count("\n")
    return f"{rule} ({folder / 'rules.py'}:{line})"


def started(scenario: Scenario, number: int, kind: str, threads: int = 1) -> Backend:
    batch = make_batch(scenario, number, kind, num_threads=threads)
    batch.step(np.full(number, RESTART), DISABLED)
    return batch


def both_say(scenario: Scenario) -> str:
    """The message of both worlds when the second of three goes astray; the others go on."""
    messages = []
    for kind in ("object", "compiled"):
        batch, twin = started(scenario, 3, kind), started(scenario, 3, kind)
        with pytest.raises(RuleError) as found:
            batch.step(np.array([WALK, ACTUATE, PICK]), NEXT_STEP)
        messages.append(str(found.value))
        twin.step(np.array([WALK, KEEP, PICK]), NEXT_STEP)
        others = np.array([0, 2])
        assert_same_rows(batch.snapshot(others), twin.snapshot(others))
        for name, shown in vars(batch.outputs).items():
            np.testing.assert_array_equal(shown[::2], vars(twin.outputs)[name][::2], name)
        # a world that goes on meets the rule again, and one that begins anew is as good as new
        with pytest.raises(RuleError):
            batch.step(np.array([KEEP, ACTUATE, KEEP]), DISABLED)
        batch.step(np.full(3, RESTART), DISABLED)
        batch.step(np.full(3, WALK), DISABLED)
        rows = batch.snapshot(np.arange(3))
        rows["rng"] = rows["rng"][0]
        assert_same_rows(rows[1:2], rows[:1])
    assert messages[0] == messages[1]
    return messages[0]


@pytest.mark.parametrize(("does", "parameters", "message"), STRAYS)
def test_an_error_is_one_of_its_world_and_names_what_is_wrong(folder, does, parameters, message):
    message = message.format(stray=place_of(folder, "stray"))
    assert both_say(level(folder, does, **parameters)) == f"world 1: {message}"


@pytest.mark.parametrize("rule", ["masked", "remembered", "summed", "glance"])
def test_the_rule_that_is_named_is_the_one_that_ran(folder, rule):
    astray: dict[str, Any] = {rule: {"i" if rule == "glance" else "e": 999}}
    scenario = level(folder, **astray)
    begin = rule == "masked"  # asks about all actions, at once
    for kind in ("object", "compiled"):
        batch = make_batch(scenario, 1, kind) if begin else started(scenario, 1, kind)
        with pytest.raises(RuleError, match=rf"^world 0: {rule} \(.*index 999 is out of bounds"):
            batch.step(np.array([RESTART if begin else ACTUATE]), DISABLED)


@pytest.mark.parametrize("mode", ["Disabled", "NextStep", "SameStep"])
def test_a_reset_gives_the_level_of_the_seed_after_any_error(folder, mode):
    """Also on large rows, of which a reset only clears what was used."""
    parameters = {"how": DOES.index(DAMAGE), "e": 999}
    stray = {"name": "./rules.py:stray", **parameters}
    large = {**LEVEL, "capacity": 200, "transition_functions": ["move_agent", stray]}
    played = Scenario.load({**large, "max_steps": 3}, folder=folder)
    assert played.layout.is_large
    envs, twin = (GridVectorEnv(played, 3, world="compiled", autoreset_mode=mode) for _ in range(2))
    envs.reset(seed=0), twin.reset(seed=0)
    begun, walks = twin.snapshot(), np.full(3, WALK)
    with pytest.raises(RuleError, match=r"^world 1: "):
        envs.step([WALK, ACTUATE, WALK])
    broken = envs.snapshot(1)
    twin.step(walks)
    others = np.array([0, 2])
    assert_same_rows(envs.snapshot(others), twin.snapshot(others))
    mask = np.array([False, True, False])
    envs.reset(seed={1: 1}, options={"reset_mask": mask})
    assert_same_rows(envs.snapshot(1)[None], begun[1:2])
    assert_same_rows(envs.snapshot(others), twin.snapshot(others))
    # a copy of the damaged row elsewhere, reset on request, and by the end of its episode
    envs.restore(broken, 0, trusted=True)
    envs.reset(seed={0: 0}, options={"reset_mask": np.array([True, False, False])})
    assert_same_rows(envs.snapshot(0)[None], begun[:1])
    if mode != "Disabled":
        envs.restore(broken, 0, trusted=True)
        envs.step(walks)
        while envs.snapshot(0)["steps"]:
            envs.step(walks)
        row = envs.snapshot(0)
        row["rng"] = begun["rng"][0]
        assert_same_rows(row[None], begun[:1])


def test_what_a_rule_stores_harms_nobody_who_reads_it(folder):
    for kind in ("object", "compiled"):
        env = GridEnv(level(folder), world=kind)
        env.reset(seed=0)
        key = int(env.snapshot()["at"][1, 2])
        # a key that says that it stands elsewhere, and is picked up
        env = GridEnv(level(folder, MOVE, e=key, y=60), world=kind)
        env.reset(seed=0)
        env.step(ACTUATE)
        with pytest.raises(RuleError, match=r"pickndrop \(.*index 60 is out of bounds for axis 0"):
            env.step(PICK)
        env.reset(seed=0)
        env.step(PICK)
        assert env.snapshot()["agent"]["holding"][1] == key


def test_what_counts_from_the_end_is_allowed(folder):
    report = run_differential_test(level(folder, FROM_THE_END), episodes=4)
    assert report.fault == ""
    assert report.steps > 50


@pytest.mark.parametrize("threads", [1, 3])
def test_many_worlds_go_astray_on_any_number_of_threads(folder, outside, threads, monkeypatch):
    monkeypatch.setattr(compiled_backend, "_MIN_CHUNK", 16)
    number = 200  # some chunks for each thread
    actions = np.random.default_rng(0).integers(0, 8, number)
    batch = started(outside, number, "compiled", threads)
    twin = started(level(folder), number, "compiled")
    straying = np.flatnonzero(actions == ACTUATE)
    with pytest.raises(RuleError, match=rf"^world {straying[0]}: stray ") as caught:
        batch.step(actions, DISABLED)
    assert caught.value.worlds == tuple(straying)
    assert f"({straying.size - 1} more failed" in str(caught.value)
    twin.step(actions, DISABLED)
    fine = np.flatnonzero(actions != ACTUATE)
    assert_same_rows(batch.snapshot(fine), twin.snapshot(fine))
    np.testing.assert_array_equal(batch.outputs.grid[fine], twin.outputs.grid[fine])
    wrong = batch.snapshot(np.arange(number))["error"]
    np.testing.assert_array_equal(np.flatnonzero(wrong), straying)


def test_an_error_in_steps_of_compiled_code_alone_names_its_world(outside):
    env = GridVectorEnv(outside, 3, world="compiled", autoreset_mode="Disabled")
    policy = load_policy("random", 3, env.num_actions, compiled=True)
    with pytest.raises(RuleError, match=r"^world \d: stray ") as caught:
        list(rollout(env, policy, 9, 0))
    wrong = env.snapshot()["error"] != 0
    assert caught.value.worlds == tuple(np.flatnonzero(wrong))


def test_all_object_worlds_that_failed_are_told(outside):
    batch = started(outside, 4, "object")
    with pytest.raises(RuleError, match=r"^world 1: stray .* \(1 more failed") as caught:
        batch.step(np.array([0, ACTUATE, 0, ACTUATE]), DISABLED)
    assert caught.value.worlds == (1, 3)


@pytest.mark.parametrize("does", OF_NOTHING)
def test_nothing_stays_nothing(folder, world, does):
    batch = started(level(folder, does), 2, world.replace("batch", "compiled"))
    with pytest.raises(RuleError, match=r"^world 1: .*(of NOTHING|that has no Door)"):
        batch.step(np.array([KEEP, ACTUATE]), DISABLED)
    row = batch.snapshot(1)
    assert row["door"]["status"][0] == row["door"]["has"][0] == row["solid"]["has"][0] == 0
    batch.step(np.array([KEEP, 0]), DISABLED)


@pytest.mark.thorough
def test_a_mixture_goes_on_with_its_other_member(folder):
    stray = {"name": "./rules.py:stray", "how": DOES.index("w.at[y, x] = 0"), "y": 99}
    members = (
        {**LEVEL, "name": f"member-{len(rules)}", "transition_functions": rules}
        for rules in (["turn_agent", stray], ["move_agent", "turn_agent", "actuate_door"])
    )
    mixture = {"mixture": [{"scenario": member} for member in members]}
    batch = make_batch(Scenario.load(mixture, folder=folder), 40, "compiled")
    for i in range(40):
        batch.set_generator(i, np.random.default_rng(i))
    batch.step(np.full(40, RESTART), DISABLED)
    played = batch.snapshot(np.arange(40))["member"]
    assert set(played.tolist()) == {0, 1}
    with pytest.raises(RuleError, match=rf"^world {np.flatnonzero(played == 0)[0]}: stray "):
        batch.step(np.full(40, ACTUATE), DISABLED)
    rows = batch.snapshot(np.arange(40))
    np.testing.assert_array_equal(rows["error"] != 0, played == 0)
    np.testing.assert_array_equal(rows["steps"], played)


def test_an_error_of_an_earlier_step_is_not_told_again(outside):
    batch = started(outside, 3, "compiled")
    for i in range(3):
        actions = np.full(3, KEEP)
        actions[i] = ACTUATE
        with pytest.raises(RuleError, match=f"^world {i}: "):
            batch.step(actions, DISABLED)


def test_check_and_the_game_tell_of_it(folder, outside):
    (fault,) = grid_domain.check_scenario(outside, CheckPlan(2, 0, 10)).faults
    assert f", ACTUATE: world 0: stray ({folder / 'rules.py'}:" in fault  # the line that raised
    assert fault.endswith(f": {BEYOND}")
    for does, found in ((STRAYS[0][0], BEYOND), (HOLD, "999 is no entity: allowed are 1 to")):
        game = Session(level(folder, does, e=999), 0)
        with pytest.raises(RuleError, match=rf"rules\.py:\d+: .*{found}"):
            game.step("ACTUATE")


def test_what_has_no_bounds_does_not_compile(folder):
    scenario = Scenario.load({**LEVEL, "transition_functions": ["./rules.py:flat"]}, folder)
    with pytest.raises(DoesNotCompileError, match=r"rules\.py:\d+: in flat: .*flat"):
        CompiledBatch(scenario, 1).prepare()


def test_whose_rules_are_checked(folder, monkeypatch):
    own = Scenario.load(LEVEL)
    assert not CompiledBatch(own, 1).checked
    with monkeypatch.context() as uncompiled:
        uncompiled.setattr(CompiledBatch, "prepare", lambda batch: None)
        assert pickle.loads(pickle.dumps(CompiledBatch(own, 2, checked=True))).checked
    batch = started(level(folder), 2, "compiled")
    assert batch.checked
    rows = batch.snapshot(np.arange(2))
    rows["agent"]["holding"][1, 1] = 200
    rows["position"]["x"][1, 1] = 4
    batch.set_rows(np.arange(2), rows)
    with pytest.raises(RuleError, match=r"^world 1: pickndrop \(.*transition\.py.*index 200 "):
        batch.step(np.full(2, PICK), DISABLED)
    with pytest.raises(RuleError, match=r"^world 1: .*there is no such action"):
        batch.step(np.array([WALK, 10]), DISABLED)  # 8 waits, 9 assists
