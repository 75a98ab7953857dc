"""Games of exported levels, played in Python and in node, and compared byte by byte.

    python -m tests.web.games [LEVEL ...] [--seeds 20] [--steps 200]

Without names, all built-in grids with their packs, those of several agents, and MiniGrid's and
BabyAI's ids.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.cli.check import find_levels
from gv_engine.rules.errors import GVEngineError
from gv_engine.scenario.library import list_built_in_grids, list_multi_agent_grids
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.replay import row_digest
from gv_engine.vector.compiled_backend import CompiledBatch
from gv_engine.web.page import OUTPUTS, SCRIPTS, make_page
from gv_engine.world.simulation import DISABLED
from tests import ROOT

NODE = shutil.which("node")
FOLDER = ROOT / "gv_engine" / "web"
Game = tuple[int, int, list[list[int]]]
"""Number of the level on the page, seed, and the actions of each step."""


class Player:
    """One world in Python that tells checksums as `compare.js` does."""

    def __init__(self, level: Scenario) -> None:
        self.level = level
        self.batch = CompiledBatch(level, 1)
        self.batch.prepare()

    def checksum(self) -> int:
        """Return the CRC-32 of the row and of all outputs that the page has."""
        rows, arrays = self.batch.derived_rows, self.batch.lanes[0].inputs
        value = zlib.crc32(np.ndarray(rows.itemsize, np.uint8, rows).tobytes())
        for name in sorted(name for name in OUTPUTS if name in arrays):
            value = zlib.crc32(arrays[name].tobytes(), value)
        return value

    def play(self, seed: int, steps: int) -> tuple[list[list[int]], list[int], str]:
        """Play random actions until the episode ends; return them, the checksum of the beginning
        and after each step, and the digest at the end."""
        batch, rng = self.batch, np.random.default_rng([seed, 1])
        batch.set_generator(0, np.random.default_rng(seed))
        batch.reset(np.ones(1, np.bool_))
        actions: list[list[int]] = []
        sums = [self.checksum()]
        while len(actions) < steps and not (
            batch.rows["terminated"][0] or batch.rows["truncated"][0]
        ):
            chosen = rng.integers(0, len(self.level.actions), self.level.layout.agents)
            batch.step(chosen, DISABLED)
            actions.append(chosen.tolist())
            sums.append(self.checksum())
        return actions, sums, row_digest(batch.snapshot(0), self.level.types)


def run_script(code: str) -> list[Any]:
    """Return what JavaScript prints, a value in JSON a line; it has a page's program without the
    player."""
    files = json.dumps([str(FOLDER / name) for name in SCRIPTS[:-1]])
    load = f"""const vm = require("vm"), fs = require("fs");
    for (const file of {files}) vm.runInThisContext(fs.readFileSync(file, "utf-8"), file);"""
    assert NODE
    done = subprocess.run(
        [NODE, "-"], input=load + code, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def data_of(page: str) -> Any:
    """Return the data of a page."""
    found = re.search(r'id="data"[^>]*>([^<]*)<', page)
    assert found
    return json.loads(found[1])


def run_in_node(page: str, games: Sequence[Game]) -> Iterator[Any]:
    """Yield for each of these games on a page [checksums, digest at the end], as node has them."""
    assert NODE, "node is missing"
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "page.html"), Path(folder, "games.json")
        files[0].write_text(page, encoding="utf-8")
        files[1].write_text(json.dumps(games), encoding="utf-8")
        script = str(Path(__file__).with_name("compare.js"))
        done = subprocess.run(
            [NODE, script, *map(str, files)], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    yield from map(json.loads, done.stdout.splitlines())


def compare(page: str, levels: Sequence[Scenario], seeds: int, steps: int) -> tuple[int, int]:
    """Play games of all levels of a page in Python and in node; return the number of states, and
    of those that differ in any byte."""
    games: list[Game] = []
    expected = []
    for number, level in enumerate(levels):
        player = Player(level)
        for seed in range(seeds):
            actions, sums, digest = player.play(seed, steps)
            games.append((number, seed, actions))
            expected.append([[*sums, digest]])
    found = [[[*sums, digest]] for sums, digest in run_in_node(page, games)]
    assert len(found) == len(expected)
    pairs = [
        pair
        for (ours,), (theirs,) in zip(expected, found, strict=True)
        for pair in zip(ours, theirs, strict=True)
    ]
    return len(pairs), sum(ours != theirs for ours, theirs in pairs)


def main() -> int:
    """Compare the levels that the command line names; return 1 if any state differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", metavar="LEVEL", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    counts = np.zeros(2, int)
    refused = 0
    for name in options.levels or {**list_multi_agent_grids(), **list_built_in_grids()}:
        try:
            levels = [Scenario.load(each) for each in find_levels(name, {})]
            page = make_page(name, levels)
        except GVEngineError as error:
            refused += 1
            print(f"{name}: refused: {error}", flush=True)
            continue
        found = compare(page, levels, options.seeds, options.steps)
        counts += found
        print(f"{name}: {found[0]} states, {found[1]} different, {len(page)} bytes", flush=True)
    print(f"{counts[0]} states, {counts[1]} different, {refused} refused")
    return int(counts[1] > 0)


if __name__ == "__main__":
    sys.exit(main())
