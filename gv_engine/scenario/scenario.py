"""Scenarios: levels with rules, loaded from YAML files.

>>> scenario = Scenario.load("keydoor-9x9")
>>> scenario.max_steps, scenario.reward_names[:2]
(500, ('reach_exit', 'pickndrop'))
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.late_imports import SCENARIO_BUILDER, load_plugin_object
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import SeveralAgentsError, shorten
from gv_engine.rules.frame import Canvas, Frame
from gv_engine.rules.geometry import Area, action_name
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes, is_engine_module, is_rule_module
from gv_engine.rules.system import (
    RENDERING,
    RESET,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Call,
    Phase,
)
from gv_engine.rules.turns import SINGLE_AGENT, AgentGroup, describe_ending
from gv_engine.scenario.documents import document
from gv_engine.scenario.documents.document import (
    Document,
    ImmutableScenario,
    ScenarioIdentity,
    read_file,
)
from gv_engine.scenario.documents.rule_files import SourceFile
from gv_engine.scenario.documents.trust import split_options
from gv_engine.scenario.domains import KeyCommand, list_playable_scenarios
from gv_engine.scenario.library import find_ref
from gv_engine.scenario.memory.layout import Layout, round_up_size
from gv_engine.scenario.memory.row_checks import repair_rows
from gv_engine.scenario.missions.missions import Missions, has_step_limit
from gv_engine.scenario.readers.grid_reader import find_shapes
from gv_engine.scenario.readers.observed_state import ObservedState, StateNumber
from gv_engine.scenario.readers.resolver import TypeIds
from systems.queries import is_assisted


@dataclass(frozen=True, eq=False, repr=False)
class Scenario(ImmutableScenario):
    """Game: its level, its rules in order, the agent's observations and actions.

    Immutable: copies share everything. Pickles hold the text of the files, so that rule files are
    loaded again from source.

    Attributes:
        name: name; by default the file's.
        description: description for people, maybe several lines.
        view: view that the window shows first; "" for the player's setting.
        dim: whether cells out of sight are darker for people; None for the default, see `is_dim`.
        max_steps: step limit of an episode; None for no limit.
        always_truncates: True if a step that reaches the limit is truncated, even if it also
            terminates the episode.
        time_limit: step that truncates an episode in any case, as by Gymnasium's `TimeLimit`, in
            addition to `max_steps`; None for no such step.
        objects: type indices of objects that may be on the grid, sorted.
        colors: indices of colours that may be on the grid, sorted, NONE included.
        observation_objects, observation_colors: indices that may be in observations.
        actions: numbers of `gv_engine.rules.geometry.Action`, indexed by the environment's
            actions.
        own_actions: key bindings of the custom actions among them.
        beat: steps a second in which time runs while people play; 0 if steps wait for actions.
        area: observation area.
        layout: layout of every world that plays the scenario.
        source: path of the file; None for a scenario loaded from a mapping.
        reward_names: unique name of each reward function.
        warnings: one line, with its location, for each ignored parameter.
        code: Python files of the scenario, with their contents at loading time.
        schedule: calls by phase, see `calls`.
        document: parsed document, to build the scenario again in another process.
        changes: attributes that differ from the document.
        mission_texts: mission templates, in a mixture those of all members; () without
            missions.
        state_numbers: numbers that agents observe beside their view.
        display_numbers: further numbers, which only players see.
        mixture: scenarios of which each reset samples one; () for other scenarios.
        weights: sampling weight of each of them.
        agent_group: settings of the agents as a group, such as their names, teams and turn order.
        numbering: numbering of its object types.
        theme: set of drawings of walls and floor; "" for the usual ones.
        sprites: the author's files or SVG texts, by name of the sprite, see `readers.appearance`.
    """

    domain: ClassVar[str] = "grid"

    def __new__(cls, *values: Any, **values_by_name: Any) -> Scenario:
        """Return a scenario without values. Raise TypeError for a single argument, such as a name,
        and suggest `Scenario.load`."""
        if len(values) + len(values_by_name) == 1:
            wanted = shorten(repr([*values, *values_by_name.values()][0]), 60)
            raise TypeError(f"read a scenario with Scenario.load({wanted})")
        return super().__new__(cls)

    name: str
    description: str
    view: str
    max_steps: int | None
    objects: tuple[int, ...]
    colors: tuple[int, ...]
    observation_objects: tuple[int, ...]
    observation_colors: tuple[int, ...]
    actions: tuple[int, ...]
    own_actions: tuple[KeyCommand, ...]
    area: Area
    layout: Layout
    source: Path | None
    reward_names: tuple[str, ...]
    warnings: tuple[str, ...]
    schedule: Mapping[Phase, tuple[Call, ...]] = field(repr=False)
    document: Document = field(repr=False)
    changes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    mission_texts: tuple[str, ...] = ()
    state_numbers: tuple[StateNumber, ...] = ()
    display_numbers: tuple[StateNumber, ...] = ()
    mixture: tuple[Scenario, ...] = ()
    weights: tuple[float, ...] = ()
    code: tuple[SourceFile, ...] = ()
    agent_group: AgentGroup = SINGLE_AGENT
    always_truncates: bool = False
    time_limit: int | None = None
    dim: bool | None = None
    beat: int = 0
    numbering: TypeIds = field(default_factory=TypeIds, repr=False)
    theme: str = ""
    sprites: Mapping[str, Path | str] = field(default_factory=dict, repr=False)

    @classmethod
    def load(
        cls,
        source: str | Path | Mapping[str, Any],
        folder: str | Path | None = None,
        **options: Any,
    ) -> Scenario:
        """Load a gridworld scenario by name, from a file, or from a mapping.

        Args:
            source: name or Gymnasium id of a built-in scenario, such as "keydoor-9x9", or
                "keydoor" for the defaults of its parameters; path of a YAML file or of a folder
                with a `scenario.yaml`; or the contents of such a file as a mapping.
            folder: folder of a mapping's rule files; the working directory by default.
            options: values of the scenario's parameters by name: `size=9`. Other options say which
                Python code may run besides the code in its folder, see docs/security.md:
                `trust=True` allows the code of scenarios in other folders that it extends or mixes,
                `allow_modules=["name"]` allows these modules, and `code=False` allows no code.

        Raises:
            ScenarioError: the scenario has errors or does not exist. `TrustError`: it names Python
                code that may not run. `UnknownOptionError`: it has no parameter for an option.

        Warns:
            UserWarning: something in the scenario is ignored.
        """
        trust, settings = split_options(options)
        if isinstance(source, Mapping):
            return cls.read(document.read_mapping(source, Path(folder or "."), trust, settings))
        return cls.read(read_file(find_ref(source, list_playable_scenarios()), trust, settings))

    @classmethod
    def read(cls, document: Document) -> Scenario:
        """Return the scenario that a parsed scenario file describes.

        Raises:
            ScenarioError: the scenario has errors; the text lists all of them.

        Warns:
            UserWarning: something in the scenario is ignored.
        """
        scenario: Scenario = resolve_name(SCENARIO_BUILDER)(document)
        for line in scenario.warnings:
            warnings.warn(line, UserWarning, stacklevel=3)
        return scenario

    def calls(self, phase: Phase) -> tuple[Call, ...]:
        """Return the calls of the systems that run in `phase` of a step, in the scenario's order.

        A mixture has none of its own; see its `members`.
        """
        return self.schedule.get(phase, ())

    @property
    def partner(self) -> Call | None:
        """Transition that chooses the actions of agents that nobody plays, see
        `systems.queries.is_assisted`; None without one, as in a mixture."""
        rules = (call for call in self.calls(TRANSITION) if call.system.when is is_assisted)
        return next(rules, None)

    def walk_calls(self, *phases: Phase) -> Iterator[Call]:
        """Yield the system calls of the scenario file that run in `phases`, depth first: a call
        comes before the calls in its arguments. A mixture yields those of its members in turn."""
        for member, phase in product(self.members, phases):
            for call in member.calls(phase):
                yield from call.walk()

    def walk_functions(self, *phases: Phase) -> Iterator[Callable[..., Any]]:
        """Yield all Python functions of the rules of the given phases: those of their systems, and
        functions passed to them as arguments."""
        for call in self.walk_calls(*phases):
            functions = *call.system.functions, call.system.objects, *call.arguments.values()
            yield from filter(callable, functions)

    @cached_property
    def runs_engine_rules_only(self) -> bool:
        """True if all rules are built into the engine, apart from rendering rules."""
        functions = self.walk_functions(*(phase for phase in Phase if phase is not RENDERING))
        return all(is_engine_module(getattr(each, "__module__", None) or "") for each in functions)

    @cached_property
    def may_call_esper(self) -> bool:
        """True if a rule may use the library esper directly: a file of the scenario mentions it, or
        a rule comes from a module outside of the scenario."""
        modules = {getattr(each, "__module__", None) or "" for each in self.walk_functions(*Phase)}
        if not all(is_engine_module(name) or is_rule_module(name) for name in modules):
            return True
        return any(file.mentions_esper for file in self.code)

    @property
    def is_dim(self) -> bool:
        """True if cells out of the agent's sight are drawn darker: by default unless the window
        first shows the view "state"."""
        return self.view != "state" if self.dim is None else self.dim

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions, indexed by the environment's actions."""
        return tuple(map(action_name, self.actions))

    @property
    def visibility(self) -> Call:
        """Call of the visibility function, which marks the cells that the agent sees."""
        return self.calls(VISIBILITY)[0]

    @cached_property
    def sight_cache(self) -> dict[Any, Any] | None:
        """Cache of the visibility function's results, by the opaque cells of the view. All object
        worlds share it. None if the function depends on more than the view."""
        return {} if self.visibility.system.reads_only_view else None

    @property
    def success(self) -> Call | None:
        """Call of the success function, which says when an episode is won; None if the scenario has
        none.

        A mixture has none of its own; see its `members`.
        """
        return next(iter(self.calls(SUCCESS)), None)

    @property
    def tells_success(self) -> bool:
        """True if every episode reports success or failure: all members of a mixture have a success
        function."""
        return all(member.success is not None for member in self.members)

    @cached_property
    def missions(self) -> Missions | None:
        """Converter of the agents' missions to numbers and text; None for a scenario without
        missions."""
        if not self.mission_texts:
            return None
        return Missions(self.layout, [member.mission_texts for member in self.members])

    @property
    def largest_shape(self) -> tuple[int, int]:
        """(height, width) of the largest level that the reset functions declare. If levels may be
        larger, it is the size of the arrays."""
        resets = [call for member in self.members for call in member.calls(RESET)]
        shapes = find_shapes(resets) or [(0, 0)]
        height, width = map(max, zip(*shapes, strict=True))
        array_shape = self.layout.height, self.layout.width
        is_known = (round_up_size(height), round_up_size(width)) == array_shape
        return (height, width) if is_known else array_shape

    @cached_property
    def observed_state(self) -> ObservedState | None:
        """State vector of the agents; None for a scenario without one."""
        return ObservedState(self.state_numbers, self.layout) if self.state_numbers else None

    @cached_property
    def displayed_state(self) -> ObservedState:
        """Numbers that players see and agents do not."""
        return ObservedState(self.display_numbers, self.layout)

    def mission(self, w: Any) -> str:
        """Return the mission text of the first agent in world `w`; "" if it has no mission.

        Args:
            w: a `World` or a `RowWorld` of this scenario.
        """
        return "" if self.missions is None else self.missions.to_text(self.missions.encode(w))

    def step_limit(self, w: Any) -> int | None:
        """Return the maximum number of steps of the episode in world `w`: the scenario's or the
        mission's limit, whichever is lower. None if there is no limit."""
        limits = [self.members[w.member].max_steps]
        if has_step_limit(self.layout.mission):
            limits.append(int(w.mission.max_steps[AGENT]))
        return min(filter(None, limits), default=None)

    @cached_property
    def _end_paths(self) -> tuple[tuple[Call, ...], ...]:
        return tuple(path for call in self.calls(TERMINATING) for path in call.iter_call_paths())

    def describe_ending(self, w: Any, agent: int) -> str:
        """Return a sentence on how the episode in world `w` ended for an agent; "" if it has not
        ended.

        Args:
            w: a `World` or a `RowWorld` of this scenario.
            agent: number of the agent.
        """
        if not (w.terminated or w.truncated):
            return ""
        member = self.members[w.member]
        rule_number = w.ended_by[agent]  # from 1 on, 0 for no rule
        path = member._end_paths[rule_number - 1] if rule_number else ()
        is_truncated = bool(w.truncated and not w.terminated)
        return describe_ending(member.success if w.success[agent] else None, is_truncated, path)

    def canvas(
        self,
        w: Any,
        show: Callable[[Frame], None],
        observation: NDArray[np.uint8],
        terms: Sequence[float],
        message: str = "",
        agent: int = 1,
    ) -> Canvas:
        """Return the canvas on which rendering systems draw world `w`. The finished frame is passed
        to `show`. `terms` are the parts of the last reward.

        Args:
            w: a `World` or a `RowWorld` of this scenario.
            show, observation, message: see `Canvas`.
            terms: reward of the last step by reward function, in the order of `reward_names`.
            agent: number of the agent whose view is shown.
        """
        state, display = self.observed_state, self.members[w.member].displayed_state
        return Canvas(
            show,
            self.members[w.member].name,
            self.area,
            observation,
            dict(zip(self.reward_names, terms, strict=True)),
            self.step_limit(w),
            self.mission(w),
            state.describe(state.encode(w, agent)) if state else (),
            display.describe(display.encode(w, agent)),
            self.describe_ending(w, agent),
            message,
            self.types,
            agent,
        )

    @property
    def types(self) -> ObjectTypes:
        """Object types, by name and by the index in grids and observations."""
        return self.layout.object_types

    @property
    def members(self) -> tuple[Scenario, ...]:
        """Scenarios that a world may play: this one, or the members of the mixture."""
        return self.mixture or (self,)

    @property
    def cumulative_weights(self) -> tuple[float, ...]:
        """Cumulative probabilities of a mixture's scenarios. A uniform random number in [0, 1)
        selects the first scenario whose value is greater."""
        weights = self.weights or (1.0,)
        # dividing by a power of two is exact, and keeps the sum finite
        _, exponent = math.frexp(max(weights))
        *sums, total = accumulate(math.ldexp(weight, -exponent) for weight in weights)
        return (*(partial_sum / total for partial_sum in sums), 1.0)

    def present_agents(self, member: NDArray[Any] | int = 0) -> NDArray[np.bool_]:
        """Return an (…, A) mask, True for the agents that exist in a world which plays the member
        scenario with the given index in the mixture.

        Args:
            member: (…) indices of members.
        """
        counts = np.array([len(each.agent_group.names) for each in self.members])
        return np.arange(self.layout.agents) < counts[member, None]

    def require_single_agent(self, caller: str) -> Scenario:
        """Return this scenario if it has one agent. Else raise an error, which says that `caller`
        needs a single agent.

        Args:
            caller: caller for the message, such as "this environment".

        Raises:
            SeveralAgentsError: the scenario has several agents.
        """
        if self.layout.agents > 1:
            raise SeveralAgentsError(
                f"{self.name} has {self.layout.agents} agents, and {caller} takes one: "
                f"use gv_engine.parallel_env or gv_engine.AgentsVectorEnv"
            )
        return self

    def check_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Check world records from an untrusted source, and return a copy in which derived fields
        are recomputed. `rows` is an array with one record per world.

        Args:
            rows: rows of shape () or (n,), from an untrusted source.

        Raises:
            ValueError: the rows have another layout, are invalid, or have an unknown member, end or
                mission.
        """
        checked = repair_rows(self.layout, rows)
        rows = np.atleast_1d(checked)
        members = rows["member"]
        unknown = members[(members < 0) | (members >= len(self.members))]
        if len(unknown):
            raise ValueError(
                f"the snapshot plays member {unknown[0]} of a mixture, {self.name} has "
                f"{len(self.members)}; restore it into an environment of the same scenario"
            )
        fault = self._find_member_fault(rows)
        if not fault and self.missions:
            fault = self.missions.find_fault(rows)
        if fault:
            raise ValueError(f"the snapshot is damaged: {fault}")
        return checked

    def _find_member_fault(self, rows: NDArray[Any]) -> str:
        """Return an error message about world records of a mixture whose number of agents, or rule
        that ended the episode, does not fit their scenario; "" if there are none."""
        members = rows["member"]
        if self.layout.has_smaller_members:
            num_agents = self.present_agents(members).sum(axis=1)
            wrong = (rows["present"] != num_agents) & (rows["height"] > 0)
            if wrong.any():
                return (
                    f"present is {rows['present'][wrong][0]}, and its member of the mixture has "
                    f"{num_agents[wrong][0]} agents"
                )
        num_ends = np.array([len(member._end_paths) for member in self.members])
        ended_by = rows["ended_by"]
        beyond = ended_by[ended_by > num_ends[members][:, None]]
        return f"ended_by is {beyond[0]}" if len(beyond) else ""

    def inner_env(self) -> Any:
        """Return an environment whose states and observations are Python objects, for compatibility
        with GridVerse; it ignores `max_steps`.

        Returns:
            a `gv_engine.plugins.gridverse.GridWorld`.

        Raises:
            RuleError: the scenario lists an esper.Processor, is a mixture, or has views that do not
                turn.
        """
        return load_plugin_object("inner_env")(self)

    @cached_property
    def identity(self) -> ScenarioIdentity:
        """Identity of the scenario's content, by which replays recognize it. It does not depend on
        where the files are."""
        members = [member.identity.digest for member in self.mixture]
        return ScenarioIdentity.from_document(
            "grid", self.name, self.document, self.changes, self.code, members
        )

    def watched_files(self) -> tuple[Path, ...]:
        """Return the files that the scenario was read from, and all Python files that it may
        import; a change of one of them calls for `reload`."""
        own = document.list_watched_files(self.document, self.code)
        own = (*own, *(file for file in self.sprites.values() if isinstance(file, Path)))
        return tuple(sorted({*own, *(path for m in self.mixture for path in m.watched_files())}))

    def reload(self) -> Scenario:
        """Return the scenario read again from the present contents of its files.

        Raises:
            ScenarioError: the files have errors; the text lists all of them.
        """
        with OBJECT_TYPES.rollback_on_error():  # types in use stay as they are
            return self._build(self.document.reload())

    def with_step_limit(self, max_steps: int) -> Scenario:
        """Return a copy of the scenario whose episodes end after `max_steps` steps; 0 for no limit.

        A parameter `max_steps` of the scenario is set, as rewards may depend on it.

        Raises:
            ScenarioError: the parameter does not allow this value.
        """
        if any(parameter.name == "max_steps" for parameter in self.document.parameters):
            return self._build(self.document.with_settings(max_steps=max_steps))
        return self.with_(max_steps=max_steps or None)

    def _build(self, document: Document) -> Scenario:
        scenario: Scenario = resolve_name(SCENARIO_BUILDER)(document, self.changes)
        return scenario

    def with_(self, **changes: Any) -> Scenario:
        """Return a copy of the scenario with some attributes replaced, such as
        `scenario.with_(max_steps=100)`.

        The members of a mixture change, too, except for `name` and `description`.
        """
        shared = {key: changes[key] for key in changes if key not in ("name", "description")}
        return dataclasses.replace(
            self,
            changes={**self.changes, **changes},
            mixture=tuple(member.with_(**shared) for member in self.mixture),
            **changes,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        values = self.document, self.changes, self.mixture, self.numbering
        return resolve_name(SCENARIO_BUILDER), values
