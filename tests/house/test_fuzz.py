"""A small share of the fuzzer: the same cases each time."""

from __future__ import annotations

import pickle
import shutil
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from tests.canary import Ear, Sandbox
from tests.fuzz.__main__ import Run
from tests.fuzz.kinds import Kind
from tests.fuzz.worker import Failure, run, smallest

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    folder.mkdir()
    return folder


@pytest.mark.compiled
@pytest.mark.sample("4")
@pytest.mark.parametrize("turns", [4, 50])
def test_some_cases(tmp_path: Path, turns: int):
    fuzz = Run(7, tmp_path, levels=1)
    fuzz.go(seconds=300, count=(13 + bool(find_spec("torch"))) * turns)
    assert not fuzz.failures, fuzz.report()
    assert fuzz.ran["scenarios"] == 4 * turns
    assert min(fuzz.ran.values()) == turns
    assert f"{4 * turns} cases" in fuzz.report()


@pytest.mark.thorough
def test_some_hostile_cases(tmp_path: Path):
    fuzz = Run(7, tmp_path, hostile=True)
    fuzz.go(seconds=600, count=180)
    assert not fuzz.failures, fuzz.report()
    assert len(fuzz.ran) >= 8
    assert min(fuzz.ran.values()) >= 20


def kind(read) -> Kind:
    return Kind(lambda rng: {"a.txt": rng.randbytes(9)}, "a.txt", read, (ValueError,))


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (lambda folder: 1 / 0, "ZeroDivisionError in test_fuzz.py:<lambda>"),
        (lambda folder: int("a"), "unnamed"),
        (lambda folder: int(str(folder)), None),
        (lambda folder: "a" * 9000, "long"),
        (lambda folder: (folder / "b.txt").touch(), "left"),
        (lambda folder: exit(3), "SystemExit in "),
    ],
)
def test_what_is_not_allowed_is_found(here: Path, read, fault: str | None):
    found = run(kind(read), here, {"a.txt": b""}, Ear(here))
    assert (found.fault if found else "").startswith(fault or "")
    assert (found is None) == (fault is None)


@pytest.mark.parametrize(
    "change",
    [
        lambda other: other.write_text("x"),
        lambda other: other.open("a").close(),
        lambda other: other.unlink(),
        lambda other: other.rename(other.parent / "case" / "a.txt"),
        lambda other: (other.parent / "case" / "a.txt").replace(other),
        lambda other: (other.parent / "made").mkdir(),
        lambda other: (other.parent / "link").symlink_to(other),
        lambda other: shutil.rmtree(other.parent / "folder"),
        lambda other: pickle.loads(pickle.dumps(Path)),
    ],
)
def test_changes_outside_are_found(here: Path, tmp_path: Path, change):
    (tmp_path / "folder").mkdir()
    other = tmp_path / "other.txt"
    other.touch()
    case = {"a.txt": b""}
    (here / "a.txt").touch()
    sandbox = Sandbox(here)
    found = run(kind(lambda _: str(change(other))[:0]), here, case, Ear(here), sandbox)
    assert found is not None
    assert found.fault == "broken"

    def inside(folder: Path) -> None:
        (folder / "b").mkdir()
        (folder / "b" / "c.txt").write_text("x")
        (folder / "b" / "c.txt").rename(folder / "b" / "d.txt")
        shutil.rmtree(folder / "b")

    (here / "a.txt").touch()
    assert run(kind(inside), here, case, Ear(here), sandbox) is None


def test_foreign_files_are_found(here: Path, tmp_path: Path):
    (tmp_path / "other.py").touch()
    found = run(kind(lambda _: (tmp_path / "other.py").read_text()), here, {}, Ear(here))
    assert found is not None
    assert found.fault == "strange"


def test_cases_are_made_small(here: Path):
    def read(folder: Path) -> None:
        if b"<" in (folder / "a.txt").read_bytes():
            raise KeyError

    case = {"a.txt": b"one\ntwo < three\n" + Random(1).randbytes(50).replace(b"<", b"")}
    fault = Failure("KeyError in test_fuzz.py:read", "")
    assert smallest(kind(read), here, case, Ear(here), fault) == {"a.txt": b"<"}
