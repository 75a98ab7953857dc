"""Marks and durations say what a target of `make` leaves out, and the last lines of pytest tell of
it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import _DURATIONS

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

TESTS = """
import pytest

def test_plain():
    pass

@pytest.mark.compiled
def test_compiled():
    pass

@pytest.mark.thorough
@pytest.mark.compiled
def test_thorough():
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """Folder with three tests and what all tests share."""
    pytester.makeconftest("from tests.conftest import *")
    pytester.makeini("[pytest]\nmarkers =\n compiled\n thorough\n window\n slow\n")
    pytester.makepyfile(TESTS)
    return pytester


@pytest.mark.sample("0")
@pytest.mark.parametrize("processes", ["0", "1"])
def test_what_is_left_out_is_told(suite: pytest.Pytester, processes: str):
    done = suite.runpytest_inprocess("-n", processes, "-m", "not compiled")
    *_, large, small, last = done.outlines
    assert {large, small} == {"left to `make thorough`: 1 tests", "left to `make test`: 1 tests"}
    assert last.startswith("=")


def test_tests_that_took_long_are_left_out(suite: pytest.Pytester):
    suite.runpytest_inprocess("--at-most", "0.1").assert_outcomes(passed=3)  # none has run before
    file = Path(suite.path, ".pytest_cache", "v", _DURATIONS)
    seconds = json.loads(file.read_text())
    assert sorted(name.partition("::")[2] for name in seconds) == [
        "test_compiled",
        "test_plain",
        "test_thorough",
    ]
    assert min(seconds.values()) >= 0
    file.write_text(json.dumps({name: 0.3 * ("plain" in name) for name in seconds}))
    suite.runpytest_inprocess("--at-most", "0.1").assert_outcomes(passed=2, deselected=1)
    suite.runpytest_inprocess().assert_outcomes(passed=3)
