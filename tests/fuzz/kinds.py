"""What is fuzzed: how a case of each kind is made, and what the engine is asked to do with it.

A case is files by name. Scenarios are played a few steps over objects, if they are small enough
for that to be quick; nothing is compiled.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import yaml

import gv_engine
from gv_engine import GridEnv, GridVectorEnv
from gv_engine.frontend.controls.bindings import Bindings
from gv_engine.frontend.controls.bindings import as_toml as keys_as_toml
from gv_engine.frontend.controls.settings import Settings
from gv_engine.language.errors import GVEngineError, RuleError, ScenarioError
from gv_engine.learning.policy_file import POLICY_FILE, RunError
from gv_engine.playing.catalogue import load_playable as load_playable
from gv_engine.playing.game import Game
from gv_engine.playing.replay import Replay, ReplayError, _sealed
from gv_engine.reading.families import hooks_of
from gv_engine.reading.loading import load_scenario
from gv_engine.reading.resources import SCENARIOS
from gv_engine.rollouts import episode_folder, snapshots
from gv_engine.rollouts.episode_folder import EpisodeFolder, RolloutError
from gv_engine.rollouts.policy import load_policy
from gv_engine.rollouts.rollout import rollout
from gv_engine.rollouts.snapshots import SnapshotError
from tests import ROOT
from tests.fuzz.mutations import NUMBERS, TEXTS, Trees, as_json, damaged, edited
from tests.learning.drawn import drawn

Case = dict[str, bytes]

_LARGEST_PLAYED = 600
"""Entities of a world, and cells of a view, that are played."""
_MOST_STEPS = 300
"""Of a replay that is played."""
_STARTER = Path(gv_engine.__file__).parent / "commands" / "starter"
_YAML_BLOCK = re.compile(r"^```yaml.*?\n(.*?)^```", re.DOTALL | re.MULTILINE)
_KEYDOOR = load_scenario("keydoor-5x5")
_SMALL = "keydoor-5x5", "empty-4x4", "dynamic-obstacles-5x5", "teleport-5x5"


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
            tree = self._trees.changed(rng, rng.choice(self._trees.trees))
            text = as_json(tree).encode("utf-8", "replace")
        elif how < 0.9:
            text = edited(rng, rng.choice(self._texts)).encode("utf-8", "replace")
        else:
            text = damaged(rng, rng.choice(self._texts).encode())
        return {"level.yaml": text, "rules.py": self._rules}

    @staticmethod
    def run(folder: Path) -> None:
        scenario: Any = load_scenario(folder / "level.yaml")
        if scenario.family == "grid":
            height, width = scenario.area.shape
            if max(scenario.layout.capacity, height * width) > _LARGEST_PLAYED:
                return
            env = hooks_of(scenario).make_env(scenario, world="object")
        else:
            env = hooks_of(scenario).make_env(scenario)
        play(env)


def play(env: gymnasium.Env[Any, Any], steps: int = 2) -> None:
    """A few steps."""
    _, info = env.reset(seed=0)
    for _ in range(steps):
        mask = np.asarray(info["action_mask"])
        _, _, terminated, truncated, info = env.step(int(mask.argmax()))
        if terminated or truncated:
            return


# ---- replays -------------------------------------------------------------------------------------


class Replays:
    """Replays, some of them sealed again after they were changed."""

    def __init__(self) -> None:
        self._known = {name: load_playable(name) for name in _SMALL}
        self._replays = []
        for scenario in self._known.values():
            game = Game(scenario, seed=1)
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
        return {"a.gvreplay": _sealed(text.encode("utf-8", "replace"))}

    def run(self, folder: Path) -> None:
        replay = Replay.load(folder / "a.gvreplay")
        if len(replay.steps) <= _MOST_STEPS:
            try:
                Game.of(replay, replay.find(self._known.values()))
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
        packed = io.BytesIO()
        kind = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2))
        with zipfile.ZipFile(packed, "w", kind) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return {"a.npz": packed.getvalue()}

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


# ---- rollouts ------------------------------------------------------------------------------------


class Rollouts:
    """Folders of rollouts in which one file is damaged, or missing."""

    def __init__(self, folder: Path) -> None:
        env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
        out = folder / "made"
        written = EpisodeFolder(out, env, {"seed": 0})
        policy = load_policy("random", 1, len(env.scenario.actions))
        for episode in rollout(env, policy, 3, 0, keep=True):
            written.append(episode)
        written.close(complete=True)
        self._files: Mapping[str, bytes] = {
            file.name: file.read_bytes() for file in sorted(out.iterdir())
        }
        for file in sorted(out.iterdir()):
            file.unlink()
        out.rmdir()
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
        return {"action.txt": self._expression(rng).encode("utf-8", "replace")}

    def _expression(self, rng: Random) -> str:
        return f"({rng.choice(('one', 'many'))!r}, {_value(rng)})"

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


def kinds(folder: Path) -> dict[str, Kind]:
    """All kinds of cases, by name; the folder is for what they are made of."""
    scenarios, replays, rollouts = Scenarios(), Replays(), Rollouts(folder)
    saved, learned = Snapshots(folder), Policies(folder)
    chosen, actions = Preferences(), Actions()
    grids = ScenarioError, RuleError, GVEngineError
    return {
        "scenarios": Kind(scenarios.make, "level.yaml", scenarios.run, grids),
        "replays": Kind(replays.make, "a.gvreplay", replays.run, (ReplayError, OSError)),
        "snapshots": Kind(saved.make, "a.npz", saved.run, (SnapshotError, ScenarioError)),
        "rollouts": Kind(rollouts.make, "rollout.json", rollouts.run, (RolloutError,)),
        "policies": Kind(learned.make, POLICY_FILE, learned.run, (RunError,)),
        "settings": Kind(chosen.make, "settings.toml", chosen.run, ()),
        "actions": Kind(actions.make, "action.txt", actions.run, ()),
    }
