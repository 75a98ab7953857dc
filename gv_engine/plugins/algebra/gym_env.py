"""Gymnasium environment of an algebra scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from gv_engine.envs.arg_checks import check_options
from gv_engine.envs.environment import ScenarioEnv
from gv_engine.envs.render_modes import Renderer
from gv_engine.envs.representations import Arrays
from gv_engine.late_imports import RENDER_MODES
from gv_engine.plugins.algebra.env import MathyEnv
from gv_engine.plugins.algebra.scenario import AlgebraScenario
from gv_engine.plugins.algebra.state import MAX_FLOAT, NUM_TYPES, TYPE_BUCKETS, tree_edges
from gv_engine.plugins.algebra.world import WorldSnapshot
from gv_engine.rules.errors import describe_allowed
from gv_engine.scenario.documents.loading import as_scenario

EXPRESSION_REPRESENTATIONS = ("dict", "graph")
"""Kinds of observations: nodes alone, or nodes with the edges between them."""


def expression_space(env: MathyEnv, representation: str = "dict") -> spaces.Dict:
    """Return the observation space of an algebra environment. The representation "graph" adds the
    edges of the expression tree.

    The space has room for L nodes, the environment's `max_seq_len`:

    - `nodes` (L,) int64: type ids, 0 where there is no node;
    - `values` (L,) float32: values of constants;
    - `mask` (L, rules) int8: 1 for valid actions;
    - `type` (2,) int64: a hash of the environment's namespace;
    - `time` (1,) float32: the fraction of the moves that are used;
    - `edge_index` (2, L - 1) int64: indices of parent and child, -1 where there is no edge.

    Raises:
        ValueError: the representation is unknown.
    """
    if representation not in EXPRESSION_REPRESENTATIONS:
        raise ValueError(
            f"observation_representation={representation!r}"
            f"{describe_allowed(representation, EXPRESSION_REPRESENTATIONS)}"
        )
    length = env.max_seq_len
    boxes: dict[str, spaces.Space[Any]] = {
        "nodes": spaces.Box(0, NUM_TYPES - 1, (length,), np.int64),
        "values": spaces.Box(-MAX_FLOAT, MAX_FLOAT, (length,), np.float32),
        "mask": spaces.Box(0, 1, (length, len(env.rules)), np.int8),
        "type": spaces.Box(0, TYPE_BUCKETS - 1, (2,), np.int64),
        "time": spaces.Box(0.0, 1.0, (1,), np.float32),
    }
    if representation == "graph":
        boxes["edge_index"] = spaces.Box(-1, length - 1, (2, length - 1), np.int64)
    return spaces.Dict(boxes)


class ExpressionEnv(ScenarioEnv[Arrays]):
    """Gymnasium environment with one expression of an algebra scenario.

    Action `node * rules + rule` applies a rule to a node, counted in order: left operand, node,
    right operand. Observations are those of `expression_space`, new arrays at every step. `info`
    contains

    - `action_mask` (actions,) int8: 1 for every valid action;
    - `text`, `moves_remaining`: the expression, and the number of moves left;
    - `outcome`: win, lose, truncated, or empty while the episode goes on;
    - `decided_by`: the system that gave the reward, such as `helpful_move` or `outgrow`;
    - `reward_terms`: the reward, under the name of that system, 0 under all others;
    - `success`: True if the episode ended successfully with this step, and `is_success`, the same
      under the name that Stable-Baselines3 reads; both are missing if the scenario defines no
      success;
    - `discount`: discount of future rewards; it is not applied.

    An episode is `truncated` after three times as many steps as it allows moves: invalid actions
    use no moves.

    Args:
        scenario: an `AlgebraScenario`, or any argument of `Scenario.load`.
        render_mode: "human" (a window), "rgb_array" ((H, W, 3) uint8), "ansi" (text) or None.
        max_steps: step limit, instead of three times the moves.
        observation_representation: "dict", or "graph" with the edges of the tree.
        options: values of the scenario's parameters, and `trust`, `allow_modules`, `code`, as for
            `Scenario.load`.

    Raises:
        ScenarioError: the scenario has errors.
        ValueError: the render mode or representation is unknown.
    """

    world = "object"
    """Kind of world, always "object"."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012  # as Env has it

    def __init__(
        self,
        scenario: AlgebraScenario | str | Path | Mapping[str, Any],
        render_mode: str | None = None,
        max_steps: int | None = None,
        observation_representation: str = "dict",
        **options: Any,
    ) -> None:
        """Make the environment and its spaces. The class docstring explains the arguments."""
        super().__init__(render_mode)
        self.scenario: AlgebraScenario = algebra_scenario(scenario, max_steps, **options)
        self.simulation = self.scenario.make_world()
        self.env = self.simulation.env
        self.observation_space = expression_space(  # type: ignore[assignment]  # a Dict
            self.env, observation_representation
        )
        self._representation = observation_representation
        self.num_actions = self.env.max_seq_len * len(self.env.rules)
        self.action_space = spaces.Discrete(self.num_actions)

    @property
    def _action_legend(self) -> str:
        return f"node * {len(self.env.rules)} + rule"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Start an episode with a new problem, sampled with `seed` if given; return observation and
        info.

        Args:
            seed: seed of the generator; None to continue with the current generator.
            options: `problem` (a text) replaces the sampled problem, `max_moves` replaces the
                number of allowed moves.

        Raises:
            ValueError: the problem is no expression, is solved, or has more nodes than L; the
                number of moves is out of range; or an option is unknown.
        """
        self.begin(seed, **check_options(options, "problem", "max_moves"))
        self._render_if_human()
        return self.observation(), self.info()

    def begin(self, seed: int | None, **options: Any) -> None:
        """Start an episode with a new problem as `reset` does, but without computing the
        observation."""
        if generator := self._reset_generator(seed):
            self.env.rng = generator
        self.simulation.reset(self.scenario.first_state(self.env, **options))

    def step(self, action: np.int64 | int) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        """Apply a rewrite rule to a node, both encoded in the action's number. Return observation,
        reward, terminated, truncated and info.

        Raises:
            ValueError: the action is not in the action space, the episode is over, or `reset` was
                not called yet.
        """
        world = self.simulation
        world.step(self._check_action(action))
        self._render_if_human()
        return self.observation(), world.reward, world.terminated, world.truncated, self.info()

    def _render_if_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def observation(self) -> Arrays:
        """Return the observation of the current state. The arrays are new at every call."""
        state = self.simulation.state
        observation: Arrays = self.env.state_to_observation(state)._asdict()
        if self.simulation.terminated or self.simulation.truncated:
            observation["mask"][:] = 0
        if self._representation == "graph":
            length = self.env.max_seq_len
            observation["edge_index"] = array = np.full((2, length - 1), -1, np.int64)
            pairs = tree_edges(state.root)
            pairs = pairs[:, (pairs < length).all(axis=0)]
            array[:, : pairs.shape[1]] = pairs
        self._mask = observation["mask"]
        return observation

    def info(self) -> dict[str, Any]:
        """Return the info dict of the current state. Call `observation()` first: the info contains
        the action mask that it computed."""
        world = self.simulation
        terms = dict.fromkeys(self.scenario.reward_names, 0.0)
        if world.decided_by in terms:
            terms[world.decided_by] = world.reward
        info = {
            "action_mask": self._mask.flatten(),
            "text": world.state.agent.problem,
            "moves_remaining": world.state.agent.moves_remaining,
            "outcome": world.outcome,
            "decided_by": world.decided_by,
            "reward_terms": terms,
            "discount": world.discount,
        }
        if self.scenario.tells_success:
            info["success"] = info["is_success"] = world.success
        return info

    # ---- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> WorldSnapshot:
        """Return an opaque snapshot of the episode and the generator, which can be pickled."""
        return self.simulation.snapshot()

    def restore(self, snapshot: WorldSnapshot) -> tuple[Arrays, dict[str, Any]]:
        """Restore the episode and the random generator from a snapshot that `snapshot()` returned;
        return observation and info.

        Raises:
            TypeError: the argument is no snapshot.
        """
        self._started = True
        self.simulation.restore(snapshot)
        return self.observation(), self.info()

    def __reduce__(self) -> tuple[Any, ...]:
        snapshot = self.snapshot() if self._started else None
        options = self.scenario, self.render_mode, None, self._representation
        return ExpressionEnv, options, snapshot

    def __setstate__(self, snapshot: WorldSnapshot) -> None:
        self.restore(snapshot)

    def _new_renderer(self, mode: str) -> Renderer:
        title = self.scenario.name
        return Renderer(mode, self.scenario, lambda _, show: self.simulation.render(show, title))


def algebra_scenario(
    scenario: AlgebraScenario | str | Path | Mapping[str, Any],
    max_steps: int | None = None,
    **options: Any,
) -> AlgebraScenario:
    """Load an algebra scenario by name or path, or build it from a mapping. A scenario object is
    accepted too. `max_steps` replaces its step limit.

    Raises:
        ScenarioError: the scenario has errors.
        ValueError: the scenario belongs to another domain.
    """
    result = as_scenario(scenario, **options)
    if not isinstance(result, AlgebraScenario):
        raise ValueError(
            f"{result.name} is a scenario of the domain {result.domain!r}, not 'algebra'"
        )
    return result if max_steps is None else result.with_(max_steps=max_steps)
