"""What the GridVerse reference computed comes out equal, bit for bit, in both worlds."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine import GridEnv, Scenario
from gv_engine.envs.representations import REPRESENTATIONS
from gv_engine.rules.geometry import ACTIONS, Area
from gv_engine.vector.backend import make_batch
from gv_engine.world.simulation import DISABLED, RESTART
from tests import DATA, conformance
from tests.boards import agent_of, cells_of, content_of, item_of

RECORDINGS = DATA / "conformance"
ENTRIES = conformance.entries(RECORDINGS)
EPISODES = [entry for entry in ENTRIES if entry["kind"] == "episode"]
LONG = next(entry for entry in ENTRIES if entry["file"] == "gv_keydoor.5x5.seed0.npz")


SAMPLE = "object", "gv_keydoor", "soup.500"


@pytest.mark.sample("seed0")
@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["file"] for entry in ENTRIES])
def test_episode_comes_out_equal(entry, world):
    report = conformance.replay_file(RECORDINGS, entry, world)
    assert not report.difference
    assert not report.unknown
    with np.load(RECORDINGS / entry["file"]) as recorded:
        assert report.checked == {*recorded} - {"action"}


@pytest.mark.sample(*SAMPLE)
@pytest.mark.parametrize("name", REPRESENTATIONS)
@pytest.mark.parametrize("scenario", sorted({entry["scenario"] for entry in EPISODES}))
def test_environments_show_the_recorded_representations(scenario, name, world):
    entry = next(e for e in EPISODES if e["scenario"] == scenario)
    kind = "compiled" if world == "batch" else world
    played = conformance.load(entry["config"])
    env = GridEnv(played, world=kind, observation_representation=name)
    with np.load(RECORDINGS / entry["file"]) as recorded:
        observations = [env.reset(seed=entry["seed"])[0]]
        positions = {number: n for n, number in enumerate(env.scenario.actions)}
        observations += [env.step(positions[n])[0] for n in recorded["action"].tolist()]
        assert all(observation in env.observation_space for observation in observations)
        for key in observations[0]:
            expected = recorded[f"representation_observation_{name}_{key}"]
            np.testing.assert_array_equal([o[key] for o in observations], expected)


# ---- the tool itself ---------------------------------------------------------------------------


@pytest.fixture
def altered(tmp_path):
    """Writes a folder with one recording in which something was changed, and replays it."""

    def replay(entry=None, **arrays):
        entry = {**LONG, **(entry or {})}
        with np.load(RECORDINGS / LONG["file"]) as recorded:
            np.savez(tmp_path / LONG["file"], **{**recorded, **arrays})
        (tmp_path / "index.json").write_text(json.dumps([entry]))
        lines: list[str] = []
        code = conformance.main([str(tmp_path), "--world", "object"], lines.append)
        return code, lines[0]

    return replay


def recorded(name):
    with np.load(RECORDINGS / LONG["file"]) as arrays:
        return arrays[name].copy()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("grid", (3, 2, 1, 0)),
        ("agent", (5, 2)),
        ("item", (1, 0)),
        ("observation_fully_transparent", (2, 6, 3, 0)),
        ("observation_partially_occluded", (2, 6, 3, 0)),
        ("terminal_reach_exit", (4,)),
        *((f"representation_state_{name}_grid", (2, 1, 1, 2)) for name in REPRESENTATIONS),
        *((f"representation_observation_{name}_item", (9, 1)) for name in REPRESENTATIONS),
    ],
)
def test_one_changed_number_is_found(altered, name, index):
    array = recorded(name)
    array[index] = array[index] ^ 1
    code, line = altered(**{name: array})
    assert code == 1
    assert f"DIFFERENT: {name}{''.join(f'[{i}]' for i in index)}: found" in line


@pytest.mark.parametrize("name", ["reward", "reward_getting_closer_euclidean"])
def test_the_last_bit_of_a_reward_counts(altered, name):
    array = recorded(name)
    array[7] = np.nextafter(array[7], 9.0)
    code, line = altered(**{name: array})
    assert code == 1
    assert f"DIFFERENT: {name}[7]: found" in line


def test_a_reward_that_is_undefined_in_the_recording_must_fail(altered):
    array = recorded("reward_reach_exit")
    array[2] = np.nan
    code, line = altered(reward_reach_exit=array)
    assert code == 1
    assert (
        "DIFFERENT: reward_reach_exit[2]: found np.float64(0.5), recorded np.float64(nan)" in line
    )


def test_an_unknown_function_is_skipped(altered):
    config = {**LONG["config"], "transition_functions": [{"name": "levitate"}]}
    code, line = altered({"config": config})
    assert code == 0
    assert line.endswith("skipped: no transition function 'levitate'")


def test_a_file_that_cannot_be_replayed_is_counted_and_the_next_one_is_replayed(tmp_path):
    contents = (RECORDINGS / LONG["file"]).read_bytes()
    (tmp_path / LONG["file"]).write_bytes(contents)
    (tmp_path / "half.npz").write_bytes(contents[: len(contents) // 2])
    names = ["half.npz", "missing.npz", LONG["file"]]
    (tmp_path / "index.json").write_text(json.dumps([{**LONG, "file": name} for name in names]))
    lines: list[str] = []
    assert conformance.main([str(tmp_path), "--world", "object"], lines.append) == 1
    half, missing, whole, counts = lines
    assert half.startswith("half.npz: FAILED: BadZipFile")
    assert missing.startswith("missing.npz: FAILED: FileNotFoundError")
    assert whole.startswith(f"{LONG['file']}: equal")
    assert counts == "object: 1 equal, 0 different, 2 failed, 0 skipped"


NAMES = ["move_agent", "turn_agent", "actuate_door", "pickndrop"]


@pytest.fixture(scope="module")
def large() -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A recording of 300 states of a grid of 30 x 17 cells."""
    area = [[-6, 0], [-3, 3]]
    functions = {
        "transition_functions": NAMES,
        "reward_functions": [],
        "terminating_function": "reach_exit",
        "observation_function": {"name": "fully_transparent", "area": area},
    }
    picture = "\n".join([">.Kd..o#E".ljust(17, "."), *["." * 17] * 29])
    played = Scenario.load({**functions, "map": picture, "action_space": list(ACTIONS)})
    batch = make_batch(played, 1, "object")
    batch.step(np.array([RESTART]), DISABLED)
    action = np.random.default_rng(4).integers(0, 8, 299).astype(np.uint8)
    names = "grid", "content", "agent", "item", "observation_fully_transparent"
    states: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for number in [*action.tolist(), None]:
        row = batch.snapshot(0)
        shown = batch.outputs.grid[0].copy()
        arrays = cells_of, content_of, lambda row, _: agent_of(row), item_of
        for name, read in zip(names, arrays):
            states[name].append(read(row, played.layout))
        states[names[-1]].append(shown)
        if number is not None:
            batch.step(np.array([played.actions.index(number)]), DISABLED)
    entry = {"kind": "soup", "seed": 0, "transitions": NAMES, "area": area}
    return entry, {"action": action, **{name: np.array(each) for name, each in states.items()}}


@pytest.mark.sample("object")
def test_a_recording_may_be_of_any_size_and_length(large, world):
    entry, arrays = large
    report = conformance.replay(entry, arrays, world)
    assert not report.difference
    assert report.checked == {*arrays} - {"action"}
    wrong = {name: array.copy() for name, array in arrays.items()}
    wrong["observation_fully_transparent"][299, 6, 3] += 1
    report = conformance.replay(entry, wrong, world)
    assert report.difference.startswith("observation_fully_transparent[299][6][3]")


def test_states_of_a_long_recording_are_seen_in_several_batches(world, monkeypatch):
    monkeypatch.setattr(conformance, "_STATES_AT_ONCE", 5)
    assert str(conformance.replay_file(RECORDINGS, LONG, world)) == "equal"


def test_a_scenario_may_have_more_transitions_than_twelve(altered):
    turns = {"name": "chain", "transition_functions": [{"name": "turn_agent"}] * 12}
    config = {**LONG["config"], "transition_functions": [turns, *NAMES]}
    code, line = altered({"config": config})  # twelve turns are three times around
    assert (code, line) == (0, f"{LONG['file']}: equal")


def test_an_equal_folder_gives_zero(altered):
    code, line = altered()
    assert code == 0
    assert line.startswith(f"{LONG['file']}: equal")


def test_a_recording_may_begin_from_its_first_grid(world):
    soup = {"kind": "soup", "seed": 3, "transitions": NAMES, "area": [[-6, 0], [-3, 3]]}
    with np.load(RECORDINGS / LONG["file"]) as arrays:
        # soups have boxes, so that no representation of them was recorded
        plain = {key: array for key, array in arrays.items() if "representation" not in key}
        report = conformance.replay(soup, plain, world)
    assert not report.difference
    assert not report.unknown
    assert report.checked == {*plain} - {"action", "reward", "terminal"}


def test_boxes_and_hands_of_a_first_grid():
    grid = np.full((1, 4, 4, 3), [2, 0, 0], np.uint8)
    grid[0, 1, 2], grid[0, 2, 1] = (8, 0, 0), (5, 2, 1)
    content = np.zeros_like(grid)
    content[0, 1, 2] = 6, 0, 4
    item = np.array([[6, 0, 3]], np.uint8)
    first = {"grid": grid, "content": content, "item": item, "agent": np.array([[1, 3, 2]])}
    scenario = Scenario.load(
        {
            "map": "^...\n....\n....\n....",
            "transition_functions": [],
            "reward_functions": [],
            "terminating_function": "reach_exit",
            "observation_function": {"name": "fully_transparent", "area": [[-1, 0], [0, 0]]},
        }
    )
    assert scenario.area == Area(-1, 0, 0, 0)
    row = conformance._first_state(scenario, first, np.random.default_rng(0))
    np.testing.assert_array_equal(cells_of(row, scenario.layout), grid[0])
    np.testing.assert_array_equal(content_of(row, scenario.layout), content[0])
    np.testing.assert_array_equal(item_of(row, scenario.layout), item[0])


def test_the_index_lists_every_recording():
    files = {path.name for path in RECORDINGS.glob("*.npz")}
    assert {entry["file"] for entry in ENTRIES} == files
