"""Files of the engine that run for a key press, a scenario file, an environment, a compilation.

    python -m tests.walks [--list]

CONTRIBUTING.md describes them in words. A file counts if one of its functions is called.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import gymnasium
import pytest

from gv_engine import GridVectorEnv, Scenario
from tests import ROOT
from tests.desk import Desk, home, playing

PACKAGES = ("gv_engine", "systems", "components")


def files_called(walk: Callable[[], object]) -> list[str]:
    """Return the files of the engine whose functions a call runs, the first one called first."""
    codes: dict[CodeType, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        codes[frame.f_code] = None

    sys.setprofile(profile)
    try:
        walk()
    finally:
        sys.setprofile(None)
    files = {Path(code.co_filename): None for code in codes if code.co_name != "<module>"}
    names = [file.relative_to(ROOT) for file in files if file.is_relative_to(ROOT)]
    return [str(name) for name in names if name.parts[0] in PACKAGES]


def make_walks(desk: Desk) -> dict[str, Callable[[], object]]:
    """Return the walks by name, each prepared up to where it begins."""

    def load() -> Scenario:
        return Scenario.load("keydoor-9x9")

    scenario = load()
    playing(desk, "keydoor-9x9")
    return {
        "a key press": lambda: desk.hold("Left", 0),
        "a scenario file": load,
        "gymnasium.make": lambda: gymnasium.make("GV-Keydoor-9x9-v0", world="object"),
        "a cold compilation": lambda: GridVectorEnv(scenario, 1, world="compiled"),
    }


def main() -> None:
    """Print the number of files of each walk, and their names with `--list`."""
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the files too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        home(Path(folder), patch)
        for name, walk in make_walks(Desk()).items():
            files = files_called(walk)
            print(f"{name}: {len(files)} files")
            if options.list:
                print("".join(f"    {file}\n" for file in files), end="")


if __name__ == "__main__":
    main()
