"""BabyAI's levels, missions and rules come out as recorded, bit for bit; and their grammar."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from components.items import CLOSED
from gv_engine import AGENT, Scenario
from gv_engine.plugins.minigrid.ids import list_babyai_grids
from gv_engine.plugins.minigrid.systems.grammar import (
    BEHIND,
    CLAUSE_LENGTH,
    FIELDS,
    GO_TO,
    MAX_CLAUSES,
    ORDINALS,
    PUT_NEXT,
    WORDINGS,
    count_clauses,
    is_reversed,
    list_kinds,
    number_wording,
    parse_instruction,
    render_instruction,
)
from gv_engine.plugins.minigrid.systems.instructions import FAILED, SUCCEEDED
from gv_engine.rules.component import NOTHING
from gv_engine.rules.errors import ScenarioError
from tests import DATA, minigrid
from tests.scenario.reading import begin

FILES = sorted((DATA / "babyai").glob("*.npz"))
BOSS = "BabyAI-MiniBossLevel-v0"


@pytest.mark.sample("MiniBossLevel", "PutNextS5N2Carrying")
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_recordings_come_out_equal(file):
    assert minigrid.replay_file(file, "object") > 300


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("name", [BOSS, "BabyAI-PickupLoc-v0"])
def test_a_recording_comes_out_equal_where_it_is_compiled(name):
    assert minigrid.replay_file(DATA / "babyai" / f"{name}.npz", "batch") > 300


def test_all_ids_have_a_scenario():
    assert len(list_babyai_grids()) == 96


# ---- grammar -------------------------------------------------------------------------------------


def test_scenarios_have_the_wordings_of_the_grammar():
    assert Scenario.load(BOSS).mission_texts == WORDINGS


def random_description(rng, kinds):
    return [rng.choice(kinds), rng.integers(7), rng.integers(BEHIND + 1), rng.integers(2)]


def random_clauses(rng, wording):
    """Clauses of a wording, as (4, 9) numbers."""
    clauses = np.zeros((MAX_CLAUSES, CLAUSE_LENGTH), np.int64)
    for k in range(WORDINGS[wording].count("{")):
        verb = int(rng.integers(GO_TO, PUT_NEXT + 1))
        clauses[k, 0] = verb
        clauses[k, 1:5] = random_description(rng, [*list_kinds(verb).values()])
        if verb == PUT_NEXT:
            clauses[k, 5:] = random_description(rng, [*list_kinds(GO_TO).values()])
    return clauses


@pytest.mark.parametrize("wording", range(len(WORDINGS)))
def test_a_text_becomes_the_mission_of_a_level_and_comes_back(wording):
    rng = np.random.default_rng(wording)
    for _ in range(40):
        clauses = random_clauses(rng, wording)
        text = render_instruction(wording, clauses)
        parsed_wording, parsed = parse_instruction(text)
        assert parsed_wording == wording
        assert np.array_equal(parsed, clauses), text
    simulation = begin(Scenario.load({"extends": "BabyAI-GoToLocal-v0", "mission": text}))
    missions: Any = simulation.scenario.missions
    assert simulation.scenario.mission(simulation.world) == text
    values = dict(zip(missions.names, missions.encode(simulation.world), strict=True))
    fields = [values[f"{ordinal}{name}"] for ordinal in ORDINALS for name in FIELDS]
    assert fields == clauses.ravel().tolist()


def test_the_numbers_of_wordings_are_those_of_their_texts():
    for wording, text in enumerate(WORDINGS):
        count, other_count = count_clauses(wording)
        side = text.replace(" after you", ", then").partition(", then")[0]
        assert (side.count("{"), text.count("{")) == (count, count + other_count)
        assert is_reversed(wording) == ("after you" in text)
        assert number_wording(count, other_count, is_reversed(wording)) == wording


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "word 1: found the end, expected 'go to', 'open', 'pick up' or 'put'"),
        ("go to red ball", "word 3: found 'red', expected 'a' or 'the'"),
        ("open the red ball", "word 4: found 'ball', expected 'door'"),
        ("pick up a door", "word 4: found 'door', expected 'ball', 'blue', 'box', "),
        ("put the key near a box", "word 4: found 'near', expected 'behind you', 'in front of"),
        ("open a door, then go", "word 6: found 'go', expected 'go to', 'open', "),
        ("go to a box on your left please", "word 8: found 'please', expected ', then', 'after"),
    ],
)
def test_a_wrong_instruction_is_told_where_it_is_wrong(text, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011  # the text is compared
        parse_instruction(text)
    assert str(raised.value).startswith(message)


# ---- missions ------------------------------------------------------------------------------------


def test_missions_are_numbers_in_batches_and_text_alone():
    envs: Any = gymnasium.make_vec(f"GV-{BOSS}", 8, world="object")
    shown = envs.reset(seed=3)[0]
    assert shown in envs.observation_space
    assert shown["mission"].shape == (8, 37)
    for k, text in enumerate(envs.missions()):
        env = gymnasium.make(f"GV-{BOSS}", world="object", disable_env_checker=True)
        one = env.reset(seed=3 + k)[0]
        assert one["mission"] == text
        assert one in env.observation_space
        wording, *clauses = shown["mission"][k].tolist()
        clause = [clauses[i] for i in (2, 0, 1, 3, 4, 5, 6, 7, 8)]
        parsed_wording, parsed = parse_instruction(text)
        assert wording == 1 + parsed_wording
        assert clause == parsed[0].tolist()


def played(name, **options):
    return begin(Scenario.load(name, **options))


def test_the_step_limit_depends_on_the_mission():
    scenario = Scenario.load(BOSS)
    limits = {begin(scenario, seed).world.mission.max_steps[AGENT] for seed in range(20)}
    assert limits <= {100 * walks for walks in range(1, 9)}
    assert len(limits) > 2
    simulation = begin(scenario)
    limit = simulation.world.mission.max_steps[AGENT]
    done = scenario.actions[-1]
    for step in range(1, limit + 1):
        simulation.step(done)
        assert simulation.world.truncated == (step == limit)
    env: Any = gymnasium.make(f"GV-{BOSS}", world="object").unwrapped
    assert (env.max_steps, env.scenario.max_steps) == (0, 800)  # 0 as in MiniGrid
    env.reset(seed=0)
    assert env.max_steps == limit < 800


def test_a_step_limit_that_is_asked_for_is_the_limit():
    simulation = played(BOSS, max_steps=7)
    assert simulation.world.mission.max_steps[AGENT] == simulation.scenario.max_steps == 7


def test_a_mission_has_words_of_its_own_or_none():
    with pytest.raises(ScenarioError, match=r"a mission has no \{claus\}"):
        Scenario.load({"extends": BOSS, "mission": {"text": ["{claus}"]}})


# ---- rules ---------------------------------------------------------------------------------------


def step(simulation, *names):
    by_name = dict(zip(simulation.scenario.action_names, simulation.scenario.actions, strict=True))
    for name in names:
        simulation.step(by_name[name])
    return simulation.world


def stand_before(simulation, e):
    """Put the agent beside an object, facing it."""
    w = simulation.world
    for facing, (dy, dx) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        y, x = w.position.y[e] - dy, w.position.x[e] - dx
        if w.at[y, x] == NOTHING:
            w.stand(AGENT, y, x)
            w.agent.facing[AGENT] = facing
            if w.at[y + dy, x + dx] == e:
                return
    raise AssertionError("no free cell beside the object")


def target_of(simulation):
    w = simulation.world
    return next(e for e in w.having(w.target) if w.target.descriptions[e] & 1)


def test_places_of_objects_are_those_of_the_last_drop():
    simulation = played("BabyAI-GoToLocalS8N7-v0")
    w, target = simulation.world, target_of(simulation)
    stand_before(simulation, target)
    y, x = w.position.y[target], w.position.x[target]
    w.lift(target)  # as if another agent had taken it
    w.target.y[target], w.target.x[target] = y, x
    w.progress.removed[AGENT] = target
    assert step(simulation, "DONE").success[AGENT]
    step(simulation, "DROP")
    assert w.progress.status[AGENT] not in (SUCCEEDED, FAILED)


def test_a_strict_instruction_fails_with_another_door():
    simulation = played("BabyAI-OpenDoorDebug-v0")
    w = simulation.world
    others = [e for e in w.having(w.door) if not w.target.descriptions[e] & 1]
    stand_before(simulation, others[0])
    assert w.door.status[others[0]] == CLOSED
    step(simulation, "TOGGLE")
    assert w.terminated
    assert not w.success[AGENT]
    assert w.reward[AGENT] == 0


def test_the_object_is_in_the_hand_from_the_start():
    simulation = played("BabyAI-PutNextS5N2Carrying-v0")
    w = simulation.world
    target = w.agent.holding[AGENT]
    assert w.target.descriptions[target] & 1
    assert w.position.y[target] < 0
    step(simulation, "DONE")
    assert w.agent.holding[AGENT] == target
