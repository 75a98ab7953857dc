"""The same program in several processes."""

from __future__ import annotations

import os
import subprocess
import sys


def traces(program: str) -> set[str]:
    """What a program prints that is told a kind of world: both kinds, each with a hash seed of its
    own."""
    return {
        subprocess.run(
            [sys.executable, "-c", program, kind],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
        ).stdout
        for kind, hash_seed in [("object", "1"), ("compiled", "2")]
    }
