"""Gymnasium environments of mathy_envs, with its ids `mathy-poly-easy-v0` and so on, and masks in
the action space. `gv_engine`'s own ids are `GV-Mathy…`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from gv_engine.plugins.algebra.mathy_envs import envs
from gv_engine.plugins.algebra.mathy_envs.env import MathyEnv
from gv_engine.plugins.algebra.mathy_envs.state import NUM_FEATURES, MathyEnvState, ObservationType
from gv_engine.plugins.algebra.mathy_envs.time_step import is_terminal_transition
from gv_engine.plugins.algebra.mathy_envs.types import (
    ActionType,
    MathyEnvDifficulty,
    MathyEnvProblemArgs,
)
from gv_engine.plugins.algebra.state import MAX_FLOAT

__all__ = ["IDS", "MaskedDiscrete", "MathyGymEnv"]


class MaskedDiscrete(spaces.Discrete):
    """Space of the numbers from 0 to n - 1 of which only those in a mask are sampled.

    Args:
        n: number of numbers.
        mask: (n,) 1 for each number that may be sampled.

    Attributes:
        mask: the mask, as an array.
    """

    def __init__(self, n: int, mask: ArrayLike) -> None:
        super().__init__(n)
        self.update_mask(mask)

    def update_mask(self, mask: ArrayLike) -> None:
        """Set the mask; raise ValueError if it has another length than the space."""
        self.mask = np.array(mask, np.int8)
        if self.mask.shape != (self.n,):
            raise ValueError(f"mask: found the shape {self.mask.shape}, expected ({self.n},)")

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """Return a random number of those in the mask, or in another `mask`."""
        if mask is None and probability is None and self.mask.any():
            mask = self.mask
        return super().sample(None if mask is None else np.asarray(mask, np.int8), probability)


class MathyGymEnv(gymnasium.Env[Any, np.int64]):
    """Gymnasium environment around an environment of mathy_envs. Action `rule * max_seq_len + node`
    applies a rule to a node. `info` has `transition`, `change`, `valid`, `done`, `truncated`, and
    `win` at the end.

    Args:
        env_class: class of the environment.
        env_problem_args: difficulty of sampled problems.
        env_problem: text of the problem of all episodes, with `repeat_problem`.
        env_max_moves: moves allowed for `env_problem`.
        mask_as_probabilities: the mask in flat observations sums to 1.
        repeat_problem: begin all episodes with one problem.
        obs_type: kind of the observations.
        env_kwargs: arguments of the environment.

    Attributes:
        mathy: the environment of mathy_envs.
        state: current state; None before the first reset.
        problem: sampled problem.
    """

    action_space: MaskedDiscrete
    metadata = {"render_modes": []}  # noqa: RUF012  # as Env has it

    def __init__(
        self,
        env_class: type[MathyEnv] = MathyEnv,
        env_problem_args: MathyEnvProblemArgs | None = None,
        env_problem: str | None = None,
        env_max_moves: int = 64,
        mask_as_probabilities: bool = False,
        repeat_problem: bool = False,
        obs_type: ObservationType = ObservationType.FLAT,
        **env_kwargs: Any,
    ) -> None:
        """Make the environment and its spaces. The class docstring explains the arguments."""
        self.mathy = env_class(**env_kwargs)
        self.env_problem_args, self.obs_type = env_problem_args, obs_type
        self.mask_as_probabilities, self.repeat_problem = mask_as_probabilities, repeat_problem
        self.state: MathyEnvState | None = None
        self._challenge = None if env_problem is None else self._begin(env_problem, env_max_moves)
        self.action_size = self.mathy.action_size
        self.action_space = MaskedDiscrete(self.action_size, np.ones(self.action_size))
        self.observation_space = _make_space(obs_type, self.mathy.max_seq_len, self.action_size)

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply a rewrite rule to a node, both encoded in the action's number. Return observation,
        reward, terminated, truncated and info.

        Raises:
            ValueError: the action is out of range, or the move is invalid and the environment's
                response is "raise".
        """
        assert self.state is not None, "call reset() before stepping the environment"
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r}: allowed are 0 to {self.action_size - 1}")
        state, transition, change = self.mathy.get_next_state(self.state, int(action))
        assert isinstance(state, MathyEnvState)
        self.state = state
        terminated = is_terminal_transition(transition)
        truncated = state.agent.moves_remaining <= 0
        info = {
            "transition": transition,
            "done": terminated,
            "truncated": truncated,
            "change": change,
            "valid": change.result is not None,
        }
        if terminated or truncated:
            info["win"] = transition.reward > 0.0
        return self._observe(), transition.reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode with a new problem, or with the previous one if `repeat_problem`. Return
        observation and info."""
        super().reset(seed=seed)
        if seed is not None:
            self.mathy.rng = np.random.default_rng(seed)
        if self._challenge is None or not self.repeat_problem:
            self.state, self.problem = self.mathy.get_initial_state(self.env_problem_args)
            self._challenge = self._challenge or self.state
        else:
            self.state = self._challenge
        return self._observe(), {}

    def reset_with_input(
        self, problem_text: str, max_moves: int = 16
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode with the problem `problem_text`; return observation and info."""
        self.state = self._begin(problem_text, max_moves)
        return self._observe(), {}

    def render(
        self,
        last_action: ActionType = (-1, -1),
        last_reward: float = 0.0,
        last_change: Any = None,
    ) -> None:
        """Print the current state as one line of text, with the last action, its reward and the
        changed nodes."""
        assert self.state is not None, "call reset() before rendering the env"
        rule, node = last_action
        name = "initial" if rule < 0 else self.mathy.rules[rule].name
        self.mathy.print_state(
            self.state, name[:25].lower(), node, change=last_change, change_reward=last_reward
        )

    def _begin(self, text: str, max_moves: int) -> MathyEnvState:
        return MathyEnvState(None, text, max_moves, len(self.mathy.rules))

    def _observe(self) -> NDArray[np.float32] | dict[str, Any]:
        """Return the observation of the current state, and set the action space's mask to the
        state's valid actions."""
        assert self.state is not None
        observation = self.mathy.state_to_observation(
            self.state, self.mathy.max_seq_len, self.obs_type
        )
        if not isinstance(observation, np.ndarray):
            self.action_space.update_mask(observation.action_mask)
            return observation.to_dict()
        mask = observation[-self.action_size :]
        self.action_space.update_mask(mask)
        if self.mask_as_probabilities:
            mask /= max(1.0, mask.sum())
        return observation


def _make_space(kind: ObservationType, length: int, actions: int) -> spaces.Space[Any]:
    """Return the observation space for `kind`, such as FLAT or GRAPH, with room for `length` nodes
    and `actions` actions."""
    if kind == ObservationType.FLAT:
        high = np.ones(5 + 2 * length + actions, np.float32)
        low = np.zeros_like(high)
        high[4] = 10  # tenths of the moves that are used
        values = slice(5 + length, 5 + 2 * length)
        low[values], high[values] = -MAX_FLOAT, MAX_FLOAT
        return spaces.Box(low, high, dtype=np.float32)
    boxes: dict[str, spaces.Space[Any]] = {
        "node_features": spaces.Box(-MAX_FLOAT, MAX_FLOAT, (length, NUM_FEATURES), np.float32),
        "action_mask": spaces.Box(0, 1, (actions,), np.float32),
        "num_nodes": spaces.Discrete(length + 1),
    }
    if kind == ObservationType.GRAPH:
        boxes["adjacency"] = spaces.Box(0, 1, (length, length), np.float32)
    elif kind == ObservationType.HIERARCHICAL:
        boxes["level_indices"] = spaces.Box(0, length // 4, (length,), np.int32)
        boxes["max_depth"] = spaces.Discrete(length // 4 + 1)
    else:
        boxes["edge_index"] = spaces.Box(0, length - 1, (2, 2 * length), np.int64)
        boxes["edge_types"] = spaces.Box(0, 1, (2 * length,), np.int64)
        boxes["num_edges"] = spaces.Discrete(2 * length + 1)
    return spaces.Dict(boxes)


_NAMES = {
    "binomial": envs.BinomialDistribute,
    "complex": envs.ComplexSimplify,
    "poly": envs.PolySimplify,
    "poly-blockers": envs.PolySimplifyBlockers,
    "poly-combine": envs.PolyCombineInPlace,
    "poly-commute": envs.PolyCommuteLikeTerms,
    "poly-grouping": envs.PolyGroupLikeTerms,
    "poly-like-terms-haystack": envs.PolyHaystackLikeTerms,
}
IDS = tuple(f"mathy-{name}-{level}-v0" for name in _NAMES for level in MathyEnvDifficulty)
"""Ids that this module registers, unless mathy_envs itself has."""

for _id in IDS:
    if _id not in gymnasium.registry:
        _name, _, _level = _id.removeprefix("mathy-").removesuffix("-v0").rpartition("-")
        gymnasium.register(
            _id,
            entry_point=f"{__name__}:MathyGymEnv",
            kwargs={
                "env_class": _NAMES[_name],
                "env_problem_args": MathyEnvProblemArgs(_level),
            },
        )
