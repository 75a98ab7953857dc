"""Imitation: a small net, in NumPy alone, learns key-door from the shortest ways in a folder."""

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine import GridVectorEnv
from gv_engine.cli import main as gv_engine
from gv_engine.rollout import episode_folder

DEMOS = "rollout keydoor-5x5 --policy solver --levels train --out"  # or --from-replays games/*


def bits(seen: Any) -> NDArray[np.float32]:
    """(T, n) what is seen, as numbers that are 0 or 1: type, state and colour of each cell."""
    cells = seen["grid"].reshape(len(seen["grid"]), -1, 3)
    cells = np.concatenate([cells, seen["item"][:, None]], axis=1)
    found: NDArray[np.float32] = np.eye(16, dtype=np.float32)[cells].reshape(len(cells), -1)
    return found


def look(net: list[Any], x: Any) -> tuple[Any, Any]:
    """(T, hidden) what the first layer finds, and (T, actions) how likely each action is."""
    first = np.maximum(x @ net[0] + net[1], 0)
    chances = np.exp((first @ net[2] + net[3]).clip(-50, 50))
    return first, chances / chances.sum(axis=1, keepdims=True)


def imitate(x: Any, actions: Any, rounds: int = 150) -> list[Any]:
    """A net that does what was done, found by Adam on all steps at once."""
    rng, shapes = np.random.default_rng(0), ((x.shape[1], 64), (64,), (64, 8), (8,))
    net: list[Any] = [rng.normal(0, 0.05, shape).astype(np.float32) for shape in shapes]
    means, squares = ([np.zeros_like(part) for part in net] for _ in range(2))
    for number in range(1, rounds + 1):
        first, chances = look(net, x)
        error = (chances - np.eye(8, dtype=np.float32)[actions]) / len(x)
        back = (error @ net[2].T) * (first > 0)
        for k, slope in enumerate((x.T @ back, back.sum(0), first.T @ error, error.sum(0))):
            means[k] += 0.1 * (slope - means[k])
            squares[k] += 0.01 * (slope**2 - squares[k])
            spread = np.sqrt(squares[k] / (1 - 0.99**number)) + 1e-8
            net[k] -= 3e-3 * means[k] / (1 - 0.9**number) / spread
    return net


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        gv_engine([*DEMOS.split(), f"{home}/demos"])
        demos, about = episode_folder.read(f"{home}/demos")
        net = imitate(bits(demos), np.array(demos["action"]))
    envs = GridVectorEnv("keydoor-5x5", 256, levels="test", max_steps=50, world="compiled")
    (observation, info), won = envs.reset(seed=0), np.zeros(256, bool)
    for draws in np.random.default_rng(0).random((50, 256, 1)):
        chances = (look(net, bits(observation))[1] * info["action_mask"]).cumsum(axis=1)
        observation, *_, info = envs.step((chances > draws * chances[:, -1:]).argmax(axis=1))
        won |= info["success"]
    print(f"{won.mean():.0%} of levels that it has not seen")
