"""Planning: the shortest way through a level, by a breadth-first search over rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine import GridVectorEnv


def shortest_way(envs: GridVectorEnv, start: NDArray[Any]) -> tuple[list[int] | None, int]:
    """The shortest list of actions that leads to success, or None, and how many states were met.

    Args:
        envs: whose rules hold.
        start: () row, where to begin.
    """
    states = start.reshape(1)
    known = envs.state_key(states, generator=False)
    steps: list[Any] = []  # (n,) for each step: from which state before it, and by which action
    while len(states):
        found = envs.expand(states, trusted=True)
        rows, num_actions = found.rows.reshape(-1), found.rows.shape[1]
        won = rows["success"].any(axis=1)
        if won.any():
            state, action = divmod(int(won.argmax()), num_actions)
            way = [action]
            for before, by in reversed(steps):
                way.append(int(by[state]))
                state = before[state]
            return way[::-1], len(known)
        keys, first = np.unique(envs.state_key(rows, generator=False), return_index=True)
        new = first[~np.isin(keys, known) & ~found.terminated.reshape(-1)[first]]
        known = np.union1d(known, keys)
        steps.append((new // num_actions, new % num_actions))
        states = rows.take(new)
    return None, len(known)


def main() -> None:
    """Solve a level, and play the solution."""
    envs = GridVectorEnv("keydoor-9x9", 1, world="compiled")
    envs.reset(seed=0)
    way, met = shortest_way(envs, envs.snapshot(0))
    print(f"{met} states met")
    for action in way or ():
        infos = envs.step([action])[4]
        print(envs.labels["action_names"][action])
    print(f"{len(way or ())} steps, success: {infos['success'][0]}")


if __name__ == "__main__":
    main()
