"""MiniGrid's wrappers, and scripts as its users write them, on MiniGrid's levels and on ours.

    python -m tests.minigrid_wrappers [--world object|compiled|both] [--steps N] [--only TEXT]

plays 20 ids with each of them from the same seeds with the same actions, through the ends of
episodes, and compares what every reset and step returns. It prints a line for each wrapper: on how
many ids it is equal, and the sentence with which it is refused on others. MiniGrid comes from its
environment in `.venv-peers/`, beside everything else of ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import FlattenObservation, TransformAction

from benchmarks.peers import python_for
from benchmarks.roster import ROSTER
from gv_engine.rules.errors import GVEngineError
from tests.comparing import same

IDS = (
    *("LavaCrossingS9N2-v0", "SimpleCrossingS9N1-v0", "DistShift1-v0", "DoorKey-6x6-v0"),
    *("Dynamic-Obstacles-5x5-v0", "Dynamic-Obstacles-Random-6x6-v0", "Empty-Random-6x6-v0"),
    *("Fetch-6x6-N2-v0", "FourRooms-v0", "GoToDoor-6x6-v0", "GoToObject-6x6-N2-v0"),
    *("KeyCorridorS3R2-v0", "LavaGapS6-v0", "LockedRoom-v0", "MemoryS9-v0"),
    *("MultiRoom-N2-S4-v0", "ObstructedMaze-1Dlhb-v0", "PutNear-6x6-N2-v0"),
    *("RedBlueDoors-6x6-v0", "BlockedUnlockPickup-v0"),
)
_FORWARD_BIAS = 0.5
"""The share of actions that go ahead, in addition to those that are drawn."""

Wrap = Callable[[Any], Any]


def wrapper_cases() -> dict[str, Wrap]:
    """Return all wrappers of MiniGrid, by their names and options.

    Raises:
        LookupError: MiniGrid has a wrapper that is not listed.
    """
    from minigrid import wrappers as w

    listed: list[tuple[Any, dict[str, Any]]] = [
        *((w.ReseedWrapper, {"seeds": [3, 5]}), (w.ActionBonus, {}), (w.PositionBonus, {})),
        *((w.ImgObsWrapper, {}), (w.OneHotPartialObsWrapper, {}), (w.RGBImgObsWrapper, {})),
        *((w.RGBImgPartialObsWrapper, {"tile_size": 10}), (w.FullyObsWrapper, {})),
        *((w.DictObservationSpaceWrapper, {}), (w.FlatObsWrapper, {})),
        *((w.ViewSizeWrapper, {"agent_view_size": 5}), (w.SymbolicObsWrapper, {})),
        *((w.DirectionObsWrapper, {"type": kind}) for kind in ("slope", "angle", "angle_atan2")),
        (w.StochasticActionWrapper, {"prob": 0.7}),
        (w.NoDeath, {"no_death_types": ("lava", "ball")}),
    ]
    there = {
        each
        for each in vars(w).values()
        if isinstance(each, type) and each.__module__ == w.__name__
    }
    if missing := there - {wrapper for wrapper, _ in listed}:
        raise LookupError(f"wrappers that no case plays: {missing}")
    return {
        f"{wrapper.__name__} {options or ''}".strip(): partial(wrapper, **options)
        for wrapper, options in listed
    }


class LookAhead(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper as users write one: pays for what is ahead and held, and for new states.

    States count where the agent has gone ahead. Before its first move MiniGrid's `hash` of a level
    depends on the Python type of the position.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.states: set[str] = set()

    def step(self, action: Any) -> Any:
        env: Any = self.unwrapped
        reward: Any
        front, ahead = tuple(env.front_pos), env.grid.get(*env.front_pos)
        shown, reward, terminated, truncated, info = self.env.step(action)
        if action == env.actions.pickup and ahead is not None and ahead.can_pickup():
            reward += 0.1
        if ahead and ahead.type == "door" and not ahead.is_open and (None, "key") in env.grid:
            reward += 0.01
        if env.carrying is not None:
            reward += {"key": 0.2, "ball": 0.3, "box": 0.4}[env.carrying.type]
            reward += 0.05 * (env.carrying.color == "grey")
            reward += 0.07 * (env.carrying.contains is not None)
        if tuple(env.agent_pos) == front and (state := env.hash(32)) not in self.states:
            reward += 0.001
            self.states.add(state)
        x, y = env.agent_pos + 2 * env.dir_vec
        if 0 <= x < env.width and 0 <= y < env.height and env.grid.get(x, y) is None:
            reward += 0.0001 * env.gen_obs()["image"].sum()
        return shown, reward, terminated, truncated, info


def flat_observations(env: Any) -> Any:
    """Wrap as scripts for multilayer perceptrons do."""
    from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

    return FlattenObservation(ImgObsWrapper(FullyObsWrapper(env)))


def rgb_images(env: Any) -> Any:
    """Wrap as scripts for convolutional networks do, which hand over arrays of one action."""
    from minigrid.wrappers import ImgObsWrapper, RGBImgPartialObsWrapper

    env = ImgObsWrapper(RGBImgPartialObsWrapper(env, tile_size=8))
    return TransformAction(env, lambda action: np.array([action]), env.action_space)


SCRIPTS: dict[str, Wrap] = {
    "script: flat observations": flat_observations,
    "script: RGB images": rgb_images,
    "script: a custom wrapper": LookAhead,
}


def observed(shown: Any) -> Any:
    """Return an observation with numbers as Python has them."""
    return {**shown, "direction": int(shown["direction"])} if isinstance(shown, dict) else shown


def played(env: Any, wrap: Wrap, seed: int, steps: int) -> Iterator[Any]:
    """Yield what the wrapped environment returns, or the type and text of what it raises."""
    pilot = np.random.default_rng(seed)
    try:
        env = wrap(env)
        yield observed(env.reset(seed=seed, options={"of": "another library"})[0])
        number = env.action_space.n
        for _ in range(steps):
            action = 2 if pilot.random() < _FORWARD_BIAS else pilot.integers(number)
            shown, reward, *ends, _ = env.step(action)
            yield observed(shown), float(reward), *map(bool, ends)
            if any(ends):
                yield observed(env.reset()[0])
    except GVEngineError as refusal:
        yield refusal
    except ValueError as error:  # of the wrapper, which MiniGrid's own environment raises too
        yield (type(error).__name__, str(error))


def compare(name: str, wrap: Wrap, world: str, seed: int, steps: int) -> str:
    """Return "equal", the sentence of a refusal, or the first difference."""
    theirs = gymnasium.make(f"MiniGrid-{name}", disable_env_checker=True)
    ours = gymnasium.make(f"GV-MiniGrid-{name}", world=world, disable_env_checker=True)
    both = played(theirs, wrap, seed, steps), played(ours, wrap, seed, steps)
    for number, (expected, found) in enumerate(zip(*both, strict=True)):
        if isinstance(found, GVEngineError):
            return f"refused: {found}"
        if not same(expected, found):
            return f"DIFFERENT in frame {number}: found {found}, MiniGrid has {expected}"
    return "equal"


def import_minigrid() -> str:
    """Make MiniGrid importable from its own environment, and return its version."""
    folder = Path(python_for(ROSTER["minigrid"].packages)).parent.parent
    sys.path += map(str, folder.glob("lib/python*/site-packages"))  # last: all else is ours
    import minigrid  # noqa: F401  # registers its ids

    return version("minigrid")


def main(arguments: list[str] | None = None) -> int:
    """Play all cases; 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid_wrappers")
    parser.add_argument("--world", choices=("object", "compiled", "both"), default="both")
    parser.add_argument("--steps", type=int, default=60, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this text in them")
    options = parser.parse_args(arguments)
    worlds = ("object", "compiled") if options.world == "both" else (options.world,)
    print(f"MiniGrid {import_minigrid()}, {len(IDS)} ids, {options.steps} steps, {worlds}")
    different = 0
    for case, wrap in (wrapper_cases() | SCRIPTS).items():
        if options.only not in case:
            continue
        results = {
            (name, world): compare(name, wrap, world, seed, options.steps)
            for seed, name in enumerate(IDS)
            for world in worlds
        }
        equal = sum(result == "equal" for result in results.values())
        print(f"{case}: {equal} of {len(results)} equal", flush=True)
        for (name, world), result in results.items():
            if result != "equal":
                different += result.startswith("DIFFERENT")
                print(f"    {name}, {world}: {result[:400]}")
    print(f"{different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
