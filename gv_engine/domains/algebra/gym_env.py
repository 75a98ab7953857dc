"""A mathy scenario as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.scenario import MathyScenario
from gv_engine.domains.algebra.state import NUM_TYPES, TYPE_BUCKETS, edges
from gv_engine.domains.algebra.world import Token
from gv_engine.envs.arg_checks import known_options
from gv_engine.envs.render_modes import RENDER_MODES, Renderer
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_env import ScenarioEnv
from gv_engine.rules.errors import nearest
from gv_engine.scenario.loading import as_scenario

EXPRESSION_REPRESENTATIONS = ("dict", "graph")
"""Kinds of observations: nodes alone, or with the edges between them."""


_LARGEST = float(np.finfo(np.float32).max)


def expression_space(env: MathyEnv, representation: str = "dict") -> spaces.Dict:
    """What agents see: a `MathyObservation`, and in a `graph` the edges of the tree.

    With room for L nodes, L being the environment's `max_seq_len`:

    - `nodes` (L,) int64: type ids, 0 where there is no node;
    - `values` (L,) float32: those of constants;
    - `mask` (L, rules) int8: 1 for valid actions;
    - `type` (2,) int64: a hash of the environment's namespace;
    - `time` (1,) float32: the fraction of the moves that are used;
    - `edge_index` (2, L - 1) int64: indices of parent and child, -1 where there is no edge.

    Raises:
        ValueError: no such representation.
    """
    if representation not in EXPRESSION_REPRESENTATIONS:
        raise ValueError(
            f"observation_representation={representation!r}: "
            f"{nearest(representation, EXPRESSION_REPRESENTATIONS)}"
        )
    length = env.max_seq_len
    shown: dict[str, spaces.Space[Any]] = {
        "nodes": spaces.Box(0, NUM_TYPES - 1, (length,), np.int64),
        "values": spaces.Box(-_LARGEST, _LARGEST, (length,), np.float32),
        "mask": spaces.Box(0, 1, (length, len(env.rules)), np.int8),
        "type": spaces.Box(0, TYPE_BUCKETS - 1, (2,), np.int64),
        "time": spaces.Box(0.0, 1.0, (1,), np.float32),
    }
    if representation == "graph":
        shown["edge_index"] = spaces.Box(-1, length - 1, (2, length - 1), np.int64)
    return spaces.Dict(shown)


class ExpressionEnv(ScenarioEnv[Arrays]):
    """One game of a mathy scenario.

    Action `node * rules + rule` applies a rule to a node, counted in order: left operand, node,
    right operand. Observations are those of `expression_space`, fresh arrays at every step. `info`
    holds

    - `action_mask` (actions,) int8: 1 for every valid action;
    - `text`, `moves_remaining`: the expression, and the moves that are left;
    - `outcome`: win, lose, truncated, or empty while the episode goes on;
    - `decided_by`: the system that has given the reward, such as `helpful_move` or `outgrow`;
    - `reward_terms`: the reward, under the name of that system, 0 under all others;
    - `success`: whether the episode has ended well with this step, and `is_success`, the same under
      the name that Stable-Baselines3 reads; neither, if the scenario does not say what that is;
    - `discount`: what a learner may multiply what is to come with; it is not applied.

    An episode is `truncated` after three times as many steps as it allows moves: invalid actions
    take none.

    Args:
        scenario: a `MathyScenario`, or what `Scenario.load` takes.
        render_mode: "human" (a window), "rgb_array" ((H, W, 3) uint8), "ansi" (text) or None.
        max_steps: instead of three times the moves.
        observation_representation: "dict", or "graph" with the edges of the tree.
        options: values of the scenario's parameters, and `trust`, `allow_modules`, `code`, as for
            `Scenario.load`.

    Raises:
        ScenarioError: the scenario has mistakes.
        ValueError: no such render mode or representation.
    """

    world = "object"
    """Expressions are always stepped as objects."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012  # as Env has it

    def __init__(
        self,
        scenario: MathyScenario | str | Path | Mapping[str, Any],
        render_mode: str | None = None,
        max_steps: int | None = None,
        observation_representation: str = "dict",
        **options: Any,
    ) -> None:
        super().__init__(render_mode)
        self.scenario: MathyScenario = mathy_scenario(scenario, max_steps, **options)
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
        """Draw a new problem; with a seed, the one that belongs to it.

        Args:
            seed: without one, the generator goes on (from the system's entropy at first).
            options: `problem` (a text) begins with this expression instead, `max_moves` allows so
                many moves.

        Raises:
            ValueError: the problem is no expression, is solved, or has more nodes than L; that is
                no number of moves; or there is no such option.
        """
        self.begin(seed, **known_options(options, "problem", "max_moves"))
        self._follow()
        return self.observation(), self.info()

    def begin(self, seed: int | None, **known: Any) -> None:
        """Draw a new problem, as `reset` does, which then says what there is to be seen."""
        if generator := self._generator(seed):
            self.env.rng = generator
        self.simulation.reset(self.scenario.first_state(self.env, **known))

    def step(self, action: np.int64 | int) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        """Apply a rule to a node.

        Raises:
            ValueError: the action is none of the action space, the episode is over, or nothing
                was reset yet.
        """
        world = self.simulation
        world.step(self._checked(action))
        self._follow()
        return self.observation(), world.reward, world.terminated, world.truncated, self.info()

    def _follow(self) -> None:
        if self.render_mode == "human":
            self.render()

    def observation(self) -> Arrays:
        """What there is to be seen, in fresh arrays."""
        state = self.simulation.state
        observation: Arrays = self.env.state_to_observation(state)._asdict()
        if self.simulation.terminated or self.simulation.truncated:
            observation["mask"][:] = 0
        if self._representation == "graph":
            length = self.env.max_seq_len
            observation["edge_index"] = shown = np.full((2, length - 1), -1, np.int64)
            found = edges(state.root)
            found = found[:, (found < length).all(axis=0)]
            shown[:, : found.shape[1]] = found
        self._mask = observation["mask"]
        return observation

    def info(self) -> dict[str, Any]:
        """What is told beside it, of what was observed last."""
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

    # ---- the whole state -----------------------------------------------------------------

    def snapshot(self) -> Token:
        """The whole game, generator included, as something opaque that can be pickled."""
        return self.simulation.snapshot()

    def restore(self, token: Token) -> tuple[Arrays, dict[str, Any]]:
        """Become the game of a snapshot and return what it shows, as `reset` does.

        Raises:
            TypeError: that is no snapshot.
        """
        self._started = True
        self.simulation.restore(token)
        return self.observation(), self.info()

    def __reduce__(self) -> tuple[Any, ...]:
        token = self.snapshot() if self._started else None
        options = self.scenario, self.render_mode, None, self._representation
        return ExpressionEnv, options, token

    def __setstate__(self, token: Token) -> None:
        self.restore(token)

    def _new_renderer(self, mode: str) -> Renderer:
        title = self.scenario.name
        return Renderer(mode, self.scenario, lambda _, show: self.simulation.render(show, title))


def mathy_scenario(
    scenario: MathyScenario | str | Path | Mapping[str, Any],
    max_steps: int | None = None,
    **options: Any,
) -> MathyScenario:
    """A scenario from what environments take; `max_steps` replaces its own.

    Raises:
        ScenarioError: it has mistakes.
        ValueError: it belongs to another domain.
    """
    found = as_scenario(scenario, **options)
    if not isinstance(found, MathyScenario):
        raise ValueError(
            f"{found.name} is a scenario of the domain {found.domain!r}, not 'algebra'"
        )
    return found if max_steps is None else found.with_(max_steps=max_steps)
