"""MiniGrid as it plays, recorded; a process of its own, where MiniGrid is installed and we are not.

    python -m tests.minigrid_recorder

answers each line of its input with a pickle of the arrays of a recorded file. A line is a JSON
list: an id, the first seed, how many there are, how many frames each has, and whether all that
there is counts, or only what is shown; if it is not 1, how many episodes each has at least: longer
ones are left for the next one; and how many steps go on beyond the end of an episode.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

_BUSY = 0.15, 0.15, 0.4, 0.1, 0.06, 0.13, 0.01
"""How likely the busy policy takes each of the seven actions, where it does not use a thing."""
_BEGINNING: dict[str, Any] = {"action": -1, "reward": 0.0, "terminated": False, "truncated": False}
"""What has led to the first frame of an episode."""
_PICK_UP, _TOGGLE = 3, 5
_LONGEST_CALL = 8.0
"""CPU seconds after which a call of the reference that may not end is given up."""


def recorded(
    name: str, seeds: range, steps: int, whole: bool, episodes: int = 1, beyond: int = 0
) -> dict[str, NDArray[Any]]:
    """The arrays of a file: so many frames from each of the seeds, through the ends of episodes.

    The seeds are played in turn by a busy policy, which takes, drops, opens and breaks what there
    is, by a random one, and, in ids of BabyAI, by MiniGrid's bot for their missions.
    """
    import minigrid  # noqa: F401  # registers its ids

    env: Any = gymnasium.make(name, disable_env_checker=True)
    parts = [[*_played(env, seed, steps, whole, episodes, beyond)] for seed in seeds]
    frames = [frame for part in parts for frame in part]
    missions = sorted({frame["mission"] for frame in frames})
    numbers = {mission: number for number, mission in enumerate(missions)}
    arrays = {key: np.array([frame[key] for frame in frames]) for key in frames[0]}
    return arrays | {
        "id": np.array(name),
        "max_steps": np.array(env.unwrapped.max_steps),
        "seed": np.array(seeds),
        "start": np.cumsum([0, *map(len, parts)]),
        "missions": np.array(missions),
        "mission": np.array([numbers[frame["mission"]] for frame in frames]),
    }


def _played(
    env: Any, seed: int, steps: int, whole: bool, episodes: int, beyond: int
) -> Iterator[dict[str, Any]]:
    """The frames of a recording; fewer if a reset does not end, as some of the reference's do."""
    length = after_end = 0
    policies = (_busy, _random, _bot) if env.spec.id.startswith("BabyAI") else (_busy, _random)
    act = policies[seed % len(policies)](env, seed, steps)
    if (observation := _reset(env, seed)) is None:
        return
    came = _BEGINNING
    for _ in range(steps):
        yield _frame(env, observation, whole) | came
        length += 1
        after_end += bool(after_end or came["terminated"] or came["truncated"])
        if after_end > beyond or (episodes > 1 and length >= steps // episodes):
            if (observation := _reset(env)) is None:
                return
            came = _BEGINNING
            length = after_end = 0
        else:
            try:
                action = next(act)
                observation, reward, terminated, truncated, _ = env.step(action)
            except AssertionError:  # of the reference, beyond the end of an episode
                if not after_end:
                    raise
                return
            ends = {"terminated": terminated, "truncated": truncated}
            came = {"action": action, "reward": float(reward), **ends}


def _reset(env: Any, seed: int | None = None) -> dict[str, Any] | None:
    """The first observation of an episode; None if there is none within some seconds of CPU."""
    try:
        return cast("dict[str, Any]", _call_or_give_up(env.reset, seed=seed)[0])
    except TimeoutError:
        return None


def _call_or_give_up(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The result of a call.

    Raises:
        TimeoutError: it takes too long.
    """

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _LONGEST_CALL)
    try:
        return function(*args, **options)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _random(env: Any, seed: int, steps: int) -> Iterator[int]:
    yield from np.random.default_rng((seed, 1)).integers(env.action_space.n, size=steps).tolist()


def _busy(env: Any, seed: int, steps: int) -> Iterator[int]:
    policy, inner = np.random.default_rng((seed, 1)), env.unwrapped
    usual = policy.choice(len(_BUSY), steps, p=_BUSY).tolist()
    for action, chance in zip(usual, policy.random(steps).tolist(), strict=True):
        ahead = inner.grid.get(*inner.front_pos)
        if ahead is None or chance > 0.5 or ahead.type in ("wall", "goal", "lava"):
            yield action
        else:
            yield _TOGGLE if ahead.type == "door" or chance < 0.1 else _PICK_UP


def _bot(env: Any, seed: int, steps: int) -> Iterator[int]:
    """MiniGrid's bot, a new one for each episode; random actions where it fails."""
    from minigrid.utils.baby_ai_bot import BabyAIBot

    bot, last = None, None
    for action in _random(env, seed, steps):
        try:
            if env.unwrapped.step_count == 0:
                bot, last = BabyAIBot(env), None
            if bot:
                last = action = int(_call_or_give_up(bot.replan, last))
        except Exception:  # various ones where it knows no way
            bot = None
        yield action


def _frame(env: Any, observation: dict[str, Any], whole: bool) -> dict[str, Any]:
    shown = observation | {"direction": np.uint8(observation["direction"])}
    return shown | _state(env.unwrapped) if whole else shown


def _state(env: Any) -> dict[str, Any]:
    """What there is beside what is shown."""
    from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX

    def code(thing: Any) -> tuple[int, int]:
        return (0, 0) if thing is None else (OBJECT_TO_IDX[thing.type], COLOR_TO_IDX[thing.color])

    def inside(thing: Any) -> Any:
        return getattr(thing, "contains", None)

    grid, held = env.grid.encode(), env.carrying
    content = np.zeros((*grid.shape[:2], 2), np.uint8)
    for x, y in zip(*np.nonzero(grid[..., 0] == OBJECT_TO_IDX["box"])):
        content[x, y] = code(inside(env.grid.get(x, y)))
    return {
        "grid": grid,
        "content": content,
        "agent": np.array([*env.agent_pos, env.agent_dir], np.uint8),
        "carried": np.array([*code(held), *code(inside(held))], np.uint8),
        "probe": np.uint32(copy.deepcopy(env.np_random).integers(0, 2**32)),
    }


def main() -> None:
    """Answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever the reference prints is no answer
    for line in sys.stdin:
        name, first, seeds, *how = json.loads(line)
        pickle.dump(recorded(name, range(first, first + seeds), *how), answers)
        answers.flush()


if __name__ == "__main__":
    main()
