"""What the GridVerse reference computed comes out equal, bit for bit, in both worlds."""

import json
from operator import itemgetter

import numpy as np
import pytest

from components.objects import WALL
from gv_engine import GridEnv
from gv_engine.envs.representations import REPRESENTATIONS
from tests import DATA, conformance
from tests.boards import cells_of, content_of, item_of, scenario

RECORDINGS = DATA / "conformance"
ENTRIES = conformance.entries(RECORDINGS)
FIRSTS = [entry for entry in ENTRIES if ".seed0." in entry["file"]]
FILE = "gv_keydoor.5x5.seed0.npz"
KEYDOOR = next(entry for entry in ENTRIES if entry["file"] == FILE)
NAMES = ["move_agent", "turn_agent", "actuate_door", "pickndrop"]
SOUP = {"kind": "soup", "seed": 3, "transitions": NAMES, "area": [[-6, 0], [-3, 3]]}
SIZES = "4x4.seed0", "5x5.seed0", "rooms.7x7.seed0", "5x9.seed0", "8x6.seed0", "9x7.seed0"
"""Of all resets, one recording each."""


def arrays_of(entry):
    with np.load(RECORDINGS / entry["file"]) as recorded:
        return dict(recorded.items())


@pytest.mark.sample("object")
@pytest.mark.sample(*SIZES)
@pytest.mark.slow
@pytest.mark.optimized
@pytest.mark.parametrize("entry", ENTRIES, ids=itemgetter("file"))
def test_episode_comes_out_equal(entry, world):
    report = conformance.replay_file(RECORDINGS, entry, world)
    assert not report.difference
    assert not report.unknown
    assert report.checked == {*arrays_of(entry)} - {"action"}


@pytest.mark.compiled
def test_an_episode_comes_out_equal_where_it_is_compiled():
    report = conformance.replay(KEYDOOR, arrays_of(KEYDOOR), "batch", alone=False)
    assert not report.difference
    parts = {"grid", "content", "agent", "item", "reward", "terminal"}
    assert report.checked > parts | {"observation_partially_occluded"}


@pytest.mark.sample("gv_keydoor.5x5", "object-gv_memory.5x5")
@pytest.mark.parametrize("name", REPRESENTATIONS)
@pytest.mark.parametrize("entry", FIRSTS, ids=itemgetter("file"))
def test_environments_show_the_recorded_representations(entry, name, world):
    kind = "compiled" if world == "batch" else world
    played = conformance.load(entry["config"])
    env = GridEnv(played, world=kind, observation_representation=name)
    recorded = arrays_of(entry)
    observations = [env.reset(seed=entry["seed"])[0]]
    positions = {number: n for n, number in enumerate(env.scenario.actions)}
    observations += [env.step(positions[n])[0] for n in recorded["action"].tolist()]
    assert all(observation in env.observation_space for observation in observations)
    for key in observations[0]:
        expected = recorded[f"representation_observation_{name}_{key}"]
        np.testing.assert_array_equal([o[key] for o in observations], expected)


# ---- the tool itself ---------------------------------------------------------------------------


@pytest.fixture
def beginning():
    """The first twelve states of a recording, which has 81."""
    return {name: array[: len(array) - 69] for name, array in arrays_of(KEYDOOR).items()}


@pytest.fixture
def replay(tmp_path, beginning):
    """Writes a folder with one recording in which something was changed, and replays it."""

    def replay(entry=None, **arrays):
        np.savez(tmp_path / FILE, **{**beginning, **arrays})
        (tmp_path / "index.json").write_text(json.dumps([{**KEYDOOR, **(entry or {})}]))
        lines: list[str] = []
        code = conformance.main([str(tmp_path), "--world", "object"], lines.append)
        return code, lines[0]

    return replay


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("grid", (3, 2, 1, 0)),
        ("agent", (5, 2)),
        ("item", (1, 0)),
        ("observation_fully_transparent", (2, 6, 3, 0)),
        ("observation_partially_occluded", (2, 6, 3, 0)),
        ("terminal_reach_exit", (4,)),
        ("reward", (7,)),
        ("reward_getting_closer_euclidean", (7,)),
        *((f"representation_state_{name}_grid", (2, 1, 1, 2)) for name in REPRESENTATIONS),
        *((f"representation_observation_{name}_item", (9, 1)) for name in REPRESENTATIONS),
    ],
)
def test_one_changed_bit_is_found(replay, beginning, name, index):
    array = beginning[name]
    number = array[index]
    array[index] = np.nextafter(number, 9.0) if array.dtype.kind == "f" else number ^ 1
    code, line = replay(**{name: array})
    assert code == 1
    assert f"DIFFERENT: {name}{''.join(f'[{i}]' for i in index)}: found" in line


def test_a_reward_that_is_undefined_in_the_recording_must_fail(replay, beginning):
    rewards = beginning["reward_reach_exit"]
    rewards[2] = np.nan
    code, line = replay(reward_reach_exit=rewards)
    assert code == 1
    assert (
        "DIFFERENT: reward_reach_exit[2]: found np.float64(0.5), recorded np.float64(nan)" in line
    )


TURNS = {"name": "chain", "transition_functions": [{"name": "turn_agent"}] * 12}
"""Three times around."""


@pytest.mark.parametrize(
    ("transitions", "verdict"),
    [
        (NAMES, "equal"),
        ([TURNS, *NAMES], "equal"),  # more than twelve
        ([{"name": "levitate"}], "skipped: no transition function 'levitate'"),
    ],
)
def test_a_folder_without_a_difference_gives_zero(replay, transitions, verdict):
    config = {**KEYDOOR["config"], "transition_functions": transitions}
    assert replay({"config": config}) == (0, f"{FILE}: {verdict}")


def test_a_file_that_cannot_be_replayed_is_counted_and_the_next_one_is_replayed(tmp_path):
    contents = (RECORDINGS / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(contents)
    (tmp_path / "half.npz").write_bytes(contents[: len(contents) // 2])
    names = ["half.npz", "missing.npz", FILE]
    (tmp_path / "index.json").write_text(json.dumps([{**KEYDOOR, "file": name} for name in names]))
    lines: list[str] = []
    assert conformance.main([str(tmp_path), "--world", "object"], lines.append) == 1
    half, missing, whole, counts = lines
    assert half.startswith("half.npz: FAILED: BadZipFile")
    assert missing.startswith("missing.npz: FAILED: FileNotFoundError")
    assert whole == f"{FILE}: equal"
    assert counts == "object: 1 equal, 0 different, 2 failed, 0 skipped"


@pytest.mark.thorough
@pytest.mark.compiled
def test_states_of_a_long_recording_are_seen_in_several_batches(monkeypatch):
    monkeypatch.setattr(conformance, "_STATES_AT_ONCE", 5)
    arrays = arrays_of(KEYDOOR)
    assert str(conformance.replay(KEYDOOR, arrays, "batch")) == "equal"
    arrays["observation_raytracing"][80, 6, 3] += 1
    report = conformance.replay(KEYDOOR, arrays, "batch")
    assert report.difference.startswith("observation_raytracing[80][6][3]")


@pytest.mark.sample("object")
@pytest.mark.parametrize("shape", [(5, 5), (30, 17)], ids=["5x5", "30x17"])
def test_a_recording_may_begin_from_its_first_grid_which_has_any_size(shape, world):
    whole = arrays_of(KEYDOOR)
    grid = np.full((81, *shape, 3), [WALL, 0, 0], np.uint8)
    content = np.zeros_like(grid)
    grid[:, :5, :5], content[:, :5, :5] = whole["grid"], whole["content"]
    # soups have no reward of their own, and no representations; who sees through walls sees others
    other = "reward", "terminal", "observation_fully_transparent"
    arrays = {**whole, "grid": grid, "content": content}
    arrays = {k: a for k, a in arrays.items() if k not in other and "representation" not in k}
    report = conformance.replay(SOUP, arrays, world)
    assert not report.difference
    assert not report.unknown
    assert report.checked == {*arrays} - {"action"}


def test_boxes_and_hands_of_a_first_grid():
    grid = np.full((1, 4, 4, 3), [2, 0, 0], np.uint8)
    grid[0, 1, 2], grid[0, 2, 1] = (8, 0, 0), (5, 2, 1)
    content = np.zeros_like(grid)
    content[0, 1, 2] = 6, 0, 4
    item = np.array([[6, 0, 3]], np.uint8)
    first = {"grid": grid, "content": content, "item": item, "agent": np.array([[1, 3, 2]])}
    played = scenario("^...\n....\n....\n....")
    row = conformance._first_state(played, first, np.random.default_rng(0))
    np.testing.assert_array_equal(cells_of(row, played.layout), grid[0])
    np.testing.assert_array_equal(content_of(row, played.layout), content[0])
    np.testing.assert_array_equal(item_of(row, played.layout), item[0])


def test_the_index_lists_every_recording():
    files = {path.name for path in RECORDINGS.glob("*.npz")}
    assert {entry["file"] for entry in ENTRIES} == files
