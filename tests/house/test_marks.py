"""Marks say what a target of `make` leaves out, and the last lines of pytest tell of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow


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
