"""Known worlds as their own packages play them; a process of its own, where these are installed.

    python -m tests.parity_recorder

answers each line of its input with a pickle of recorded arrays. A line is a JSON list: a world, its
arguments, the first seed, the number of seeds, and the number of joint actions of each.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LOAD, _LOADS = 5, 0.8
"""Number of the action, and how likely an agent takes it where it can; else it acts at random."""


def record_foraging(arguments: dict[str, Any], seeds: range, steps: int) -> dict[str, NDArray[Any]]:
    """Return what lbforaging plays: (S, T, A) actions and rewards, (S, T) ends, and before each
    action and at the end (S, T + 1, A, 3) rows, columns and levels of agents and (S, T + 1, H, W)
    levels of food.

    Positions are cleared before a reset, because agents that are not placed yet would block the
    cells where they last stood. The action after an end is ignored: that step is the reset.
    """
    from lbforaging.foraging import ForagingEnv

    env: Any = ForagingEnv(min_player_level=1, min_food_level=1, max_food_level=None, **arguments)
    recorded: dict[str, list[Any]] = {
        name: [] for name in ("actions", "rewards", "done", "agents", "food")
    }

    def note_state() -> None:
        agents = [(*player.position, player.level) for player in env.players]
        recorded["agents"].append(agents)
        recorded["food"].append(env.field.copy())

    def begin(seed: int | None) -> None:
        for player in env.players:
            player.position = None
        env.reset(seed=seed)
        note_state()

    for seed in seeds:
        rng, number = np.random.default_rng((seed, 1)), len(env.players)
        begin(seed)
        done = False
        for _ in range(steps):
            can_load = [
                any(action.value == _LOAD for action in env._valid_actions[player])
                for player in env.players
            ]
            eager = (rng.random(number) < _LOADS) & can_load
            actions = np.where(eager, _LOAD, rng.integers(0, 6, number))
            recorded["actions"].append(actions)
            if done:  # the step that begins the next episode
                begin(None)
                rewards, done = [0.0] * number, False
            else:
                _, rewards, done, _, _ = env.step(actions.tolist())
                note_state()
            recorded["rewards"].append(rewards)
            recorded["done"].append(done)
    return {
        name: np.array(values).reshape(len(seeds), -1, *np.shape(values[0]))
        for name, values in recorded.items()
    }


RECORDERS = {"foraging": record_foraging}


def main() -> None:
    """Answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever the worlds print is no answer
    for line in sys.stdin:
        world, arguments, first, count, steps = json.loads(line)
        pickle.dump(RECORDERS[world](arguments, range(first, first + count), steps), answers)
        answers.flush()


if __name__ == "__main__":
    main()
