"""PPO on a level of MiniGrid, here and there: the returns of all episodes are equal.

    python -m tests.minigrid_ppo [--steps N] [ID ...]

trains on every id twice, in a process of MiniGrid's and in one of ours, for so many steps of a
single environment; the one line that differs is the id. It is a plain PPO in NumPy: two layers of
64, clipped ratios, generalised advantages, Adam. Each process prints what came of every update, to
the last bit, and all of it is compared.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LENGTH, EPOCHS, BATCH = 512, 4, 128
RATE, CLIP, ENTROPY, VALUE, LONGEST_STEP = 7e-4, 0.2, 0.01, 0.5, 0.5
GAMMA, LAMBDA = 0.99, 0.95
WORDS, HIDDEN = 32, 64


class Steps(NamedTuple):
    """What was seen and done in so many steps.

    Attributes:
        seen: (T, D).
        actions: (T,).
        chances: (T,) logarithms of how likely the actions were.
        gains, hopes: (T,) advantages, and the returns that were to be expected.
    """

    seen: Floats
    actions: NDArray[np.int64]
    chances: Floats
    gains: Floats
    hopes: Floats


def features(observation: dict[str, Any]) -> Floats:
    """(D,) the image, the direction, and which words the mission has."""
    words = np.zeros(WORDS)
    for word in observation["mission"].split():
        words[zlib.crc32(word.encode()) % WORDS] = 1
    image, direction = observation["image"].ravel() / 10, np.eye(4)[observation["direction"]]
    return np.concatenate([image, direction, words])


class Net:
    """Two layers, and behind them what to do and what to expect.

    Attributes:
        parameters: weights and biases, layer by layer.
    """

    def __init__(self, inputs: int, actions: int, rng: np.random.Generator) -> None:
        sizes = (
            (inputs, HIDDEN, 1.0),
            (HIDDEN, HIDDEN, 1.0),
            (HIDDEN, actions, 0.01),
            (HIDDEN, 1, 1),
        )
        self.parameters: list[Floats] = []
        for rows, columns, scale in sizes:
            drawn = rng.standard_normal((rows, columns)) * scale / np.sqrt(rows)
            self.parameters += [drawn, np.zeros(columns)]
        self._moments = [np.zeros((2, *p.shape)) for p in self.parameters]
        self._updates = 0

    def look(self, seen: Floats) -> tuple[Floats, Floats, list[Floats]]:
        """(N, actions) logarithms of chances, (N,) expectations, and the layers that led there."""
        w1, b1, w2, b2, w3, b3, w4, b4 = self.parameters
        first = np.tanh(seen @ w1 + b1)
        second = np.tanh(first @ w2 + b2)
        scores = second @ w3 + b3
        scores -= scores.max(1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(1, keepdims=True))
        return scores, (second @ w4 + b4)[:, 0], [first, second]

    def learn(self, steps: Steps) -> None:
        """Take one step of Adam down the gradient of PPO's loss."""
        _, _, w2, _, w3, _, w4, _ = self.parameters
        chances, expected, (first, second) = self.look(steps.seen)
        number = np.arange(len(steps.actions))
        share = np.exp(chances)
        ratio = np.exp(chances[number, steps.actions] - steps.chances)
        held = np.clip(ratio, 1 - CLIP, 1 + CLIP) * steps.gains < ratio * steps.gains
        push = np.where(held, 0, -steps.gains * ratio)
        disorder = -(share * chances).sum(1, keepdims=True)
        to_scores = -push[:, None] * share
        to_scores[number, steps.actions] += push
        to_scores += ENTROPY * share * (chances + disorder)
        to_expected = VALUE * (expected - steps.hopes)[:, None]
        to_second = (to_scores @ w3.T + to_expected @ w4.T) * (1 - second**2)
        to_first = (to_second @ w2.T) * (1 - first**2)
        slopes = []
        inputs, errors = (
            (steps.seen, first, second, second),
            (to_first, to_second, to_scores, to_expected),
        )
        for before, after in zip(inputs, errors, strict=True):
            slopes += [before.T @ after / len(number), after.mean(0)]
        self._descend(slopes)

    def _descend(self, slopes: list[Floats]) -> None:
        length = np.sqrt(sum(float((slope**2).sum()) for slope in slopes))
        self._updates += 1
        for p, slope, moments in zip(self.parameters, slopes, self._moments, strict=True):
            slope = slope * min(1, LONGEST_STEP / length)
            moments[0] += 0.1 * (slope - moments[0])
            moments[1] += 0.001 * (slope**2 - moments[1])
            mean = moments[0] / (1 - 0.9**self._updates)
            spread = moments[1] / (1 - 0.999**self._updates)
            p -= RATE * mean / (np.sqrt(spread) + 1e-8)


def train(env: Any, steps: int, seed: int = 0) -> Iterator[tuple[int, Floats, Net]]:
    """Steps so far, the returns of the episodes that have just ended, and the net; update by
    update."""
    rng = np.random.default_rng(seed)
    seen = features(env.reset(seed=seed)[0])
    net = Net(len(seen), int(env.action_space.n), rng)
    total = 0.0
    for start in range(0, steps, LENGTH):
        rows = np.zeros((LENGTH + 1, len(seen)))
        actions, ends = np.zeros(LENGTH, np.int64), np.zeros(LENGTH, np.bool_)
        chances, rewards, expected = np.zeros(LENGTH), np.zeros(LENGTH), np.zeros(LENGTH + 1)
        returns = []
        for t in range(LENGTH):
            rows[t] = seen
            likely, value, _ = net.look(seen[None])
            actions[t] = min((np.exp(likely[0]).cumsum() < rng.random()).sum(), likely.shape[1] - 1)
            chances[t], expected[t] = likely[0, actions[t]], value[0]
            observation, rewards[t], terminated, truncated, _ = env.step(int(actions[t]))
            total += rewards[t]
            ends[t] = terminated or truncated
            if ends[t]:
                returns.append(total)
                total = 0.0
                observation = env.reset()[0]
            seen = features(observation)
        expected[-1] = net.look(seen[None])[1][0]
        gains, ahead = np.zeros(LENGTH), 0.0
        for t in reversed(range(LENGTH)):
            goes_on = GAMMA * (not ends[t])
            ahead = rewards[t] + goes_on * expected[t + 1] - expected[t] + goes_on * LAMBDA * ahead
            gains[t] = ahead
        hopes = gains + expected[:-1]
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        for _ in range(EPOCHS):
            for some in rng.permutation(LENGTH).reshape(-1, BATCH):
                taken = rows[some], actions[some], chances[some], gains[some], hopes[some]
                net.learn(Steps(*taken))
        yield start + LENGTH, np.array(returns), net


def play(name: str, steps: int) -> None:
    """Train on an id, and print what comes of every update."""
    importlib.import_module("gv_engine" if name.startswith("GV-") else "minigrid")
    env = gymnasium.make(name, disable_env_checker=True)
    digest, last = hashlib.sha256(), np.zeros(0)
    for done, returns, net in train(env, steps):
        digest.update(returns.tobytes())
        digest.update(b"".join(p.tobytes() for p in net.parameters))
        last = np.concatenate([last, returns])[-100:]
        mean = last.mean() if len(last) else 0.0
        print(f"{done} {len(returns)} {float(mean).hex()} {mean:.3f} {digest.hexdigest()[:16]}")


def told(python: str, name: str, steps: int) -> list[str]:
    """What such a process prints."""
    # one thread, so that sums have one order
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [python, "-m", "tests.minigrid_ppo", "--play", "--steps", str(steps), name]
    said = subprocess.check_output(command, text=True, env=os.environ | alone)
    return said.splitlines()


def main() -> int:
    """Train here and there; 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid_ppo", description=__doc__)
    parser.add_argument("ids", nargs="*", default=["MiniGrid-DoorKey-5x5-v0"], metavar="ID")
    parser.add_argument("--steps", type=int, default=200_000, help="default 200,000")
    parser.add_argument("--play", action="store_true", help="on these ids as they are, and print")
    options = parser.parse_args()
    different = 0
    for name in options.ids:
        if options.play:
            play(name, options.steps)
            continue
        from benchmarks.peers import python_for
        from benchmarks.roster import ROSTER

        there = told(python_for(ROSTER["minigrid"].packages), name, options.steps)
        here = told(sys.executable, f"GV-{name}", options.steps)
        different += here != there
        said = "equal" if here == there else "DIFFERENT"
        print(f"{name}: {said} in {len(there)} updates; the last one here: {here[-1]}")
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main())
