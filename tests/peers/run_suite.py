"""Runs a library's tests in the current folder, with modules of ours under its names.

Started by `tests.peers` as a program of its own, because libraries also have a package `tests`. The
only argument is a JSON object, see `tests.peers.__main__.run_tests`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


class Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of modules of ours by other names: `{"theirs": "ours"}`, submodules included."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module that has an alias; None for any other."""
        top, dot, rest = fullname.partition(".")
        ours = self._names.get(fullname) or (top in self._names and self._names[top] + dot + rest)
        return importlib.util.spec_from_loader(fullname, self, origin=ours) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of ours."""
        try:
            module = importlib.import_module(str(spec.origin))
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"no module {spec.origin} ({error})", name=spec.name
            ) from None

        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back: it has been executed under its own name."""
        if module.__spec__ and module.__spec__.loader is self:
            module.__spec__ = module.__spec__.loader_state


class Recorder:
    """Plugin of pytest that keeps why each test fails, by its id; "" for one that passes. Skipped
    tests are left out."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the outcome of a test, the first failure of its phases."""
        if report.failed or (report.passed and report.when == "call"):
            self.outcomes[report.nodeid] = self.outcomes.get(report.nodeid) or _failure(report)

    def pytest_collectreport(self, report: Any) -> None:
        """Keep the failure of a file that cannot be imported."""
        if report.failed:
            self.outcomes[report.nodeid] = _failure(report)


def _failure(report: Any) -> str:
    """Return the last line of a report's failure; "" if it passed."""
    if report.passed:
        return ""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).splitlines()
    return (lines[0 if crash else -1] if lines else "")[:200] or report.outcome


def main(task: dict[str, Any]) -> None:
    """Run the tests and write their outcomes."""
    sys.path += task["packages"]
    sys.meta_path.insert(0, Aliases(task["aliases"]))
    for module in task["setup"]:  # of the folder of this file, the first of the path
        importlib.import_module(module)
    sys.path[0] = ""
    recorder = Recorder()
    options = ["--rootdir=.", "-p", "no:cacheprovider", "-q", "--continue-on-collection-errors"]
    if any(Path(path).is_absolute() for path in task["paths"]):  # tests of ours
        options += ["-c", os.devnull]
    pytest.main([*options, *task["paths"]], plugins=[recorder])
    Path(task["outcomes"]).write_text(json.dumps(recorder.outcomes), "utf-8")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
