"""Reader of grid scenarios: from the top-level keys of a file to the arguments of `Scenario`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from components.core import NONE, Mission
from components.items import Absence, Aim, Bodiless, Forgotten
from components.objects import BOX, built_in_components
from gv_engine.rules.component import column_name, is_component
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import USUAL_ACTIONS, WAIT
from gv_engine.rules.objects import (
    GROUND,
    LAYERS,
    OBJECT_TYPES,
    TERRAIN,
    USUAL_COLORS,
    ObjectType,
    ObjectTypes,
    Prefab,
)
from gv_engine.rules.system import REGISTRIES, Call, Phase, get_system
from gv_engine.scenario.documents.document import FILE_KEYS, Document
from gv_engine.scenario.documents.rule_files import list_source_files
from gv_engine.scenario.domains import KeyCommand
from gv_engine.scenario.levels.packs import LEVELS
from gv_engine.scenario.memory.layout import Layout, round_up_size
from gv_engine.scenario.missions import mission_reader, missions
from gv_engine.scenario.readers import definitions
from gv_engine.scenario.readers.actions import read_actions
from gv_engine.scenario.readers.appearance import APPEARANCE_KEYS, read_sprites
from gv_engine.scenario.readers.calls import PAYING_KEYS, CallReader, is_complete
from gv_engine.scenario.readers.grid_keys import (
    FROM_VISIBILITY,
    GRID_KEYS,
    SHARED_KEYS,
    SPACE,
    TIME_KEYS,
    VIEW,
)
from gv_engine.scenario.readers.map import (
    Legend,
    LevelSource,
    read_legend,
    read_map,
)
from gv_engine.scenario.readers.observed_state import StateNumber, StateReader
from gv_engine.scenario.readers.procedural import PROCEDURAL_KEYS, ProceduralReader, is_procedural
from gv_engine.scenario.readers.random_values import RandomValues
from gv_engine.scenario.readers.resolver import NameResolver, TypeIds, list_referring_nodes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from systems import absence, together
from systems.procedural import settle

_LEVELS = ("map", "maps", LEVELS, "room", "reset_function")
"""Keys that define the level; a scenario has exactly one of them."""
_FREE_ENTITIES = 8
"""Number of entities besides one for each cell: `NOTHING`, the agent, held objects, and objects off
the grid."""

_T = TypeVar("_T")
_D = TypeVar("_D")


class TopLevelReader:
    """Base class of readers of a document's top-level keys; collects all errors.

    Attributes:
        entries: nodes by key, once the keys are checked.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems = document.problems or ErrorCollector(document.label)
        self.entries: dict[str, YamlNode] = {}

    def read_key(self, key: str, read: Callable[[YamlNode], _T], default: _D) -> _T | _D:
        """Return `read` of the node of a top-level key; the default if the key is missing or its
        value has an error, which is collected."""
        return self.problems.read_key(self.entries, key, read, default)

    def read_texts(self, name: str) -> dict[str, Any]:
        """Return the values of `name`, `description`, `view`, `dim` and `source` as arguments of
        `Scenario`. If the file gives no name, the parameter `name` is used."""
        return {
            "name": self.read_key("name", fields.read_name, name),
            "description": self.read_key("description", fields.optional_text, ""),
            "view": self.read_key("view", SHARED_KEYS["view"].read, ""),
            "dim": self.read_key("dim", fields.boolean, None),
            "source": self.document.source,
        }

    def read_actions(
        self, default: tuple[int, ...], known: Iterable[KeyCommand] = ()
    ) -> tuple[tuple[int, ...], tuple[KeyCommand, ...]]:
        """Read the key `action_space`: return (action numbers, custom actions with their keys), or
        (`default`, ()) on errors. `known` are custom actions declared elsewhere."""
        read = partial(read_actions, self.problems, known=known)
        return self.read_key("action_space", read, (default, ()))

    def add_column(self, columns: dict[str, type], cls: type, node: YamlNode) -> None:
        """Add a component class to `columns`, a dict of classes by column name. Report an error at
        the YAML node if another class has the same column name."""
        column = column_name(cls)
        other = columns.setdefault(column, cls)
        if other is not cls:
            self.problems.add(
                node,
                f"two components would share the column w.{column}: {other.__name__} of "
                f"{other.__module__} and {cls.__name__} of {cls.__module__}; rename one",
            )


class GridReader(TopLevelReader):
    """Reader of a grid scenario's document."""

    def __init__(self, document: Document, numbering: TypeIds) -> None:
        """Make a reader of a parsed scenario file. `numbering` assigns indices to object types."""
        super().__init__(document)
        self.root = document.root
        self.names = NameResolver(document, numbering, self.problems)
        self.calls = CallReader(self.names)
        self.draws = RandomValues(self.names)
        self.depth = 1  # of objects nested in each other
        self.mission: mission_reader.MissionSpec | None = None
        self.agents = definitions.AgentSpecs()
        self.world_components: Prefab = ()

    def read_fields(self) -> dict[str, Any]:
        """Read all keys of the scenario file. Return them as arguments of `Scenario`, by name.
        Raise a ScenarioError that lists all errors."""
        self.check_keys()
        actions, own_actions = self.read_definitions()
        objects, colors = self.read_space("state_space", self.names.list_grid_types(), USUAL_COLORS)
        seen_objects, seen_colors = self.read_space("observation_space", objects, colors)
        seen_objects = tuple(sorted({*seen_objects, *self.agents.kinds}))
        seen_colors = tuple(sorted({*seen_colors, *self.agents.colors}))
        # the view area first: other functions check their parameters against it
        view_calls = self.read_key("observation_function", self.read_observation, ())
        levels = self.read_reset(objects, colors)
        known = mission_reader.MissionObjects(self.draws, objects, colors)
        self.mission = self.read_key("mission", mission_reader.MissionReader(known).read, None)
        schedule = self.read_schedule(levels, view_calls)
        beat = self.read_key("time", partial(self.read_beat, schedule), 0)
        self.require_mission(schedule)
        for call in chain.from_iterable(schedule.values()) if self.names.between else ():
            for part in call.walk():
                if part.system.objects is not None:
                    fault = f"{part.name} is a function of states, which have two layers"
                    self.problems.add(self.entries["layers"], f"{fault}; write a rule of `w`")
        self.add_agent_components(schedule[Phase.TRANSITION])
        layout = self.make_layout(levels, objects, seen_objects)
        arguments = {
            **self.read_texts(self.document.default_name),
            "max_steps": self.read_key("max_steps", SHARED_KEYS["max_steps"].read, None),
            **self.read_appearance(),
            "always_truncates": self.read_key("always_truncates", fields.boolean, False),
            "objects": objects,
            "colors": colors,
            "observation_objects": seen_objects,
            "observation_colors": seen_colors,
            "actions": (*actions, WAIT) if beat else actions,
            "own_actions": own_actions,
            "beat": beat,
            "area": self.calls.area,
            "layout": layout,
            **self.read_state_numbers(layout, own_actions),
            "mission_texts": self.mission.texts if self.mission else (),
            "reward_names": fields.make_unique([call.name for call in schedule[Phase.REWARD]]),
            "warnings": tuple(
                fields.format_message(self.document.label, *warning)
                for warning in self.calls.warnings
            ),
            "agent_group": self.agents.agent_group,
            "code": (
                *list_source_files(self.names.modules.values()),
                *self.names.data_files.values(),
            ),
            "schedule": schedule,
        }
        self.problems.raise_if_any()
        return arguments

    def read_appearance(self) -> dict[str, Any]:
        """Return the values of `theme` and `sprites` as keyword arguments of `Scenario`."""
        read = partial(read_sprites, self.document, self.names.types, self.problems)
        theme = self.read_key("theme", APPEARANCE_KEYS["theme"].read, "")
        return {"theme": theme, "sprites": self.read_key("sprites", read, {})}

    def check_keys(self) -> None:
        """Read the top-level keys into `entries` and report unknown and missing ones. Raise an
        error if the scenario is of another domain."""
        if self.document.domain != "grid":
            domain = fields.mapping(self.root)["domain"]
            self.problems.add(domain, f"found {domain.summary}; load_scenario() loads all domains")
            self.problems.raise_if_any()
        self.entries = fields.read_fields(
            self.problems, self.root, (*GRID_KEYS, LEVELS, "mixture"), FILE_KEYS
        )
        for key, key_info in GRID_KEYS.items():
            if key_info.required and key not in self.entries:
                self.problems.add(self.missing_node(key), "missing; a scenario needs it")

    def read_definitions(self) -> tuple[tuple[int, ...], tuple[KeyCommand, ...]]:
        """Import the scenario's Python modules, and read its components, object types, agents and
        world components. Return the action numbers and the custom actions."""
        # below unknown keys too, so that a typo there does not hide what their modules declare
        for node in list_referring_nodes(self.root):
            self.names.import_references(node)
        self.read_key("components", partial(definitions.declare_components, self.names), None)
        self.read_key("layers", partial(definitions.read_layers, self.names), None)
        self.read_key("objects", partial(definitions.read_object_types, self.names), None)
        actions, own_actions = self.read_actions(USUAL_ACTIONS)
        self.names.own_actions = tuple(command.name for command in own_actions)
        if "agents" in self.entries:
            read_agents = partial(definitions.read_agents, self.names)
            self.agents = self.read_key("agents", read_agents, definitions.ANY_AGENTS)
        self.calls.agents = self.agents
        read_components = partial(definitions.read_world_components, self.names)
        self.world_components = self.read_key("world", read_components, ())
        return actions, own_actions

    def read_schedule(
        self, levels: tuple[Call, ...], view_calls: tuple[Call, ...]
    ) -> dict[Phase, tuple[Call, ...]]:
        """Return all systems of the scenario by phase, each with its arguments. `levels` are the
        systems that build a level, `view_calls` those of `read_observation`."""
        transitions = self.read_phase_calls("transition_functions", Phase.TRANSITION)
        resets = [self.mission.wrap_reset(call) for call in levels] if self.mission else [*levels]
        if self.agents.kinds:  # agents without a cell in the level get one
            resets.append(Call(get_system(settle), {}))
        if absence.__name__ in _list_modules(transitions):
            resets.append(Call(get_system(absence.note_starts), {}))
        resets += self.read_key("settle", self.read_settle, ())
        observation = tuple(c for c in view_calls if c.system.phase is Phase.OBSERVATION)
        # pictures show the view, even if a function of object states makes the observation
        all_seen = Call(REGISTRIES[Phase.VISIBILITY]["fully_transparent"], {})
        visibility = tuple(call for call in view_calls if call not in observation) or (all_seen,)
        return {
            Phase.RESET: tuple(resets),
            Phase.TRANSITION: transitions,
            Phase.REWARD: self.read_phase_calls("reward_functions", Phase.REWARD),
            Phase.TERMINATING: self.read_key("terminating_function", self.read_end_rule, ()),
            Phase.SUCCESS: self.read_key(
                "success_function", partial(self.read_end_rule, allows_processors=False), ()
            ),
            Phase.VISIBILITY: visibility,
            Phase.OBSERVATION: observation,
            Phase.RENDERING: (Call(REGISTRIES[Phase.RENDERING]["draw_state_and_observation"], {}),),
        }

    def add_agent_components(self, transitions: tuple[Call, ...]) -> None:
        """Add components to the agents that built-in `transitions` need: for target cells, for
        steps in which an agent is out of play, and for cells that an agent forgets."""
        modules = _list_modules(transitions)
        for module, cls in ((together, Aim), (absence, Absence)):
            if module.__name__ in modules:
                self.agents = self.agents.with_component(cls)
        systems = (part.system for call in transitions for part in call.walk())
        if any(missions.uses_any_name(system, "forget", "set_shape") for system in systems):
            self.agents = self.agents.with_component(Forgotten)

    def read_state_numbers(
        self, layout: Layout | None, own_actions: Sequence[KeyCommand]
    ) -> dict[str, tuple[StateNumber, ...]]:
        """Return the numbers under `observation`, of worlds with `layout`, as keyword arguments of
        `Scenario`; none after an error in the sizes, which leaves no layout, or in the components
        of the world. Report an error if one of `own_actions` costs another number."""
        if layout is None or ("world" in self.entries and not self.world_components):
            return {}
        read = StateReader(self.names, layout).read
        state, display = self.read_key("observation", read, ((), ()))
        known = [number.name for number in (*state, *display)]
        for action in own_actions:
            for name, _ in action.cost:
                if name not in known:
                    fault = f"{action.name} costs {name!r}, which is not listed under `observation`"
                    node = self.entries["action_space"]
                    self.problems.add(node, f"{fault}{describe_allowed(name, known)}")
        return {"state_numbers": state, "display_numbers": display}

    def require_mission(self, schedule: Mapping[Phase, tuple[Call, ...]]) -> None:
        """Report an error if a system needs a mission that the scenario lacks: any mission, or one
        in the language of a plugin. Also report what the plugin's language requires of the rules.
        `schedule` has the systems by phase."""
        if "mission" in self.entries and self.mission is None:
            return  # it has errors of its own
        node = self.entries.get("mission", self.missing_node("mission"))
        # rendering systems show a mission only if there is one
        phases = [phase for phase in schedule if phase is not Phase.RENDERING]
        parts = [part for phase in phases for call in schedule[phase] for part in call.walk()]
        own_language = self.mission.language if self.mission else None
        if own_language:
            moves = [part.system for part in parts if part.system.phase is Phase.TRANSITION]
            for fault in own_language.find_faults(moves, len(self.agents.bodies)):
                self.problems.add(node, fault)
        for language in mission_reader.find_mission_languages():
            rules = dict.fromkeys(p.name for p in parts if language.is_needed_by(p.system))
            if rules and language is not own_language:
                fault = "it has another form" if self.mission else "missing"
                example = f"mission: {language.examples[0]}"
                self.problems.add(node, f"{fault}; {', '.join(rules)} needs one such as {example}")
                return
        if not self.mission:
            self.require_any_mission(parts)

    def require_any_mission(self, calls: Iterable[Call]) -> None:
        """Report an error if one of `calls` (systems with arguments) reads a mission. It is called
        for scenarios without one."""
        readers = dict.fromkeys(call.name for call in calls if missions.reads_mission(call.system))
        if not readers:
            return
        # an author's own component of that name is no mission
        if column_name(Mission) not in map(column_name, self.find_components(ObjectTypes())):
            self.problems.add(
                self.missing_node("mission"),
                f"missing, and needed by {', '.join(readers)}; write one: "
                f'mission: {{text: "fetch the {{color}} {{object}}", object: Key}}',
            )

    def missing_node(self, key: str) -> YamlNode:
        """Return a node for messages about a missing key."""
        return YamlNode(None, key, self.root.line)

    def read_space(
        self, key: str, objects: tuple[int, ...], colors: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Read the state or observation space under `key`. Return its type indices and colour
        indices, sorted. If a list is missing, the default `objects` or `colors` is used."""
        read = partial(fields.read_fields, self.problems, allowed=SPACE)
        entries = self.read_key(key, read, dict[str, YamlNode]())
        objects = self.read_list(entries.get("objects"), self.read_grid_object, objects)
        colors = self.read_list(entries.get("colors"), fields.read_color, colors)
        return objects, tuple(sorted({NONE, *colors}))

    def read_list(
        self, node: YamlNode | None, read: Callable[[YamlNode], int], default: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return `read(item)` for each item of a YAML list, sorted. Return `default` if there is no
        list, or if an item is wrong, so that one error does not cause others."""
        num_problems = len(self.problems)
        if node is not None:
            with self.problems.collect():
                values = tuple(sorted(fields.read_distinct(self.problems, node, read)))
                if len(self.problems) == num_problems:
                    return values
        return default

    def read_grid_object(self, node: YamlNode) -> int:
        """Return the index of the object type that a YAML node names. Raise FieldError for types
        that are not real objects, such as that of hidden cells."""
        index = self.names.resolve_object_type(node)
        if not self.names.types[index].in_grid:
            raise node.error(f"{node.text} is part of every space; leave it out")
        return index

    def read_phase_calls(self, key: str, phase: Phase) -> tuple[Call, ...]:
        """Return the calls of the functions of a phase, esper Processors too, that the list under
        `key` names; () if it has an error."""
        extra_keys = PAYING_KEYS if phase is Phase.REWARD else ()
        read = partial(
            self.calls.read_calls, phase=phase, allows_processors=True, extra_keys=extra_keys
        )
        return self.read_key(key, read, ())

    def read_settle(self, node: YamlNode) -> tuple[Call, ...]:
        """Return the transition functions, with their arguments, that are also run after each
        reset."""
        calls = self.calls.read_calls(node, Phase.TRANSITION)
        for call in calls:
            if call.is_per_agent:
                raise node.error(
                    f"{call.name} is a rule for each agent, which takes no action in a reset; "
                    "allowed are rules without the parameter `agent`"
                )
        return calls

    def read_beat(self, schedule: Mapping[Phase, tuple[Call, ...]], node: YamlNode) -> int:
        """Return the steps a second of real time. Raise FieldError if a rule in `schedule` knows no
        agent that waits."""
        if not isinstance(node.value, dict) or "beat" not in node.value:
            hint = "expected {beat: 6} for 6 steps a second"
            raise node.error(f"found {node.summary}, {hint}")
        entries = fields.read_fields(self.problems, node, TIME_KEYS)
        acting = Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING, Phase.SUCCESS
        for part in chain.from_iterable(c.walk() for phase in acting for c in schedule[phase]):
            if part.system.is_processor or part.system.objects:
                raise node.error(
                    f"agents cannot wait for {part.name}; allowed are rules that take a world, no "
                    "Processor and no function of states"
                )
        beat: int = TIME_KEYS["beat"].read(entries["beat"])
        return beat

    def read_end_rule(self, node: YamlNode, allows_processors: bool = True) -> tuple[Call, ...]:
        """Read the terminating function that a YAML node names, with its arguments. Return it in a
        tuple of length 1. `allows_processors` permits an esper.Processor."""
        if isinstance(node.value, list):
            raise node.error(
                "found a list, expected one function; several go into "
                "{name: reduce_any, terminating_functions: […]}"
            )
        return (self.calls.read_call(node, Phase.TERMINATING, allows_processors=allows_processors),)

    def read_observation(self, node: YamlNode) -> tuple[Call, ...]:
        """Read the agents' view area into `self.calls.area`. Return the functions that fill the
        view, with their arguments: a visibility function, which only hides cells, an observation
        function, or both."""
        entries = fields.mapping(node)
        if "area" in entries:
            with self.problems.collect():
                self.calls.area = fields.read_area(entries["area"])
                if "turns" in entries:
                    turns = fields.boolean(entries["turns"])
                    self.calls.area = replace(self.calls.area, turns=turns)
        else:
            self.problems.add(node, "the area is missing; the usual one is [[-6, 0], [-3, 3]]")
        name, visibility = entries.get("name"), entries.get("visibility_function")
        if name and name.text == "from_visibility":
            fields.read_fields(self.problems, node, FROM_VISIBILITY)
            if visibility is None:
                hint = describe_allowed("", REGISTRIES[Phase.VISIBILITY])
                raise node.error(f"from_visibility needs a visibility_function{hint}")
            return (self.calls.read_call(visibility, Phase.VISIBILITY),)
        phase = self.names.resolve_view_phase(name) if name else Phase.VISIBILITY
        if phase is Phase.VISIBILITY or visibility is None:
            return (self.calls.read_call(node, phase, tuple(VIEW)),)
        visibility_call = self.calls.read_call(visibility, Phase.VISIBILITY)
        return visibility_call, self.calls.read_call(node, phase, (*VIEW, "visibility_function"))

    def read_reset(self, objects: tuple[int, ...], colors: tuple[int, ...]) -> tuple[Call, ...]:
        """Return the reset functions, with their arguments, that build a level from a map, a room
        or a reset function. `objects` and `colors` are the type and colour indices that levels may
        contain."""
        keys = [key for key in _LEVELS if key in self.entries]
        if len(keys) != 1:
            fault = f"given are {' and '.join(keys)}" if keys else "none is given"
            node = self.entries[keys[0]] if keys else self.missing_node("reset_function")
            self.problems.add(node, f"a level needs one of {', '.join(_LEVELS)}; {fault}")
            return ()
        has_map = keys[0] in ("map", "maps", LEVELS)
        for key, label in (("legend", "a legend"), ("symmetries", "symmetries")):
            if key in self.entries and not has_map:
                self.problems.add(self.entries[key], f"{label} without a map")
        self.read_key("draw", self.draws.read, None)
        legend: Legend = (
            self.read_key("legend", partial(read_legend, self.draws), {}) if has_map else {}
        )
        is_bodiless = any(cls is Bodiless for cls, _ in self.agents.bodies[0])
        source = LevelSource(
            self.entries,
            self.draws,
            legend,
            objects,
            colors,
            max_agents=0 if is_bodiless else len(self.agents.bodies),
            levels=self.document.levels,
        )
        reset = None
        if "reset_function" in self.entries:
            reset = self.read_key(
                "reset_function", partial(self.calls.read_call, phase=Phase.RESET), None
            )
            if reset is None:
                return ()
        is_fixed = all(symbol is None or symbol.is_fixed for symbol in legend.values())
        if is_fixed and self.entries.keys().isdisjoint({*PROCEDURAL_KEYS, LEVELS}):
            return (reset,) if reset else self.read_key("map", partial(read_map, source), ())
        level = ProceduralReader(source)
        calls: tuple[Call, ...] = ()
        with self.problems.collect():
            calls = (level.read_level(reset),)
        self.depth = level.depth
        return calls

    def make_layout(
        self, resets: tuple[Call, ...], objects: tuple[int, ...], seen_objects: tuple[int, ...]
    ) -> Layout | None:
        """Return the memory layout of the scenario's worlds. `resets` build the levels, `objects`
        are the type indices in levels, and `seen_objects` those in observations. None if the sizes
        have an error."""
        shape = self.read_max_shape(resets)
        if shape is None:
            return None
        height, width = map(round_up_size, shape)
        spawned = {*objects, *seen_objects, *self.names.list_grid_types()}
        # rules may create objects of all built-in types and all types of the scenario
        known = ObjectTypes((*self.names.types, *OBJECT_TYPES.built_in))
        types = tuple(kind for kind in known if kind.index in spawned)
        entities_per_cell = max(self.depth, 2 if BOX in objects else 1)
        entities_per_cell += len({kind.layer for kind in types} & {GROUND, *self.names.between})
        self.check_layers(types)
        default_capacity = _FREE_ENTITIES + height * width * entities_per_cell
        capacity = self.read_key("capacity", GRID_KEYS["capacity"].read, default_capacity)
        capacity += len(self.agents.bodies) - 1 + bool(self.world_components)
        capacity += sum(kind.layer == TERRAIN for kind in types)
        has_draws = is_procedural(resets) or (self.mission is not None and self.mission.arguments)
        return Layout(
            height,
            width,
            capacity,
            self.find_components(ObjectTypes(types)),
            types,
            self.draws.capacity if has_draws else 0,
            self.agents.bodies,
            world_components=self.world_components,
            between=self.names.between,
        )

    def check_layers(self, types: Iterable[ObjectType]) -> None:
        """Report object types, declared in Python, of a layer that the scenario does not list."""
        for kind in types:
            if kind.layer not in (*LAYERS, *self.names.between):
                listed = ", ".join((*self.names.layers[:-1], kind.layer, self.names.layers[-1]))
                self.problems.add(
                    self.missing_node("layers"),
                    f"{kind.name} has the layer `{kind.layer}`; write `layers: [{listed}]`",
                )

    def read_max_shape(self, resets: tuple[Call, ...]) -> tuple[int, int] | None:
        """Return (height, width) of the largest grid, from the key `max_shape` or else from the
        arguments of `resets`. None if unknown or wrong. Report levels that are larger."""
        shapes = find_shapes(resets)
        max_shape = self.read_key("max_shape", fields.read_pair, None)
        if max_shape is None:
            if shapes:
                return max(height for height, _ in shapes), max(width for _, width in shapes)
            if resets and all(map(is_complete, resets)) and "max_shape" not in self.entries:
                self.problems.add(
                    self.missing_node("max_shape"),
                    f"missing; {resets[0].name} does not tell the largest height and width, so "
                    f"give max_shape: [height, width]",
                )
            return None
        for height, width in shapes:
            if height > max_shape[0] or width > max_shape[1]:
                self.problems.add(
                    self.entries["max_shape"],
                    f"found {list(max_shape)}, smaller than the level of {[height, width]}",
                )
        return max_shape

    def find_components(self, types: ObjectTypes) -> tuple[type, ...]:
        """Return the component classes of the scenario's worlds: the built-in ones, then those of
        the scenario and of the object types, sorted by column name."""
        classes = [
            thing
            for module in self.names.modules.values()
            for thing in vars(module).values()
            if is_component(thing) and not issubclass(thing, Mission)
        ]
        classes += self.names.declared_components.values()
        classes += self.mission.components if self.mission else ()
        classes += [cls for kind in types for cls in kind.component_classes]
        classes += [cls for body in self.agents.bodies for cls, _ in body]
        classes += [cls for cls, _ in self.world_components]
        built_in = {column_name(cls): cls for cls in built_in_components()}
        columns = built_in.copy()
        for cls in dict.fromkeys(classes):
            self.add_column(columns, cls, self.root)
        added = sorted(columns.keys() - built_in)
        return (*built_in.values(), *(columns[column] for column in added))


def find_shapes(calls: Iterable[Call]) -> list[tuple[int, int]]:
    """Return all (height, width) pairs in the arguments `shape` and `shapes` of reset functions,
    including nested ones."""
    found: list[tuple[int, int]] = []
    for call in chain.from_iterable(call.walk() for call in calls):
        # the default of an author's parameter may be anything
        match call.arguments.get("shape"):
            case [int(height), int(width)]:
                found.append((height, width))
        if isinstance(shapes := call.arguments.get("shapes"), np.ndarray):  # of maps
            height, width = shapes.reshape(-1, 2).max(0).tolist()
            found.append((height, width))
    return found


def _list_modules(calls: Iterable[Call]) -> set[str]:
    systems = (part.system for call in calls for part in call.walk())
    return {system.function.__module__ for system in systems}
