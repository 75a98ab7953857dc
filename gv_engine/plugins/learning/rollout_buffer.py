"""Buffer of the steps that training worlds collect, and batches of them to learn from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.torch_library import Tensor, torch


class RolloutBuffer:
    """Arrays that the environment writes T steps of N agents into, and the observation after the
    last step. On a device other than the CPU the inputs and outputs of the network have copies.

    Attributes:
        arrays: (T + 1, N, …) observations and action masks; (T, N) rewards, terminated, truncated.
        rows: (T + 1, N, slots) int32 encoded observations, see `NetworkSpec.encode`.
        starts: (T + 1, N) bool, True where an episode starts with the step.
        out: for each step the views that `GridVectorEnv.step` writes to, by name.
        first: the views for the observation before the first step.
        noise: (T, N, actions) float32 noise that actions are sampled with, on the device.
        log_probs: (T, N, actions) float32 log-probabilities of the actions, on the device.
        values: (T + 1, N) float32 estimated values, on the device.
        actions: (T, N) int64 actions, on the device.
    """

    def __init__(
        self, env: GridVectorEnv, spec: NetworkSpec, num_steps: int, device: torch.device
    ) -> None:
        """Allocate arrays for `num_steps` steps of the worlds of `env`, and copies of them on
        `device`."""
        space: Any = env.single_observation_space
        kinds = {name: (space[name].dtype, space[name].shape) for name in env.recorded}
        kinds["action_mask"] = np.dtype(np.int8), (spec.actions,)
        shape, size = (num_steps, env.num_envs), (num_steps + 1, env.num_envs)

        def allocate(*sizes: int, dtype: Any = torch.float32) -> Tensor:
            return torch.zeros(sizes, dtype=dtype, pin_memory=device.type == "cuda")

        rows = allocate(*size, len(spec.sizes), dtype=torch.int32)
        masks, starts = allocate(*size, spec.actions, dtype=torch.int8), allocate(*size, dtype=bool)
        self._inputs = self._sent = [rows, masks, starts]
        self._noise = self.noise = allocate(*shape, spec.actions)
        self._cpu_actions = self.actions = allocate(*shape, dtype=torch.int64)
        if device.type != "cpu":
            self._sent = [each.to(device) for each in self._inputs]
            self.noise, self.actions = self._noise.to(device), self._cpu_actions.to(device)
        self.log_probs = torch.zeros(*shape, spec.actions, device=device)
        self.values = torch.zeros(size, device=device)
        self.rows, self.starts = rows.numpy(), starts.numpy()
        observed = {n: np.zeros((*size, *each), dtype) for n, (dtype, each) in kinds.items()}
        observed["action_mask"] = masks.numpy()
        results = {"reward": np.float32, "terminated": np.bool_, "truncated": np.bool_}
        self.arrays = observed | {name: np.zeros(shape, dtype) for name, dtype in results.items()}
        self.out = [
            {name: array[t + (name in observed)] for name, array in self.arrays.items()}
            for t in range(num_steps)
        ]
        self.first = {name: array[0] for name, array in observed.items()}

    def carry_over(self) -> None:
        """Copy the last observation to the first, for the next update."""
        for name, array in self.first.items():
            array[...] = self.arrays[name][-1]

    def sample_noise(self, rng: torch.Generator) -> None:
        """Fill `noise` with random numbers for choosing actions by the Gumbel trick:
        `argmax(log_probs - noise)` is a random action with these log-probabilities."""
        torch.rand(self._noise.shape, generator=rng, out=self._noise)
        if self.noise is not self._noise:
            self.noise.copy_(self._noise, non_blocking=True)
        self.noise.log_().neg_().log_()

    def send(self, t: int) -> None:
        """Start to copy the encoded observations, the action masks, and the flags of episode starts
        of step `t` to the device; do nothing if the device is the CPU."""
        if self._sent is not self._inputs:
            for copied, own in zip(self._sent, self._inputs, strict=True):
                copied[t].copy_(own[t], non_blocking=True)

    def receive(self, t: int) -> None:
        """Start to copy the actions of step `t` from the device; do nothing if it is the CPU. Wait
        for the device before reading them."""
        if self.actions is not self._cpu_actions:
            self._cpu_actions[t].copy_(self.actions[t], non_blocking=True)

    def cpu_actions(self, t: int) -> NDArray[np.int64]:
        """Return the (N,) actions of step `t` in memory of the CPU, which `receive` has copied."""
        actions: NDArray[np.int64] = self._cpu_actions[t].numpy()
        return actions

    def inputs(self, index: Any) -> list[Tensor]:
        """Return the encoded observations, the action masks, and the flags of episode starts of
        some steps, on the device. For an integer or a slice they are views, which the next `send`
        overwrites."""
        return [each[index] for each in self._sent]


class TrainingBatch(NamedTuple):
    """T steps of N agents to learn from, or a part of them.

    Attributes:
        rows, masks: (T, N, …) encoded observations and action masks.
        actions, log_probs: (T, N) actions taken and their log-probabilities.
        advantages, returns: (T, N) generalised advantages and the value targets.
        live: (T, N) True where the agent took part in the step.
        starts: (T, N) True where an episode started with the step.
        memory: (N, hidden) state of the GRU before the first step.
    """

    rows: Tensor
    masks: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    live: Tensor
    starts: Tensor
    memory: Tensor
