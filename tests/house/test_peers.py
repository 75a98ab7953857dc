"""`make peers`: a library's own tests with modules of ours under its names."""

import shutil
import subprocess

import pytest

from benchmarks.peers import PeerError
from tests.peers import __main__ as peers
from tests.peers.__main__ import compare, run_tests

SUITE = """
import sys
import pytest
from theirs.chance import make_rng
from theirs import Position

@pytest.mark.parametrize("y", [1, 2])
def test_position(y):
    assert Position(y, 0).y == 1

def test_set_up():
    assert "this" in sys.modules

@pytest.mark.skip("not counted")
def test_skipped():
    pass

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
    outcomes = run_tests(["tests"], tmp_path, {"needs": [], "aliases": aliases, "setup": ["this"]})

    passed = {test.rpartition("::")[2]: not reason for test, reason in outcomes.items()}
    broken = "tests/test_broken.py"
    names = "test_position[1]", "test_position[2]", "test_set_up", "test_rng", broken
    assert passed == dict(zip(names, (True, False, True, True, False)))
    assert "assert 2 == 1" in outcomes["tests/test_suite.py::test_position[2]"]
    assert "no module gv_engine.gridverse.nothing" in outcomes[broken]


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_a_commit_is_fetched_whole_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "FOLDER", tmp_path / "fetched")
    git = "git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"
    (tmp_path / "tests.txt").write_text("theirs")
    for command in (["init"], ["add", "tests.txt"], ["commit", "--message=all"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    commit = head.stdout.strip()
    checkout = peers.find_checkout("theirs", f"file://{tmp_path}@{commit}")
    assert (checkout / "tests.txt").read_text() == "theirs"
    with pytest.raises(
        PeerError, match=f"@{'0' * 40} cannot be fetched: fatal: .*--package theirs=P"
    ):
        peers.find_checkout("theirs", f"file://{tmp_path}@{'0' * 40}")
    assert [*(tmp_path / "fetched" / "sources").iterdir()] == [checkout]


def test_a_library_that_cannot_be_fetched_does_not_stop_the_others(monkeypatch, capsys):
    def run(name, checkout):
        if name == "mathy_envs":
            raise PeerError("no network")
        return [compare(name, 3, OUTCOMES, LISTED)]

    monkeypatch.setattr(peers, "run_peer", run)
    assert peers.main([]) == 1
    printed = capsys.readouterr().out
    assert "mathy_envs: no network" in printed
    assert "gym_gridverse" in printed
    assert "minigrid" in printed


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
