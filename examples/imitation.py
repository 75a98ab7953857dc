"""Imitation learning: a small NumPy network learns key-door from shortest solutions in a folder."""

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine import GridVectorEnv
from gv_engine.cli import main as gv_engine
from gv_engine.envs.rollout import episode_folder

DEMOS = "rollout keydoor-5x5 --policy solver --levels train --out"  # or --from-replays games/*


def encode_one_hot(observations: Any) -> NDArray[np.float32]:
    """Return (T, n) one-hot codes of observations: type, state and colour of each cell."""
    cells = observations["grid"].reshape(len(observations["grid"]), -1, 3)
    cells = np.concatenate([cells, observations["item"][:, None]], axis=1)
    codes: NDArray[np.float32] = np.eye(16, dtype=np.float32)[cells].reshape(len(cells), -1)
    return codes


def forward(net: list[Any], x: Any) -> tuple[Any, Any]:
    """Return the (T, hidden) features and the (T, actions) action probabilities of observations."""
    first = np.maximum(x @ net[0] + net[1], 0)
    probabilities = np.exp((first @ net[2] + net[3]).clip(-50, 50))
    return first, probabilities / probabilities.sum(axis=1, keepdims=True)


def train(x: Any, actions: Any, num_updates: int = 150) -> list[Any]:
    """Return a network trained by full-batch Adam to predict the actions."""
    rng, shapes = np.random.default_rng(0), ((x.shape[1], 64), (64,), (64, 8), (8,))
    net: list[Any] = [rng.normal(0, 0.05, shape).astype(np.float32) for shape in shapes]
    means, squares = ([np.zeros_like(part) for part in net] for _ in range(2))
    for number in range(1, num_updates + 1):
        first, probabilities = forward(net, x)
        error = (probabilities - np.eye(8, dtype=np.float32)[actions]) / len(x)
        hidden = (error @ net[2].T) * (first > 0)
        for k, gradient in enumerate((x.T @ hidden, hidden.sum(0), first.T @ error, error.sum(0))):
            means[k] += 0.1 * (gradient - means[k])
            squares[k] += 0.01 * (gradient**2 - squares[k])
            spread = np.sqrt(squares[k] / (1 - 0.99**number)) + 1e-8
            net[k] -= 3e-3 * means[k] / (1 - 0.9**number) / spread
    return net


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        gv_engine([*DEMOS.split(), f"{home}/demos"])
        demos, about = episode_folder.read(f"{home}/demos")
        net = train(encode_one_hot(demos), np.array(demos["action"]))
    envs = GridVectorEnv("keydoor-5x5", 256, levels="test", max_steps=50, world="compiled")
    (observation, info), won = envs.reset(seed=0), np.zeros(256, bool)
    (sampling,) = np.random.default_rng(0).spawn(1)  # world 0 draws from default_rng(0) itself
    for draws in sampling.random((50, 256, 1)):
        chances = (forward(net, encode_one_hot(observation))[1] * info["action_mask"]).cumsum(
            axis=1
        )
        observation, *_, info = envs.step((chances > draws * chances[:, -1:]).argmax(axis=1))
        won |= info["success"]
    print(f"{won.mean():.0%} of levels that it has not seen")
