"""`make peers`: a library's own tests with modules of ours under its names."""

import pytest

from tests.peers.__main__ import compare, run_tests

SUITE = """
import pytest
from theirs.chance import make_rng
from theirs import Position

@pytest.mark.parametrize("y", [1, 2])
def test_position(y):
    assert Position(y, 0).y == 1

def test_rng():
    assert make_rng(0).random() == make_rng(0).random()
"""
OUTCOMES = {"t.py::test_a[1]": "", "t.py::test_a[2]": "assert 2 == 1", "t.py::test_b": "no b"}
LISTED = [{"reason": "private", "tests": ["t.py::test_a[2]", "*::test_b"]}]


@pytest.mark.slow
def test_a_suite_runs_against_our_modules(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "test_suite.py").write_text(SUITE)
    (tmp_path / "tests" / "test_broken.py").write_text("import theirs.nothing\n")
    aliases = {"theirs": "gv_engine.gridverse", "theirs.chance": "gv_engine.gridverse.rng"}
    outcomes = run_tests(["tests"], tmp_path, {"needs": [], "aliases": aliases})
    passed = {test.rpartition("::")[2]: not reason for test, reason in outcomes.items()}
    broken = "tests/test_broken.py"
    names = "test_position[1]", "test_position[2]", "test_rng", broken
    assert passed == dict(zip(names, (True, False, True, False)))
    assert "assert 2 == 1" in outcomes["tests/test_suite.py::test_position[2]"]
    assert "no module gv_engine.gridverse.nothing" in outcomes[broken]


@pytest.mark.parametrize(
    ("count", "exceptions", "faults"),
    [
        (3, LISTED, []),
        (4, LISTED, ["4 tests on the library itself, 3 here"]),
        (3, LISTED[:0], ["t.py::test_a[2]: assert 2 == 1", "t.py::test_b: no b"]),
        (3, [*LISTED, {"tests": ["*test_a[1]"]}], ["t.py::test_a[1] passes, and is listed"]),
        (3, [*LISTED, {"tests": ["u.py::*"]}], ["u.py::* is listed, and no test has such an id"]),
    ],
)
def test_outcomes_are_compared_with_the_exceptions(count, exceptions, faults):
    suite = compare("tests", count, OUTCOMES, exceptions)
    assert suite.faults == faults
    assert suite.passed == 1
