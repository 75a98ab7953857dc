"""Proximal policy optimisation (Schulman et al., 2017), from observations to updates, in one file.

Where worlds have several agents, each is a line: they learn one net together, each for the rewards
of its own, and the net is told which of them it acts for (de Witt et al., 2020).

Read it from below: `Learner.update` collects some steps of all worlds, which the environment writes
straight into `StepBuffers`, and learns from them; `Net` says what to do and what to expect.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gv_engine.envs.agents_vector_environment import EachAgentVectorEnv
from gv_engine.envs.environment import grid_scenario
from gv_engine.envs.representations import Representation
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.language.turns import ANY
from gv_engine.learning.adam import Adam
from gv_engine.learning.fit import Fit
from gv_engine.learning.life_table import LifeTable
from gv_engine.learning.recoloring import Recoloring, colors_alike
from gv_engine.learning.shape import Shape
from gv_engine.learning.sums import Sums


@dataclass(frozen=True)
class Hyperparameters:
    """What a learner is made with; it suits all grids that come with the engine.

    Attributes:
        seed: of the worlds, the weights, and all that is drawn.
        memory: whether the agent remembers (a GRU), told where episodes begin.
        masks: whether it keeps to the actions that would do something.
        recolored: whether episodes are seen in other colours, where all are alike.
        num_envs, length: worlds, and steps of each between two updates; so many for each agent.
        epochs, batches: how often an update goes through its steps, and in how many parts.
        rate: of Adam.
        gamma, lam: discount, and that of advantages (generalised advantage estimation).
        clip: of the ratio of chances, new to old.
        entropy, value: weights of their losses.
        longest: length of a gradient, beyond which it is cut.
        embedding, hidden: numbers for a code, and of each layer.
        threads: that share what is learned from.
        env_threads: that share the worlds.
    """

    seed: int = 0
    memory: bool = False
    masks: bool = True
    recolored: bool = True
    num_envs: int = 128
    length: int = 32
    epochs: int = 3
    batches: int = 4
    rate: float = 2e-3
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    longest: float = 0.5
    embedding: int = 16
    hidden: int = 128
    threads: int = 1
    env_threads: int = 1


REMEMBERS = {"memory": True, "num_envs": 256, "batches": 2, "entropy": 0.03}
"""Settings of a learner that remembers, where they are not the usual ones: more chance, so that it
goes and looks before it knows what for; and larger parts, as a GRU takes them step by step."""


class Net(nn.Module):
    """What to do, and what to expect: an embedding for each code, two layers, and maybe a memory.

    The first layer reads the embeddings of all places side by side. As codes are few, its products
    are made ahead, one for each code at each place (`table`), and what an agent sees sums some.
    """

    def __init__(self, shape: Shape, settings: Hyperparameters) -> None:
        super().__init__()
        places, (width, hidden) = len(shape.sizes), (settings.embedding, settings.hidden)
        self.shape, self.hidden = shape, hidden
        self.embedding = nn.Parameter(torch.randn(shape.codes + sum(shape.rest), width))
        scale = math.sqrt(2 / (places * width))
        self.first = nn.Parameter(torch.randn(places, width, hidden) * scale)
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.second = _layer(hidden, hidden, math.sqrt(2))
        self.memory = nn.GRUCell(hidden, hidden) if settings.memory else None
        self.actor = _layer(hidden, shape.actions, 0.01)
        self.critic = _layer(hidden, 1, 1.0)

    def table(self) -> Tensor:
        """(codes of all places, hidden) what each adds to the first layer."""
        shape, seen = self.shape, self.shape.cells + 1
        cells, *rest = self.embedding.split([shape.codes, *shape.rest])
        parts = [torch.bmm(cells.expand(seen, -1, -1), self.first[:seen]).flatten(0, 1)]
        parts += [codes @ self.first[seen + k] for k, codes in enumerate(rest)]
        return torch.cat(parts)

    def features(self, table: Tensor, rows: Tensor) -> Tensor:
        """(M, hidden) of (M, places) rows of the table."""
        first = Sums.apply(table, rows) + self.first_bias
        return functional.relu(self.second(functional.relu(first)))

    def remember(self, features: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """(N, hidden) what to decide by, and the memory then."""
        if self.memory is None:
            return features, memory
        memory = self.memory(features, memory)
        return features + memory, memory

    def decide(self, features: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """(M, actions) logarithms of chances, and (M,) what to expect."""
        layers = self.actor, self.critic  # one product for both
        weights, biases = (
            torch.cat([getattr(layer, name) for layer in layers]) for name in ("weight", "bias")
        )
        scores, expected = functional.linear(features, weights, biases).split(
            [self.shape.actions, 1], 1
        )
        shut = (masks == 0) & (masks != 0).any(1, keepdim=True)  # where none is open all are
        scores = scores.masked_fill(shut, -1e9)
        return scores - scores.logsumexp(1, keepdim=True), expected[:, 0]


def _layer(inputs: int, outputs: int, scale: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, scale)
    nn.init.zeros_(layer.bias)
    return layer


class StepBuffers:
    """T steps of N agents, and what is seen after the last: memory that the environment fills.

    Attributes:
        arrays: (T + 1, N, …) what is seen and which actions are open; (T, N) what came of steps.
        rows: (T + 1, N, places) int32, see `Shape.places`.
        out: for each step the memory that `GridVectorEnv.step` writes to.
    """

    def __init__(self, env: GridVectorEnv, shape: Shape, length: int) -> None:
        space: Any = env.single_observation_space
        seen = {name: (space[name].dtype, space[name].shape) for name in env.recorded}
        seen["action_mask"] = np.dtype(np.int8), (shape.actions,)
        came = {"reward": np.float32, "terminated": np.bool_, "truncated": np.bool_}
        n = env.num_envs
        self._seen = tuple(seen)
        self.arrays = {
            name: np.zeros((length + 1, n, *size), kind) for name, (kind, size) in seen.items()
        }
        self.arrays |= {name: np.zeros((length, n), kind) for name, kind in came.items()}
        self.rows = np.zeros((length + 1, n, len(shape.sizes)), np.int32)
        self.out = [
            {name: array[t + (name in seen)] for name, array in self.arrays.items()}
            for t in range(length)
        ]
        self.first = {name: self.arrays[name][0] for name in seen}

    def go_on(self) -> None:
        """What was seen last is what is seen first."""
        for name in self._seen:
            self.arrays[name][0] = self.arrays[name][-1]

    def tensor(self, name: str) -> Tensor:
        """An array, as torch sees the same memory."""
        return torch.from_numpy(self.arrays[name])


class Collected(NamedTuple):
    """What is learned from: T steps of N agents, or some of both.

    Attributes:
        rows, masks: (T, N, …) what was seen, see `Shape.places`, and which actions were open.
        actions, chances: (T, N) what was done, and the logarithm of how likely that was.
        gains, returns: (T, N) advantages, and the returns that they lead to.
        live: (T, N) whether the agent took part in the step.
        begins: (T, N) whether an episode began with it.
        memory: (N, hidden) before the first step.
    """

    rows: Tensor
    masks: Tensor
    actions: Tensor
    chances: Tensor
    gains: Tensor
    returns: Tensor
    live: Tensor
    begins: Tensor
    memory: Tensor


class Deviation:
    """The running deviation of the discounted return, by which rewards are divided."""

    def __init__(self, num_envs: int, gamma: float) -> None:
        self._gamma, self._returns = gamma, np.zeros(num_envs)
        self._count, self._mean, self._squares = 1e-4, 0.0, 1e-4

    def scaled(
        self, rewards: NDArray[np.float32], ends: NDArray[np.bool_], live: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """(T, N) rewards, after those of steps in which agents took part have been counted."""
        seen = np.empty(rewards.shape)
        for t, (gained, over) in enumerate(zip(rewards, ends, strict=True)):
            self._returns = self._returns * self._gamma + gained
            seen[t] = self._returns
            self._returns[over] = 0
        seen = seen[live]
        gap, total = seen.mean() - self._mean, self._count + seen.size
        self._squares += seen.var() * seen.size + gap**2 * self._count * seen.size / total
        self._mean += gap * seen.size / total
        self._count = total
        scale = math.sqrt(self._squares / self._count) + 1e-8
        return (rewards / scale).astype(np.float32)

    def state(self) -> dict[str, Any]:
        """All that it goes on from."""
        return {
            "returns": torch.from_numpy(self._returns.copy()),
            "sums": [self._count, float(self._mean), float(self._squares)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._returns = state["returns"].numpy().copy()
        self._count, self._mean, self._squares = state["sums"]


class Figures(NamedTuple):
    """What came of the steps so far.

    Attributes:
        steps, episodes: so many there were.
        total, length, success: see `EpisodeMeans`; of several agents the sum of returns, and that
            all of them are a success, or any where it is over as soon as one is done; NaN where the
            scenario does not say what success is.
        entropy, divergence, error: of the last update: of the choice; from what it was before; of
            what was expected.
    """

    steps: int
    episodes: int
    total: float
    length: float
    success: float
    entropy: float
    divergence: float
    error: float


def _begin_thread() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


@contextmanager
def _flushed() -> Iterator[None]:
    """Here, numbers below 1e-38 are 0 in this thread: processors take ten times as long for them,
    and slopes are full of them once an agent is sure of what it does."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


class Learner:
    """Learns to act in the worlds of an environment.

    Args:
        env: whose observations are `cells`, with autoreset mode SAME_STEP, episode statistics and
            float32 rewards; see `make_worlds`.
        settings: how.

    Attributes:
        net: what it has learned.
        figures: of the last update.
        spent: seconds by what they went to.
        listed: (codes, 3) uint8 type, state and colour that each code of a cell stands for.
        on_step: is called after each step of all worlds.
    """

    on_step: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters) -> None:
        torch.set_num_threads(1)  # threads share what is learned from, and do not wait at each step
        self._each: Callable[..., Any] = map
        if settings.threads > 1:
            pool = ThreadPoolExecutor(settings.threads, "learner", _begin_thread)
            self._each = pool.map
        self.env, self.settings = env, settings
        self.listed = Representation.of_observation(env.scenario, "cells").listed
        self.shape = Shape.of(Fit.of(env.scenario), len(self.listed))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.net = Net(self.shape, settings)
        self._chance = torch.Generator().manual_seed(settings.seed)
        self._adam = Adam(self.net, settings.rate, settings.longest)
        self._steps = StepBuffers(env, self.shape, settings.length)
        self._deviation = Deviation(env.num_envs, settings.gamma)
        self._memory = torch.zeros(env.num_envs, settings.hidden)
        self._begins = torch.ones(env.num_envs, dtype=torch.bool)
        self._agents = np.arange(env.num_envs) % self.shape.agents
        self._table = LifeTable(env.num_envs // self.shape.agents)
        none = np.zeros(env.num_envs // self.shape.agents, np.bool_)
        self._nothing = none, none.astype(np.float64), none  # has ended with a step
        self._number = self._episodes = 0
        self._measured = (math.nan,) * 3
        self.spent = dict.fromkeys(("environment", "copies", "acting", "learning"), 0.0)
        alike = colors_alike(env.scenario) if settings.recolored else ()
        self._colors = Recoloring(alike, self.listed, env.num_envs, self._chance)
        self._limit = min(member.max_steps or math.inf for member in env.scenario.members)
        self._any_suffices = env.scenario.sharing.ends == ANY
        _, info = env.reset(seed=settings.seed, out=self._steps.first)
        self._live = self._those_live(info)

    @contextmanager
    def _spends(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.spent[what] += time.perf_counter() - began

    def update(self) -> Figures:
        """Collect some steps, and learn from them."""
        with _flushed():
            collected = self._collect()
            with self._spends("learning"):
                self._learn(collected)
        with self._spends("copies"):
            self._steps.go_on()
        return self.figures

    @property
    def figures(self) -> Figures:
        """What came of the steps so far."""
        means = self._table.means
        if not self.env.scenario.tells_success:
            means = means._replace(success=math.nan)
        return Figures._make((self._number, self._episodes, *means, *self._measured))

    # ---- acting ----------------------------------------------------------------------------

    def _collect(self) -> Collected:
        """Play some steps of all worlds."""
        steps, settings, net = self._steps, self.settings, self.net
        size = settings.length, self.env.num_envs
        actions = torch.zeros(size, dtype=torch.int64)
        begins, live = torch.zeros(2, *size, dtype=torch.bool)
        expected, missed = torch.zeros(2, *size)
        likely = torch.zeros(*size, self.shape.actions)
        memory_before = self._memory.clone()
        with torch.no_grad():
            with self._spends("acting"):
                table = net.table()
                # the likeliest of all, each as likely as it should be (Gumbel, 1954)
                chance = torch.rand(likely.shape, generator=self._chance).log_().neg_().log_()
            for t in range(settings.length):
                with self._spends("copies"):
                    self._place(t)
                with self._spends("acting"):
                    begins[t], live[t] = self._begins, self._live
                    likely[t], expected[t] = self._look(table, steps.rows[t], self._masks(t))
                    torch.argmax(likely[t] - chance[t], 1, out=actions[t])
                with self._spends("environment"):
                    told = self.env.step(actions[t].numpy(), out=steps.out[t])
                self.on_step()
                with self._spends("acting"):
                    self._note(told, table, missed[t])
            with self._spends("copies"):
                self._place(-1)
            with self._spends("acting"):
                kept = self._memory
                after = self._look(table, steps.rows[-1], self._masks(-1))[1]
                self._memory = kept
        self._number += size[0] * size[1]
        gains = self._gains(expected, after, missed, live)
        return Collected(
            rows=torch.from_numpy(steps.rows[:-1]),
            masks=self._masks(slice(0, -1)),
            actions=actions,
            chances=likely.gather(2, actions[..., None])[..., 0],
            gains=gains,
            returns=gains + expected,
            live=live,
            begins=begins,
            memory=memory_before,
        )

    def _place(self, t: int) -> None:
        """Fill the rows of a step."""
        seen = self._colors.seen({name: array[t] for name, array in self._steps.arrays.items()})
        self.shape.places(seen, self._agents, self._steps.rows[t])

    def _those_live(self, info: dict[str, Any]) -> Tensor:
        """(N,) whose next action counts; it does for agents that are alone."""
        live = info.get("live")
        return (
            torch.ones(self.env.num_envs, dtype=torch.bool) if live is None else torch.tensor(live)
        )

    def _masks(self, which: Any) -> Tensor:
        masks = self._steps.tensor("action_mask")[which]
        return masks if self.settings.masks else torch.ones_like(masks)

    def _look(self, table: Tensor, rows: NDArray[np.int32], masks: Tensor) -> tuple[Tensor, Tensor]:
        """Logarithms of chances and expectations in all worlds, whose agents remember."""
        features = self.net.features(table, torch.from_numpy(rows))
        if self.settings.memory:
            before = self._memory * ~self._begins[:, None]
            features, self._memory = self.net.remember(features, before)
        return self.net.decide(features, masks)

    def _note(self, told: Any, table: Tensor, missed: Tensor) -> None:
        """Note which episodes have ended, and what was still to be expected of those cut short."""
        _, _, terminated, truncated, info = told
        over = terminated | truncated
        self._begins, self._live = torch.from_numpy(over), self._those_live(info)
        if "episode" not in info:
            self._table.step(*self._nothing)
            return
        self._count(info)
        # what ends before its limit has ended because of others, and for all
        cut = np.flatnonzero(truncated & ~terminated & (info["episode"]["l"] >= self._limit))
        if len(cut):
            final = info["final_obs"][cut]
            seen = {name: np.stack([each[name] for each in final]) for name in final[0]}
            rows = np.zeros((len(cut), len(self.shape.sizes)), np.int32)
            self.shape.places(self._colors.seen(seen, cut), self._agents[cut], rows)
            features = self.net.features(table, torch.from_numpy(rows))
            features, _ = self.net.remember(features, self._memory[cut])
            missed[cut] = self.net.critic(features)[:, 0]
        self._colors.draw(self._begins)

    def _count(self, info: dict[str, Any]) -> None:
        """Count the episodes that have ended with a step of all worlds."""
        episode, there = info["episode"], info["_episode"]
        told = there, episode["r"], episode.get("s", there)
        there, totals, won = (each.reshape(-1, self.shape.agents) for each in told)
        over = there[:, 0]
        well = won.any(1) if self._any_suffices else (won | ~there).all(1)
        self._table.step(over, totals.sum(1), well)
        self._episodes += int(over.sum())

    def _gains(self, expected: Tensor, after: Tensor, missed: Tensor, live: Tensor) -> Tensor:
        """(T, N) advantages."""
        arrays, gamma, lam = self._steps.arrays, self.settings.gamma, self.settings.lam
        ends = arrays["terminated"] | arrays["truncated"]
        rewards = torch.from_numpy(self._deviation.scaled(arrays["reward"], ends, live.numpy()))
        goes_on = gamma * torch.from_numpy(~ends).float()
        rewards = rewards + gamma * missed
        gains, ahead = torch.zeros_like(rewards), torch.zeros_like(after)
        for t in reversed(range(len(rewards))):
            surprise = rewards[t] + goes_on[t] * after - expected[t]
            ahead = gains[t] = surprise + goes_on[t] * lam * ahead
            after = expected[t]
        return gains

    # ---- learning --------------------------------------------------------------------------

    def _learn(self, collected: Collected) -> None:
        settings, measured = self.settings, []
        *of_steps, memory = collected
        if not settings.memory:  # every step is a sequence by itself
            of_steps = [each.flatten(0, 1)[None] for each in of_steps]
            memory = torch.zeros(of_steps[0].shape[1], 1)
        collected = Collected._make((*of_steps, memory))
        for _ in range(settings.epochs):
            order = torch.randperm(len(memory), generator=self._chance)
            for some in order.chunk(settings.batches):
                measured.append(self._descend(collected, some))
        self._measured = tuple(torch.stack(measured).mean(0).tolist())

    def _descend(self, collected: Collected, some: Tensor) -> Tensor:
        """Take one step of Adam, for some of the sequences, which threads share; (3,) entropy,
        divergence and error before it."""
        *of_steps, memory = collected
        gains = collected.gains[:, some][collected.live[:, some]]
        mean, spread = gains.mean(), gains.std() + 1e-8

        def part(which: Tensor) -> tuple[Tensor, Tensor]:
            batch = Collected._make((*(each[:, which] for each in of_steps), memory[which]))
            return self._slopes(batch._replace(gains=(batch.gains - mean) / spread), len(gains))

        slopes, measured = zip(*self._each(part, some.chunk(self.settings.threads)), strict=True)
        self._adam.descend(sum(slopes[1:], slopes[0]))
        return torch.stack(measured).sum(0)

    def _slopes(self, batch: Collected, number: int) -> tuple[Tensor, Tensor]:
        """(weights,) slopes of the loss, and what is measured, each a part of a mean over so many
        steps."""
        settings, net = self.settings, self.net
        rows, *of_steps, live, begins, memory = batch
        features = net.features(net.table(), rows.flatten(0, 1))
        if settings.memory:
            features = self._through_time(features.unflatten(0, begins.shape), begins, memory)
        of_steps = [features, *(each.flatten(0, 1) for each in of_steps)]
        if not live.all():
            of_steps = [each[live.flatten()] for each in of_steps]
        features, masks, actions, chances_then, gains, returns = of_steps
        likely, expected = net.decide(features, masks)
        chances = likely.gather(1, actions[:, None])[:, 0]
        change = chances - chances_then
        ratio = change.exp()
        held = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        push = -torch.minimum(gains * ratio, gains * held).sum() / number
        error = (expected - returns).square().sum() / number
        entropy = -(likely.exp() * likely).sum() / number
        loss = push + settings.value * error - settings.entropy * entropy
        slopes = torch.autograd.grad(loss, tuple(net.parameters()))
        measured = torch.stack([entropy, (ratio - 1 - change).sum() / number, error]).detach()
        return torch.cat([each.flatten() for each in slopes]), measured

    def _through_time(self, features: Tensor, begins: Tensor, memory: Tensor) -> Tensor:
        """(T * M, hidden) what to decide by, of (T, M, hidden), with memories that end with
        episodes."""
        found = []
        for seen, new in zip(features, begins, strict=True):
            decided, memory = self.net.remember(seen, memory * ~new[:, None])
            found.append(decided)
        return torch.cat(found)

    # ---- state -----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that the next update depends on, as tensors and plain values."""
        worlds = np.ascontiguousarray(self.env.snapshot())
        return {
            "net": self.net.state_dict(),
            "adam": self._adam.state,
            "chance": self._chance.get_state(),
            "deviation": self._deviation.state(),
            "memory": self._memory,
            "colors": self._colors.orders.clone(),
            "begins": self._begins.clone(),
            "live": self._live.clone(),
            "worlds": torch.from_numpy(worlds.view(np.uint8).reshape(len(worlds), -1).copy()),
            "table": [torch.from_numpy(each) for each in self._table.state()],
            "counts": [self._number, self._episodes],
            "measured": self._measured,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state, of a learner with the same settings.

        Raises:
            Exception: whatever comes of a state that is damaged, or of another learner's.
        """
        self.net.load_state_dict(state["net"])
        self._adam.restore(state["adam"])
        self._chance.set_state(state["chance"])
        self._deviation.restore(state["deviation"])
        self._memory, self._begins = state["memory"], state["begins"]
        self._live, self._colors.orders = state["live"], state["colors"]
        rows = state["worlds"].numpy().view(self.env.scenario.layout.dtype).reshape(-1)
        seen, info = self.env.restore(rows)
        for name, place in self._steps.first.items():
            np.copyto(place, info[name] if name in info else seen[name])
        self._table.restore(*(each.numpy() for each in state["table"]))
        self._number, self._episodes = state["counts"]
        self._measured = tuple(state["measured"])


def make_worlds(scenario: Any, settings: Hyperparameters, **options: Any) -> GridVectorEnv:
    """The environment that a learner learns in, which may take more options."""
    played = grid_scenario(scenario, None)
    made = EachAgentVectorEnv if played.layout.agents > 1 else GridVectorEnv
    return made(
        played,
        settings.num_envs,
        observation_representation="cells",
        autoreset_mode="SameStep",
        episode_statistics=True,
        num_threads=settings.env_threads,
        reward_dtype="float32",
        **options,
    )
