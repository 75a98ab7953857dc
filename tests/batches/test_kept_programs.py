"""Programs that are kept: found and run without Numba, and what they raise is told with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from typing import NamedTuple

import pytest

from gv_engine.batches.compiled import program_cache
from tests.batches.test_programs import BASE
from tests.caches import own_cache

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
    done = subprocess.run(
        [sys.executable, "-c", PLAY, str(folder), numba, *rules],
        env={**own_cache(folder / "cache"), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return Played(done.stdout, "compiling" in done.stderr)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The first process of all, and where it kept its program."""
    folder = tmp_path_factory.mktemp("first")
    return played(folder), folder / "cache"


@pytest.fixture
def shown(first):
    """What the first process printed."""
    return first[0].shown


@pytest.fixture
def play(first, tmp_path):
    """Plays in a fresh process, which finds what the first one has kept."""
    shutil.copytree(first[1], tmp_path / "cache", symlinks=True)
    return partial(played, tmp_path)


def test_a_kept_program_needs_no_numba(first, play):
    shown, compiled = first[0]
    assert compiled
    assert shown.startswith("True\n")
    assert play() == (shown.replace("True\n", "False\n"), False)


def test_programs_are_found_with_numba_and_without(play, shown):
    assert play(numba="numba") == (shown, False)
    # where Numba was there first, its settings may be any
    assert play("turn_agent", numba="numba").compiled
    assert not play("turn_agent", numba="numba").compiled
    assert not play("turn_agent").compiled
    assert not play("turn_agent", numba="numba", NUMBA_CAPTURED_ERRORS="new_style").compiled


@pytest.mark.thorough
def test_numbas_variables_have_programs_of_their_own(play, shown):
    assert play(NUMBA_OPT="1") == (shown, True)
    assert not play().compiled


@pytest.mark.sample("no pickle")
@pytest.mark.parametrize("damage", [b"", b"no pickle", b"\x80\x04N."])
def test_a_damaged_program_is_compiled_anew(play, shown, tmp_path, damage):
    (kept,) = (tmp_path / "cache" / "compiled").glob("*/program")
    kept.write_bytes(damage)
    assert play() == (shown, True)
    assert not play().compiled


def test_what_a_kept_program_raises_is_told(play):
    shown, compiled = play("./rules.py:refuse")
    assert compiled
    assert "ValueError: not here" in shown
    assert "ZeroDivisionError: " in shown
    assert play("./rules.py:refuse") == (shown, False)


def test_the_oldest_make_room(tmp_path, monkeypatch):
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(program_cache, "KEPT_PROGRAMS", 2)
    monkeypatch.setattr(program_cache, "KEPT_UNITS", 3)
    for age in range(5):
        program_cache.make_place(f"{age}")
        program_cache.keep_unit(f"{age}", None, b"")
        for path in (tmp_path / "compiled" / f"{age}", tmp_path / "units" / f"{age}.unit"):
            os.utime(path, (age, age))
    program_cache.make_room()
    assert sorted(path.name for path in (tmp_path / "compiled").iterdir()) == ["3", "4"]
    assert sorted(path.stem for path in (tmp_path / "units").iterdir()) == ["2", "3", "4"]
