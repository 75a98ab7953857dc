"""Proximal policy optimisation (Schulman et al., 2017).

Each agent of a world is a row of the batch: all agents train one network, each on its own rewards
or on those of its team, and the network reads the index of the agent that it acts for (de Witt et
al., 2020).

Start with `Learner.update`, which collects `num_steps` of all worlds into `RolloutBuffer` and then
optimises. `network.py` has the network, `config.py` the hyperparameters.
"""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import derive_seeds
from gv_engine.envs.environment import resolve_grid_scenario
from gv_engine.envs.multi_agent import EachAgentVectorEnv
from gv_engine.envs.representations import Arrays, Representation
from gv_engine.envs.rollout.network_spec import NetworkSpec, ScenarioSpec
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.color_augmentation import ColorAugmentation, interchangeable_colors
from gv_engine.plugins.learning.config import CURRICULA, FLAT, ConfigError, Hyperparameters
from gv_engine.plugins.learning.cuda_graph import GraphedStep, record_graphs
from gv_engine.plugins.learning.curriculum import RandomLevels
from gv_engine.plugins.learning.flat_net import FlatNetGradient, is_supported
from gv_engine.plugins.learning.network import ActorCritic
from gv_engine.plugins.learning.optimizer import Adam
from gv_engine.plugins.learning.partners import PartnerInput, find_partners_class
from gv_engine.plugins.learning.ppo_loss import compute_ppo_loss
from gv_engine.plugins.learning.reward_scaler import RewardScaler
from gv_engine.plugins.learning.rollout_buffer import RolloutBuffer, TrainingBatch
from gv_engine.plugins.learning.survival_estimate import SurvivalEstimator, TrainingMetrics
from gv_engine.plugins.learning.torch_library import Tensor, nn, torch
from gv_engine.rules.turns import ANY

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Options of glibc's `mallopt`."""
_MAX_WEIGHTS = 2**25
"""A checkpoint has four numbers for each weight, and at most 2**30 bytes."""


def find_device(name: str) -> str:
    """Return the name of a torch device for an option's value. "auto" becomes "cuda" if a GPU is
    available, else "cpu"; other names are returned unchanged.

    Raises:
        ValueError: there is no such device here.
    """
    gpus = [f"cuda:{k}" for k in range(torch.cuda.device_count())]
    if name == "auto":
        return "cuda" if gpus else "cpu"
    allowed = ["cpu", "cuda", *gpus] if gpus else ["cpu"]
    if name in allowed:
        return name
    raise ValueError(
        f"{name!r} is no device that torch {torch.__version__} finds here (allowed: "
        f"{', '.join(['auto', *allowed])})"
    )


def _make_generator(seed: int, purpose: str) -> torch.Generator:
    return torch.Generator().manual_seed(*derive_seeds(seed, purpose))


def _find_variance(values: Tensor, is_counted: Tensor) -> Tensor:
    """Return the variance of the values that are counted, a tensor of one number, without waiting
    for a GPU."""
    count = is_counted.sum()
    mean = (values * is_counted).sum() / count
    return ((values - mean).square() * is_counted).sum() / count


def _init_thread() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def _keep_freed_memory() -> None:
    if sys.platform == "linux" and (set_option := getattr(ctypes.CDLL(None), "mallopt", None)):
        set_option(_M_TRIM_THRESHOLD, 2**30)
        set_option(_M_MMAP_THRESHOLD, 2**25)


class Learner:
    """PPO learner of a vector environment.

    Args:
        env: environment with `cells` observations, autoreset mode SAME_STEP, episode statistics
            and float32 rewards; see `make_training_env`.
        settings: hyperparameters.
        device: torch device of the network and of its batches. Worlds, sampling noise and the order
            of minibatches stay on the CPU.

    Raises:
        ConfigError: the network is too large.

    Attributes:
        net: network in training.
        device: torch device of the network.
        seconds: wall time spent, by activity.
        cells: (codes, 3) uint8 type, state and colour that each cell code stands for.
        colors: permutations of the colours that each agent observes.
        curriculum: choice of the levels.
        partners: agents that act and do not learn.
        on_step: called after each step of all worlds.
        evaluated: success rate and return of an evaluation of the present policy; NaN without one.
    """

    on_step: Callable[[], None] = staticmethod(lambda: None)
    net_class = ActorCritic

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, device: str = "cpu") -> None:
        """Make network, optimiser and buffers, and reset the worlds. The class docstring explains
        the arguments."""
        self.device = torch.device(device)
        torch.set_num_threads(1)  # threads share minibatches, and do not synchronise in each step
        torch.backends.cudnn.deterministic = True  # the same seed gives the same run
        _keep_freed_memory()
        self._num_threads = settings.num_threads if device == "cpu" else 1
        self._map: Callable[..., Any] = map
        if self._num_threads > 1:
            self._map = ThreadPoolExecutor(self._num_threads, "learner", _init_thread).map
        self.env, self.settings = env, settings
        self.cells = Representation.of_observation(env.scenario, "cells").listed
        scenario = env.scenario
        self.spec = NetworkSpec.of_scenario(ScenarioSpec.of_scenario(scenario), len(self.cells))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(*derive_seeds(settings.seed, "weights"))
            self.net = self.net_class(self.spec, settings).to(self.device)
        num_weights = sum(each.numel() for each in self.net.parameters())
        if num_weights > _MAX_WEIGHTS:
            raise ConfigError(
                f"the network has {num_weights:,} weights, and the files of a run hold "
                f"{_MAX_WEIGHTS:,}: choose a smaller hidden_size or embedding_size"
            )
        purposes = "actions", "minibatches", "colors", "partners", "curriculum"
        self._rngs = {name: _make_generator(settings.seed, name) for name in purposes}
        self._adam = Adam(self.net, settings.learning_rate, settings.max_grad_norm)
        is_flat = is_supported(self.net, settings)
        self._flat_gradient = FlatNetGradient(self.net, settings) if is_flat else None
        self._graphed: GraphedStep | None = None
        self._buffer = RolloutBuffer(env, self.spec, settings.num_steps, self.device)
        self._reward_scaler = RewardScaler(env.num_envs, settings.gamma, settings.reward_clip)
        self._memory = torch.zeros(env.num_envs, settings.memory_size, device=self.device)
        self._acting_graphs: list[torch.cuda.CUDAGraph] = []
        self._starts = torch.ones(env.num_envs, dtype=torch.bool)
        self._agents = np.arange(env.num_envs) % self.spec.agents
        self._estimator = SurvivalEstimator(env.num_envs // self.spec.agents)
        self._num_steps = self._num_episodes = 0
        self.evaluated = math.nan, math.nan
        self._losses = torch.full((6,), math.nan)
        self.seconds = dict.fromkeys(("environment", "copies", "acting", "learning"), 0.0)
        colors = interchangeable_colors(scenario) if settings.augment_colors else ()
        self.colors = ColorAugmentation(colors, self.cells, env.num_envs, self._rngs["colors"])
        self._max_steps = min(member.max_steps or math.inf for member in scenario.members)
        self._any_agent_succeeds = scenario.agent_group.ends == ANY
        partners_class = find_partners_class(settings.partner)
        self.partners = partners_class(env, settings, self.spec, self._rngs["partners"], self.cells)
        self._observed, self._info = env.reset(
            seed=derive_seeds(settings.seed, "worlds", env.num_worlds), out=self._buffer.first
        )
        self._live = self._live_agents()
        rows = self._buffer.rows[:1]
        self.spec.encode(self._buffer.first, self._agents, rows[0])
        self._add_observations(rows)
        self._table = self.net.first_layer_table().detach().clone()
        curriculum_class = resolve_name(CURRICULA[settings.curriculum])
        self.curriculum: RandomLevels = curriculum_class(env, settings, self._rngs["curriculum"])
        self._checkpoint_parts: dict[str, Any] = {  # saved and restored under these keys
            "net": self.net,
            "adam": self._adam,
            "reward_scaler": self._reward_scaler,
            "curriculum": self.curriculum,
            "partners": self.partners,
        }
        self._sample_noise()

    def _add_observations(self, rows: NDArray[np.int32]) -> None:
        if self.settings.encoder != FLAT:
            return
        tensors = torch.from_numpy(rows).flatten(0, 1), torch.from_numpy(self.cells).int()
        self.net.flat.add_observations(*(each.to(self.device) for each in tensors))

    @contextmanager
    def _timed(self, activity: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[activity] += time.perf_counter() - start

    def update(self) -> TrainingMetrics:
        """Run one PPO update: step all worlds `num_steps` times and optimise the network on these
        steps. Return the metrics."""
        self.evaluated = math.nan, math.nan
        torch.set_flush_denormal(True)  # calculating with numbers near 0 takes ten times as long
        try:
            batch = self._collect()
            with self._timed("learning"):
                if self.curriculum.learns and batch.live.any():
                    with torch.inference_mode(self._flat_gradient is not None):
                        self._optimise(batch)
                self._add_observations(self._buffer.rows[1:])
                self._sample_noise()  # while a GPU learns
                self._synchronize()
        finally:
            torch.set_flush_denormal(False)
        with self._timed("copies"):
            self._buffer.carry_over()
        return self.metrics

    @property
    def learning_rate(self) -> float:
        """Step size of the optimiser at the current number of steps."""
        settings = self.settings
        if not settings.anneal_steps:
            return settings.learning_rate
        return settings.learning_rate * max(0.0, 1 - self._num_steps / settings.anneal_steps)

    @property
    def metrics(self) -> TrainingMetrics:
        """Return total steps, episode means and losses as of the last update."""
        means = self._estimator.means
        if not self.env.scenario.tells_success:
            means = means._replace(success_rate=math.nan)
        counts, losses = (self._num_steps, self._num_episodes), self._losses.tolist()
        values = *counts, *means, *losses, self.learning_rate, *self.evaluated
        return TrainingMetrics._make(values)

    # ---- acting ----------------------------------------------------------------------------

    def _collect(self) -> TrainingBatch:
        """Step all worlds `num_steps` times with the current policy, and return the steps as a
        training batch."""
        buffer, num_steps = self._buffer, self.settings.num_steps
        if new_results := self.curriculum.begin_update():
            self._begin_episodes(new_results)
        live = torch.zeros(num_steps, self.env.num_envs, dtype=torch.bool)
        bootstrap_values = torch.zeros(live.shape, device=self.device)
        memory_before = self._memory.clone()
        last_outcome: tuple[Any, ...] = ()  # arguments of `_count_episodes`
        self.partners.begin_update(self._num_steps, self.net.state_dict())
        with torch.no_grad():
            with self._timed("acting"):
                self._prepare_acting()
            for t in range(num_steps):
                self._start_acting(t)
                with self._timed("acting"):
                    live[t] = self._live
                    if last_outcome:  # counted while a GPU acts
                        self._count_episodes(*last_outcome)
                    self._synchronize()
                    actions = buffer.cpu_actions(t)
                    self.partners.act(
                        actions,
                        PartnerInput(self._observed, self._info, buffer.rows[t], buffer.noise[t]),
                    )
                with self._timed("environment"):
                    results = self.env.step(actions, out=buffer.out[t])
                self.on_step()
                with self._timed("acting"):
                    is_measured = self.curriculum.is_measured.copy()
                    last_outcome = results[-1], self.partners.is_learning.copy(), is_measured
                    self._process_ends(t, results, bootstrap_values)
                    self._change_levels(buffer.out[t])
            self._start_acting(num_steps)
            self._count_episodes(*last_outcome)
            if self.device.type == "cuda" and not self._acting_graphs:
                acts = [partial(self._act, t) for t in range(num_steps + 1)]
                self._acting_graphs = record_graphs(acts, self.device)
        self._num_steps += live.numel()
        advantages = self._advantages(buffer.values.cpu(), bootstrap_values.cpu(), live)
        self.curriculum.end_update(advantages, live)
        advantages = advantages.to(self.device)
        rows, masks, starts = self._network_inputs(slice(0, -1))
        return TrainingBatch(
            rows=rows,
            masks=masks,
            actions=buffer.actions,
            log_probs=buffer.log_probs.gather(2, buffer.actions[..., None])[..., 0],
            advantages=advantages,
            returns=advantages + buffer.values[:-1],
            live=live.to(self.device),
            starts=starts,
            memory=memory_before,
        )

    def _prepare_acting(self) -> None:
        self._table.copy_(self.net.first_layer_table())

    def _start_acting(self, t: int) -> None:
        """Encode the observations of step `t` and start to compute the actions. On a GPU, return
        before the computation has finished."""
        buffer = self._buffer
        with self._timed("copies"):
            observation = {name: buffer.arrays[name][t] for name in buffer.first}
            self.spec.encode(self.colors.apply(observation), self._agents, buffer.rows[t])
            buffer.starts[t] = self._starts
        with self._timed("acting"):
            if self._acting_graphs:
                self._acting_graphs[t].replay()
            else:
                self._act(t)

    def _act(self, t: int) -> None:
        """Compute actions, log-probabilities and values of step `t`, write them into the buffer,
        and advance the GRU's state. If `t` is the number of steps, write only the values."""
        buffer = self._buffer
        buffer.send(t)
        log_probs, buffer.values[t], memory = self._forward(*self._network_inputs(t))
        if t < self.settings.num_steps:
            self._memory.copy_(memory)
            buffer.log_probs[t] = log_probs
            torch.argmax(log_probs - buffer.noise[t], 1, out=buffer.actions[t])
            buffer.receive(t)

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()

    def _live_agents(self) -> Tensor:
        learning = self.partners.is_learning.ravel()
        return torch.from_numpy(learning & self._info.get("live", True))

    def _network_inputs(self, index: Any) -> tuple[Tensor, Tensor, Tensor]:
        rows, masks, starts = self._buffer.inputs(index)
        return rows, self._allowed(masks), starts

    def _allowed(self, masks: Tensor) -> Tensor:
        return masks if self.settings.mask_actions else torch.ones_like(masks)

    def _forward(
        self, rows: Tensor, masks: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        features = self.net.features(self._table, rows)
        features, memory = self.net.recur(features, self._memory, starts[None])
        return *self._act_and_value(features, masks), memory

    def _act_and_value(self, features: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        log_probs, values = self.net(features, masks)
        return log_probs, values

    def _process_ends(self, t: int, results: Any, bootstrap_values: Tensor) -> None:
        """Handle the episodes that ended in step `t`; `results` is what the environment's `step`
        returned. Where the step limit truncated an episode, write the value of its last observation
        into `bootstrap_values`, (T, N)."""
        self._observed, _, terminated, truncated, self._info = results
        done = terminated | truncated
        self.partners.begin_episodes(done.reshape(-1, self.spec.agents).all(1))
        self._starts, self._live = torch.from_numpy(done), self._live_agents()
        if "episode" not in self._info:
            return
        # an agent truncated before the limit: other agents ended its episode, its future value is 0
        is_at_limit = self._info["episode"]["l"] >= self._max_steps
        cut = np.flatnonzero(truncated & ~terminated & is_at_limit)
        if len(cut):
            self._write_final_values(t, cut, bootstrap_values)
        self.colors.sample(self._starts)

    def _write_final_values(self, t: int, cut: NDArray[np.int64], bootstrap_values: Tensor) -> None:
        """Write the value of the last observation of each truncated episode into
        `bootstrap_values[t]`. `cut` has the indices of its agents, and `bootstrap_values` the shape
        (T, N)."""
        final = self._info["final_obs"][cut]
        observation = {name: np.stack([each[name] for each in final]) for name in final[0]}
        rows = np.zeros((len(cut), len(self.spec.sizes)), np.int32)
        self.spec.encode(self.colors.apply(observation, cut), self._agents[cut], rows)
        masks = torch.from_numpy(self._info["final_info"]["action_mask"][cut])
        agents, masks = torch.from_numpy(cut), self._allowed(masks).to(self.device)
        features = self._final_features(t, rows, cut)
        features, _ = self.net.recur(features, self._memory[agents])
        _, bootstrap_values[t, agents] = self._act_and_value(features, masks)

    def _change_levels(self, out: Arrays) -> None:
        """Let the curriculum replace the levels of worlds whose episodes have just begun. New
        observations and masks overwrite those of the step in `out`."""
        is_over = self._starts.view(-1, self.spec.agents).all(1).numpy()
        if new_results := self.curriculum.end_step(is_over):
            self._store_results(new_results, out)
            self._live = self._live_agents()

    def _begin_episodes(self, results: tuple[Any, dict[str, Any]]) -> None:
        """Let all worlds begin an episode before an update; `results` are their observations and
        infos. The episodes so far have no end."""
        self._store_results(results, self._buffer.first)
        self._starts = torch.ones_like(self._starts)
        self.partners.begin_episodes(np.ones(self.env.num_worlds, np.bool_))
        self._live = self._live_agents()
        self.colors.sample(self._starts)
        self._estimator.begin_episodes()
        self._reward_scaler.begin_episodes()

    def _store_results(self, results: tuple[Any, dict[str, Any]], arrays: Arrays) -> None:
        self._observed, self._info = observation, info = results
        for name in self._buffer.first:
            np.copyto(arrays[name], info[name] if name in info else observation[name])

    def _final_features(self, t: int, rows: NDArray[np.int32], cut: NDArray[np.int64]) -> Tensor:
        """Return the features of the last observations of truncated agents: their indices `cut`,
        and their encoded `rows`. A critic of all agents also reads those of step `t`."""
        return self.net.features(self._table, torch.from_numpy(rows).to(self.device))

    def _rewards(self) -> NDArray[np.float32]:
        """Return the (T, N) rewards of the collected steps. With `share_rewards` each agent gets
        the sum over its team."""
        rewards: NDArray[np.float32] = self._buffer.arrays["reward"]
        if not self.settings.share_rewards:
            return rewards
        by_agent = rewards.reshape(len(rewards), -1, self.spec.agents)
        teams = [members for _, members in self.env.scenario.agent_group.teams]
        shared = by_agent.copy()
        for team in teams or [tuple(range(1, self.spec.agents + 1))]:
            members = np.array(team) - 1
            shared[..., members] = by_agent[..., members].sum(-1, keepdims=True)
        return shared.reshape(rewards.shape)

    def _count_episodes(
        self, info: dict[str, Any], is_learning: NDArray[np.bool_], is_measured: NDArray[np.bool_]
    ) -> None:
        """Update the running estimates of return, length and success rate with the episodes that
        ended in a step.

        Args:
            info: information that the step returned.
            is_learning: (W, A) True for agents that learned; the returns and successes of others
                are left out.
            is_measured: (W,) True for worlds whose episode is part of the estimates, see
                `RandomLevels.is_measured`; as it was before the step, which may end the episode.
        """
        if "episode" not in info:
            no_ends = np.zeros(len(is_measured), np.bool_)
            self._estimator.add_step(no_ends, np.zeros(len(no_ends)), no_ends, is_measured)
            return
        episode, ended = info["episode"], info["_episode"]
        by_agent = ended, episode["r"], episode.get("s", ended)
        ended, returns, success = (each.reshape(-1, self.spec.agents) for each in by_agent)
        done = ended[:, 0]
        if self._any_agent_succeeds:
            world_success = (success & is_learning).any(1)
        else:
            world_success = (success | ~(ended & is_learning)).all(1)
        world_returns = (returns * is_learning).sum(1)
        self._estimator.add_step(done, world_returns, world_success, is_measured)
        self._num_episodes += int(done.sum())

    def _scaled_rewards(self, done: NDArray[np.bool_], live: NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(self._reward_scaler.scale(self._rewards(), done, live))

    def _advantages(self, values: Tensor, bootstrap_values: Tensor, live: Tensor) -> Tensor:
        """Return (T, N) advantages by generalised advantage estimation (Schulman et al., 2016).
        `values` is (T + 1, N), `bootstrap_values` (T, N) is nonzero at truncated episodes, `live`
        (T, N) marks agents that take part."""
        arrays, gamma = self._buffer.arrays, self.settings.gamma
        done = arrays["terminated"] | arrays["truncated"]
        rewards = self._scaled_rewards(done, live.numpy())
        discount = gamma * torch.from_numpy(~done).float()
        rewards = rewards + gamma * bootstrap_values
        advantages, advantage = torch.zeros_like(rewards), torch.zeros_like(values[0])
        for t in reversed(range(len(rewards))):
            delta = rewards[t] + discount[t] * values[t + 1] - values[t]
            advantage = delta + discount[t] * self.settings.gae_lambda * advantage
            advantages[t] = advantage
        return advantages

    # ---- learning --------------------------------------------------------------------------

    def _optimise(self, batch: TrainingBatch) -> None:
        """Optimise the network in `update_epochs` passes over the batch, in random minibatches."""
        settings, losses, group = self.settings, [], self.net.rows_per_sample
        self._adam.learning_rate.fill_(self.learning_rate)
        *per_step, memory = batch
        if not settings.recurrent:  # each step is a sequence by itself
            per_step = [each.flatten(0, 1)[None] for each in per_step]
            memory = torch.zeros(per_step[0].shape[1], 1, device=self.device)
        if self._flat_gradient:
            per_step[0] = self.net.flat.read(per_step[0][0])[None]
        batch = TrainingBatch._make((*per_step, memory))
        if self._graphed:
            self._graphed.load(batch)
        for _ in range(settings.update_epochs):
            samples = torch.randperm(len(memory) // group, generator=self._rngs["minibatches"])
            order = (samples[:, None] * group + torch.arange(group)).to(self.device)
            if settings.partner:
                order = order[batch.live.any(0)[order].any(1)]
            for indices in order.chunk(settings.num_minibatches):
                if self._graphed and self._graphed.fits(indices):
                    losses.append(self._graphed.replay(indices))
                else:
                    losses.append(self._optimise_minibatch(batch, indices))
        if self.device.type == "cuda" and self.spec.agents == 1 and not self._graphed:
            indices = order.chunk(settings.num_minibatches)[0]
            self._graphed = GraphedStep(self._optimise_minibatch, batch, indices)
        errors, variance = (
            _find_variance(x, batch.live) for x in (batch.advantages, batch.returns)
        )
        unexplained = errors / variance
        self._losses = torch.cat([torch.stack(losses).mean(0), 1 - unexplained[None]])

    def _sample_noise(self) -> None:
        rng = self._rngs["actions"]
        self._noise_state = rng.get_state()
        self._buffer.sample_noise(rng)

    def _optimise_minibatch(self, batch: TrainingBatch, indices: Tensor) -> Tensor:
        """Take one optimiser step on the sequences `indices`, (M, rows_per_sample), of the
        batch. Return the means of `compute_ppo_loss` from before the step, (5,)."""
        *per_step, memory = batch
        advantages = batch.advantages.index_select(1, indices.flatten())
        if self.spec.agents > 1:
            advantages = advantages[batch.live.index_select(1, indices.flatten())]
        mean, std = advantages.mean(), advantages.std().nan_to_num() + 1e-8  # NaN for one

        def compute_gradient(part_indices: Tensor) -> tuple[Tensor, Tensor]:
            sequences = part_indices.flatten()
            # the axis of sequences comes after that of steps, which `memory` lacks
            selected = [each.index_select(1, sequences) for each in per_step]
            part = TrainingBatch._make((*selected, memory.index_select(0, sequences)))
            normalised = (part.advantages - mean) / std
            return self._gradient(part._replace(advantages=normalised), advantages.numel())

        results = self._map(compute_gradient, indices.chunk(self._num_threads))
        gradients, losses = zip(*results, strict=True)
        self._adam.step(sum(gradients[1:], gradients[0]))
        return torch.stack(losses).sum(0)

    def _gradient(self, batch: TrainingBatch, num_live: int) -> tuple[Tensor, Tensor]:
        """Return the gradient of the loss as one vector, and the (5,) means of `compute_ppo_loss`.
        Both are sums over the batch divided by `num_live`, the number of steps
        with a live agent."""
        if self._flat_gradient:
            inputs, *steps = self._select_live(batch.rows.flatten(0, 1), batch)
            gradient, losses = self._flat_gradient.compute(inputs, steps)
            return gradient / num_live, losses / num_live
        loss, losses = self._loss(batch, num_live)
        options = {"allow_unused": True, "materialize_grads": True}
        gradients = torch.autograd.grad(loss, tuple(self.net.parameters()), **options)
        return torch.cat([each.flatten() for each in gradients]), losses.detach()

    def _read_batch(self, batch: TrainingBatch) -> list[Tensor]:
        """Flatten a batch to the L steps in which agents were live. Return features, masks,
        actions, log-probabilities, advantages and returns, each with first axis L."""
        net = self.net
        features = net.features(net.first_layer_table(), batch.rows.flatten(0, 1))
        features, _ = net.recur(features, batch.memory, batch.starts)
        return self._select_live(features, batch)

    def _select_live(self, features: Tensor, batch: TrainingBatch) -> list[Tensor]:
        _, *per_step, live, _, _ = batch
        per_step = [features, *(each.flatten(0, 1) for each in per_step)]
        if self.spec.agents > 1 and not live.all():
            per_step = [each[live.flatten()] for each in per_step]
        return per_step

    def _loss(self, batch: TrainingBatch, num_live: int) -> tuple[Tensor, Tensor]:
        features, *per_step = self._read_batch(batch)
        loss, sums = compute_ppo_loss(self.net.outputs(features), tuple(per_step), self.settings)
        return loss / num_live, sums / num_live

    def minimise(self, loss: Tensor) -> None:
        """Take one optimiser step on a loss, a tensor of one number."""
        self._adam.minimise(loss)

    # ---- state -----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue the training bit for bit, as tensors and plain
        values, for `restore`."""
        worlds = np.ascontiguousarray(self.env.snapshot())
        return {
            "rngs": {name: rng.get_state() for name, rng in self._rngs.items()}
            | {"actions": self._noise_state},
            "memory": self._memory.clone(),
            "colors": self.colors.permutation.clone(),
            "starts": self._starts.clone(),
            "live": self._live.clone(),
            "worlds": torch.from_numpy(worlds.view(np.uint8).reshape(len(worlds), -1).copy()),
            "estimator": [torch.from_numpy(each) for each in self._estimator.state()],
            "counts": [self._num_steps, self._num_episodes],
            "losses": self._losses,
        } | {
            name: part.state_dict() if isinstance(part, nn.Module) else part.state()
            for name, part in self._checkpoint_parts.items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue the training from `state`, saved by `state()` of a learner with the same
        settings.

        Raises:
            Exception: of any kind, if the state is damaged or of other settings.
        """
        for name, rng in self._rngs.items():
            rng.set_state(state["rngs"][name])
        self._sample_noise()
        self._memory.copy_(state["memory"])
        self._starts, self._live = state["starts"], state["live"]
        self.colors.permutation = state["colors"]
        rows = state["worlds"].numpy().view(self.env.scenario.layout.dtype).reshape(-1)
        self._store_results(self.env.restore(rows), self._buffer.first)
        self._estimator.restore(*(each.numpy() for each in state["estimator"]))
        self._num_steps, self._num_episodes = state["counts"]
        self._losses = state["losses"]
        for name, part in self._checkpoint_parts.items():
            restore = part.load_state_dict if isinstance(part, nn.Module) else part.restore
            restore(state[name])


def make_training_env(scenario: Any, settings: Hyperparameters, **options: Any) -> GridVectorEnv:
    """Return a vector environment of a scenario with the observations and the autoreset mode that
    `Learner` needs. `options` are passed to the constructor."""
    grid = resolve_grid_scenario(scenario, None)
    env_class = EachAgentVectorEnv if grid.layout.agents > 1 else GridVectorEnv
    return env_class(
        grid,
        settings.num_envs,
        num_threads=settings.num_env_threads,
        observation_representation="cells",
        autoreset_mode="SameStep",
        copy=False,
        episode_statistics=True,
        reward_dtype="float32",
        **options,
    )
