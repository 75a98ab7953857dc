"""Hostile values in all that becomes a path, a module, a command, a format or text on a screen.

A case is what somebody could send: a line, a replay, a snapshot, a pack, an entry, a dataset, a
policy, a rollout or a set of levels. It is opened by what users call, with a terminal for output.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import yaml

from gv_engine import GridVectorEnv
from gv_engine.cli import main
from gv_engine.cli.options import complain, progress, say
from gv_engine.envs.level_sets import level_set
from gv_engine.envs.rollout import snapshots
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.policy_file import POLICY_FILE
from gv_engine.play.session.catalogue import Entry, load_playable
from gv_engine.play.session.replay import LINE_BEGINS, _close_with_checksum
from gv_engine.play.session.rollout_games import RolloutSessions
from gv_engine.play.session.session import Session
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.settings import Settings, new_file, recording_folder
from gv_engine.play.ui.window.app import App
from gv_engine.plugins.adapters.extras import MINARI
from gv_engine.plugins.learning.benchmark.entry import TESTED, all_scenarios
from gv_engine.rules.errors import GVEngineError, escape_unprintable
from gv_engine.scenario.documents.document import read_text
from gv_engine.scenario.documents.loading import get_domain, load_scenario, make_reference
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.readers.map import frame_to_text
from tests.fuzz.kinds import Case, Kind, _npy, as_npz, as_zip, rollout_files
from tests.fuzz.mutations import places
from tests.learning.drawn import drawn

OUT = "out"
"""The folder of a case that the engine may write to."""
_SMALL = "keydoor-5x5"
_COLORED = re.compile(r"\x1b\[[0-9;]*m")


def hostile_values(outside: Path) -> tuple[str, ...]:
    """Return texts that do harm where they are believed.

    Args:
        outside: a folder with files that nobody may touch.
    """
    return (
        *(str(outside), str(outside / "victim"), str(outside / "victim" / "scenario.yaml")),
        *(f"{outside}/rules.py:rule", f"../../{outside.name}/victim", "../rules", "a/../../b"),
        *("..", ".", "/", "//", "~", "~/x", "./x", "C:\\x", "\\\\host\\share\\x", "x:y"),
        *("file:///x", "CON", "nul.yaml", "aux", "COM1", "LPT9.txt", "x.", "x ", " x", "-rf"),
        *("\0", "a\0b", f"{outside}\0", "\ud800", "a\udfffb", "\udc80", "\ud83d\ude00", "ü" * 300),
        *("x" * 300, "x" * 5000, "../" * 500, "9" * 5000, f"{_SMALL}#{'9' * 5000}", "sokoban#0"),
        *("{", "}", "{0}", "{}", "{x.__class__}", "{task.fields}", "{self.__init__.__globals__}"),
        *("%s", "%n%n", "%(x)s", "{0!r:>99999999}", "$(id)", "`id`", "; id", "| id", "&& id"),
        *("'\"", "\x1b[2J", "\x1b]0;x\x07", "\x1b[31mred", "\x9b2J", "\x08\x08", "\r", "a\nb"),
        *("\t", "\x7f", "\u202eabc", "\u2066", "\u2028", "[/]", "[bold]", "[/nothing]"),
        *("[link=file:///x]y[/link]", "<script>x</script>", "<img src=x onerror=y>", "--policy"),
        *("](javascript:x)", "|x|", "---", "```", "os:system", "os:_exit", "builtins:exec"),
        *("builtins:eval", "subprocess:run", "posix:system", "tests.canary:canary", "this:s"),
        *("./rules.py:rule", "../outside.py:rule", "antigravity:x", "__import__('os')"),
        *("cos\nsystem\n(S'id'\ntR.", "!!python/object/apply:os.system [id]"),
        *("", "None", "nan", "1e999", "0x1", "2026-01-01", "*", "**/*", "[!a]"),
    )


class Values:
    """Puts hostile values into trees, and into texts of scenarios."""

    def __init__(self, outside: Path) -> None:
        self.texts = hostile_values(outside)

    def text(self, rng: Random) -> str:
        """Return one of them, sometimes within other text."""
        found = rng.choice(self.texts)
        if rng.random() < 0.8:
            return found
        return rng.choice((f"a{found}", f"{found}.npz", f"x-{found}"))

    def into(self, rng: Random, tree: Any, *fields: str) -> Any:
        """Return a copy of a tree with such texts in one to three places.

        Args:
            fields: names of keys that are chosen more often.
        """
        tree = json.loads(json.dumps(tree))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            found = [(node, key) for node, key in places(tree) if isinstance(node, dict)]
            named = [(node, key) for node, key in found if key in fields]
            node, key = rng.choice(named if named and rng.random() < 0.8 else found)
            if rng.random() < 0.1:
                node[self.text(rng)] = node.pop(key)
            else:
                node[key] = self.text(rng) if rng.random() < 0.9 else [self.text(rng)]
        return tree

    def scenario(self, rng: Random) -> dict[str, Any]:
        """Return what a scenario file says, with such texts where texts are read."""
        found: dict[str, Any] = {"extends": "lava", "map": ">..E"}
        if rng.random() < 0.4:
            del found["map"]
            found["levels"] = [{"map": ">.E", "title": "One", "author": "A"}, {"map": ">..E"}]
        say = self.text
        texts = "name", "description", "extends", "domain", "view"

        def levels() -> Any:
            return rng.choice((say(rng), [say(rng)], [{"map": ">E", "title": say(rng)}]))

        for _ in range(rng.choice((1, 1, 2, 3))):
            changes: dict[str, Callable[[], Any]] = {
                **dict.fromkeys(texts, lambda: say(rng)),
                "levels": levels,
                "mixture": lambda: [say(rng), {"scenario": say(rng)}],
                "objects": lambda: {rng.choice(("Gate", say(rng))): {"sprite": say(rng)}},
                "mission": lambda: {"text": say(rng), "object": rng.choice(("Key", say(rng)))},
                "reward_functions": lambda: [say(rng), {"name": say(rng), "object": say(rng)}],
                "transition_functions": lambda: [say(rng)],
                "parameters": lambda: {say(rng): {"default": say(rng)}},
                "variants": lambda: {say(rng): {"name": say(rng)}},
                "legend": lambda: {"K": {"object": say(rng), "color": say(rng)}},
            }
            key = rng.choice(list(changes))
            found[key] = changes[key]()
            if key in ("levels", "mixture"):
                found.pop("map", None)
        return found


class _Terminal(StringIO):
    """Output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def _heard(here: Path) -> Iterator[_Terminal]:
    """Collect what is printed, and see that a terminal takes it for text.

    Documented errors are printed as the command line prints them.
    """
    out = _Terminal()
    (here / OUT).mkdir()
    folders = {f"XDG_{kind}_HOME": str(here / OUT) for kind in ("CONFIG", "DATA", "CACHE")}
    before, os.environ["TERM"] = dict(os.environ), "dumb"
    os.environ |= folders
    try:
        warned = warnings.catch_warnings(record=True)
        with redirect_stdout(out), redirect_stderr(out), warned as told:
            warnings.simplefilter("always")
            try:
                yield out
            except (GVEngineError, OSError) as error:
                complain(error)
        said = "\n".join((out.getvalue(), *(str(warning.message) for warning in told)))
        said = _COLORED.sub("", said)
        escaped = escape_unprintable(said)
        assert escaped == said, f"printed as it is: {escaped[:500]}"
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(here / OUT)


def _command(*words: object) -> None:
    """Run a command, which may refuse."""
    with suppress(SystemExit):
        assert main([str(word) for word in words]) in (0, 1, 2)


# ---- lines and replays ---------------------------------------------------------------------------


class _NoWindow(App):
    """The app, which keeps what is played in place of showing it."""

    def play_session(self, game: Session) -> None:
        self.add_recent(game.scenario)
        game.replay().save(new_file(recording_folder(), game, ".gvreplay"))
        frame: Any = game.frame()
        say(f"{game.title} {game.scenario.description} {frame_to_text(frame)}")


_IDENTITY = "digest", "name", "text", "domain", "variant", "settings", "engine"


class Replays:
    """Replays of built-in levels, and of what nobody knows, whose digests may be right."""

    def __init__(self, values: Values, here: Path) -> None:
        self._values, self._here = values, here
        game = Session(load_playable(_SMALL), seed=1)
        for action in ("TURN_LEFT", "MOVE_FORWARD"):
            game.step(action)
        self._known = json.loads(game.replay().to_bytes())

    def bytes_of(self, rng: Random) -> bytes:
        tree = {key: value for key, value in self._known.items() if key != "checksum"}
        if rng.random() < 0.5:
            tree = self._values.into(rng, tree, *_IDENTITY)
        else:
            tree = tree | {"steps": []}
            tree["scenario"] = self._unknown(rng)
        return _close_with_checksum(json.dumps(tree)[:-1].encode())

    def _unknown(self, rng: Random) -> dict[str, str]:
        """Return the identity of a scenario that is hostile as a whole."""
        text = json.dumps(self._values.scenario(rng))
        name = self._values.text(rng) if rng.random() < 0.3 else "level"
        digest = "0" * 64
        with suppress(GVEngineError, ModuleNotFoundError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            document = read_text(text.encode(), ScenarioRef(Path(f"{rng.choice('ab')}.yaml")))
            document = replace(document, trust=replace(document.trust, code=False))
            scenario: Any = get_domain(document).plugin.read_scenario(document)
            name, digest = scenario.name, scenario.identity.digest
        said = {"domain": "grid", "name": name, "digest": digest, "text": text}
        return self._values.into(rng, said) if rng.random() < 0.3 else said

    def make_file(self, rng: Random) -> Case:
        return {"a.gvreplay": self.bytes_of(rng)}

    def make_line(self, rng: Random) -> Case:
        line = LINE_BEGINS + _packed(self.bytes_of(rng))
        return {"line.txt": line.encode()}

    @staticmethod
    def run_file(here: Path) -> None:
        with _heard(here):
            _command("replay", here / "a.gvreplay", "--verify")

    @staticmethod
    def run_line(here: Path) -> None:
        with _heard(here):
            app = _NoWindow(Settings(), Bindings())
            app.resume_from_text((here / "line.txt").read_text("utf-8"))


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data)).decode()


# ---- snapshots, sets of levels, rollouts and policies --------------------------------------------

_REFERENCE = "source", "folder", "name", "digest", "domain", "settings", "changes"


class Snapshots:
    """Snapshots that refer to scenarios that are not what they say."""

    def __init__(self, values: Values) -> None:
        self._values = values
        envs = GridVectorEnv(_SMALL, 1, world="object")
        envs.reset(seed=0)
        self._rows, self._known = envs.snapshot(), make_reference(envs.scenario)

    def reference(self, rng: Random) -> dict[str, Any]:
        known = dict(self._known)
        if rng.random() < 0.3:
            known["source"] = self._values.scenario(rng)
        if rng.random() < 0.5:
            known["changes"] = {"name": "Mine", "description": "of mine"}
        return dict(self._values.into(rng, known, *_REFERENCE))

    def make(self, rng: Random) -> Case:
        about = np.array(json.dumps(self.reference(rng), ensure_ascii=rng.random() < 0.5))
        return {"a.npz": as_npz(rows=self._rows, scenario=about)}

    @staticmethod
    def run(here: Path) -> None:
        with _heard(here):
            scenario, _ = snapshots.load(here / "a.npz")
            say(f"{scenario.name} {scenario.description}")

    def make_levels(self, rng: Random) -> Case:
        about = {"format": 1, "scenario": self.reference(rng), "seeds": [1, 2]}
        return {"a.json": json.dumps(about).encode()}

    @staticmethod
    def run_levels(here: Path) -> None:
        with _heard(here):
            found = level_set(load_scenario(_SMALL), here / "a.json", "object")  # type: ignore[arg-type]
            say(f"{found.scenario.name} {found.seeds}")


class Rollouts:
    """Folders of rollouts whose description is hostile."""

    def __init__(self, values: Values, folder: Path, snapshots: Snapshots) -> None:
        self._values, self._snapshots = values, snapshots
        self.files = rollout_files(folder / "demos", 1)
        self._about = json.loads(self.files["rollout.json"])

    def make(self, rng: Random) -> Case:
        about = self._about
        if rng.random() < 0.5:
            about = about | {"scenario": self._snapshots.reference(rng)}
        else:
            about = self._values.into(rng, about, *about, *about["arrays"])
        return self.files | {"rollout.json": json.dumps(about).encode()}

    @staticmethod
    def run(here: Path) -> None:
        with _heard(here):
            say(RolloutSessions(here).open_session(0).title)
            env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
            EpisodeFolder(here, env, {"seed": 0, "policy": "random"}, resume=True).close(True)


class Policies:
    """What a run has learned, with a hostile description."""

    def __init__(self, values: Values, folder: Path) -> None:
        self._values = values
        run = folder / "learned"
        drawn(run)
        with np.load(run / POLICY_FILE) as file:
            self._arrays = {name: file[name] for name in file.files}
        self._about = json.loads(str(self._arrays["about"]))

    def make(self, rng: Random) -> Case:
        about = self._values.into(rng, self._about, "scenario", *self._about["scenario_spec"])
        arrays = self._arrays | {"about": np.array(json.dumps(about))}
        if rng.random() < 0.3:
            name = rng.choice([*arrays])
            arrays[self._values.text(rng).replace("\0", "") or "x"] = arrays.pop(name)
        members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
        return {POLICY_FILE: as_zip(members)}

    @staticmethod
    def run(here: Path) -> None:
        with _heard(here):
            load_policy(str(here), 1, 7, scenario=load_scenario(_SMALL))


# ---- packs ---------------------------------------------------------------------------------------

_TMX = """<?xml version="1.0"?>
<map version="1.0" orientation="orthogonal" width="2" height="1" tilewidth="8" tileheight="8">
 <properties><property name="title" value={title}/></properties>
 <tileset firstgid="1" source={source}/>
 <layer name={layer} width="2" height="1"><data encoding="csv">1,0</data></layer>
</map>
"""


class Packs:
    """Scenarios with levels in files of other formats, and with hostile texts in all of them."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def make(self, rng: Random) -> Case:
        said = self._values.scenario(rng)
        if rng.random() < 0.5:
            said = {"extends": "lava", "levels": rng.choice((["a.xsb"], ["a.tmx"], "a.xsb"))}
            said[rng.choice(("name", "description"))] = self._values.text(rng)
        dumped = yaml.safe_dump(said) if rng.random() < 0.5 else json.dumps(said)
        title, source, layer = (self._values.text(rng) for _ in range(3))
        tmx = _TMX.format(title=quoteattr(title), source=quoteattr(source), layer=quoteattr(layer))
        xsb = f"; {title}\n#####\n#@$.#\n#####\nTitle: {source}\nAuthor: {layer}\n"
        texts = {"level.yaml": dumped, "a.tmx": tmx, "a.xsb": xsb}
        return {name: text.encode("utf-8", "replace") for name, text in texts.items()}

    @staticmethod
    def run(here: Path) -> None:
        with _heard(here):
            for name in ("level.yaml", "a.xsb"):
                entry = Entry(str(here / name), "In this folder")
                for each in (entry, *entry.levels[:3]):
                    with suppress(GVEngineError):
                        say(f"{each.title} {each.description}")
            scenario = load_playable(here / "level.yaml")
            game = Session(scenario, 1)
            game.step(game.actions[0])
            game.replay().save(new_file(recording_folder(), game, ".gvreplay"))
            say(f"{game.title} {game.scenario.description} {frame_to_text(game.frame())}")


# ---- entries -------------------------------------------------------------------------------------


class Entries:
    """Entries of the benchmark."""

    def __init__(self, values: Values, folder: Path) -> None:
        self._values = values
        self._about = {
            "format": 2,
            "name": "Mine",
            "about": "of `mine`",
            "policy": "valid",
            "policy_digest": "",
            "settings": {},
            "scenarios": [_SMALL],
        }
        self._part = {
            "scenario": _SMALL,
            "seed": 0,
            "digest": all_scenarios()[_SMALL].identity.digest,
            "lengths": [3] * TESTED,
            "curve": [[10, 0.5], [20, 1.0]],
            "steps": 20,
        }
        made = folder / "entry"
        made.mkdir()
        (made / "entry.json").write_text(json.dumps(self._about), "utf-8")
        (made / "parts.jsonl").write_text(json.dumps(self._part) + "\n", "utf-8")
        self.run(made)  # which is slow for the first time

    def make(self, rng: Random) -> Case:
        about, part = self._about, self._part
        if rng.random() < 0.7:
            about = self._values.into(rng, about, "name", "about", "policy", "scenarios")
        else:
            part = self._values.into(rng, part, "scenario", "digest", "curve")
        return {
            "entry.json": json.dumps(about).encode(),
            "parts.jsonl": json.dumps(part).encode() + b"\n",
        }

    @staticmethod
    def run(here: Path) -> None:
        with _heard(here) as out:
            _command("benchmark", here, "--show")
            page = here / OUT / "page.md"
            _command("benchmark", here, "--page", page)
            if page.exists():
                text = page.read_text("utf-8")
                assert not re.search(r"(?<![\\`])<(?!!--)", re.sub(r"`[^`\n]+`", "", text)), text
                (name,) = re.findall(r"^- \*\*(.*)\*\*:", text, re.MULTILINE)
                with progress(f"parts of {name}", 1) as advance:
                    advance(1, f"{name}")
            if json.loads((here / "entry.json").read_bytes()).get("policy") != "valid":
                _command("benchmark", here, "--seeds", "0:1")  # which refuses
            assert out.getvalue()


# ---- datasets ------------------------------------------------------------------------------------


class Datasets:
    """Datasets of Minari, where that is installed."""

    def __init__(self, values: Values, folder: Path, rollouts: Rollouts) -> None:
        self._values = values
        made = folder / "rollout"
        made.mkdir()
        for name, data in rollouts.files.items():
            (made / name).write_bytes(data)
        os.environ["MINARI_DATASETS_PATH"] = str(folder / "datasets")
        with redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words = ["--author", "a", "--email", "a@b.c", "--link", "c"]
            assert main(["minari", "set/made-v0", "--from", str(made), *words]) == 0
        kept = folder / "datasets" / "set" / "made-v0" / "data"
        self._files = {file.name: file.read_bytes() for file in kept.iterdir()}
        self._about = json.loads(self._files["metadata.json"])

    def make(self, rng: Random) -> Case:
        about = self._values.into(rng, self._about, *self._about)
        spec = self._about["env_spec"]
        if rng.random() < 0.7:
            fields = "entry_point", "kwargs", "id", "scenario"
            known = self._values.into(rng, json.loads(spec), *fields)
            about = dict(self._about) | {"env_spec": json.dumps(known)}
            told = about.get("gv_engine_rollout")
            if told and rng.random() < 0.5:
                about["gv_engine_rollout"] = self._values.into(rng, told, *_REFERENCE, *told)
            elif rng.random() < 0.5:
                about.pop("gv_engine_rollout")  # as in datasets that were combined
        for name in rng.choice(((), (), ("observation_space",), ("action_space",))):
            about.pop(name, None)
        return self._files | {"metadata.json": json.dumps(about).encode()}

    @staticmethod
    def run(here: Path) -> None:
        with _heard(here):
            data = here / OUT / "sets" / "set" / "made-v0" / "data"
            data.mkdir(parents=True)
            for file in [each for each in here.iterdir() if each.is_file()]:
                shutil.copyfile(file, data / file.name)
            os.environ["MINARI_DATASETS_PATH"] = str(here / OUT / "sets")
            _command("minari", "set/made-v0", "--to", here / OUT / "again")


def hostile_kinds(folder: Path) -> dict[str, Kind]:
    """Return all kinds of hostile cases, by name.

    Args:
        folder: for what cases are made of; beside it lies what nobody may touch.
    """
    outside = folder / "outside"
    for name in ("outside", "demos", "rollout", "datasets", "learned", "entry"):
        shutil.rmtree(folder / name, ignore_errors=True)  # by a worker before
    (outside / "victim").mkdir(parents=True)
    (outside / "victim" / "scenario.yaml").write_text("map: '>.E'\n", "utf-8")
    (outside / "victim" / "empty").mkdir()
    (outside / "rules.py").write_bytes((folder / "outside.py").read_bytes())
    values = Values(outside)
    replays, saved = Replays(values, folder / "case"), Snapshots(values)
    rollouts = Rollouts(values, folder, saved)
    policies, packs, entries = Policies(values, folder), Packs(values), Entries(values, folder)
    found = {
        "lines": Kind(replays.make_line, "line.txt", replays.run_line, ()),
        "replays": Kind(replays.make_file, "a.gvreplay", replays.run_file, ()),
        "snapshots": Kind(saved.make, "a.npz", saved.run, ()),
        "levels": Kind(saved.make_levels, "a.json", saved.run_levels, ()),
        "rollouts": Kind(rollouts.make, "rollout.json", rollouts.run, ()),
        "policies": Kind(policies.make, POLICY_FILE, policies.run, ()),
        "packs": Kind(packs.make, "level.yaml", packs.run, ()),
        "entries": Kind(entries.make, "entry.json", entries.run, ()),
    }
    if not MINARI.missing_message:
        datasets = Datasets(values, folder, rollouts)
        found["datasets"] = Kind(datasets.make, "metadata.json", datasets.run, ())
    return found
