"""Gymnasium environments of one world: the base class of all domains, and the environment of a grid
scenario."""

from __future__ import annotations

import operator
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from gv_engine.envs.arg_checks import check_at_least, check_options
from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.level_sets import Levels, LevelSet, limit_to_levels
from gv_engine.envs.observations import RepresentationSpec, make_encoder
from gv_engine.envs.render_modes import RenderedEnv, check_render_mode, with_usable_modes
from gv_engine.late_imports import RENDER_MODES
from gv_engine.rules.errors import STEP_AFTER_CLOSE, STEP_AFTER_END, shorten
from gv_engine.scenario.documents.parameters import reject_settings
from gv_engine.scenario.documents.trust import split_options
from gv_engine.scenario.memory.row_checks import tag_rows
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.syntax.fields import INT32_MAX
from gv_engine.world.simulation import DISABLED

_Observation = TypeVar("_Observation")
_NO_ACTION = -1
"""Number of everything that is no integer."""


class ScenarioEnv(RenderedEnv, gymnasium.Env[_Observation, np.int64]):
    """Base class of environments with one world. Subclasses for grids and for formulas add the
    world, its spaces and its drawing.

    Args:
        render_mode: one of `metadata["render_modes"]`, or None.

    Attributes:
        num_actions: size of the action space; more attributes in `RenderedEnv`.

    Raises:
        ValueError: there is no such render mode.
    """

    num_actions: int

    def __init__(self, render_mode: str | None) -> None:
        """Check the render mode and set the attributes of the environment; the class says what each
        argument means."""
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.metadata = with_usable_modes(self.metadata)
        self.render_mode = render_mode

    @property
    def _action_legend(self) -> str:
        raise NotImplementedError

    def _reset_generator(self, seed: int | None) -> np.random.Generator | None:
        """Return the random generator with which the reset begins; None for no seed, when the world
        continues with its own generator."""
        self._is_closed = False
        if seed is None and self._started:
            return None
        gymnasium.Env.reset(self, seed=seed)
        self._started = True
        return self.np_random

    def _check_action(self, action: Any) -> int:
        """Return the action as an int. Raise an error unless it is in the action space.

        Raises:
            ValueError: the action is not in the action space, or `reset` was not called yet.
        """
        try:
            number = operator.index(action)
        except TypeError:
            number = _NO_ACTION
        if not 0 <= number < self.num_actions:
            allowed = f"allowed are 0 to {self.num_actions - 1}, {self._action_legend}"
            if isinstance(action, float | np.floating):
                raise ValueError(f"action {action!r}: expected a whole number; {allowed}")
            raise ValueError(f"action {shorten(repr(action), 100)}: {allowed}")
        if not self._started:
            raise ValueError("call reset() before the first step()")
        if self._is_closed:
            self._warn_once(STEP_AFTER_CLOSE)
        return number

    def render(self) -> Any:
        """Return a picture of the world in the format of the render mode, or show it in a window.

        Returns:
            (H, W, 3) uint8 for "rgb_array", str for "ansi", None for "human".

        Raises:
            ValueError: `reset` was not called yet.
            NoDisplay: the mode is "human" and there is no screen.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode, given to gymnasium.make")
            return None
        if not self._started:
            raise ValueError("call reset() before the first render()")
        return self._draw(0)


_ONLY_WORLD = np.ones(1, np.bool_)


class GridEnv(ScenarioEnv[Any]):
    """Gymnasium environment with one grid world of a scenario.

    Observations are new arrays in every step, by default

    - `grid` (h, w, 3) uint8: type, state and colour index of every cell of the view;
    - `agent_id_grid` (h, w) uint8: 1 at the agent's cell;
    - `item` (3,) uint8: the held object; NoneGridObject for an empty hand;
    - `mission` (k,) int32, if the scenario has missions: `scenario.missions.names` names the
      numbers;
    - `state` (k,) int32, or float32 if any number is a float, if the scenario has a state vector:
      `scenario.observed_state.names` names the numbers.

    Actions are indices into the scenario's action space. `info` has

    - `action_mask` (actions,) int8: 1 for every action that would have an effect now;
    - `reward_terms`: the reward of the step by reward rule;
    - `success`: True if the episode has ended with success in this step, and `is_success`, the same
      under the name that Stable-Baselines3 reads; both only if the scenario defines success;
    - `member`: in a mixture, the index of the played scenario in `scenario.members`;
    - `mission`: the mission as text, if the scenario has missions; also the attribute `mission`.

    An episode is `truncated` at `max_steps`. Equal seeds give equal episodes with every backend.

    >>> env = GridEnv("keydoor-5x5", world="object")
    >>> observation, info = env.reset(seed=1)
    >>> observation["grid"].shape, info["action_mask"]
    ((7, 7, 3), array([0, 0, 1, 0, 1, 1, 0, 0], dtype=int8))
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> reward, terminated
    (-0.05, False)
    >>> row = env.snapshot()  # a state to go back to
    >>> observation, info = env.restore(row)

    Args:
        scenario: a `Scenario`, or an argument of `Scenario.load`: a name, a file or a mapping.
        render_mode: "human" (a window), "rgb_array" ((H, W, 3) uint8), "ansi" (text) or None.
        world: backend: "compiled" waits for compilation; "object" runs any Python and suits a
            debugger; "auto" takes "object" with a window or if an author's rule does not compile,
            else "compiled", with objects while another process compiles; or another name in
            `gv_engine.envs.backends.backend.BACKENDS`. The attribute `world` names the current
            backend.
        max_steps: step limit that replaces the scenario's; 0 for no limit.
        observation_representation: a name in `gv_engine.envs.observations.REPRESENTATION_NAMES`, or
            a mapping of `name` and options, such as `{"name": "pixels", "cell": 9}`; see
            docs/environments.md.
        checked: check array indices in the engine's own compiled rules, too, as in all other rules;
            for developers of these rules.
        levels: levels to play, as for `GridVectorEnv`.
        flat_info: use keys `info["reward_terms/NAME"]` instead of a nested mapping.
        options: values of the scenario's parameters, and `trust`, `allow_modules`, `code`, as for
            `Scenario.load`.

    Raises:
        ScenarioError: the scenario has mistakes.
        ValueError: there is no such render mode, backend or representation.
        DoesNotCompileError: with `world="compiled"`, a rule cannot be compiled; with
            `world="auto"`, a rule of the engine cannot be compiled.
    """

    _spec: EnvSpec | None = None
    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 8}  # noqa: RUF012  # as Env has it

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        render_mode: str | None = None,
        world: str = "auto",
        max_steps: int | None = None,
        observation_representation: RepresentationSpec = "default",
        checked: bool = False,
        levels: Levels | LevelSet | None = None,
        flat_info: bool = False,
        **options: Any,
    ) -> None:
        """Create the world and the spaces; the class docstring explains the arguments."""
        super().__init__(render_mode)
        self.scenario: Scenario
        loaded = resolve_grid_scenario(scenario, max_steps, **options)
        self.scenario, level_rngs = limit_to_levels(loaded, levels, world)
        self.scenario.require_single_agent("this environment")
        self.num_actions = len(self.scenario.actions)
        self.action_space = Discrete(self.num_actions)
        self._encoder = make_encoder(self.scenario, observation_representation)
        self.observation_space = self._encoder.space
        if world == "auto" and render_mode == "human":
            world = "object"
        self._batch = make_batch(
            self.scenario,
            1,
            world,
            checked=checked,
            extra_names=self._encoder.source_arrays,
            levels=level_rngs,
        )
        self._encoder.bind_backend(self._batch)
        self._action = np.zeros(1, np.int64)
        self._flat_info = flat_info
        self._reward_names = self.scenario.reward_names
        self._is_mixture = bool(self.scenario.mixture)
        self._has_success = self.scenario.tells_success
        self._cache_output_views()

    @property
    def world(self) -> str:  # type: ignore[override]  # an attribute there
        """Name of the backend that runs the world: "compiled" or "object"."""
        return self._batch.world

    @property
    def spec(self) -> EnvSpec | None:
        """Specification that `gymnasium.make` used, with the current step limit."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = spec and replace(spec, max_episode_steps=self.scenario.max_steps)

    @property
    def mission(self) -> str:
        """Mission of the agent as text; empty if the scenario has no missions."""
        missions = self.scenario.missions
        return missions.to_text(self._batch.outputs.mission[0]) if missions else ""

    @property
    def _action_legend(self) -> str:
        return f"for {', '.join(self.scenario.action_names)}"

    def _cache_output_views(self) -> None:
        """Keep views of the arrays with the world's results, because slicing them in every step
        would be slow."""
        out = self._batch.outputs
        self._observed = [array[0, ...] for array in out.get_arrays(self._encoder.source_arrays)]
        self._mask, self._terms = out.mask[0], out.terms[0]
        self._success = out.success
        # functions that return the value of the last step
        self._readers = out.rewards.item, out.terminated.item, out.truncated.item

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, and return (observation, info). The level is random, or the one that
        `seed` stands for.

        Args:
            seed: seed of the world's RNG; without one the RNG continues (at first with system
                entropy).
            options: no options are known.

        Raises:
            ValueError: there are options.
        """
        check_options(options)
        generator = self._reset_generator(seed)
        if generator and seed is None:
            self._batch.set_generator(0, generator)
        self._batch.restart(_ONLY_WORLD, {} if seed is None else {0: seed})
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply the agent's action; return (observation, reward, terminated, truncated, info).

        After the end of an episode, the world goes on without a reset, and the environment warns
        once.

        Raises:
            ValueError: the action is not in the action space, or `reset` was not called yet.
            RuleError: a rule is not defined on this world.
        """
        read_reward, read_terminated, read_truncated = self._readers
        action_index = self._check_action(action)
        if read_terminated() or read_truncated():
            self._warn_once(STEP_AFTER_END)
        self._step_batch(action_index)
        reward, terminated, truncated = read_reward(), read_terminated(), read_truncated()
        return self._observation(), reward, terminated, truncated, self._info()

    def _step_batch(self, action: int) -> None:
        """Step the world by the action with index `action`. If a window is open, draw it again."""
        self._action[0] = action
        self._batch.step(self._action, DISABLED)
        if self.render_mode == "human":
            self.render()

    def _observation(self) -> Any:
        return self._encoder.encode(*self._observed)

    def _info(self) -> dict[str, Any]:
        """Return the dictionary `info` for the present state: action mask, reward terms, and
        others."""
        terms = dict(zip(self._reward_names, self._terms.tolist()))
        info: dict[str, Any] = {"action_mask": self._mask.copy(), "reward_terms": terms}
        if self._flat_info:
            info |= flatten_reward_terms(info.pop("reward_terms"))
        if self._has_success:
            info["success"] = info["is_success"] = self._success.item()
        if self._is_mixture:
            info["member"] = self._batch.outputs.member.item()
        if self.scenario.missions:
            info["mission"] = self.mission
        return info

    # ---- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> NDArray[Any]:
        """Return the whole state of the world as one record (row), an array of shape () and dtype
        `scenario.layout.dtype`.

        Raises:
            ValueError: `reset` was not called yet.
        """
        if not self._started:
            raise ValueError("call reset() before the first snapshot()")
        return tag_rows(self._batch.snapshot(0), self.scenario.name)

    def restore(self, row: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
        """Set the world to the state in `row`, a record from `snapshot` of this or a vector
        environment; return observation and info.

        Raises:
            ValueError: the row has another layout, or is of another scenario.
        """
        self._batch.restore(0, row)
        self._started = True
        return self._observation(), self._info()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the pickled attributes, and make the views of the world's output arrays again."""
        vars(self).update(state)
        self._cache_output_views()


def flatten_reward_terms(terms: dict[str, Any]) -> dict[str, Any]:
    """Return reward terms with `info` keys `reward_terms/NAME` in place of a nested mapping."""
    return {f"reward_terms/{name}": values for name, values in terms.items()}


def resolve_grid_scenario(
    scenario: Scenario | str | Path | dict[str, Any], max_steps: int | None = None, **options: Any
) -> Scenario:
    """Return the scenario to play. A name, a file or a mapping is loaded with `options` as its
    parameters; `max_steps` replaces its step limit."""
    if not isinstance(scenario, Scenario | str | os.PathLike | dict):
        raise ValueError(
            f"scenario={scenario!r}: allowed are a Scenario, a name, a file and a mapping"
        )
    if isinstance(scenario, Scenario):
        reject_settings(split_options(options)[1], scenario.document.parameters, scenario.name)
        grid = scenario
    else:
        grid = Scenario.load(scenario, **options)
    if max_steps is None:
        return grid
    if check_at_least(0, max_steps=max_steps) > INT32_MAX:
        raise ValueError(f"max_steps={max_steps}: allowed are 0 to {INT32_MAX}")
    return grid.with_step_limit(int(max_steps))
