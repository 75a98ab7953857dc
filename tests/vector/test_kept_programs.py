"""Programs and units that are kept: found and run without Numba, and what they raise is told."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import threading
import warnings
from functools import partial
from types import BuiltinFunctionType
from typing import NamedTuple

import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.compiler import link_units, program_cache, programs
from gv_engine.compiler.program_cache import CachedProgram
from gv_engine.rules.errors import CapacityError, RuleError
from gv_engine.vector.backend import make_batch
from gv_engine.vector.compiled_backend import CompiledBatch
from tests.caches import own_cache
from tests.fuzz.kinds import Planted
from tests.processes import run_program
from tests.vector.test_programs import BASE

pytestmark = pytest.mark.compiled

RULES = """
from gv_engine import TRANSITION, system

@system(TRANSITION)
def refuse(w, agent):
    if w.action[agent] == 6:
        raise ValueError("not here")
    if w.action[agent] == 7:
        w.agent.facing[agent] = 4 // w.agent.facing[0]
"""
PLAY = f"""
import sys
if sys.argv[2] == "numba":
    import numba
from gv_engine import GridVectorEnv, RuleError, Scenario
rules = sys.argv[3:] or ["move_agent", "turn_agent"]
level = Scenario.load({{**{BASE!r}, "transition_functions": rules}}, folder=sys.argv[1])
envs = GridVectorEnv(level, 2, world="compiled")
if not sys.argv[3:]:
    print("numba" in sys.modules)
envs.reset(seed=0)
for a in (5, 0, 7, 6):
    try:
        print(envs.step([a, 7 - a])[0]["grid"].tolist())
    except RuleError as error:
        print(error)
"""


class Played(NamedTuple):
    """What a process printed, and whether it compiled."""

    shown: str
    compiled: bool


def played(folder, *rules, numba="", **variables):
    """Play in a fresh process, with the cache in a folder."""
    (folder / "rules.py").write_text(RULES)
    environment = {**own_cache(folder / "cache"), **variables}
    done = run_program(PLAY, folder, numba, *rules, env=environment)
    return Played(done.stdout, "compiling" in done.stderr)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The first process of all, and where it kept its program."""
    folder = tmp_path_factory.mktemp("first")
    return played(folder), folder / "cache"


@pytest.fixture
def play(first, tmp_path):
    """Plays in a fresh process, which finds what the first one has kept."""
    shutil.copytree(first[1], tmp_path / "cache", symlinks=True)
    return partial(played, tmp_path)


@pytest.mark.thorough
def test_a_kept_program_is_found_with_numba_and_without(first, play):
    shown, compiled = first[0]
    assert compiled
    assert shown.startswith("True\n")
    assert play() == (shown.replace("True\n", "False\n"), False)
    assert play(numba="numba") == (shown, False)
    # where Numba was there first, its settings may be any
    assert play("turn_agent", numba="numba").compiled
    assert not play("turn_agent", numba="numba").compiled
    assert not play("turn_agent").compiled
    assert not play("turn_agent", numba="numba", NUMBA_CAPTURED_ERRORS="new_style").compiled


@pytest.mark.thorough
def test_numbas_variables_have_programs_of_their_own(first, play):
    assert play(NUMBA_OPT="1") == (first[0].shown, True)
    assert not play().compiled


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [b"", b"no pickle"])
def test_a_damaged_program_is_compiled_anew(first, play, tmp_path, damage):
    (kept,) = (tmp_path / "cache" / "compiled").glob("*/program")
    kept.write_bytes(damage)
    assert play() == (first[0].shown, True)
    assert not play().compiled


@pytest.mark.thorough
def test_what_a_kept_program_raises_is_told_also_when_its_rules_have_moved(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    shown, compiled = played(here, "./rules.py:refuse")
    assert compiled
    assert "ValueError: not here" in shown
    assert "ZeroDivisionError: " in shown
    assert played(here, "./rules.py:refuse") == (shown, False)
    there = here.rename(tmp_path / "there")
    moved = shown.replace(str(here), str(there))
    assert played(there, "./rules.py:refuse") == (moved, False)


def test_the_oldest_make_room(tmp_path, monkeypatch):
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(program_cache, "MAX_PROGRAMS", 2)
    monkeypatch.setattr(program_cache, "MAX_UNITS", 3)
    for age in range(5):
        program_cache.ensure_writable(f"{age}")
        program_cache.write_unit(f"{age}", None, b"")
        for path in (tmp_path / "compiled" / f"{age}", tmp_path / "units" / f"{age}.unit"):
            os.utime(path, (age, age))
    program_cache.delete_oldest()
    assert sorted(path.name for path in (tmp_path / "compiled").iterdir()) == ["3", "4"]
    assert sorted(path.stem for path in (tmp_path / "units").iterdir()) == ["2", "3", "4"]


# ---- a cache that others can write ---------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="rights are lists there, without modes")
root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files to others"
)
OTHER = 12345


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with one program, one unit, and a link to the folder of units."""
    base = tmp_path / "cache"
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(base))
    monkeypatch.setattr(program_cache, "_REPLACEMENT_FOLDERS", {})
    program_cache.make_private_folder(base)
    program_cache.make_private_folder(tmp_path / "units")
    (base / "units").symlink_to(tmp_path / "units")
    errors = {1: RuleError("no"), 2: CapacityError("full")}
    program_cache.write_program("k", CachedProgram("made", b"a\nb", ("s",), (), errors))
    program_cache.write_unit("k", ["int64", "bool"], b"\n\n")
    return base


def kept():
    return program_cache.read_program("k"), program_cache.read_unit("k")


def test_what_is_kept_is_plain_and_comes_back(cache):
    program, unit = kept()
    assert program[:4] == ("made", b"a\nb", ("s",), ())
    assert {n: (type(e), str(e)) for n, e in program.errors.items()} == {
        1: (RuleError, "no"),
        2: (CapacityError, "full"),
    }
    assert unit == (["int64", "bool"], b"\n\n")
    for name in ("compiled/k/program", "units/k.unit"):
        # the same of another key, as whole as it is
        other = cache / name.replace("/k", "/other")
        other.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(cache / name, other)
    assert program_cache.read_program("other") is None
    assert program_cache.read_unit("other") is None


def hashed(header):
    """A file of these bytes, as whole as it is."""
    rest = b'[["k", "program"], ' + header + b"]\nobject code"
    return hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


@pytest.mark.parametrize(
    "content",
    [
        *map(
            hashed, [b"5", b"null", b"[1]", b'["made", [], [], [[1, "Zzz", ""]]]', b"[" * 100_000]
        ),
        *(b"", b"no pickle", b"\x80\x04N."),
    ],
    ids=str,
)
def test_a_file_of_another_form_is_no_program(cache, content):
    file = cache / "compiled" / "k" / "program"
    file.write_bytes(content)
    assert program_cache.read_program("k") is None
    assert not file.exists()


def test_pickles_are_not_read(cache, tmp_path):
    for file in ("cache/compiled/k/program", "units/k.unit"):
        (tmp_path / file).write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    assert kept() == (None, None)
    assert not (tmp_path / "ran").exists()


@posix
def test_all_that_is_made_is_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(tmp_path / "a" / "b"))
    before = os.umask(0)
    try:
        program_cache.ensure_writable("k")
        program_cache.write_program("k", CachedProgram("", b"", (), (), {}))
        program_cache.write_unit("k", None, b"")
        with program_cache.compile_lock("k"):
            pass
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o7777 for path in (tmp_path / "a").rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def opened(path):
    path.chmod(0o777)


def given_away(path):
    os.chown(path, OTHER, -1, follow_symlinks=False)


@posix
@pytest.mark.parametrize("change", [opened, pytest.param(given_away, marks=root)])
@pytest.mark.parametrize(
    "which",
    [
        *(".", "cache", "cache/compiled", "cache/compiled/k", "cache/compiled/k/program"),
        *("cache/units", "units", "units/k.unit"),
    ],
)
def test_what_others_can_write_is_not_read(cache, tmp_path, change, which):
    change(tmp_path / which)  # to open a link opens what it leads to
    program, unit = kept()
    if "units" in which:
        assert unit is None
        assert program
    else:
        assert program is None


@posix
@pytest.mark.parametrize("which", ["cache", "units"])
def test_a_folder_of_others_is_told_once_and_left_alone(cache, tmp_path, which):
    folder = tmp_path / which
    before = sorted(folder.rglob("*"))
    folder.chmod(0o777)
    says = f"others can write to .*{which}, as its mode 0777 says"
    with pytest.warns(RuntimeWarning, match=says):
        program_cache.ensure_writable("new")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program_cache.ensure_writable("other")
        program_cache.write_program("new", CachedProgram("", b"", (), (), {}))
        program_cache.write_unit("new", None, b"")
    assert program_cache.read_program("new")
    assert program_cache.read_unit("new")
    if which == "cache":
        assert sorted(folder.rglob("*")) == before


@posix
def test_nobody_waits_for_a_pipe(cache, tmp_path):
    files = cache / "compiled" / "k" / "program", tmp_path / "units" / "k.unit"
    for file in (*files, cache / "compiled" / "k" / "lock"):
        file.unlink(missing_ok=True)
        os.mkfifo(file, 0o600)

    def read_and_lock():
        kept()
        with program_cache.compile_lock("k"):
            pass

    reader = threading.Thread(target=read_and_lock, daemon=True)
    reader.start()
    reader.join(20)
    assert not reader.is_alive()
    assert not any(file.exists() for file in files)


@posix
@pytest.mark.parametrize("lacks", ["home", "working directory"])
def test_programs_last_as_long_as_the_process_if_there_is_no(lacks, tmp_path, monkeypatch):
    def fail(*_):
        raise {"home": RuntimeError, "working directory": FileNotFoundError}[lacks]

    monkeypatch.setattr(program_cache, "_REPLACEMENT_FOLDERS", {})
    if lacks == "home":
        monkeypatch.delenv("GV_ENGINE_CACHE_DIR", raising=False)
        monkeypatch.setattr("platformdirs.user_cache_dir", fail)
    else:
        monkeypatch.setenv("GV_ENGINE_CACHE_DIR", "here")
        monkeypatch.setattr(os, "getcwd", fail)
    with pytest.warns(RuntimeWarning, match="there is no home folder, or no working directory"):
        program_cache.ensure_writable("k")
    program_cache.write_program("k", CachedProgram("", b"", (), (), {}))
    assert program_cache.read_program("k")


@pytest.mark.thorough
@posix
def test_a_folder_of_others_is_compiled_beside(first, play, tmp_path):
    (tmp_path / "cache").chmod(0o777)
    for _ in range(2):
        assert play() == (first[0].shown, True)


@posix
def test_a_folder_open_to_all_may_lie_above_if_it_is_sticky(tmp_path, monkeypatch):
    above = tmp_path / "above"
    above.mkdir()
    (above / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(above / "cache"))
    for mode, stranger in ((0o1777, ""), (0o777, f"others can write to {above},")):
        above.chmod(mode)
        assert program_cache.find_foreign_access(above / "cache").startswith(stranger)
        assert bool(program_cache.find_foreign_access(above / "cache")) == bool(stranger)
    above.chmod(0o1777)
    (above / "cache").chmod(0o1777)
    assert program_cache.find_foreign_access(above / "cache")


# ---- what programs share is compiled once -------------------------------------------------------

SCENARIO = {
    **BASE,
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["living_reward", "reach_exit"],
}


@pytest.fixture
def units(tmp_path, monkeypatch):
    """The folder of units, in a cache of its own."""
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(link_units, "_CODES", {})
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    folder = tmp_path / "units"
    folder.mkdir()
    return folder


def compiles(units, **changes):
    """How many units are compiled when a scenario with these changes is made."""
    before = set(units.iterdir())
    GridVectorEnv(Scenario.load({**SCENARIO, **changes}), 2, world="compiled")
    return len(set(units.iterdir()) - before)


@pytest.mark.thorough
def test_a_new_list_of_rules_compiles_those_that_are_new(units):
    assert compiles(units) > 5
    # another reward, which measures before it judges, and answers; the others in another order
    assert compiles(units, reward_functions=["reach_exit", "bump_into_wall", "living_reward"]) == 3
    # a condition, and what it does
    assert compiles(units, transition_functions=["pickndrop", "move_agent", "turn_agent"]) == 2
    # values are data
    assert compiles(units, reward_functions=[{"name": "living_reward", "reward": 2.0}]) == 0


@pytest.mark.thorough
def test_units_are_found_again_after_those_of_others(units):
    """Numba numbers types by their turn in a process."""
    compiles(units)
    shutil.rmtree(units.parent / "compiled")
    elsewhere = f"""
from pathlib import Path
from gv_engine import GridVectorEnv, Scenario
GridVectorEnv(Scenario.load("empty-4x4"), 2, world="compiled")
before = set(Path({str(units)!r}).iterdir())
GridVectorEnv(Scenario.load({SCENARIO}), 2, world="compiled")
assert set(Path({str(units)!r}).iterdir()) == before
"""
    run_program(elsewhere)


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [b"", b"no pickle"])
def test_a_damaged_unit_is_compiled_anew(units, damage):
    compiles(units)
    whole = {path: path.read_bytes() for path in units.iterdir()}
    for path in whole:
        path.write_bytes(damage)
    link_units._CODES.clear()
    compiles(units, reward_functions=["reach_exit", "living_reward"])
    assert all(path.read_bytes() != damage for path in whole)


@pytest.mark.thorough
def test_python_calls_a_program_without_anything_between_them(units):
    """By ctypes, a call took longer than the step of a world."""
    worlds = make_batch(Scenario.load(SCENARIO), 2, "compiled")
    assert isinstance(worlds, CompiledBatch)
    assert all(isinstance(each.run, BuiltinFunctionType) for each in worlds.programs)
