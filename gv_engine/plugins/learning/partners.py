"""Partners: agents that act in the training worlds and do not learn.

- `FrozenPartners`: agents or teams that act by policies that never change.
- `PastSelves`: self-play against a pool of earlier weights (Bansal et al., 2018, "Emergent
  complexity via multi-agent competition"); in each episode one side learns.

The steps of partners are left out of the updates and of the metrics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import derive_seeds
from gv_engine.envs.representations import Arrays
from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.envs.rollout.numpy_net import NumpyNet
from gv_engine.envs.rollout.policy_file import RunError
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import ConfigError, Hyperparameters
from gv_engine.plugins.learning.partner_policies import load_partners
from gv_engine.plugins.learning.torch_library import Tensor, torch
from gv_engine.scenario.scenario import Scenario

SELF = "self"
"""Value of the setting `partner` for past selves."""


class PartnerInput(NamedTuple):
    """Input that partners choose their actions from in one step, for N agents.

    Attributes:
        observation, info: last results of the environment; arrays are (N, …).
        rows: (N, slots) encoded observations.
        noise: (N, actions) negative Gumbel noise.
    """

    observation: Arrays
    info: dict[str, Any]
    rows: NDArray[np.int32]
    noise: Tensor


class Partners:
    """Partners: agents that act in the training worlds and do not learn. This base class has none,
    so that all agents learn; subclasses override its methods.

    Args:
        env: environment with W worlds of A agents; N = W * A.
        settings: hyperparameters.
        spec: sizes of the network's inputs and outputs.
        rng: generator to sample sides and past selves with.
        cells: (codes, 3) type, state and colour that each cell code stands for.

    Attributes:
        is_learning: (W, A) True for agents that learn in the current episode of their world.
    """

    def __init__(
        self,
        env: GridVectorEnv,
        settings: Hyperparameters,
        spec: NetworkSpec,
        rng: torch.Generator,
        cells: NDArray[np.uint8],
    ) -> None:
        self._settings, self._spec, self._rng, self._cells = settings, spec, rng, cells
        self.is_learning = np.ones((env.num_worlds, spec.agents), np.bool_)

    def begin_update(self, steps: int, weights: dict[str, Tensor]) -> None:
        """Prepare for the next update. `steps` is the number of steps of all agents so far, and
        `weights` are the weights of the network in training, by name."""

    def begin_episodes(self, started: NDArray[np.bool_]) -> None:
        """Prepare for new episodes in the worlds where `started` (W,) is True."""

    def act(self, actions: NDArray[np.int64], seen: PartnerInput) -> None:
        """Overwrite the partners' entries of `actions` (N,), which the network in training has
        chosen, with the partners' actions."""

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of partners with the same settings.

        Raises:
            RunError: the file of a partner has changed since.
        """


class FrozenPartners(Partners):
    """Agents or teams that act by policies that never change.

    In each update a policy begins episode A * (steps + w) + k for agent k of world w, after so many
    steps of all agents: the generators need not be saved.

    Raises:
        PolicyError, RunError: see `gv_engine.plugins.learning.partner_policies.load_partners`.
    """

    def __init__(
        self, env: GridVectorEnv, settings: Hyperparameters, spec: NetworkSpec, *others: Any
    ) -> None:
        super().__init__(env, settings, spec, *others)
        worlds = env.num_worlds
        loaded = load_partners(settings.partner, env.scenario, worlds)
        self._policies: dict[int, Any] = loaded.by_agent
        self._digest = loaded.digest
        (self._seed,) = derive_seeds(settings.seed, "partners")
        self.is_learning[:, [*self._policies]] = False

    @property
    def _recurrent(self) -> dict[int, Any]:
        return {k: policy for k, policy in self._policies.items() if hasattr(policy, "memory")}

    def begin_update(self, steps: int, weights: dict[str, Tensor]) -> None:
        """Seed the generators of all policies; memories stay as they are."""
        worlds, agents = self.is_learning.shape
        memories = {k: policy.memory.copy() for k, policy in self._recurrent.items()}
        for k, policy in self._policies.items():
            numbers = [agents * (steps + world) + k for world in range(worlds)]
            policy.begin(range(worlds), self._seed, numbers)
        for k, memory in memories.items():
            self._policies[k].memory = memory

    def begin_episodes(self, started: NDArray[np.bool_]) -> None:
        """Reset the memories in the worlds where `started` (W,) is True."""
        for policy in self._recurrent.values():
            policy.memory[started] = 0

    def act(self, actions: NDArray[np.int64], seen: PartnerInput) -> None:
        """Write the actions of the partners into `actions` (N,). Their policies get observations in
        the representation `default`."""
        for k, policy in self._policies.items():
            lines = slice(k, None, self._spec.agents)
            own = _select_lines(seen.observation, lines)
            own |= {name: self._cells[own[name][..., 0]] for name in ("grid", "item")}
            actions[lines] = policy.act(own, _select_lines(seen.info, lines))

    def state(self) -> dict[str, Any]:
        """Return the memories of the policies, and a digest of their files."""
        memories = {k: policy.memory.copy() for k, policy in self._recurrent.items()}
        tensors = {k: torch.from_numpy(memory) for k, memory in memories.items()}
        return {"memories": tensors, "digest": self._digest}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of partners with the same settings.

        Raises:
            RunError: the file of a partner has changed since.
        """
        if state["digest"] != self._digest:
            raise RunError(
                f"the partner {self._settings.partner} has changed since the run began: put its "
                f"old file back, or train a new run"
            )
        for k, policy in self._recurrent.items():
            policy.memory = state["memories"][k].numpy().copy()


def _select_lines(values: Any, lines: slice) -> Any:
    if isinstance(values, dict):
        return {name: _select_lines(value, lines) for name, value in values.items()}
    return np.ascontiguousarray(values[lines])


class PastSelves(Partners):
    """Self-play against past weights of the network in training.

    Sides are the teams, and each agent without a team. In each episode a random side learns, and
    all other agents act by the same random self of the pool. Every `past_interval` updates the
    weights join the pool; once it holds `past_selves` sets of weights, the oldest are replaced.
    """

    _saved = "is_learning", "_slots", "_memory"

    def __init__(
        self, env: GridVectorEnv, settings: Hyperparameters, spec: NetworkSpec, *others: Any
    ) -> None:
        super().__init__(env, settings, spec, *others)
        worlds, agents = self.is_learning.shape
        teams = [members for _, members in env.scenario.agent_group.teams]
        in_teams = {agent for team in teams for agent in team}
        alone = [(agent,) for agent in range(1, 1 + agents) if agent not in in_teams]
        self._sides = np.zeros((len(teams) + len(alone), agents), np.bool_)
        for side, members in zip(self._sides, [*teams, *alone], strict=True):
            side[np.array(members) - 1] = True
        self._pool: list[dict[str, Tensor]] = []
        self._nets: list[NumpyNet] = []
        self._slots = np.zeros(worlds, np.int64)  # index of the self of each world
        self._memory = np.zeros((worlds * agents, settings.hidden_size))
        self.begin_episodes(np.ones(worlds, np.bool_))

    def begin_update(self, steps: int, weights: dict[str, Tensor]) -> None:
        """Add `weights` to the pool every `past_interval` updates."""
        settings = self._settings
        update = steps // (settings.num_steps * self.is_learning.size)
        number, rest = divmod(update, settings.past_interval)
        if not rest:
            slot = number % settings.past_selves
            self._pool[slot : slot + 1] = [{k: w.cpu().clone() for k, w in weights.items()}]
            self._nets[slot : slot + 1] = [self._make_net(self._pool[slot])]

    def _make_net(self, weights: dict[str, Tensor]) -> NumpyNet:
        settings, arrays = self._settings, {name: each.numpy() for name, each in weights.items()}
        epsilon = settings.end_epsilon if settings.learner == "pqn" else None
        return NumpyNet(self._spec, arrays, settings.layer_norm, epsilon)

    def begin_episodes(self, started: NDArray[np.bool_]) -> None:
        """Sample the side that learns, and the past self that acts for all other sides, in the
        worlds where `started` (W,) is True."""
        if number := int(started.sum()):
            size = 2, number
            side, slot = torch.rand(size, generator=self._rng, dtype=torch.float64).numpy()
            self.is_learning[started] = self._sides[(side * len(self._sides)).astype(np.int64)]
            self._slots[started] = slot * max(1, len(self._nets))
            self._memory[started.repeat(self._spec.agents)] = 0

    def act(self, actions: NDArray[np.int64], seen: PartnerInput) -> None:
        """Write the actions of the past selves into `actions` (N,)."""
        masks = seen.info["action_mask"]
        masks = masks if self._settings.mask_actions else np.ones_like(masks)
        slots = np.where(self.is_learning, -1, self._slots[:, None]).ravel()
        for slot in np.unique(slots[slots >= 0]).tolist():
            lines, net = np.flatnonzero(slots == slot), self._nets[slot]
            inputs = seen.rows[lines], self._memory[lines], masks[lines]
            probabilities, _, self._memory[lines] = net.forward(*inputs)
            # Gumbel-max: argmax of log(p) - noise, as p * exp(-noise) because p may be 0
            factors = np.exp(-seen.noise.cpu().numpy()[lines].astype(np.float64))
            actions[lines] = (probabilities * factors).argmax(1)

    def state(self) -> dict[str, Any]:
        """Return the pool, and for the running episodes the learning sides, the indices of the past
        selves, and their GRU states."""
        arrays = {name: torch.from_numpy(getattr(self, name).copy()) for name in self._saved}
        return {**arrays, "pool": self._pool}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of past selves with the same settings."""
        for name in self._saved:
            setattr(self, name, state[name].numpy().copy())
        self._pool = state["pool"]
        self._nets = [self._make_net(weights) for weights in self._pool]


def make_partners(env: GridVectorEnv, settings: Hyperparameters, *others: Any) -> Partners:
    """Return the partners of a training, by the setting `partner`; arguments are those of
    `Partners`."""
    kinds: dict[str, type[Partners]] = {"": Partners, SELF: PastSelves}
    return kinds.get(settings.partner, FrozenPartners)(env, settings, *others)


def resolve_partner(text: str, scenario: Scenario) -> str:
    """Return the setting `partner` with absolute paths, after a check that the scenario can be
    trained with it.

    Raises:
        ConfigError: the scenario has one agent.
        PolicyError, RunError: see `gv_engine.plugins.learning.partner_policies.load_partners`.
    """
    if text and scenario.layout.agents == 1:
        raise ConfigError(f"--partner {text}: {scenario.name} has one agent: leave the partner out")
    if text in ("", SELF):
        return text
    return load_partners(text, scenario, 1).text
