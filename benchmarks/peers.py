"""The environments of the peers, one each, made from the package index into `.venv-peers/`."""

from __future__ import annotations

import functools
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".venv-peers"


class PeerError(Exception):
    """A contestant cannot take part; says why."""


@functools.cache
def python_for(packages: tuple[str, ...]) -> str:
    """The Python that has these packages, made if need be; ours if there are none.

    Raises:
        PeerError: they cannot be installed here.
    """
    if not packages:
        return sys.executable
    folder = FOLDER / packages[0]
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text("utf-8") != repr(packages):
        venv.create(folder, clear=True, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--prefer-binary", *packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "ERROR" in line or "rror:" in line]
            raise PeerError(said[0] if said else f"pip ended with {done.returncode}")
        stamp.write_text(repr(packages), "utf-8")
    return str(python)
