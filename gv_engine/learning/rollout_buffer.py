"""Buffer of the steps that training worlds collect, and batches of them to learn from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.learning.network_spec import NetworkSpec


class RolloutBuffer:
    """Arrays of T steps of N agents, and of the observation after the last, that the environment
    writes into; a device other than the CPU has copies of what the network reads.

    Attributes:
        arrays: (T + 1, N, …) observations and action masks; (T, N) rewards, terminated, truncated.
        rows: (T + 1, N, slots) int32 encoded observations, see `NetworkSpec.encode`.
        out: for each step the views that `GridVectorEnv.step` writes to, by name.
        first: the views for the observation before the first step.
    """

    def __init__(
        self, env: GridVectorEnv, spec: NetworkSpec, num_steps: int, device: torch.device
    ) -> None:
        space: Any = env.single_observation_space
        kinds = {name: (space[name].dtype, space[name].shape) for name in env.recorded}
        kinds["action_mask"] = np.dtype(np.int8), (spec.actions,)
        size = num_steps + 1, env.num_envs
        observed = {n: np.zeros((*size, *shape), dtype) for n, (dtype, shape) in kinds.items()}
        results = {"reward": np.float32, "terminated": np.bool_, "truncated": np.bool_}
        self.arrays = observed | {
            name: np.zeros((num_steps, env.num_envs), dtype) for name, dtype in results.items()
        }
        self.rows = np.zeros((*size, len(spec.sizes)), np.int32)
        if device.type == "cuda":  # memory from which copies do not wait
            masks = self.arrays["action_mask"]
            self.rows, masks = (
                torch.from_numpy(each).pin_memory().numpy() for each in (self.rows, masks)
            )
            self.arrays["action_mask"] = observed["action_mask"] = masks
        self._on_host = self._on_device = [
            torch.from_numpy(each) for each in (self.rows, self.arrays["action_mask"])
        ]
        if device.type != "cpu":
            self._on_device = [each.to(device) for each in self._on_host]
        self.out = [
            {name: array[t + (name in observed)] for name, array in self.arrays.items()}
            for t in range(num_steps)
        ]
        self.first = {name: array[0] for name, array in observed.items()}

    def carry_over(self) -> None:
        """Copy the last observation to the first, for the next update."""
        for name, array in self.first.items():
            array[...] = self.arrays[name][-1]

    def send(self, t: int) -> None:
        """Copy the encoded observations and the action masks of step `t` to the device, without
        waiting; do nothing if the device is the CPU."""
        if self._on_device is not self._on_host:
            for copied, own in zip(self._on_device, self._on_host, strict=True):
                copied[t].copy_(own[t], non_blocking=True)

    def inputs(self, index: Any) -> list[Tensor]:
        """Return the encoded observations and the action masks of some steps, on the device; for an
        integer or a slice they are views, which the next `send` overwrites."""
        return [each[index] for each in self._on_device]


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
