"""Table of level files by others: `python -m tests.level_files_of_others FOLDER` prints how many
levels each file has, their largest size, first and last title, or the message that refuses it.

Maps of Tiled are read as far as their tiles: few tiles of others have an object as their class.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from gv_engine import Scenario
from gv_engine.rules.errors import GVEngineError
from gv_engine.scenario.levels.tiled_maps import TiledMap
from gv_engine.scenario.storage.files import read_bytes

SUFFIXES = ".xsb", ".sok", ".txt", ".slc", ".tmx"


def read_file(file: Path) -> list[str]:
    """Return number and largest size of the levels in a file, and its titles or tiles."""
    if file.suffix.lower() == ".tmx":
        level = TiledMap(file, lambda path: read_bytes(path, 2**20, "files of levels"))
        layers = [tiles for _, tiles in level.layers()]
        numbers = {number for tiles in layers for number in np.unique(tiles).tolist()} - {0}
        for number in numbers:
            level.read_tile(number)
        return ["1", "{}x{}".format(*level.shape), f"{len(layers)} layers, {len(numbers)} tiles"]
    levels = Scenario.load(file).document.levels
    if not levels:
        raise ValueError("it has no boards")
    sides = [(text.count("\n") + 1, text.find("\n")) for text in (each.map.text for each in levels)]
    size = "x".join(str(max(side)) for side in zip(*sides, strict=True))
    return [str(len(levels)), size, " … ".join((levels[0].title, levels[-1].title))]


def main(folder: Path) -> None:
    """Print a line for each level file in `folder` and its folders, and the number of files that
    were read and refused, by suffix."""
    counts = Counter[str]()
    for file in sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES):
        try:
            row, said = read_file(file), "read"
        except (GVEngineError, OSError, ValueError) as error:
            row, said = ["", "", str(error).split("\n")[0]], "refused"
        counts[f"{file.suffix} {said}"] += 1
        print(" | ".join((str(file.relative_to(folder)), *row[:2], said, row[2])), flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
