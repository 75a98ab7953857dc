"""Marks and durations say what a target of `make` leaves out, and the last lines of pytest tell of
it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.sample("1")
@pytest.mark.parametrize("processes", ["0", "1"])
def test_what_is_left_out_is_told(processes: str):
    wanted = ["-m", "not compiled", "tests/vector/test_enclose.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", processes, "-p", "no:cacheprovider", *wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    *_, large, small, last = done.stdout.splitlines()
    assert {large, small} == {"left to `make thorough`: 1 tests", "left to `make test`: 1 tests"}
    assert last.startswith("=")


@pytest.mark.thorough
def test_tests_that_took_long_are_left_out(tmp_path: Path):
    (tmp_path / "test_some.py").write_text(
        "import time\ndef test_slow(): time.sleep(0.3)\ndef test_fast(): pass\n"
    )
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")

    def run(*more: str) -> str:
        plain = "-p", "no:xdist", "-c", "/dev/null", f"--rootdir={tmp_path}"
        command = [sys.executable, "-m", "pytest", *plain, *more, str(tmp_path)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "2 passed" in run("--at-most", "0.1")  # nothing is known of them
    assert "1 passed, 1 deselected" in run("--at-most", "0.1")
    assert "2 passed" in run()
