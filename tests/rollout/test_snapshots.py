"""Worlds in files, and the scenario that they belong to."""

from __future__ import annotations

import io
import json
import re
import shutil
import struct
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gv_engine
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.cli import create_parser, play
from gv_engine.cli.options import UsageError
from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.rollout import snapshots
from gv_engine.envs.rollout.snapshots import SnapshotError
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.scenario.documents.loading import make_reference
from gv_engine.world.simulation import NEXT_STEP
from tests.comparing import same
from tests.scenario.test_mixture import TWO
from tests.strategies import meadow

STARTER = Path(gv_engine.__file__).parent / "cli" / "starter"


def rows_of(level, num=3):
    """The scenario of a level, and rows of it after a step."""
    scenario = level if isinstance(level, Scenario) else Scenario.load(level)
    worlds = make_batch(scenario, num, "object")
    worlds.restart(np.ones(num, np.bool_), dict.fromkeys(range(num), 0))
    worlds.step(np.zeros(num * scenario.layout.agents, np.int64), NEXT_STEP)
    return scenario, worlds.snapshot(np.arange(num))


@pytest.mark.parametrize("level", ["keydoor-5x5", "medley-7x7", meadow(), TWO])
def test_what_is_saved_comes_back(tmp_path, level):
    scenario, rows = rows_of(level)
    snapshots.save(tmp_path / "worlds.npz", scenario.with_(max_steps=8), rows)
    found, again = snapshots.load(tmp_path / "worlds.npz", trust=True)
    assert (found.name, found.max_steps) == (scenario.name, 8)
    assert again.dtype == found.layout.dtype
    assert np.array_equal(again, rows)
    env = GridEnv(found, world="object")
    env.restore(again[1:2].reshape(()))
    assert env.snapshot() == rows[1]


def test_numpy_reads_it_alone(tmp_path):
    scenario, rows = rows_of("keydoor-5x5")
    snapshots.save(tmp_path / "one.npz", scenario, rows[0:1].reshape(()))
    with np.load(tmp_path / "one.npz") as file:
        assert file["rows"]["door"]["status"].shape == (1, scenario.layout.capacity)
        assert json.loads(file["scenario"].item())["name"] == "keydoor-5x5"


def test_a_scenario_that_has_changed_is_told(tmp_path):
    folder = tmp_path / "level"
    shutil.copytree(STARTER, folder)
    scenario, rows = rows_of(folder)
    snapshots.save(tmp_path / "worlds.npz", scenario, rows)
    snapshots.load(tmp_path / "worlds.npz", trust=True)
    with (folder / "rules.py").open("a") as file:
        file.write("\n# another rule\n")
    with pytest.warns(UserWarning, match="level is no longer what it was") as told:
        snapshots.load(tmp_path / "worlds.npz", trust=True)
    assert len(told) == 1
    snapshots.load(tmp_path / "worlds.npz", scenario)


def test_mistakes(tmp_path):
    scenario, rows = rows_of("keydoor-5x5")
    with pytest.raises(ValueError, match=r"must end with \.npz"):
        snapshots.save(tmp_path / "worlds.npy", scenario, rows)
    with pytest.raises(ValueError, match="other maximum sizes"):
        snapshots.save(tmp_path / "worlds.npz", Scenario.load("nine-rooms-13x13"), rows)
    snapshots.save(tmp_path / "worlds.npz", scenario, rows)
    with pytest.raises(
        SnapshotError, match="holds worlds of keydoor-5x5 that nine-rooms-13x13 cannot"
    ):
        snapshots.load(tmp_path / "worlds.npz", Scenario.load("nine-rooms-13x13"))
    with pytest.raises(SnapshotError, match=r"none\.npz cannot be read: No such file"):
        snapshots.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", rows=np.zeros(3))
    np.save(tmp_path / "array.npz.npy", np.zeros(3))
    for name in ("text.npz", "other.npz", "array.npz.npy"):
        with pytest.raises(SnapshotError, match="is no snapshot of GV Engine"):
            snapshots.load(tmp_path / name)


def begun(*words):
    return play.begin_session(create_parser().parse_args(["play", *map(str, words)]))


def test_any_row_opens_as_a_game(tmp_path):
    envs = GridVectorEnv("keydoor-5x5", 2, world="object", copy=True)
    envs.reset(seed=0)
    envs.step([4, 5])
    file = tmp_path / "worlds.npz"
    snapshots.save(file, envs.scenario, envs.snapshot())
    for row in range(2):
        game = begun("--from", file, "--row", row)
        shown, rewards, *_ = envs.step([4, 4])
        game.step("TURN_LEFT")
        frame = game.frame()
        assert np.array_equal(frame.observation, shown["grid"][row])
        assert (frame.reward, frame.steps) == (rewards[row], 2)
        envs.restore(snapshots.load(file)[1])
    with pytest.raises(UsageError, match=r"--row 2: .* has 2 worlds"):
        begun("--from", file, "--row", 2)
    with pytest.raises(SnapshotError, match="holds worlds of"):
        begun("nine-rooms-13x13", "--from", file)
    with pytest.raises(UsageError, match="--seed 3: the world of --from already has a seed"):
        begun("--from", file, "--seed", 3)
    with pytest.raises(UsageError, match="--row 1 selects a world in a file; add --from"):
        begun("empty-4x4", "--row", 1)
    assert begun("empty-4x4", "--seed", 3).seed == 3


# ---- what is no world ----------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "value"), [("height", 90), ("steps", -5), ("at", 120), ("capacity", 9), ("free", 0)]
)
def test_damaged_rows_are_refused(name, value):
    for world in ("compiled", "object"):
        env = GridEnv("keydoor-5x5", world=world)
        env.reset(seed=0)
        row = env.snapshot()
        row[name] = value
        with pytest.raises(ValueError, match=f"the snapshot is damaged: {name} is {value}"):
            env.restore(row)


@pytest.mark.parametrize(
    ("level", "column", "at"),
    [
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", "placed", 15),
        ("keydoor-5x5", "placed", 0),
        ("keydoor-5x5", "error", ()),
        ("hold-plates", "spot", 2),
        ("hold-plates", "placed", 3),
    ],
)
def test_columns_that_follow_from_others_are_not_read(tmp_path, level, column, at):
    scenario, rows = rows_of(level)
    wrong = rows.copy()
    wrong[column][(slice(None), *np.atleast_1d(at).astype(int))] += 1
    assert not np.array_equal(wrong, rows)
    packed = {"rows": wrong, "scenario": np.array(json.dumps(make_reference(scenario)))}
    np.savez(tmp_path / "a.npz", **packed)
    assert np.array_equal(snapshots.load(tmp_path / "a.npz")[1], rows)
    worlds = make_batch(scenario, 3, "object")
    worlds.restore(np.arange(3), wrong)
    assert np.array_equal(worlds.snapshot(np.arange(3)), rows)
    # as `gv-engine check` tells it
    assert f"w.{column}[" in find_row_fault(scenario, wrong[0:1].reshape(()))
    assert not find_row_fault(scenario, rows[0:1].reshape(()))


@pytest.mark.sample("object")
@pytest.mark.compiled
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_objects_that_are_said_to_be_there_do_no_harm(world):
    """A compiled step once read memory that nobody had filled, and ended the process."""
    env, other = (GridEnv("MiniGrid-Dynamic-Obstacles-5x5-v0", world=world) for _ in range(2))
    env.reset(seed=0)
    row = env.snapshot()
    other.restore(row)
    row["placed"] = 200
    env.restore(row)
    for action in (0, 1, 2, 0):
        assert same(env.step(action), other.step(action))
    assert env.snapshot() == other.snapshot()


def of(rows, name):
    """The entities of a type in the first row."""
    return np.flatnonzero(rows["kind"]["value"][0] == OBJECT_TYPES[name].index)


def put(rows, column, field, e, value):
    """Change a field of entities in the first row."""
    rows[column][field][0, e] = value


def in_two_cells(r):
    key = of(r, "Key")[0]
    r["at"][0, 1:4, 1:4][r["at"][0, 1:4, 1:4] == NOTHING] = key


def let_go_of_first(r):
    r["who"][0][r["who"][0] > 0] = 0


kept_rows = cache(rows_of)


@pytest.mark.parametrize(
    ("level", "change", "says"),
    [
        ("keydoor-5x5", lambda r: put(r, "door", "status", of(r, "Door"), 127), "in a state that"),
        ("keydoor-5x5", lambda r: put(r, "kind", "has", of(r, "Key"), 0), "lacks the component"),
        ("keydoor-5x5", lambda r: put(r, "kind", "value", of(r, "Key"), 1), "a type that these"),
        ("keydoor-5x5", lambda r: put(r, "color", "value", of(r, "Key"), 99), "color.value is 99"),
        ("keydoor-5x5", lambda r: put(r, "door", "has", of(r, "Door"), 2), "door.has is 2"),
        ("keydoor-5x5", lambda r: put(r, "door", "has", of(r, "Door"), 0), "lacks the component"),
        ("keydoor-5x5", lambda r: put(r, "door", "status", of(r, "Key"), 2), "lacks the component"),
        ("keydoor-5x5", lambda r: put(r, "door", "has", 0, 1), "door.has of no entity is 1"),
        ("keydoor-5x5", lambda r: put(r, "door", "status", 0, 2), "door.status of no entity is 2"),
        ("keydoor-5x5", lambda r: put(r, "position", "y", of(r, "Key"), -1), "which is not a cell"),
        ("keydoor-5x5", lambda r: put(r, "position", "y", of(r, "Wall")[0], 1), "has it not"),
        ("keydoor-5x5", lambda r: put(r, "position", "y", of(r, "Wall")[0], 100), "y is 100"),
        ("keydoor-5x5", in_two_cells, "in two cells"),
        ("keydoor-5x5", lambda r: put(r, "agent", "holding", 1, 1), "which is not an object"),
        ("keydoor-5x5", lambda r: put(r, "agent", "holding", 1, of(r, "Key")[0]), "on the g"),
        ("keydoor-5x5", lambda r: put(r, "agent", "facing", 1, 4), "the agent's facing is 4"),
        ("keydoor-5x5", lambda r: put(r, "position", "y", 1, -1), "the agent's y is -1"),
        ("keydoor-5x5", lambda r: put(r, "position", "y", 1, 100), "the agent's y is 100"),
        ("keydoor-5x5", lambda r: put(r, "agent", "has", 1, 0), "agent.has of the agent is 0"),
        ("keydoor-5x5", lambda r: put(r, "solid", "has", -1, 1), "is not in use and has"),
        ("keydoor-5x5", lambda r: r["rng"]["inc_low"].__setitem__(0, 2), "rng.inc_low is 0"),
        ("keydoor-5x5", lambda r: r["rng"]["half"].__setitem__(0, 2**40), "rng.half is 10995"),
        ("keydoor-5x5", lambda r: r["alive"].__setitem__((0, 1), 0), "alive of the agent is 0"),
        ("keydoor-5x5", lambda r: r["alive"].__setitem__((0, 5), 3), "alive is 3"),
        ("keydoor-5x5", lambda r: r["free"].__setitem__(0, 60), "w.free is beyond it"),
        ("keydoor-5x5", lambda r: r["terminated"].__setitem__(0, 2), "terminated is 2"),
        ("keydoor-5x5", lambda r: r["done"].__setitem__((0, 1), 1), "done of the agent is 1"),
        ("keydoor-5x5", lambda r: r["steps"].__setitem__(0, 2**31 - 1), "steps is 2147483647"),
        ("keydoor-5x5", lambda r: r["reward"].__setitem__((0, 0), 2), "reward of no agent is 2"),
        ("keydoor-5x5", lambda r: r["width"].__setitem__(0, 0), "width is 0"),
        ("fetch", lambda r: put(r, "mission", "wording", 1, 9), "mission.wording is 9"),
        ("fetch", lambda r: put(r, "mission", "kind", 1, 99), "mission.kind is 99"),
        ("boxes", lambda r: put(r, "box", "content", of(r, "Box"), 99), "which has been removed"),
        ("boxes", lambda r: put(r, "box", "content", of(r, "Box"), of(r, "Box")), "on the grid"),
        ("boxes", lambda r: put(r, "box", "content", of(r, "Box")[0], 1), "holds agent 1, which"),
        ("boxes", lambda r: put(r, "box", "content", of(r, "Box"), of(r, "Key")[0]), "held twice"),
        ("boxes", lambda r: put(r, "agent", "holding", 1, of(r, "Key")[0]), "held twice"),
        ("hold-plates", let_go_of_first, "disagree with the agents' positions"),
        ("hold-plates", lambda r: r["next"].__setitem__((0, 1), 1), "disagree with the agents'"),
        ("hold-plates", lambda r: put(r, "position", "y", 2, -1), "agent 2's y is -1"),
    ],
)
def test_what_no_world_holds_is_refused(level, change, says):
    scenario, rows = kept_rows(level)
    wrong = rows.copy()
    change(wrong)
    for some in (wrong, wrong[0:1].reshape(())):
        with pytest.raises(ValueError, match=f"the snapshot is damaged: .*{re.escape(says)}"):
            scenario.check_rows(some)
    assert np.array_equal(scenario.check_rows(rows), rows)


def test_a_row_that_is_checked_stays_as_it_was():
    scenario, rows = rows_of("boxes")
    rows["placed"] = 7
    kept = rows.copy()
    for writeable in (True, False):
        rows.flags.writeable = writeable
        assert scenario.check_rows(rows[0])["placed"].tolist() != kept["placed"][0].tolist()
        assert np.array_equal(rows, kept)
    with pytest.raises(ValueError, match=r"shape \(1, 3\): expected \(\) or \(n,\)"):
        scenario.check_rows(rows[None])


def test_worlds_that_go_on_by_other_rules_are_told_of(tmp_path):
    snapshots.save(tmp_path / "worlds.npz", *rows_of("keydoor-5x5", 2))
    with pytest.warns(UserWarning, match="go on by the rules of keydoor-7x7") as told:
        snapshots.load(tmp_path / "worlds.npz", Scenario.load("keydoor-7x7"))
    assert [each.filename for each in told] == [__file__]


# ---- what is no snapshot -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts():
    """What a file is made of: rows, and what tells the scenario."""
    scenario, rows = rows_of("keydoor-5x5", 2)
    return rows, make_reference(scenario)


def npy(array, **options):
    data = io.BytesIO()
    np.lib.format.write_array(data, np.asarray(array), **options)
    return data.getvalue()


def written(file, kind=zipfile.ZIP_DEFLATED, **members):
    """Write arrays, or the bytes of an array, into an archive."""
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data if isinstance(data, bytes) else npy(data))
    return file


def test_a_text_beyond_all_characters_is_damaged(tmp_path, parts):
    rows, known = parts
    text = bytearray(npy(json.dumps(known)))
    text[-1] = 0xFF
    with pytest.raises(SnapshotError, match="damaged: it has characters beyond"):
        snapshots.load(written(tmp_path / "worlds.npz", rows=rows, scenario=bytes(text)))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        *(({name: 7}, f"has no {name}") for name in ("name", "source", "changes", "digest")),
        ({"folder": None}, "has no folder"),
        ({"changes": {"layout": 7}}, "no reference holds such a change of 'layout'"),
        ({"changes": {"max_steps": "a"}}, "no reference holds such a change of 'max_steps'"),
        ({"changes": {"actions": [0, 0]}}, "no reference holds such a change of 'actions'"),
        ({"name": "a" * 5000, "source": "nine-rooms-13x13"}, "cannot go on with"),
    ],
)
def test_a_scenario_that_is_none_is_told(tmp_path, parts, change, part):
    rows, known = parts
    about = json.dumps(known | change)
    file = written(tmp_path / "worlds.npz", rows=rows, scenario=about)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the scenario is another one than it was
        with pytest.raises(SnapshotError, match=part) as error:
            snapshots.load(file)
    assert len(str(error.value)) < 1000


def test_the_end_of_a_zip64_archive_is_not_believed(tmp_path, parts):
    rows, known = parts
    file = written(tmp_path / "a.npz", rows=rows, scenario=json.dumps(known))
    snapshots.load(file)
    data = file.read_bytes()
    file.write_bytes(data[:-22] + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + data[-22:])
    with pytest.raises(SnapshotError, match="it is not a NumPy archive"):
        snapshots.load(file)


@pytest.mark.parametrize(
    ("characters", "told"),
    [(2**20 - 32, "damaged one: Expecting value"), (2**20 - 31, "scenario is 4 MiB, in")],
)
def test_what_tells_the_scenario_has_room_for_a_million_characters(
    tmp_path, parts, characters, told
):
    about = "a" * characters  # behind a head of 128 bytes
    with pytest.raises(SnapshotError, match=told):
        snapshots.load(written(tmp_path / "long.npz", rows=parts[0], scenario=about))


@pytest.mark.thorough
@pytest.mark.slow
def test_what_would_fill_the_memory_is_not_unpacked(tmp_path, parts):
    rows, known = parts
    about = json.dumps(known)
    many = np.zeros(2**27 // rows.itemsize + 1, rows.dtype)
    packed = written(tmp_path / "many.npz", rows=many, scenario=about)
    assert packed.stat().st_size < 600_000
    with pytest.raises(SnapshotError, match=r"rows is 128 MiB, in snapshots at most 128 MiB"):
        snapshots.load(packed)
    many[:] = rows[0]
    with pytest.raises(ValueError, match="a snapshot holds at most 128 MiB; write several"):
        snapshots.save(tmp_path / "many.npz", Scenario.load("keydoor-5x5"), many)
    long = written(tmp_path / "long.npz", rows=rows, scenario="a" * 2**21)
    with pytest.raises(SnapshotError, match="scenario is 8 MiB"):
        snapshots.load(long)
    objects = npy([{}], allow_pickle=True)
    plain = {"rows": rows, "scenario": about}
    for kind, members in (
        (zipfile.ZIP_BZIP2, plain),
        (zipfile.ZIP_DEFLATED, plain | {"rows": objects}),
        (zipfile.ZIP_DEFLATED, plain | {"rows": npy(rows)[:-1]}),
        (zipfile.ZIP_DEFLATED, plain | {"rows": rows[:, None]}),
        (zipfile.ZIP_DEFLATED, plain | {"scenario": 7}),
        (zipfile.ZIP_DEFLATED, plain | {"scenario": "[" * 9999}),
        (zipfile.ZIP_DEFLATED, {f"a{number}": b"" for number in range(200)}),
    ):
        with pytest.raises(SnapshotError, match="is no snapshot of GV Engine, or a damaged one"):
            snapshots.load(written(tmp_path / "odd.npz", kind, **members))
