"""Share of small changes of the engine that the tests notice, on a random sample of each room.

    python -m tests.mutant_sample [CHANGES] [--seed 0] [--patience 30]

Every room gives the same number of changes, each of its changes with the same chance. A change is
made in a copy of the repository. There a new process of pytest runs the tests that reach the
changed statement, until one fails: one case of each test before the others, those of the room's
folder first, for as long as the patience lasts. Compiled code is compiled again.

A survey by coverage tells which tests reach which line. It is kept in `build/mutants/`, beside the
list of noticed changes, which are not tried twice. Most changes of functions are tried first in a
fork of a process that has imported everything, which takes a tenth of the time.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import inspect
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

from tests import ROOT
from tests.mutants import Mutant, in_child, meaning, mutant_at, places, reasons

ROOMS = ("rollout", "world", "scenario", "vector", "compiler", "session", "envs")
FOLDERS = {"rollout": "envs/rollout", "vector": "envs/backends", "session": "play/session"}
"""Folders of the rooms that lie in others."""
LEFT_OUT = {"gv_engine/envs/rollout/on_ray.py"}
"""What `make ray` tests, on a cluster."""
SURVEYED = (
    *(*ROOMS, "systems", "domains", "validation", "cli", "gridverse", "benchmark"),
    *(f"ui/test_{name}.py" for name in ("packs", "recording", "sprites")),
)
"""Folders and files of tests that may notice a change."""
NOT_SURVEYED = {"tests/session/test_runaway.py": "gv_engine/play/session/watchdog.py"}
"""Tests that stop rules by a tracer, in the place of which coverage has its own, and the file of
whose changes all of them are tried on."""
COMPILED = ("tests/vector/", "tests/rollout/", "tests/session/", "tests/world/")
"""Folders whose compiled tests are among them."""
MARKS = "not (thorough or window or slow)"

FOLDER = ROOT / "build" / "mutants"
TREE, LINES = FOLDER / "tree", FOLDER / "lines"
SECONDS, NOTICED = FOLDER / "seconds.json", FOLDER / "noticed.json"

COMPILER = "gv_engine/compiler/"
"""Files of the compiler."""
MEMORY = 12 << 30
"""Bytes of address space of a process with a change."""


def draw(room: str, count: int, seed: int) -> tuple[int, list[Mutant]]:
    """Return the number of places for changes in a room, and a sample of its changes."""
    paths = sorted((ROOT / "gv_engine" / FOLDERS.get(room, room)).rglob("*.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}
    sources = {file: text for file, text in texts.items() if file not in LEFT_OUT}
    known = {file: {meaning(source)} for file, source in sources.items()}
    everywhere = [(file, *place) for file, source in sources.items() for place in places(source)]
    random.Random(f"{seed} {room}").shuffle(everywhere)
    sample: list[Mutant] = []
    for file, operator, occurrence in everywhere:
        if len(sample) == count:
            break
        if mutant := mutant_at(file, sources[file], operator, occurrence, known[file]):
            sample.append(mutant)
    return len(everywhere), sample


# ---- tests of a change -------------------------------------------------------------------------


class Survey:
    """Seconds of every test, and the tests that reach a line."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = json.loads(SECONDS.read_text())["tests"]
        self._data = coverage.CoverageData(str(LINES))
        self._data.read()
        self._kills: dict[str, Counter[str]] = defaultdict(Counter)

    def tests_of(self, room: str, mutant: Mutant, patience: float) -> list[str]:
        """Return tests that may notice a change, the likeliest first."""
        file = str(TREE / mutant.file)
        contexts = self._data.contexts_by_lineno(file)
        reached = {line: self._seconds.keys() & tests for line, tests in contexts.items()}

        def reaching(lines: range) -> set[str]:
            return set().union(*(reached.get(line, ()) for line in lines))

        lines, function = _statement(mutant), range(mutant.first, mutant.last + 1)
        tests = reaching(lines)
        if not tests:  # runs when the file is imported, or compiled
            tests = reaching(function) or set().union(*reached.values())
        kills = self._kills[f"{mutant.file} {mutant.function}"]
        cases: Counter[str] = Counter()
        order: list[tuple[Any, ...]] = []
        for test in sorted(tests, key=lambda test: (self._seconds[test], test)):
            name = test.partition("[")[0]
            outside = not test.startswith(f"tests/{room}/")
            order.append((-kills[test], cases[name], outside, self._seconds[test], test))
            cases[name] += 1
        chosen = []
        for *_, seconds, test in sorted(order):
            if seconds <= patience:
                patience -= seconds
                chosen.append(test)
        return chosen

    def remember(self, mutant: Mutant, test: str) -> None:
        """Try a test first that has noticed a change of this function."""
        self._kills[f"{mutant.file} {mutant.function}"][test] += 1


def _statement(mutant: Mutant) -> range:
    """Return the lines of the innermost statement that is changed, without what is nested in it."""
    lines = range(mutant.line, mutant.line + 1)
    tree = ast.parse((ROOT / mutant.file).read_text("utf-8"))
    for node in ast.walk(tree):  # the outermost come first
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            start = getattr(node, "lineno", mutant.line)
            body = getattr(node, "body", None)
            end = getattr(node, "end_lineno", start)
            stop = body[0].lineno if body else end + 1
            if start <= mutant.line < max(stop, start + 1):
                lines = range(start, max(stop, start + 1))
    return lines


def _tests() -> Iterator[tuple[str, str]]:
    for folder in SURVEYED:
        place = ROOT / "tests" / folder
        for path in [place] if place.is_file() else sorted(place.rglob("test_*.py")):
            file = str(path.relative_to(ROOT))
            if file not in NOT_SURVEYED:
                yield file, hashlib.sha256(path.read_bytes()).hexdigest()


def survey() -> None:
    """Run the tests that are new since the last survey, or all if the engine is another now."""
    engine = hashlib.sha256()
    for path in sorted((ROOT / "gv_engine").rglob("*.py")):
        engine.update(path.read_bytes())
    known = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    if known.get("engine") != engine.hexdigest():
        known = {"engine": engine.hexdigest(), "files": {}, "tests": {}}
        LINES.unlink(missing_ok=True)
    fresh = {file: digest for file, digest in _tests() if known["files"].get(file) != digest}
    if not fresh:
        return
    print(f"survey of {len(fresh)} files of tests", flush=True)
    found = SECONDS.with_name(f"found-{SECONDS.name}")
    command = [sys.executable, "-m", "coverage", "run", "-a", f"--data-file={LINES}"]
    command += ["--source=gv_engine", "-m", "pytest", "-p", "tests.mutant_sample"]
    command += ["-p", "no:xdist", "-q", "-m", MARKS, *fresh]
    subprocess.run(command, cwd=TREE, env={**_environment(), "FOUND": str(found)})
    gone = tuple(f"{file}::" for file in fresh)
    kept = {test: time for test, time in known["tests"].items() if not test.startswith(gone)}
    known["tests"] = {**kept, **json.loads(found.read_text())}
    known["files"].update(fresh)
    SECONDS.write_text(json.dumps(known))


_found: dict[str, float] = {}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out tests that compile, but for those of what compiles."""
    items[:] = [
        item
        for item in items
        if not item.get_closest_marker("compiled") or item.nodeid.startswith(COMPILED)
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tell coverage which test runs, and measure its CPU time."""
    running = coverage.Coverage.current()
    assert running
    running.switch_context(item.nodeid)
    before = sum(os.times()[:4])
    _found[item.nodeid] = 0.0
    result = yield
    if item.nodeid in _found:
        _found[item.nodeid] = round(sum(os.times()[:4]) - before, 4)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Leave out what fails without any change, and what is skipped."""
    if not report.passed:
        _found.pop(report.nodeid, None)


def pytest_sessionfinish() -> None:
    """Write down the seconds of the tests that passed."""
    Path(os.environ["FOUND"]).write_text(json.dumps(_found))


# ---- runs --------------------------------------------------------------------------------------


def copy_repository() -> None:
    """Make the copy where changes are made, with its bytecode."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir()
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in sorted({line.partition("/")[0] for line in kept.stdout.splitlines()}):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, TREE / name)
        else:
            shutil.copy2(ROOT / name, TREE / name)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TREE)}


def noticed_by(room: str, mutant: Mutant, tests: list[str], patience: float) -> str:
    """Return the test that fails with a change, or how it ended otherwise; "" if all pass."""
    place, listed = TREE / mutant.file, TREE / "tests.txt"
    listed.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:xdist"]
    command += ["-p", "no:cacheprovider", "-m", MARKS, f"@{listed}"]
    place.write_text(mutant.source, encoding="utf-8")
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'ulimit -v {MEMORY >> 10}; exec "$@"', "sh", *command],
        cwd=TREE,
        env={**_environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=60 + 5 * patience)
    except subprocess.TimeoutExpired:
        said = "did not end"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.copy2(ROOT / mutant.file, place)
    if process.returncode == 0:
        return ""
    for line in said.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" - ")[0].partition(" ")[2]
    return (said.strip().splitlines() or ["crashed"])[-1]


# ---- without a new process of Python -----------------------------------------------------------


class Quick:
    """Pytest plugin that collects the tests and tries changes of functions in forks of the process.

    A fork costs no imports and no collecting. It misses changes of what ran before, or runs in
    other processes: what no test notices here is tried again in a process of its own.

    Args:
        hunt: called with this, once the tests are collected.
    """

    def __init__(self, hunt: Callable[[Quick], None]) -> None:
        self._hunt = hunt
        self._failed = ""
        self._items: dict[str, pytest.Item] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._hunt(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._failed:
            self._failed = report.nodeid

    def noticed_by(self, mutant: Mutant, tests: list[str], patience: float) -> str:
        """Return the test that fails in a fork with a change; "" if all pass, or if the changed
        function cannot be replaced."""
        items = [self._items[test] for test in tests if test in self._items]
        file = ROOT / mutant.file
        old, new = (
            _codes(compile(source, str(file), "exec"))
            for source in (file.read_text("utf-8"), mutant.source)
        )
        changed = {name for name in old if new.get(name) != old[name]}
        if not changed or not items or new.keys() != old.keys():
            return ""

        def play() -> str:
            limit = round(5 * patience) + 30
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            gc.unfreeze()  # what the tests have imported, see tests/conftest.py
            functions = [
                thing
                for thing in gc.get_objects()
                if isinstance(thing, FunctionType)
                and thing.__qualname__ in changed
                and thing.__code__ == old[thing.__qualname__]
            ]
            for function in functions:
                function.__code__ = new[function.__qualname__]
            for item, following in zip(items if functions else (), [*items[1:], None]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    return self._failed
            return "passed"

        by = in_child(play) or "did not end"
        return "" if by == "passed" else by


def _codes(code: CodeType) -> dict[str, CodeType]:
    """Return the codes of a module's functions, but for those inside others, by qualified names."""
    found: dict[str, CodeType] = {}
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_NEWLOCALS:
                found[part.co_qualname] = part
            else:  # the body of a class
                found |= _codes(part)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Try a sample of changes; 1 if one survives without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutant_sample", description=__doc__)
    parser.add_argument("changes", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, default=30, help="seconds of tests of a change")
    parser.add_argument("--rooms", nargs="+", default=ROOMS, choices=ROOMS)
    options = parser.parse_args(arguments)
    FOLDER.mkdir(parents=True, exist_ok=True)
    copy_repository()
    survey()
    failed: list[bool] = []
    hunt = Quick(lambda quick: failed.append(_hunt(options, quick)))
    tests = [file for file, _ in _tests()]
    words = ["-p", "no:xdist", "-p", "no:cacheprovider", "-q", "-s", "-m", MARKS, *tests]
    return int(pytest.main(words, [hunt]) or any(failed))


def _hunt(options: argparse.Namespace, quick: Quick) -> bool:
    """Try a sample of changes, and print what came of it; tell if one survived without a reason."""
    surveyed, excused = Survey(), reasons()
    noticed: dict[str, str] = json.loads(NOTICED.read_text()) if NOTICED.exists() else {}
    table, unexplained = [], 0
    for i, room in enumerate(ROOMS):
        if room not in options.rooms:
            continue
        share = options.changes // len(ROOMS) + (i < options.changes % len(ROOMS))
        size, sample = draw(room, share, options.seed)
        survivors = equivalent = 0
        for mutant in sample:
            name = hashlib.sha256(f"{mutant.file}\n{mutant.source}".encode()).hexdigest()
            if name not in noticed:
                tests = surveyed.tests_of(room, mutant, options.patience)
                untraced = [test for test, file in NOT_SURVEYED.items() if file == mutant.file]
                fork = not mutant.file.startswith(COMPILER)
                by = quick.noticed_by(mutant, tests, options.patience) if fork else ""
                if not by and (tests := [*tests, *untraced]):
                    by = noticed_by(room, mutant, tests, options.patience)
                if by:
                    noticed[name] = by
                    NOTICED.write_text(json.dumps(noticed))
                else:
                    reason = excused.get(mutant.name, "")
                    survivors += 1
                    equivalent += bool(reason)
                    print(f"{mutant}\n  {reason or 'SURVIVED'} ({len(tests)} tests)", flush=True)
                    continue
            surveyed.remember(mutant, noticed[name])
        unexplained += survivors - equivalent
        table.append((room, size, len(sample), len(sample) - survivors, survivors, equivalent))
        print(f"{room}: {table[-1][2:]}", flush=True)
    totals = [sum(column) for column in zip(*(row[1:] for row in table), strict=True)]
    print(f"seed {options.seed}")
    titles = "room", "places", "made", "noticed", "survived", "equivalent"
    for row in (titles, *table, ("", *totals)):
        print("".join(f"{cell!s:>11}" for cell in row))
    _, made, killed, _, alike = totals
    share = killed / (made - alike)
    print(f"{killed / made:.1%} noticed, {share:.1%} of those that change anything")
    return unexplained > 0


if __name__ == "__main__":
    sys.exit(main())
