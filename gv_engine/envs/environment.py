"""A scenario as a Gymnasium environment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from gv_engine.envs.arg_checks import at_least, known_options
from gv_engine.envs.level_sets import Levels, LevelSet, limited_to
from gv_engine.envs.observations import FormName, form_of
from gv_engine.envs.render_modes import RENDER_MODES, Renderer
from gv_engine.envs.scenario_env import ScenarioEnv
from gv_engine.scenario.parameters import reject_settings
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.trust import split_options
from gv_engine.vector.backend import make_batch
from gv_engine.world.autoreset import DISABLED

_ALONE = np.ones(1, np.bool_)


class GridEnv(ScenarioEnv[Any]):
    """One world of a scenario.

    Observations are fresh arrays at every step, by default

    - `grid` (h, w, 3) uint8: type, state and colour index of every cell of the view;
    - `agent_id_grid` (h, w) uint8: 1 at the agent's cell;
    - `item` (3,) uint8: the held object; NoneGridObject for an empty hand;
    - `mission` (k,) int32, if the scenario asks something of the agent: `scenario.missions.names`
      says what its numbers are.

    Actions number the scenario's action space. `info` holds

    - `action_mask` (actions,) int8: 1 for every action that would do something now;
    - `reward_terms`: the reward of the step, function by function;
    - `success`: whether the episode has ended well with this step, and `is_success`, the same under
      the name that Stable-Baselines3 reads; neither, if the scenario does not say what that is;
    - `member`: in a mixture, the position of the played scenario in `scenario.members`;
    - `mission`: what the agent is asked to do, in words, if the scenario asks something of it. The
      attribute of that name says it, too.

    An episode is `truncated` at `max_steps`. Equal seeds give equal episodes, whichever world runs
    them.

    Args:
        scenario: a `Scenario`, or what `Scenario.load` takes: a name, a file, a mapping.
        render_mode: "human" (a window), "rgb_array" ((H, W, 3) uint8), "ansi" (text) or None.
        world: "compiled", which waits for its program; "object", for any Python and a debugger;
            "auto" takes the object world with a window and where an author's rule does not compile,
            else the compiled one, and objects while another process compiles it; or another of
            `gv_engine.vector.backend.BACKENDS`. The attribute of that name says which one it is
            now.
        max_steps: instead of the scenario's; 0 for no limit.
        observation_representation: one of `gv_engine.envs.observations.FORMS`, or a mapping of
            `name` and options, such as `{"name": "pixels", "cell": 9}`;
            docs/researchers.md has them.
        checked: whether an index beyond its array is an error in a compiled world of the engine's
            own rules too, as it is in all others; for those who write them.
        levels: which levels are played, as for `GridVectorEnv`.
        flat_info: `info["reward_terms/NAME"]` in place of a mapping within `info`.
        options: values of the scenario's parameters, and `trust`, `allow_modules`, `code`, as for
            `Scenario.load`.

    Raises:
        ScenarioError: the scenario has mistakes.
        ValueError: no such render mode, world or representation.
        DoesNotCompileError: `world="compiled"`, and a rule cannot be compiled; or `world="auto"`,
            and none of the rules is an author's.
    """

    _spec: EnvSpec | None = None
    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 8}  # noqa: RUF012  # as Env has it

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        render_mode: str | None = None,
        world: str = "auto",
        max_steps: int | None = None,
        observation_representation: FormName = "default",
        checked: bool = False,
        levels: Levels | LevelSet | None = None,
        flat_info: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(render_mode)
        self.scenario: Scenario
        played = grid_scenario(scenario, max_steps, **options)
        self.scenario, drawn = limited_to(played, levels, world)
        self.scenario.of_one_agent("this environment")
        self.num_actions = len(self.scenario.actions)
        self.action_space = Discrete(self.num_actions)
        self._form = form_of(self.scenario, observation_representation)
        self.observation_space = self._form.space
        if world == "auto" and render_mode == "human":
            world = "object"
        more = self._form.made_of
        self._batch = make_batch(self.scenario, 1, world, checked=checked, more=more, levels=drawn)
        self._form.belongs_to(self._batch)
        self._action = np.zeros(1, np.int64)
        self._flat_info = flat_info
        self._reward_names, self._is_mixture = (
            self.scenario.reward_names,
            bool(self.scenario.mixture),
        )
        self._tells_success = self.scenario.tells_success
        self._look_at_outputs()

    @property
    def world(self) -> str:  # type: ignore[override]  # an attribute there
        """The backend that steps now."""
        return self._batch.world

    @property
    def spec(self) -> EnvSpec | None:
        """What `gymnasium.make` has made it by, with the limit of steps that holds."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        limit = self.scenario.max_steps
        self._spec = spec and replace(spec, max_episode_steps=limit)

    @property
    def mission(self) -> str:
        """What the agent is asked to do, in words; empty if it is nothing."""
        missions = self.scenario.missions
        return missions.text(self._batch.outputs.mission[0]) if missions else ""

    @property
    def _action_legend(self) -> str:
        return f"for {', '.join(self.scenario.action_names)}"

    def _look_at_outputs(self) -> None:
        """Views of what the world shows: taking them anew at every step would take longer."""
        out = self._batch.outputs
        self._observed = [array[0, ...] for array in out.named(self._form.made_of)]
        self._mask, self._terms = out.mask[0], out.terms[0]
        self._success = out.success
        self._results = out.rewards.item, out.terminated.item, out.truncated.item

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw a new level; with a seed, the one that belongs to it.

        Args:
            seed: without one, the world's generator goes on (from the system's entropy at first).
            options: none are known.

        Raises:
            ValueError: there are options.
        """
        known_options(options)
        generator = self._generator(seed)
        if generator and seed is None:
            self._batch.set_generator(0, generator)
        self._batch.restart(_ALONE, {} if seed is None else {0: seed})
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Let the agent act.

        Raises:
            ValueError: the action is none of the action space, or nothing was reset yet.
            RuleError: a rule is not defined on this world.
        """
        self._run(self._checked(action))
        reward, terminated, truncated = self._results
        return self._observation(), reward(), terminated(), truncated(), self._info()

    def _run(self, action: int) -> None:
        self._action[0] = action
        self._batch.step(self._action, DISABLED)
        if self.render_mode == "human":
            self.render()

    def _observation(self) -> Any:
        return self._form.one(*self._observed)

    def _info(self) -> dict[str, Any]:
        terms = dict(zip(self._reward_names, self._terms.tolist()))
        info: dict[str, Any] = {"action_mask": self._mask.copy(), "reward_terms": terms}
        if self._flat_info:
            info |= flattened(info.pop("reward_terms"))
        if self._tells_success:
            info["success"] = info["is_success"] = self._success.item()
        if self._is_mixture:
            info["member"] = self._batch.outputs.member.item()
        if self.scenario.missions:
            info["mission"] = self.mission
        return info

    # ---- the whole state -----------------------------------------------------------------

    def snapshot(self) -> NDArray[Any]:
        """The world as one row: a () array of `scenario.layout.dtype`."""
        return self._batch.snapshot(0)

    def restore(self, row: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
        """Become the world of a row, of either kind, and return what it shows, as `reset` does.

        Raises:
            ValueError: the row has another layout.
        """
        self._started = True
        self._batch.restore(0, row)
        return self._observation(), self._info()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_renderer": None}  # a copy opens a window of its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._look_at_outputs()

    def _new_renderer(self, mode: str) -> Renderer:
        return Renderer(mode, self.scenario, self._batch.render)


def flattened(terms: dict[str, Any]) -> dict[str, Any]:
    """Terms of rewards as they stand in an `info` without a mapping in it."""
    return {f"reward_terms/{name}": values for name, values in terms.items()}


def grid_scenario(
    scenario: Scenario | str | Path | dict[str, Any],
    max_steps: int | None = None,
    **options: Any,
) -> Scenario:
    """A scenario from what environments take, limited to `max_steps`."""
    if not isinstance(scenario, Scenario | str | os.PathLike | dict):
        raise ValueError(
            f"scenario={scenario!r}: allowed are a Scenario, a name, a file and a mapping"
        )
    if isinstance(scenario, Scenario):
        reject_settings(split_options(options)[1], scenario.document.parameters, scenario.name)
        found = scenario
    else:
        found = Scenario.load(scenario, **options)
    return found if max_steps is None else found.limited(at_least(0, max_steps=max_steps))
