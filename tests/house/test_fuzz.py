"""A small share of the fuzzer: the same cases each time."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.canary import Ear
from tests.fuzz.__main__ import Run
from tests.fuzz.kinds import Kind
from tests.fuzz.worker import Failure, run, smallest

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    folder.mkdir()
    return folder


def test_some_cases(tmp_path: Path):
    fuzz = Run(7, tmp_path)
    fuzz.go(seconds=60, count=450)
    assert not fuzz.failures, fuzz.report()
    assert fuzz.ran["scenarios"] == 200
    assert min(fuzz.ran.values()) == 50
    assert "200 cases" in fuzz.report()


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
