"""Partners: agents that act in the training worlds, but do not learn.

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
from gv_engine.plugins.learning.network import select_acting_weights
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
        self._prepare(env.scenario)

    def _prepare(self, scenario: Scenario) -> None:
        """Set further attributes. Subclasses override this method."""

    def begin_update(self, steps: int, weights: dict[str, Tensor]) -> None:
        """Prepare for the next update. `steps` is the number of steps of all agents so far, and
        `weights` are the weights of the network in training, by name."""

    def begin_episodes(self, started: NDArray[np.bool_]) -> None:
        """Prepare for new episodes in the worlds where `started` (W,) is True."""

    def act(self, actions: NDArray[np.int64], inputs: PartnerInput) -> None:
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

    def _prepare(self, scenario: Scenario) -> None:
        """Load the partners' policies for a scenario."""
        loaded = load_partners(self._settings.partner, scenario, len(self.is_learning))
        self._policies: dict[int, Any] = loaded.by_agent
        self._digest = loaded.digest
        (self._seed,) = derive_seeds(self._settings.seed, "partners")
        self.is_learning[:, [*self._policies]] = False

    @property
    def _recurrent_policies(self) -> dict[int, Any]:
        return {k: policy for k, policy in self._policies.items() if hasattr(policy, "memory")}

    def begin_update(self, steps: int, weights: dict[str, Tensor]) -> None:
        """Reseed the random generators of all policies with the number of training steps so far.
        Their memories stay, and `weights` is not used."""
        num_worlds, num_agents = self.is_learning.shape
        memories = {k: policy.memory.copy() for k, policy in self._recurrent_policies.items()}
        for k, policy in self._policies.items():
            # numbers that no other agent or update has, see the class
            episode_numbers = [num_agents * (steps + world) + k for world in range(num_worlds)]
            policy.begin(range(num_worlds), self._seed, episode_numbers)
        for k, memory in memories.items():  # `begin` has reset it
            self._policies[k].memory = memory

    def begin_episodes(self, started: NDArray[np.bool_]) -> None:
        """Reset the memories in the worlds where `started` (W,) is True."""
        for policy in self._recurrent_policies.values():
            policy.memory[started] = 0

    def act(self, actions: NDArray[np.int64], inputs: PartnerInput) -> None:
        """Write the partners' actions into `actions`, (N,); actions of learning agents stay. The
        policies see observations in the representation `default`."""
        for k, policy in self._policies.items():
            rows = slice(k, None, self._spec.agents)  # of this agent in all worlds
            observation = _select_rows(inputs.observation, rows)
            for name in ("grid", "item"):
                observation[name] = self._cells[observation[name][..., 0]]
            actions[rows] = policy.act(observation, _select_rows(inputs.info, rows))

    def state(self) -> dict[str, Any]:
        """Return the memories of the partners' policies, and a hash of their files."""
        memories = {
            k: torch.from_numpy(policy.memory.copy())
            for k, policy in self._recurrent_policies.items()
        }
        return {"memories": memories, "digest": self._digest}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, saved by `state()` of partners with the same settings.

        Raises:
            RunError: the file of a partner has changed since.
        """
        if state["digest"] != self._digest:
            raise RunError(
                f"the partner {self._settings.partner} has changed since the run began: put its "
                f"old file back, or train a new run"
            )
        for k, policy in self._recurrent_policies.items():
            policy.memory = state["memories"][k].numpy().copy()


def _select_rows(values: Any, rows: slice) -> Any:
    if isinstance(values, dict):
        return {name: _select_rows(value, rows) for name, value in values.items()}
    return np.ascontiguousarray(values[rows])


class PastSelves(Partners):
    """Self-play against past weights of the network in training.

    Sides are the teams, and each agent without a team. In each episode a random side learns, and
    all other agents act by the same random self of the pool. Every `past_interval` updates the
    weights join the pool; once it holds `past_selves` sets of weights, the oldest are replaced.
    """

    _saved = "is_learning", "_slots", "_memory"

    def _prepare(self, scenario: Scenario) -> None:
        """Start with an empty pool of past weights. List the sides, teams or single agents, of
        which one learns while past selves play the others."""
        num_worlds, num_agents = self.is_learning.shape
        sides = [members for _, members in scenario.agent_group.teams]
        in_teams = {agent for team in sides for agent in team}
        sides += [(agent,) for agent in range(1, 1 + num_agents) if agent not in in_teams]
        self._sides = np.zeros((len(sides), num_agents), np.bool_)
        for is_member, members in zip(self._sides, sides, strict=True):
            is_member[np.array(members) - 1] = True  # agents count from 1
        self._pool: list[dict[str, Tensor]] = []
        self._nets: list[NumpyNet] = []
        self._slots = np.zeros(num_worlds, np.int64)  # index in the pool for each world
        self._memory = np.zeros((self.is_learning.size, self._settings.memory_size))
        self.begin_episodes(np.ones(num_worlds, np.bool_))

    def begin_update(self, steps: int, weights: dict[str, Tensor]) -> None:
        """Add a copy of the current `weights` to the pool once every `past_interval` updates."""
        settings = self._settings
        update = steps // (settings.num_steps * self.is_learning.size)
        num_added, updates_since = divmod(update, settings.past_interval)
        if updates_since == 0:
            slot = num_added % settings.past_selves
            # these slices append while the pool is not full
            self._pool[slot : slot + 1] = [{k: w.cpu().clone() for k, w in weights.items()}]
            self._nets[slot : slot + 1] = [self._make_net(self._pool[slot])]

    def _make_net(self, weights: dict[str, Tensor]) -> NumpyNet:
        settings, arrays = self._settings, {name: each.numpy() for name, each in weights.items()}
        epsilon = settings.end_epsilon if settings.learner == "pqn" else None
        arrays = select_acting_weights(self._spec, arrays, settings.hidden_size)
        return NumpyNet(self._spec, arrays, settings.layer_norm, epsilon, settings.activation)

    def begin_episodes(self, started: NDArray[np.bool_]) -> None:
        """Begin an episode in each world where `started`, (W,), is True: sample the side that
        learns, and the past self that plays all other sides."""
        if num_started := int(started.sum()):
            size = 2, num_started
            side, slot = torch.rand(size, generator=self._rng, dtype=torch.float64).numpy()
            self.is_learning[started] = self._sides[(side * len(self._sides)).astype(np.int64)]
            self._slots[started] = slot * max(1, len(self._nets))
            self._memory[started.repeat(self._spec.agents)] = 0

    def act(self, actions: NDArray[np.int64], inputs: PartnerInput) -> None:
        """Write the actions of the sides that past selves play into `actions`, (N,). The learning
        side's actions stay."""
        masks = inputs.info["action_mask"]
        masks = masks if self._settings.mask_actions else np.ones_like(masks)
        slots = np.where(self.is_learning, -1, self._slots[:, None]).ravel()
        for slot in np.unique(slots[slots >= 0]).tolist():
            agents = np.flatnonzero(slots == slot)
            probabilities, _, self._memory[agents] = self._nets[slot].forward(
                inputs.rows[agents], self._memory[agents], masks[agents]
            )
            # Gumbel-max: argmax of log(p) - noise, as p * exp(-noise) because p may be 0
            factors = np.exp(-inputs.noise.cpu().numpy()[agents].astype(np.float64))
            actions[agents] = (probabilities * factors).argmax(1)

    def state(self) -> dict[str, Any]:
        """Return the pool, and for the running episodes the learning sides, the indices of the past
        selves, and their GRU states."""
        arrays = {name: torch.from_numpy(getattr(self, name).copy()) for name in self._saved}
        return {**arrays, "pool": self._pool}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, saved by `state()` of past selves with the same settings."""
        for name in self._saved:
            setattr(self, name, state[name].numpy().copy())
        self._pool = state["pool"]
        self._nets = [self._make_net(weights) for weights in self._pool]


def find_partners_class(partner: str) -> type[Partners]:
    """Return the class of the partners for a value of the setting `partner`."""
    return {"": Partners, SELF: PastSelves}.get(partner, FrozenPartners)


def resolve_partner(partner: str, scenario: Scenario) -> str:
    """Return the setting `partner` with absolute paths. Raise an error if the scenario cannot be
    trained with these partners.

    Raises:
        ConfigError: the scenario has one agent.
        PolicyError, RunError: see `gv_engine.plugins.learning.partner_policies.load_partners`.
    """
    if scenario.layout.agents == 1:
        raise ConfigError(
            f"--partner {partner}: {scenario.name} has one agent: leave the partner out"
        )
    return partner if partner == SELF else load_partners(partner, scenario, 1).text
