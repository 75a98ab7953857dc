"""`python -m benchmarks.splits`: share of held-out levels whose layout is in `train`.

The levels are played here in object worlds and their layouts read cell by cell: how each cell looks
on both layers, and the object in it with the contents of boxes. Neither agents nor hashes are part
of that, so it is independent of the search for the sets, which runs compiled.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from gv_engine.envs.level_sets import LevelsError, LevelSet, level_set
from gv_engine.rules.component import NOTHING
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

SCENARIOS = (
    "MiniGrid-DoorKey-5x5-v0",
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-KeyCorridorS3R1-v0",
    "MiniGrid-Empty-Random-5x5-v0",
    "keydoor-5x5",
    "teleport-5x5",
    "medley-7x7",
    "keydoor-9x9",
    "keydoor-sizes",
    "memory-9x9",
    "crossing-7x7",
    "four-rooms-7x7",
    "nine-rooms-10x10",
    "dynamic-obstacles-7x7",
    "boxes",
    "levers",
    "maze-9x9",
    "MiniGrid-MultiRoom-N2-S4-v0",
    "MiniGrid-GoToObject-6x6-N2-v0",
    "BabyAI-GoToLocal-v0",
)


def read_layouts(levels: LevelSet) -> Iterator[Any]:
    """Yield the layout of each level of a set, as a value that can be compared."""
    simulation = Simulation(levels.scenario)
    for seed in levels.seeds:
        simulation.reset(np.random.default_rng(seed))
        yield read_layout(simulation.world)


def read_layout(world: Any) -> tuple[Any, ...]:
    """Return the member, the looks of all cells and the contents of boxes in an object world."""
    boxes = world.box.content if hasattr(world, "box") else None
    contents = [
        (place, *_read_content(world, boxes, boxes[entity]))
        for place, entity in np.ndenumerate(world.at)
        if boxes is not None and entity != NOTHING and boxes[entity] != NOTHING
    ]
    below = world.beneath()
    looks = world.cells(), *(() if below is None else (below,))
    return world.member, *((each.shape, each.tobytes()) for each in looks), *contents


def _read_content(world: Any, boxes: Any, entity: int) -> Iterator[int]:
    """Yield type and colour of an object in a box, and of what is in that."""
    while entity != NOTHING:
        yield world.kind.value[entity]
        yield world.color.value[entity]
        entity = boxes[entity]


def measure_overlap(scenario: Scenario, name: str) -> tuple[int, int, float] | str:
    """Return the number of levels in the set `name`, the number of their layouts, and the share of
    levels whose layout is in `train`; the reason if there is no such set."""
    try:
        held_out, train = level_set(scenario, name), level_set(scenario, "train")
    except LevelsError as error:
        return str(error)
    learned, layouts = {*read_layouts(train)}, [*read_layouts(held_out)]
    shared = sum(layout in learned for layout in layouts)
    return len(layouts), len({*layouts}), shared / len(layouts)


def main() -> None:
    """Print a table in Markdown, one line for each scenario."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.splits", description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO")
    kinds = "validation", "test", "test-layout"
    heads = (head for kind in kinds for head in (f"`{kind}`", "layout in `train`"))
    for row in (["scenario", "`train`", *heads], ["---", *["--:"] * 7]):
        print("|", " | ".join(row), "|", flush=True)
    for name in parser.parse_args().scenarios:
        scenario = Scenario.load(name)
        row = [f"`{name}`", f"{len(level_set(scenario, 'train').seeds):,}"]
        for kind in kinds:
            found = measure_overlap(scenario, kind)
            row += ["–", "–"] if isinstance(found, str) else [f"{found[0]:,}", f"{found[2]:.0%}"]
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
