"""Planning: the shortest solution of a level, by a breadth-first search over rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine import GridVectorEnv


def shortest_way(envs: GridVectorEnv, start: NDArray[Any]) -> tuple[list[int] | None, int]:
    """Return the shortest list of actions that leads to success, or None, and the number of states
    visited.

    Args:
        envs: vector environment with the rules.
        start: () row of the first state.
    """
    states = start.reshape(1)
    visited = envs.state_key(states, generator=False)
    steps: list[Any] = []  # (n,) for each step: from which state before it, and by which action
    while len(states):
        expansion = envs.expand(states, trusted=True)
        rows, num_actions = expansion.rows.reshape(-1), expansion.rows.shape[1]
        won = rows["success"].any(axis=1)
        if won.any():
            state, action = divmod(int(won.argmax()), num_actions)
            actions = [action]
            for parents, parent_actions in reversed(steps):
                actions.append(int(parent_actions[state]))
                state = parents[state]
            return actions[::-1], len(visited)
        keys, first = np.unique(envs.state_key(rows, generator=False), return_index=True)
        new = first[~np.isin(keys, visited) & ~expansion.terminated.reshape(-1)[first]]
        visited = np.union1d(visited, keys)
        steps.append((new // num_actions, new % num_actions))
        states = rows.take(new)
    return None, len(visited)


def main() -> None:
    """Solve a level and play the solution."""
    envs = GridVectorEnv("keydoor-9x9", 1, world="compiled")
    envs.reset(seed=0)
    actions, visited = shortest_way(envs, envs.snapshot(0))
    print(f"{visited} states met")
    for action in actions or ():
        infos = envs.step([action])[4]
        print(envs.labels["action_names"][action])
    print(f"{len(actions or ())} steps, success: {infos['success'][0]}")


if __name__ == "__main__":
    main()
