"""Games of exported levels, played in object worlds, in compiled worlds and in node, and compared.

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
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.envs.backends.object_backend import ObjectBatch
from gv_engine.play.session.replay import row_digest
from gv_engine.plugins.web.page import ARRAYS, SCRIPTS, make_page
from gv_engine.rules.errors import GVEngineError
from gv_engine.scenario.library import list_built_in_grids, list_multi_agent_grids
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import DISABLED
from tests import ROOT

NODE = shutil.which("node")
FOLDER = ROOT / "gv_engine" / "plugins" / "web"
Game = tuple[int, int, list[list[int]]]
"""Number of the level on the page, seed, and the actions of each step."""


class Player:
    """An object world and a compiled world, which tell their states as `compare.js` does."""

    def __init__(self, level: Scenario) -> None:
        self.level = level
        self.compiled, self.objects = CompiledBatch(level, 1), ObjectBatch(level, 1)
        self.compiled.prepare()

    def state(self) -> list[Any]:
        """Return the CRC-32 of the compiled row and of all outputs that the page has, or the names
        of those that the object world has not; and the digest of the object world."""
        rows, arrays = self.compiled.derived_rows, self.compiled.lane.arrays
        value = zlib.crc32(np.ndarray(rows.itemsize, np.uint8, rows).tobytes())
        names = sorted(name for name in ARRAYS if name in arrays)
        for name in names:
            value = zlib.crc32(arrays[name].tobytes(), value)
        shown = vars(self.objects.outputs)
        others = [n for n in names if n in shown and shown[n].tobytes() != arrays[n].tobytes()]
        return [others or value, row_digest(self.objects.snapshot(0), self.level.types)]

    def play(self, seed: int, steps: int) -> tuple[list[list[int]], list[Any]]:
        """Play random actions until the episode ends; return them, and the state at the beginning
        and after each step."""
        rng, rows = np.random.default_rng([seed, 1]), self.compiled.rows
        for batch in (self.compiled, self.objects):
            batch.set_generator(0, np.random.default_rng(seed))
            batch.reset(np.ones(1, np.bool_))
        actions: list[list[int]] = []
        states = [self.state()]
        while len(actions) < steps and not (rows["terminated"][0] or rows["truncated"][0]):
            chosen = rng.integers(0, len(self.level.actions), self.level.layout.agents)
            for batch in (self.compiled, self.objects):
                batch.step(chosen, DISABLED)
            actions.append(chosen.tolist())
            states.append(self.state())
        return actions, states


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


def run_on_page(page: str, code: str) -> list[Any]:
    """Return what JavaScript prints beside `data`, the data of a page, `rules` and a `world` of its
    first level."""
    return run_script(
        f"""
        const data = {json.dumps(data_of(page))};
        (async () => {{
          const rules = await loadRules(data), level = data.levels[0];
          const world = new World(level, rules, await unpack(level.image));
          {code}
        }})();
        """
    )


def run_in_node(page: str, games: Sequence[Game]) -> Iterator[Any]:
    """Yield for each of these games on a page its states, as node has them."""
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
    of those that differ."""
    games: list[Game] = []
    expected: list[Any] = []
    for number, level in enumerate(levels):
        player = Player(level)
        for seed in range(seeds):
            actions, states = player.play(seed, steps)
            games.append((number, seed, actions))
            expected += states
    found = [state for states in run_in_node(page, games) for state in states]
    pairs = zip(found, expected, strict=True)
    return len(found), sum(ours != theirs for ours, theirs in pairs)


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
