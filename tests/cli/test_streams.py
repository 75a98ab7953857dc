"""Commands whose standard streams are narrow, closed, or have a reader that goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from gv_engine import __main__
from gv_engine.cli import streams
from tests import ROOT

pytestmark = pytest.mark.slow
WIDE = "name: 鍵 Ключ\ndescription: Öffne × die Tür …\n"
COMMANDS = [
    *(["--help"], ["list"], ["rules"], ["rules", "move_agent"], ["schema"], ["splits", "ice"]),
    *(["solve", "鍵.yaml"], ["check", "鍵.yaml"], ["new", "鍵"], ["nosuch"], ["replay", "鍵"]),
    ["play", "鍵.yaml", "--terminal"],
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "鍵.yaml").write_text(f"extends: keydoor-5x5\n{WIDE}", "utf-8")
    return tmp_path


@pytest.mark.compiled
@pytest.mark.sample("--help", "rules", "nosuch", "new 鍵")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_writes_ascii_where_nothing_else_is_possible(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
):
    raw = {name: BytesIO() for name in ("stdout", "stderr")}
    monkeypatch.setattr(sys, "argv", ["gv-engine", *words])
    for name, file in raw.items():
        monkeypatch.setattr(sys, name, TextIOWrapper(file, "ascii"))
    with suppress(SystemExit):
        assert __main__.main() in (0, 1, 2)
    said = {name: file.getvalue().decode("ascii") for name, file in raw.items()}
    assert said["stdout"] or said["stderr"]
    assert "Traceback" not in said["stderr"]


def test_letters_that_an_encoding_lacks_are_spelled():
    text = "7 × 7 … “é” – x² → 鍵"
    assert text.encode("ascii", "ascii_text") == rb'7 x 7 ... "e" - x^2 -> \u9375'
    assert text.encode("latin-1", "ascii_text").decode("latin-1").startswith('7 × 7 ... "é" - x²')
    with pytest.raises(UnicodeDecodeError):
        b"\xe9".decode("ascii", "ascii_text")


def test_closed_streams_read_and_write_nothing(monkeypatch: pytest.MonkeyPatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setattr(sys, "argv", ["gv-engine", "rules", "move_agent"])
    assert __main__.main() == 0
    opened = sys.stdin, sys.stdout, sys.stderr
    assert not sys.stdin.read()
    assert streams.flush_output()
    for file in opened:
        file.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", ["--help", "train --help"])
def test_help_that_cannot_be_written_is_told(words: str):
    program = [sys.executable, "-u", "-m", "gv_engine", *words.split()]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            program, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    said = "gv-engine: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.sample("no streams", "no reader")
@pytest.mark.parametrize(
    ("redirections", "code"),
    [(">&-", 0), ("<&- >&- 2>&-", 0), ("| true", 2), ("2>&1 | true", 2)],
    ids=["no output", "no streams", "no reader", "no reader of both"],
)
def test_streams_of_a_shell(redirections: str, code: int):
    command, _, pipe = redirections.partition("|")
    words = "rules"  # more than a pipe's reader that has gone takes
    line = f'"{sys.executable}" -m gv_engine {words} {command}'
    script = f"{line} | sleep 0; exit ${{PIPESTATUS[0]}}" if pipe else line
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (code, b"")
