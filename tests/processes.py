"""Python in other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from tests import ROOT

FINDS_TESTS = {"PYTHONPATH": str(ROOT)}
"""What the environment of a process needs besides to import `tests` from any folder."""


def run_python(*words: Any, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with these words of a command line; `stdout` and `stderr` are texts."""
    command = [sys.executable, *map(str, words)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=check, **options)
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise


def run_program(program: str, *words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the text of a program with these words as its arguments."""
    return run_python("-c", program, *words, **options)


def traces(program: str) -> set[str]:
    """What a program prints that is told a kind of world: both kinds, each with a hash seed of its
    own."""
    return {
        run_program(program, kind, env={**os.environ, "PYTHONHASHSEED": hash_seed}).stdout
        for kind, hash_seed in [("object", "1"), ("compiled", "2")]
    }


def under_hash_seeds(program: str) -> list[str]:
    """What a program prints in two processes that hash differently."""
    return [
        run_program(program, env={**os.environ, "PYTHONHASHSEED": hash_seed}).stdout
        for hash_seed in ("1", "2")
    ]
