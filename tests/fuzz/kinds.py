"""What is fuzzed: how a case of each kind is made, and what the engine is asked to do with it.

A case is files by name. Scenarios are played a few steps over objects, if they are small enough
for that to be quick; only the levels whose rows are damaged are compiled.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import yaml

import gv_engine
from gv_engine import GridEnv, GridVectorEnv
from gv_engine.envs.backends.backend import Backend, make_batch
from gv_engine.envs.rollout import episode_folder, snapshots
from gv_engine.envs.rollout.episode_folder import EpisodeFolder, RolloutError
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.policy_file import POLICY_FILE, RunError
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.envs.rollout.snapshots import SnapshotError
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.replay import Replay, ReplayError, _close_with_checksum
from gv_engine.play.session.session import Session
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.input.bindings import format_keys_file as keys_as_toml
from gv_engine.play.ui.settings import Settings
from gv_engine.rules.errors import GVEngineError, RuleError, ScenarioError
from gv_engine.scenario.documents.loading import load_scenario, make_reference
from gv_engine.scenario.domains import get_plugin
from gv_engine.scenario.library import GALLERY
from gv_engine.scenario.storage.resources import SCENARIOS
from gv_engine.world.simulation import DISABLED, KEEP, NEXT_STEP
from tests import DATA, ROOT
from tests.fuzz.mutations import NUMBERS, TEXTS, Trees, as_json, damaged, edited
from tests.learning.drawn import drawn

Case = dict[str, bytes]

_LARGEST_PLAYED = 600
"""Entities of a world, and cells of a view, that are played."""
_MOST_STEPS = 300
"""Of a replay that is played."""
_STARTER = Path(gv_engine.__file__).parent / "cli" / "starter"
_YAML_BLOCK = re.compile(r"^```yaml.*?\n(.*?)^```", re.DOTALL | re.MULTILINE)
_KEYDOOR = load_scenario("keydoor-5x5")
_SMALL = "keydoor-5x5", "empty-4x4", "dynamic-obstacles-5x5", "teleport-5x5"
_OF_ROWS = (
    *("keydoor-5x5", "MiniGrid-Dynamic-Obstacles-5x5-v0", "hold-plates", "medley-7x7"),
    *("teleport-5x5", "boxes", "fetch", "sokoban", "hand-over", "shutters", "memory-5x5"),
)
"""Levels whose rows are damaged: several agents, a ground, a mixture, missions, boxes, states."""
_ROWS = 12
_STEPS_OF_ROWS = 10


class Kind(NamedTuple):
    """One kind of case.

    Attributes:
        make: a case out of a generator.
        main: the file of a case that is changed, and that messages name.
        run: lets the engine read the files of a folder; returns what it said, if anything.
        allowed: errors that are documented.
    """

    make: Callable[[Random], Case]
    main: str
    run: Callable[[Path], str | None]
    allowed: tuple[type[Exception], ...]


# ---- scenarios -----------------------------------------------------------------------------------


_KEYS: tuple[dict[str, Any], ...] = (
    {"time": {"beat": 6}},
    {"time": {"beat": 6}, "action_space": ["MOVE_FORWARD", "TURN_LEFT", "NOOP"]},
    {"settle": ["move_obstacles"]},
    {"layers": ["ground", "item", "body"]},
    {"layers": ["ground", "item", "fog", "body"], "objects": {"Gem": {"layer": "item"}}},
    {
        "layers": ["ground", "item", "body"],
        "objects": {"Gem": {"layer": "item"}, "Moss": {"layer": "ground"}},
        "legend": {".": {"between": "Gem", "ground": "Moss"}, "g": {"between": ["Gem", "Gem"]}},
    },
    {"settle": [{"name": "spread", "object_type": "Coin", "chance": 0.5}]},
)
"""Keys that few files have."""


class Scenarios:
    """Scenario files: those that come with the engine, the starter's, and those in the docs."""

    def __init__(self) -> None:
        files = [*sorted(SCENARIOS.rglob("*.yaml")), _STARTER / "scenario.yaml"]
        pages = [page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("*.md"))]
        self._texts = [file.read_text("utf-8") for file in files]
        self._texts += [block for page in pages for block in _YAML_BLOCK.findall(page)]
        self._trees = Trees([yaml.load(text, yaml.CSafeLoader) for text in self._texts])
        self._rules = (_STARTER / "rules.py").read_bytes()

    def make(self, rng: Random) -> Case:
        how = rng.random()
        if how < 0.5:
            tree = rng.choice(self._trees.trees)
            if rng.random() < 0.2 and isinstance(tree, dict):
                tree = {**tree, **rng.choice(_KEYS)}
            tree = self._trees.changed(rng, tree)
            text = as_json(tree).encode("utf-8", "replace")
        elif how < 0.9:
            text = edited(rng, rng.choice(self._texts)).encode("utf-8", "replace")
        else:
            text = damaged(rng, rng.choice(self._texts).encode())
        return {"level.yaml": text, "rules.py": self._rules}

    @staticmethod
    def run(folder: Path) -> None:
        scenario: Any = load_scenario(folder / "level.yaml")
        if scenario.domain == "grid":
            height, width = scenario.area.shape
            if max(scenario.layout.capacity, height * width) > _LARGEST_PLAYED:
                return
            env = get_plugin(scenario).make_env(scenario, world="object")
        else:
            env = get_plugin(scenario).make_env(scenario)
        play(env)


def play(env: gymnasium.Env[Any, Any], steps: int = 2) -> None:
    """A few steps."""
    _, info = env.reset(seed=0)
    for _ in range(steps):
        mask = np.asarray(info["action_mask"])
        _, _, terminated, truncated, info = env.step(int(mask.argmax()))
        if terminated or truncated:
            return


# ---- PuzzleScript --------------------------------------------------------------------------------


class Sources:
    """Sources of PuzzleScript games: our own, and lines of one in another."""

    def __init__(self) -> None:
        files = [*sorted((DATA / "puzzlescript").glob("*.txt")), *sorted(GALLERY.glob("*.txt"))]
        self._texts = [file.read_text("utf-8") for file in files]
        lines = [line for text in self._texts for line in text.splitlines()]
        self._words = [*{*lines}, "random", "rigid [ > Player ] -> [ > Player ]", "+ [] -> []"]

    def make(self, rng: Random) -> Case:
        text, how = rng.choice(self._texts), rng.random()
        if how < 0.4:
            text = edited(rng, text)
        elif how < 0.8:
            lines = text.splitlines()
            for _ in range(rng.choice((1, 1, 2, 4))):
                at = rng.randrange(len(lines))
                lines[at : at + rng.randrange(2)] = [rng.choice(self._words)]
            text = "\n".join(lines)
        raw = text.encode("utf-8", "replace")
        return {"level.txt": raw if how < 0.8 else damaged(rng, raw)}

    @staticmethod
    def run(folder: Path) -> None:
        scenario: Any = load_scenario(folder / "level.txt")
        if scenario.layout.capacity <= _LARGEST_PLAYED:
            play(get_plugin(scenario).make_env(scenario, world="object"))


# ---- packs ---------------------------------------------------------------------------------------


class Packs:
    """A map of Tiled, its tileset and two files of Sokoban levels, one of which is damaged."""

    def __init__(self) -> None:
        sizes = "width", "height", "firstgid", "id", "name", "value", "class", "encoding", "version"
        moves = "offsetx", "offsety", "x", "y", "gid", "tilewidth", "tileheight", "opacity"
        self._words = (*sizes, *moves, "source", "compression", "visible", "infinite", "type")
        self._packings: Any = {"zlib": zlib.compress, "gzip": gzip.compress}
        rules = {"extends": "sokoban", "levels": ["a.tmx", "b.xsb", "c.slc"]}
        self._rules = json.dumps(rules).encode()

    def make(self, rng: Random) -> Case:
        numbers = np.array([rng.choice((0, 1, 2, 2**31 + 1)) for _ in range(12)], "<u4")
        numbers[5] = 3
        packing = rng.choice(("csv", "zlib", "gzip"))
        data = f'<data encoding="csv">{",".join(map(str, numbers.tolist()))}</data>'
        if packing != "csv":
            raw = self._packings[packing](numbers.tobytes() * rng.choice((1,) * 9 + (100_000,)))
            text = base64.b64encode(damaged(rng, raw) if rng.random() < 0.3 else raw).decode()
            data = f'<data encoding="base64" compression="{packing}">{text}</data>'
        case = {
            "level.yaml": self._rules,
            "a.tmx": _TMX.replace("DATA", data).encode(),
            "a.tsx": _TSX.encode(),
            "b.xsb": rng.choice(_XSB),
            "c.slc": _SLC,
        }
        name = rng.choice(("a.tmx", "a.tmx", "a.tsx", "b.xsb", "b.xsb", "c.slc"))
        how = rng.random()
        if how < 0.4:
            word, value = rng.choice(self._words), str(rng.choice((*NUMBERS, *TEXTS)))
            told = re.sub(rf'{word}="[^"]*"', lambda _: f'{word}="{value}"', case[name].decode())
            case[name] = told.encode("utf-8", "replace")
        elif how < 0.7:
            case[name] = edited(rng, case[name].decode()).encode("utf-8", "replace")
        else:
            case[name] = damaged(rng, case[name])
        return case


_TMX = """<?xml version="1.0" encoding="UTF-8"?>
<map version="1.10" width="4" height="3" tilewidth="8" tileheight="8" infinite="0">
<properties><property name="title" value="Drawn"/></properties>
<tileset firstgid="1" source="a.tsx"/>
<group id="3" offsetx="8" offsety="0"><layer id="1" name="floor" width="4" height="3" offsetx="-8"
visible="1" opacity="1">
DATA
</layer></group>
<objectgroup id="4"><object id="1" gid="1" x="16" y="16" width="8" height="8"/></objectgroup>
</map>
"""
_TSX = """<?xml version="1.0" encoding="UTF-8"?>
<tileset version="1.10" name="things" tilewidth="8" tileheight="8">
<tile id="0" class="Wall"/>
<tile id="1" type="Key"><properties><property name="color" value="RED"/></properties></tile>
<tile id="2"><properties><property name="agent" type="string">RIGHT</property></properties></tile>
</tileset>
"""
_XSB = (
    b"Title: Small\n####\n#@$.#\n#  ##\nSolution: R\n\n4#|#@-.#|5#\n",
    b"Author: A\n\n; One\n####\n#@$.#\n#  ##\n\n; Two\n *\n####\n#@ #\n"
    b"Comment:\n##\nComment-End:\n",
    b"#1\n####\n#@$.#\n#  ##\nTitle: One\nSolution: 2r\nR\n\n#2\n#####\r\n#@.$#\r\n",
)
_SLC = b"""<SokobanLevels><LevelCollection Copyright="A"><Level Id="1"><L>####</L><L>#@$.#</L>
</Level></LevelCollection></SokobanLevels>"""


# ---- replays -------------------------------------------------------------------------------------


class Replays:
    """Replays, some of them sealed again after they were changed."""

    def __init__(self) -> None:
        self._known = {name: load_playable(name) for name in _SMALL}
        self._replays = []
        for scenario in self._known.values():
            game = Session(scenario, seed=1)
            for number in range(6):
                game.step(("TURN_LEFT", "MOVE_FORWARD", "ACTUATE")[number % 3])
            self._replays.append(game.replay().to_bytes())
        self._trees = Trees([json.loads(data) for data in self._replays])

    def make(self, rng: Random) -> Case:
        if rng.random() < 0.3:
            return {"a.gvreplay": damaged(rng, rng.choice(self._replays))}
        tree = self._trees.changed(rng, rng.choice(self._trees.trees))
        text = as_json(tree)
        if rng.random() < 0.2:
            text = edited(rng, text)
        return {"a.gvreplay": _close_with_checksum(text.encode("utf-8", "replace"))}

    def run(self, folder: Path) -> None:
        replay = Replay.load(folder / "a.gvreplay")
        if len(replay.steps) <= _MOST_STEPS:
            try:
                Session.from_replay(replay, replay.find(self._known.values()))
            except ReplayError as error:  # the command and the window put the file before it
                raise ReplayError(f"{folder / 'a.gvreplay'}: {error}") from None


# ---- snapshots -----------------------------------------------------------------------------------


class Snapshots:
    """Snapshots: damaged archives, and whole ones of damaged worlds or of other scenarios."""

    def __init__(self, folder: Path) -> None:
        self._files = []
        self._parts = []
        for name in _SMALL:
            envs = GridVectorEnv(name, 2, world="object")
            envs.reset(seed=0)
            file = folder / "made.npz"
            snapshots.save(file, envs.scenario, envs.snapshot())
            self._files.append(file.read_bytes())
            with np.load(file) as found:
                self._parts.append((found["rows"], json.loads(found["scenario"].item())))
            file.unlink()
        self._trees = Trees([known for _, known in self._parts])

    def make(self, rng: Random) -> Case:
        how = rng.random()
        if how < 0.35:
            return {"a.npz": damaged(rng, rng.choice(self._files))}
        rows, known = rng.choice(self._parts)
        about = json.dumps(known)
        members = {}
        if how < 0.55:
            about = as_json(self._trees.changed(rng, known))
        elif how < 0.85:
            raw = bytearray(rows.tobytes())
            for _ in range(rng.choice((1, 1, 2, 8, 200))):
                raw[rng.randrange(len(raw))] = rng.choice((0, 1, 2, 127, 255, rng.randrange(256)))
            rows = np.frombuffer(bytes(raw), rows.dtype)
        else:
            shape = rng.choice(("(2,)", "()", "(2, 1)", "(-1,)", "(99999999999,)", "(0,)", "None"))
            head = edited(rng, str({"descr": rows.dtype.descr, "fortran_order": False}))
            text = head.rstrip("}") + f", 'shape': {shape}}}\n"
            size = len(text.encode()).to_bytes(2, "little") if len(text) < 2**16 else b"\xff\xff"
            members["rows.npy"] = b"\x93NUMPY\x01\x00" + size + text.encode() + rows.tobytes()
        about_array = np.array(about)
        if rng.random() < 0.1:
            about_array = np.array([about, 1.5, 7][rng.randrange(3) :][:1])
        members = {"rows.npy": _npy(rows), "scenario.npy": _npy(about_array), **members}
        method = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2))
        return {"a.npz": as_zip(members, method)}

    @staticmethod
    def run(folder: Path) -> None:
        scenario, rows = snapshots.load(folder / "a.npz")
        if len(rows) and scenario.layout.capacity <= _LARGEST_PLAYED:
            env = GridEnv(scenario, world="object")
            try:
                env.restore(rows[0:1].reshape(()))
                for action in (0, len(scenario.actions) - 1):
                    env.step(action)
            except (RuleError, ValueError):
                pass  # a rule that is not defined on such a world, which need not name the file


def _npy(array: Any) -> bytes:
    found = io.BytesIO()
    np.lib.format.write_array(found, array, allow_pickle=False)
    return found.getvalue()


def as_npz(**arrays: Any) -> bytes:
    """The archive of arrays that NumPy writes."""
    found = io.BytesIO()
    np.savez(found, **arrays)
    return found.getvalue()


def as_zip(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of files, without those whose names archives cannot hold."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", method) as archive:
        for name, data in members.items():
            with suppress(UnicodeEncodeError, ValueError):
                archive.writestr(name, data)
    return found.getvalue()


# ---- rows ----------------------------------------------------------------------------------------


class Rows:
    """Snapshots of damaged rows: refused, or played the same in both worlds."""

    def __init__(self, levels: int) -> None:
        self._levels = _OF_ROWS[:levels]
        self._known: dict[str, tuple[Any, list[Backend]]] = {}

    def _level(self, name: str) -> tuple[Any, list[Backend]]:
        """Rows of a level, and worlds of it of either kind; it is compiled when it is asked for."""
        if name not in self._known:
            scenario: Any = load_scenario(name)
            pair = [make_batch(scenario, _ROWS, world) for world in ("object", "compiled")]
            played, agents, chance = pair[0], scenario.layout.agents, np.random.default_rng(0)
            for i in range(_ROWS):
                played.set_generator(i, np.random.default_rng(i))
            played.reset(np.ones(_ROWS, np.bool_))
            for step in range(_ROWS):  # each world one step more than the last
                actions = chance.integers(0, len(scenario.actions), (_ROWS, agents))
                actions[:step] = KEEP
                played.step(actions.ravel(), NEXT_STEP)
            rows = played.snapshot(np.arange(_ROWS))
            self._known[name] = rows, [make_batch(scenario, 1, each.world) for each in pair]
        return self._known[name]

    def make(self, rng: Random) -> Case:
        name = rng.choice(self._levels)
        rows, (worlds, _) = self._level(name)
        row = rows[rng.randrange(_ROWS) :][:1].copy()
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            if rng.random() < 0.2:
                raw = bytearray(row.tobytes())
                raw[rng.randrange(len(raw))] = rng.choice((0, 1, 2, 127, 255, rng.randrange(256)))
                row = np.frombuffer(raw, row.dtype).copy()
            else:
                before = row.tobytes()
                while row.tobytes() == before:
                    _change_row(rng, row)
        about = np.array(json.dumps(make_reference(worlds.scenario)))
        return {"a.npz": as_npz(rows=row, scenario=about)}

    def run(self, folder: Path) -> None:
        scenario, rows = snapshots.load(folder / "a.npz")
        pair = self._level(scenario.name)[1]
        for worlds in pair:  # what a rule that gave up left of the last case
            for array in vars(worlds.outputs).values():
                array[...] = 0
        chance = np.random.default_rng(0)
        for step in range(_STEPS_OF_ROWS):
            actions = chance.integers(0, len(scenario.actions), scenario.layout.agents)
            told = []
            for worlds in pair:
                try:
                    if step:
                        worlds.step(actions, DISABLED)
                    else:
                        worlds.restore(0, rows[0:1].reshape(()))
                    told.append([*map(np.copy, vars(worlds.outputs).values())])
                except RuleError:
                    told.append([])
            if not told[0] and not told[1]:
                return
            assert same_arrays(*told), f"step {step} shows something else"
            try:
                after = [[*_columns(worlds.snapshot(0))] for worlds in pair]
            except RuleError:
                return  # what a column cannot hold, and objects can
            assert same_arrays(*after), f"step {step} leaves something else"


def _change_row(rng: Random, row: Any) -> None:
    """Change a value of any column of a row: to any other, to one beside it, or both of these."""
    column = rng.choice([*_columns(row)])
    values = column.reshape(-1)
    assert np.shares_memory(values, row)
    at, other = rng.randrange(values.size), rng.randrange(values.size)
    match rng.randrange(4):
        case 0:
            values[[at, other]] = values[[other, at]]
        case 1:
            values[at] = values[other]
        case 2 if values.dtype.kind in "iu":
            size = 2 ** (8 * values.itemsize)
            value = (int(values[at]) + rng.choice((1, -1, 2, size // 2))) % size
            values[at] = np.array(value, f"u{values.itemsize}").view(values.dtype)
        case _:
            values[at] = rng.choice((0, 1, 2, 3, 5, 9, 100, 127))


def _columns(record: Any) -> Iterator[Any]:
    """The arrays of a record, those of records inside it too."""
    for name in record.dtype.names:
        if record.dtype[name].names:
            yield from _columns(record[name])
        else:
            yield record[name]


def same_arrays(some: list[Any], others: list[Any]) -> bool:
    """Whether there are equal ones, where no number equals no number."""
    return len(some) == len(others) and all(
        np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        for one, other in zip(some, others, strict=True)
    )


# ---- rollouts ------------------------------------------------------------------------------------


def rollout_files(out: Path, episodes: int) -> Case:
    """Make a rollout in a folder; return its files."""
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    written = EpisodeFolder(out, env, {"seed": 0, "policy": "random"})
    policy = load_policy("random", 1, len(env.scenario.actions))
    for episode in rollout(env, policy, episodes, 0, keep_steps=True):
        written.append(episode)
    written.close(complete=True)
    return {file.name: file.read_bytes() for file in sorted(out.iterdir())}


class Rollouts:
    """Folders of rollouts in which one file is damaged, or missing."""

    def __init__(self, folder: Path) -> None:
        self._files = rollout_files(folder / "made", 3)
        shutil.rmtree(folder / "made")
        self._trees = Trees([json.loads(self._files["rollout.json"])])

    def make(self, rng: Random) -> Case:
        case = dict(self._files)
        name = rng.choice([*case, *["rollout.json"] * len(case)])
        if rng.random() < 0.05:
            del case[name]
        elif name == "rollout.json" and rng.random() < 0.6:
            case[name] = as_json(self._trees.changed(rng, self._trees.trees[0])).encode()
        else:
            case[name] = damaged(rng, case[name])
        return case

    @staticmethod
    def run(folder: Path) -> None:
        arrays, about = episode_folder.read(folder)
        for name, array in arrays.items():
            rows = about["episodes" if name.startswith(("episode_", "last_")) else "steps"]
            assert len(array) == rows, name
            np.asarray(array).sum()


# ---- policies ------------------------------------------------------------------------------------


class Policies:
    """What a run has learned, damaged."""

    def __init__(self, folder: Path) -> None:
        run = folder / "drawn"
        drawn(run, memory=True)
        self._whole = (run / POLICY_FILE).read_bytes()
        shutil.rmtree(run)

    def make(self, rng: Random) -> Case:
        return {POLICY_FILE: damaged(rng, self._whole)}

    @staticmethod
    def run(folder: Path) -> None:
        load_policy(str(folder), 1, 8, scenario=_KEYDOOR)


# ---- settings and keys ---------------------------------------------------------------------------


class Preferences:
    """Settings, and keys, that are read, or said to be wrong."""

    def __init__(self) -> None:
        settings = Settings(recent=["empty-4x4", "/a/b.yaml"], window=[800, 600])
        self._trees = Trees([vars(settings)])
        self._keys = keys_as_toml(Bindings())

    def make(self, rng: Random) -> Case:
        tree = self._trees.changed(rng, self._trees.trees[0])
        lines = [f"{key} = {as_json(value)}" for key, value in tree.items()] if tree else []
        settings = "\n".join(lines)
        if rng.random() < 0.5:
            settings = edited(rng, settings)
        keys = edited(rng, self._keys).encode("utf-8", "replace")
        if rng.random() < 0.3:
            keys = damaged(rng, keys)
        return {"settings.toml": settings.encode("utf-8", "replace"), "keys.toml": keys}

    @staticmethod
    def run(folder: Path) -> str:
        settings, wrong = Settings.load(folder / "settings.toml")
        settings.save(folder / "settings.toml")
        again, wrong_again = Settings.load(folder / "settings.toml")
        assert (again, wrong_again) == (settings, ""), wrong_again
        (folder / "settings.toml.bad").unlink(missing_ok=True)
        _, wrong_keys = Bindings.load(folder / "keys.toml")
        for said, name in ((wrong, "settings.toml"), (wrong_keys, "keys.toml")):
            assert not said or str(folder / name) in said, said
        return max(wrong, wrong_keys, key=len)


# ---- actions -------------------------------------------------------------------------------------


class Actions:
    """Values given to an environment for an action, alone and for several worlds."""

    def __init__(self) -> None:
        self._one = GridEnv("empty-4x4", world="object")
        self._one.reset(seed=0)
        self._many = GridVectorEnv("empty-4x4", 3, world="object")
        self._many.reset(seed=0)

    def make(self, rng: Random) -> Case:
        text = f"({rng.choice(('one', 'many'))!r}, {_value(rng)})"
        return {"action.txt": text.encode("utf-8", "replace")}

    def run(self, folder: Path) -> str | None:
        text = (folder / "action.txt").read_text("utf-8")
        try:
            which, action = eval(text, {"np": np})
        except Exception:
            return None  # NumPy has no such array
        env: Any = {"one": self._one, "many": self._many}[which]
        try:
            env.step(action)
        except ValueError as error:
            return str(error)
        return None


def _value(rng: Random, depth: int = 0) -> str:
    """An expression, of numbers most often."""
    size = rng.choice((1, 2, 3, 3, 3, 4))
    match rng.randrange(8 if depth < 3 else 4):
        case 0:
            return str(rng.randrange(-1, 8))
        case 1:
            return f"float({str(rng.choice(NUMBERS))!r})"
        case 2:
            return repr(rng.choice(TEXTS)[:20])
        case 3:
            return rng.choice(("None", "True", "[]", "object()", "b'a'", "1j", "{}", "10**400"))
        case 4:
            return f"[{', '.join(_value(rng, depth + 1) for _ in range(size))}]"
        case 5:
            numbers = [rng.randrange(-1, 7) for _ in range(size)]
            dtype = rng.choice(("i8", "u1", "f4", "f8", "O", "U3", "?", "c16", "i8,i8", "M8[s]"))
            shape = rng.choice(("", ".reshape(-1, 1)", "[::-1]", "[0]", "[None]", "[:0]"))
            return f"np.array({numbers}).astype({dtype!r}){shape}"
        case 6:
            return f"({_value(rng, depth + 1)},) * {size}"
        case _:
            shapes = ((3,), (3, 3), (0,), (1000,))
            return f"np.full({rng.choice(shapes)}, {rng.choice(NUMBERS[:12])})"


def kinds(folder: Path, levels: int) -> dict[str, Kind]:
    """All kinds of cases, by name.

    Args:
        folder: for what they are made of.
        levels: how many are compiled for damaged rows.
    """
    scenarios, replays, rollouts = Scenarios(), Replays(), Rollouts(folder)
    saved, learned = Snapshots(folder), Policies(folder)
    chosen, actions, packs, sources = Preferences(), Actions(), Packs(), Sources()
    rows = Rows(levels)
    grids = ScenarioError, RuleError, GVEngineError
    of_torch: dict[str, Kind] = {}
    if find_spec("torch"):
        from tests.fuzz.checkpoints import CHECKPOINT, Checkpoints

        trained = Checkpoints(folder)
        of_torch["checkpoints"] = Kind(trained.make, CHECKPOINT, trained.run, (RunError,))
    return {
        **of_torch,
        "scenarios": Kind(scenarios.make, "level.yaml", scenarios.run, grids),
        "puzzlescript": Kind(sources.make, "level.txt", sources.run, grids),
        "packs": Kind(packs.make, "level.yaml", scenarios.run, grids),
        "replays": Kind(replays.make, "a.gvreplay", replays.run, (ReplayError, OSError)),
        "snapshots": Kind(saved.make, "a.npz", saved.run, (SnapshotError, ScenarioError)),
        "rows": Kind(rows.make, "a.npz", rows.run, (SnapshotError,)),
        "rollouts": Kind(rollouts.make, "rollout.json", rollouts.run, (RolloutError,)),
        "policies": Kind(learned.make, POLICY_FILE, learned.run, (RunError,)),
        "settings": Kind(chosen.make, "settings.toml", chosen.run, ()),
        "actions": Kind(actions.make, "action.txt", actions.run, ()),
    }
