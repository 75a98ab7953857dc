"""Other libraries' own tests, run against ours: `make peers`.

    python -m tests.peers [--only NAME] [--package NAME=PATH]

runs the suites that the files NAME.toml in this folder describe, in a checkout of each library, and
prints a table. Returns 1 if a test fails that is not listed as an exception, or passes although it
is. Checkouts and packages go into `.venv-peers/`; `--package` takes a checkout of yours instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers import FOLDER, PeerError, python_for
from tests import ROOT

HERE = Path(__file__).parent
PEERS = {path.stem: path for path in sorted(HERE.glob("*.toml"))}
_DEFAULTS: dict[str, Any] = {"needs": [], "aliases": {}, "setup": []}


class Suite(NamedTuple):
    """Outcome of a suite.

    Attributes:
        passed: number of tests that pass here.
        excepted: number of tests that fail here and are listed.
        total: number of tests that pass on the library itself.
        faults: unexpected outcomes, a line for each.
    """

    name: str
    passed: int
    excepted: int
    total: int
    faults: list[str]


def find_checkout(name: str, source: str) -> Path:
    """Return a folder with a library's files, fetched from `source` if it is not there yet.

    Raises:
        PeerError: it cannot be fetched.
    """
    folder = FOLDER / "sources" / re.sub(r"\W+", "-", source)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:  # whole, or not at all
            try:
                _fetch(source, Path(temporary)).rename(folder)
            except PeerError as error:
                hint = f"--package {name}=PATH takes a checkout of yours"
                raise PeerError(f"{source} cannot be fetched: {error}; {hint}") from None
    return folder


def _fetch(source: str, folder: Path) -> Path:
    """Fetch a commit of a repository or a source package into an empty folder, and return the
    folder with its files."""
    repository, _, commit = source.partition("@")
    if commit:
        checkout = folder / "checkout"
        git = "git", "-C", str(checkout)
        _run("git", "init", "--quiet", str(checkout))
        _run(*git, "fetch", "--quiet", "--depth=1", repository, commit)
        _run(*git, "checkout", "--quiet", commit)
        return checkout
    pip = sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"
    package = f"--no-binary={source.partition('==')[0]}", source
    _run(*pip, "--no-deps", "--dest", str(folder), *package)
    archive = next(folder.glob("*.tar.gz"))
    shutil.unpack_archive(archive, folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def _run(*command: str) -> None:
    """Run a command; raise a PeerError with its first fault or its last line if it fails."""
    try:
        process = subprocess.run(
            command,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise PeerError(f"there is no {command[0]}") from None
    if process.returncode:
        lines = process.stderr.strip().splitlines() or [f"{command[0]} failed"]
        faults = [line for line in lines if line.startswith(("fatal:", "ERROR:"))]
        raise PeerError((faults or lines[-1:])[0])


def run_tests(paths: Iterable[str], checkout: Path, peer: dict[str, Any]) -> dict[str, str]:
    """Return why each test in `paths` fails, by its id; "" for one that passes. A file that cannot
    be imported counts as one test."""
    python = python_for(tuple(peer["needs"]))
    packages = Path(python).parents[1].glob("lib/python*/site-packages") if peer["needs"] else ()
    with tempfile.TemporaryDirectory() as temporary:
        task = {
            "aliases": peer["aliases"],
            "setup": peer["setup"],
            "packages": [str(folder) for folder in packages],
            "paths": [str(HERE / path) if path.startswith("./") else path for path in paths],
            "outcomes": f"{temporary}/outcomes.json",
        }
        subprocess.run(
            [sys.executable, HERE / "run_suite.py", json.dumps(task)],
            cwd=checkout,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "SDL_VIDEODRIVER": "dummy"},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        try:
            outcomes: dict[str, str] = json.loads(Path(task["outcomes"]).read_text("utf-8"))
        except FileNotFoundError:
            raise PeerError("the tests ended before they began; the error is above") from None
    return outcomes


def compare(name: str, total: int, outcomes: dict[str, str], exceptions: list[Any]) -> Suite:
    """Return the outcome of a suite of `total` tests, compared with the `exceptions`."""
    faults, listed = [], set()
    for pattern in (pattern for exception in exceptions for pattern in exception["tests"]):
        fits = re.compile(re.escape(pattern).replace(r"\*", ".*")).fullmatch
        matched = {test for test in outcomes if fits(test)}
        faults += [] if matched else [f"{pattern} is listed, and no test has such an id"]
        faults += [f"{test} passes, and is listed" for test in matched if not outcomes[test]]
        listed |= matched
    failed = {test: reason for test, reason in outcomes.items() if reason}
    faults += [f"{test}: {reason}" for test, reason in failed.items() if test not in listed]
    passed = len(outcomes) - len(failed)
    excepted = len(failed.keys() & listed)
    if passed + excepted != total and not faults:
        faults.append(f"{total} tests on the library itself, {passed + excepted} here")
    return Suite(name, passed, excepted, total, faults)


def run_peer(name: str, checkout: Path | None) -> list[Suite]:
    """Return the outcomes of a library's suites, run in `checkout` or in one that is fetched."""
    peer = _DEFAULTS | tomllib.loads(PEERS[name].read_text("utf-8"))
    folder = checkout or find_checkout(name, peer["source"])
    return [
        compare(
            f"{name}: {title}",
            suite["count"],
            run_tests(suite["paths"], folder, peer),
            suite.get("exceptions", []),
        )
        for title, suite in peer["suites"].items()
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the suites and print the table; return 1 if an outcome is not the expected one."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers")
    parser.add_argument("--only", choices=PEERS, help="one library")
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help=f"take a checkout from there; names: {', '.join(PEERS)}",
    )
    options = parser.parse_args(arguments)
    checkouts = {}
    for override in options.package:
        name, _, path = override.partition("=")
        if name not in PEERS or not Path(path).is_dir():
            parser.error(
                f"--package {override}: expected one of {', '.join(PEERS)}, = and a folder"
            )
        checkouts[name] = Path(path).resolve()
    suites: list[Suite] = []
    faults = []
    for name in [options.only] if options.only else PEERS:
        try:
            suites += run_peer(name, checkouts.get(name))
        except PeerError as error:
            faults.append(f"{name}: {error}")
    faults += [fault for suite in suites for fault in suite.faults]
    print(*faults, sep="\n", end="\n\n" if faults else "")
    print(f"{'suite':<40} {'passed':>7} {'exceptions':>10} {'of':>7}")
    for suite in suites:
        mark = "  unexpected outcomes" if suite.faults else ""
        print(f"{suite.name:<40} {suite.passed:>7,} {suite.excepted:>10,} {suite.total:>7,}{mark}")
    return 1 if faults else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
