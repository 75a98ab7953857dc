"""What the GridVerse reference computed comes out equal, bit for bit, in both worlds."""

import json

import numpy as np
import pytest

from gv_engine import GridEnv, Scenario
from gv_engine.envs.representations import REPRESENTATIONS
from gv_engine.rules.geometry import Area
from tests import DATA, conformance
from tests.boards import cells_of, content_of, item_of

RECORDINGS = DATA / "conformance"
ENTRIES = conformance.entries(RECORDINGS)
EPISODES = [entry for entry in ENTRIES if entry["kind"] == "episode"]
LONG = next(entry for entry in ENTRIES if entry["file"] == "gv_keydoor.5x5.seed0.npz")


SAMPLE = "object", "gv_keydoor", "soup.500"


@pytest.mark.slow
@pytest.mark.sample(*SAMPLE)
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


def test_an_equal_folder_gives_zero(altered):
    code, line = altered()
    assert code == 0
    assert line.startswith(f"{LONG['file']}: equal")


def test_a_recording_may_begin_from_its_first_grid(world):
    names = ["move_agent", "turn_agent", "actuate_door", "pickndrop"]
    soup = {"kind": "soup", "seed": 3, "transitions": names, "area": [[-6, 0], [-3, 3]]}
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
