"""`python -m benchmarks.pictures`: speed of rendering beside MiniGrid's, and of the window.

Workloads take turns, round by round, so that a machine that slows down slows all of them down.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from statistics import median, quantiles
from typing import Any

GLIDE = 8  # pictures of each movement
CROWD: dict[str, Any] = {
    "name": "crowd",
    "state_space": {"objects": ["Wall", "Floor", "Exit", "MovingObstacle"], "colors": ["NONE"]},
    "observation_space": {
        "objects": ["Wall", "Floor", "Exit", "MovingObstacle"],
        "colors": ["NONE"],
    },
    "reset_function": {"name": "dynamic_obstacles", "shape": [64, 64], "num_obstacles": 40},
    "transition_functions": ["move_agent", "turn_agent", "move_obstacles"],
    "reward_functions": ["living_reward"],
    "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
    "terminating_function": "reach_exit",
}
"""Large grid with many moving objects."""


def minigrid(seconds: float) -> float:
    """MiniGrid-DoorKey-8x8-v0 by default, 256 × 256"""
    return measure_minigrid(seconds)


def minigrid_large(seconds: float) -> float:
    """MiniGrid-DoorKey-8x8-v0 with as many pixels as below, 392 × 392"""
    return measure_minigrid(seconds, tile_size=49)


def gv_object(seconds: float) -> float:
    """GV-Keydoor-9x9-v0, object world, state and observation, 528 × 288"""
    return measure_engine(seconds, world="object")


def gv_default(seconds: float) -> float:
    """GV-Keydoor-9x9-v0 by default, state and observation, 528 × 288"""
    return measure_engine(seconds)


def measure_minigrid(seconds: float, **options: Any) -> float:
    """Return the pictures per CPU second of MiniGrid's DoorKey level."""
    import gymnasium
    import minigrid  # noqa: F401  # in its own environment

    name = "MiniGrid-DoorKey-8x8-v0"
    return measure_pictures(gymnasium.make(name, render_mode="rgb_array", **options), seconds)


def measure_engine(seconds: float, **options: Any) -> float:
    """Return the pictures per CPU second of the engine's key-door level."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    name = "GV-Keydoor-9x9-v0"
    return measure_pictures(gymnasium.make(name, render_mode="rgb_array", **options), seconds)


def measure_pictures(env: Any, seconds: float) -> float:
    """Return the calls of `env.render()` per CPU second, each after a random step."""
    import numpy as np

    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def render_after_steps(count: int) -> float:
        total = 0.0
        for action in rng.integers(0, env.action_space.n, count).tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
            start = time.process_time()
            env.render()
            total += time.process_time() - start
        return total

    render_after_steps(200)  # loads the sprites
    count, total = 0, 0.0
    while total < seconds:
        count, total = count + 200, total + render_after_steps(200)
    return count / total


WORKERS = {worker.__name__: worker for worker in (minigrid, minigrid_large, gv_object, gv_default)}


def measure_window(steps: int) -> tuple[tuple[int, int], list[float]]:
    """Return the size of the window, and the seconds of each picture of a large moving grid."""
    from gv_engine import Scenario
    from gv_engine.play.grid.stage import GridStage
    from gv_engine.play.session.session import Session
    from gv_engine.play.ui.colors import DARK
    from gv_engine.play.ui.drawing.sprites import pygame
    from gv_engine.play.ui.window.viewer import NoDisplay, is_open, open_window

    try:
        surface = open_window("64 × 64", full_screen=True)
    except NoDisplay:
        surface = pygame.Surface((1920, 1080), 0, 32)
    session = Session(Scenario.load(CROWD), seed=0)
    stage = GridStage(session, DARK)
    stage.line = 24
    times = []
    for step in range(steps):
        before = session.frame()
        session.step("TURN_RIGHT" if step % 20 == 0 else "MOVE_FORWARD")
        start = time.perf_counter()
        stage.begin(before, session.frame())
        for part in range(1, GLIDE + 1):
            stage.draw(surface, surface.get_rect(), part / GLIDE)
            if is_open():
                pygame.display.flip()
                pygame.event.pump()
            times.append(time.perf_counter() - start)
            start = time.perf_counter()
    size = surface.get_size()
    pygame.display.quit()
    return size, times[GLIDE:]  # the first ones load the sprites


def main() -> None:
    """Measure all workloads and print tables."""
    from benchmarks.peers import python_for
    from benchmarks.roster import ROSTER

    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU time of one measurement")
    arguments = parser.parse_args()
    figures: dict[str, list[float]] = {name: [] for name in WORKERS}
    for _ in range(arguments.rounds):
        for name in WORKERS:
            packages = ROSTER["minigrid"].packages if name.startswith("minigrid") else ()
            # -P: this folder has a module `minigrid`, too
            command = [python_for(packages), "-P", __file__, name, str(arguments.seconds)]
            process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            figures[name].append(json.loads(process.stdout.splitlines()[-1]))
    print(f"Pictures per CPU second, median of {arguments.rounds} (lowest to highest)")
    for name, values in figures.items():
        ratios = [a / b for a, b in zip(values, figures["minigrid"], strict=True)]
        print(
            f"  {WORKERS[name].__doc__:<72} {median(values):>9,.0f}"
            f"  ({min(values):,.0f} to {max(values):,.0f})  {median(ratios):8.2f}x"
        )
    (width, height), times = measure_window(60)
    slow = quantiles(times, n=10)[-1]
    print(f"Pictures per second of a window of {width} × {height}, 64 × 64 cells, much moving")
    print(f"  median {1 / median(times):,.0f}, nine of ten above {1 / slow:,.0f}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in WORKERS:
        print(json.dumps(WORKERS[sys.argv[1]](float(sys.argv[2]))))
    else:
        main()
