"""Reader of grid scenarios: from the top-level keys of a file to the arguments of `Scenario`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from gv_engine.rules.frame import VIEWS
from gv_engine.rules.geometry import USUAL_ACTIONS
from gv_engine.rules.objects import GROUND, OBJECT_TYPES, TERRAIN, USUAL_COLORS, ObjectTypes, Parts
from gv_engine.rules.system import REGISTRIES, Call, Phase, get_system
from gv_engine.scenario.documents.document import FILE_KEYS, Document
from gv_engine.scenario.documents.rule_files import list_source_files
from gv_engine.scenario.levels.packs import LEVELS
from gv_engine.scenario.memory.layout import Layout, round_up_size
from gv_engine.scenario.missions import mission_reader, missions
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.readers import definitions
from gv_engine.scenario.readers.actions import ACTION_SPACE, OWN_ACTION_KEYS, read_actions
from gv_engine.scenario.readers.calls import CallReader, is_complete
from gv_engine.scenario.readers.map import (
    LEGEND_KEYS,
    LevelSource,
    make_symbol_check,
    read_legend,
    read_map,
)
from gv_engine.scenario.readers.observed_state import OBSERVATION_KEYS, StateReader
from gv_engine.scenario.readers.procedural import PROCEDURAL_KEYS, ProceduralReader, is_procedural
from gv_engine.scenario.readers.random_values import RandomValues
from gv_engine.scenario.readers.resolver import NameResolver, TypeIds, list_referring_nodes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import JsonSchema, Key, KeyTable
from systems import absence, together
from systems.procedural import settle

MAX_ENTITIES = 2**22

STEP_LIMIT = schema.integer_schema(1, fields.INT32_MAX)
SHARED_KEYS: KeyTable = {
    "name": Key("Name; by default that of the file or folder.", schema.TEXT),
    "description": Key("Description for players; its last sentence is the goal.", schema.TEXT),
    "view": Key(
        "First view in the window; `explored` shows the cells that the agent has seen.",
        schema.enum_schema(VIEWS, "view"),
    ),
    "dim": Key(
        "Whether cells out of the agent's sight are darker for people; by default yes, unless "
        "`view` is `state`.",
        schema.BOOLEAN,
    ),
    "max_steps": Key("Step limit of an episode; by default none.", schema.optional(STEP_LIMIT)),
    "action_space": Key(
        "Names of actions, or `{name: KICK, key: K}` for new ones; by default the eight"
        " built-in ones.",
        ACTION_SPACE,
        nested=OWN_ACTION_KEYS,
    ),
}
"""Top-level keys of grid scenarios, and of mixtures of them."""
_SHOWN: tuple[JsonSchema, ...] = tuple(
    {"required": [key]} for key in ("object", "agent", "one_of", "room", "ground")
)
SPACE: KeyTable = {
    "objects": Key("Object types; by default all.", schema.unique_list(schema.OBJECT)),
    "colors": Key(
        "Colours; by default NONE, RED, GREEN, BLUE and YELLOW.",
        schema.unique_list(schema.COLOR),
    ),
}
VIEW: KeyTable = {
    "area": Key(
        "[[ymin, ymax], [xmin, xmax]] around an agent that looks up; -6 is six cells ahead. A "
        "number is a radius: 3 is [[-3, 3], [-3, 3]].",
        schema.AREA,
        required=True,
    ),
    "turns": Key(
        "Whether the agent's direction is up in its view; if false, the top of the grid is up. "
        "Default true.",
        schema.BOOLEAN,
    ),
}
FROM_VISIBILITY: KeyTable = {
    "name": Key("It is `from_visibility`.", schema.enum_schema(["from_visibility"]), required=True),
    **VIEW,
    "visibility_function": Key(
        "Which of the cells are seen.", schema.function_schema(Phase.VISIBILITY), required=True
    ),
}

GRID_KEYS: KeyTable = {
    "always_truncates": Key(
        "If true, an episode that terminates at `max_steps` is also truncated, as in "
        "MiniGrid; default false.",
        schema.BOOLEAN,
    ),
    "domain": Key("Domain: `grid`, the default, or `algebra`.", schema.enum_schema(["grid"])),
    **SHARED_KEYS,
    "capacity": Key(
        "Maximum number of entities; by default computed.",
        schema.integer_schema(2, MAX_ENTITIES),
    ),
    "max_shape": Key("[height, width] of the largest grid; by default computed.", schema.PAIR),
    "objects": Key(
        "New object types by name: `Gate: {states: {CLOSED: [Solid], OPEN: []}}`.",
        schema.map_of(schema.object_schema(definitions.OBJECT_TYPE_KEYS)),
        nested=definitions.OBJECT_TYPE_KEYS,
    ),
    "state_space": Key("Contents of the grid.", schema.object_schema(SPACE), nested=SPACE),
    "observation_space": Key(
        "Contents of observations.", schema.object_schema(SPACE), nested=SPACE
    ),
    "map": Key("Level, a character per cell, in place of a `reset_function`.", schema.TEXT),
    "legend": Key(
        "Objects by character of the map: `C: Coin`, `K: {object: Key, color: RED}`, "
        "`a: {agent: LEFT}`.",
        schema.map_of(
            schema.any_of(
                schema.OBJECT,
                {**schema.object_schema(LEGEND_KEYS), **schema.any_of(*_SHOWN)},
            ),
            propertyNames={"minLength": 1, "maxLength": 1},
        ),
        nested=LEGEND_KEYS,
    ),
    **PROCEDURAL_KEYS,
    "agents": Key(
        "Number or names of agents, or `{number: 4, turns: shuffled, done: leave}`; by "
        "default one.",
        definitions.AGENTS_FORM,
        nested=definitions.AGENT_KEYS,
    ),
    "world": Key(
        "Components of the world as a whole: `{components: [./rules.py:Weather]}`.",
        schema.object_schema(definitions.WORLD_KEYS),
        nested=definitions.WORLD_KEYS,
    ),
    "mission": mission_reader.make_mission_key(),
    "observation": Key(
        "What the agent observes beside its view: `{state: [agent.health]}`.",
        schema.object_schema(OBSERVATION_KEYS),
        nested=OBSERVATION_KEYS,
    ),
    "reset_function": Key(
        "Rule that builds a level, in place of a `map`.", schema.function_schema(Phase.RESET)
    ),
    "transition_functions": Key(
        "Rules of a step, in order.",
        schema.list_of(schema.function_schema(Phase.TRANSITION)),
        required=True,
    ),
    "reward_functions": Key(
        'Rules whose sum is the reward; `info["reward_terms"]` calls a second one of '
        "the same name `name_2`.",
        schema.list_of(schema.function_schema(Phase.REWARD)),
        required=True,
    ),
    "observation_function": Key(
        "Area of cells around the agent, and visibility.",
        schema.function_schema(Phase.OBSERVATION),
        required=True,
        nested=VIEW,
    ),
    "terminating_function": Key(
        "Rule that ends the episode; `reduce_any` joins several.",
        schema.function_schema(Phase.TERMINATING),
        required=True,
    ),
    "success_function": Key(
        "Condition of success at the end; without it, success is undefined.",
        schema.function_schema(Phase.TERMINATING),
    ),
}
"""Top-level keys of grid scenarios."""


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

    def key(self, key: str, read: Callable[[YamlNode], _T], default: _D) -> _T | _D:
        """Return `read` of the node of a top-level key; the default if the key is missing or its
        value has an error, which is collected."""
        return self.problems.read_key(self.entries, key, read, default)

    def read_texts(self, name: str) -> dict[str, Any]:
        """Return the values of `name`, `description`, `view`, `dim` and `source` as keyword
        arguments of `Scenario`; the parameter `name` is used if the file gives none."""
        return {
            "name": self.key("name", fields.read_name, name),
            "description": self.key("description", fields.optional_text, ""),
            "view": self.key("view", SHARED_KEYS["view"].read, ""),
            "dim": self.key("dim", fields.boolean, None),
            "source": self.document.source,
        }

    def read_actions(
        self, default: tuple[int, ...], known: Iterable[KeyCommand] = ()
    ) -> tuple[tuple[int, ...], tuple[KeyCommand, ...]]:
        """Read the key `action_space`: return (action numbers, custom actions with their keys), or
        (`default`, ()) on errors. `known` are custom actions declared elsewhere."""
        read = partial(read_actions, self.problems, known=known)
        return self.key("action_space", read, (default, ()))

    def add_column(self, columns: dict[str, type], cls: type, node: YamlNode) -> None:
        """Add the component class `cls` to `columns`, classes by column name; report an error at
        `node` if another class has the same column name."""
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
        super().__init__(document)
        self.root = document.root
        self.names = NameResolver(document, numbering, self.problems)
        self.read = CallReader(self.names)
        self.draws = RandomValues(self.names)
        self.depth = 1  # of objects in each other
        self.mission: mission_reader.MissionSpec | None = None
        self.agents = definitions.AgentSpecs()
        self.world_components: Parts = ()

    def read_fields(self) -> dict[str, Any]:
        """Return the keyword arguments with which a `Scenario` is made; raise a ScenarioError that
        lists all errors."""
        if self.document.domain != "grid":
            other = fields.mapping(self.root)["domain"]
            self.problems.add(other, f"found {other.summary}; load_scenario() loads all domains")
            self.problems.raise_if_any()
        self.entries = fields.read_fields(
            self.problems, self.root, (*GRID_KEYS, LEVELS, "mixture"), FILE_KEYS
        )
        for key, key_info in GRID_KEYS.items():
            if key_info.required and key not in self.entries:
                self.problems.add(self.missing_node(key), "missing; a scenario needs it")
        # below unknown keys too, so that a typo there does not hide what their modules declare
        for node in list_referring_nodes(self.root):
            self.names.import_references(node)
        self.names.declared_types = self.key(
            "objects",
            lambda node: definitions.read_object_types(self.names, node, self.document.folder),
            (),
        )
        actions, own_actions = self.read_actions(USUAL_ACTIONS)
        default = definitions.ANY_AGENTS if "agents" in self.entries else self.agents
        self.agents = self.key("agents", partial(definitions.read_agents, self.names), default)
        self.read.agents = self.agents
        self.world_components = self.key(
            "world", partial(definitions.read_world_components, self.names), ()
        )
        self.names.own_actions = tuple(command.name for command in own_actions)
        objects, colors = self.read_space("state_space", self.names.list_grid_types(), USUAL_COLORS)
        seen_objects, seen_colors = self.read_space("observation_space", objects, colors)
        seen_objects = tuple(sorted({*seen_objects, *self.agents.kinds}))
        seen_colors = tuple(sorted({*seen_colors, *self.agents.colors}))
        # the area first: visibility functions check their parameters against it
        sight = self.key("observation_function", self.read_observation, ())
        own = tuple(call for call in sight if call.system.phase is Phase.OBSERVATION)
        # pictures show the view, even if a function of object states makes the observation
        all_seen = Call(REGISTRIES[Phase.VISIBILITY]["fully_transparent"], {})
        visibility = tuple(call for call in sight if call not in own) or (all_seen,)
        levels = self.read_reset(objects, colors)
        read_mission = mission_reader.MissionReader(
            mission_reader.MissionObjects(self.draws, objects, colors)
        ).read
        self.mission = self.key("mission", read_mission, None)
        resets = map(self.mission.wrap_reset, levels) if self.mission else levels
        # agents without a cell in the level get one
        settling = [Call(get_system(settle), {})] if self.agents.kinds else []
        calls: dict[Phase, tuple[Call, ...]] = {
            Phase.RESET: (*resets, *settling),
            Phase.TRANSITION: self.read_rules("transition_functions", Phase.TRANSITION),
            Phase.REWARD: self.read_rules("reward_functions", Phase.REWARD),
            Phase.TERMINATING: self.key("terminating_function", self.read_end_rule, ()),
            Phase.SUCCESS: self.key("success_function", lambda n: self.read_end_rule(n, False), ()),
            Phase.VISIBILITY: visibility,
            Phase.OBSERVATION: own,
            Phase.RENDERING: (Call(REGISTRIES[Phase.RENDERING]["draw_state_and_observation"], {}),),
        }
        self.require_mission(calls)
        paths = chain.from_iterable(call.walk_paths() for call in calls[Phase.TRANSITION])
        modules = {path[-1].system.function.__module__ for path in paths}
        # components in which built-in rules note the aims of agents, and for how long each is out
        for module, cls in ((together, Aim), (absence, Absence)):
            if module.__name__ in modules:
                self.agents = self.agents.with_component(cls)
        moves = (part.system for call in calls[Phase.TRANSITION] for part in call.walk())
        if any(missions.uses_any_name(system, "forget", "set_shape") for system in moves):
            self.agents = self.agents.with_component(Forgotten)
        if absence.__name__ in modules:
            calls[Phase.RESET] += (Call(get_system(absence.note_starts), {}),)
        layout = self.make_layout(levels, objects, seen_objects)
        # without a layout there are errors in the sizes, without components in `world`
        is_known = layout and ("world" not in self.entries or self.world_components)
        read_state = StateReader(self.names, layout).read if layout and is_known else None
        arguments = {
            **self.read_texts(self.document.default_name),
            "max_steps": self.key("max_steps", SHARED_KEYS["max_steps"].read, None),
            "always_truncates": self.key("always_truncates", fields.boolean, False),
            "objects": objects,
            "colors": colors,
            "observation_objects": seen_objects,
            "observation_colors": seen_colors,
            "actions": actions,
            "own_actions": own_actions,
            "area": self.read.area,
            "layout": layout,
            "state_numbers": self.key("observation", read_state, ()) if read_state else (),
            "mission_texts": self.mission.texts if self.mission else (),
            "reward_names": fields.make_unique([call.name for call in calls[Phase.REWARD]]),
            "warnings": tuple(
                fields.format_message(self.document.label, *warning)
                for warning in self.read.warnings
            ),
            "agent_group": self.agents.agent_group,
            "code": tuple(list_source_files(self.names.modules.values())),
            "schedule": calls,
        }
        self.problems.raise_if_any()
        return arguments

    def require_mission(self, calls: Mapping[Phase, tuple[Call, ...]]) -> None:
        """Report an error if systems in `calls`, the calls by phase, need a mission that the
        scenario does not define: any mission, or one in the language of a plugin. Also report
        what such a language needs of the rules."""
        spec, node = self.mission, self.entries.get("mission", self.missing_node("mission"))
        if "mission" in self.entries and spec is None:
            return  # it has errors of its own
        # rendering systems show a mission only if there is one
        listed = (call for phase in calls if phase is not Phase.RENDERING for call in calls[phase])
        parts = [part for call in listed for part in call.walk()]
        if spec and spec.language:
            moves = [part.system for part in parts if part.system.phase is Phase.TRANSITION]
            for fault in spec.language.find_faults(moves, len(self.agents.bodies)):
                self.problems.add(node, fault)
        for language in mission_reader.find_mission_languages():
            asking = dict.fromkeys(p.name for p in parts if language.owns_rule(p.system))
            if asking and not (spec and spec.language is language):
                fault = "it has another form" if spec else "missing"
                rules = ", ".join(asking)
                example = f"mission: {language.examples[0]}"
                self.problems.add(node, f"{fault}; {rules} needs one such as {example}")
                return
        if "mission" in self.entries:
            return
        asking = dict.fromkeys(part.name for part in parts if missions.reads_mission(part.system))
        # an author's own component of that name is no mission
        no_types = ObjectTypes()
        if asking and column_name(Mission) not in map(column_name, self.find_components(no_types)):
            self.problems.add(
                self.missing_node("mission"),
                f"missing, and needed by {', '.join(asking)}; write one: "
                f'mission: {{text: "fetch the {{color}} {{object}}", object: Key}}',
            )

    def missing_node(self, key: str) -> YamlNode:
        """Return a node for messages about a missing key."""
        return YamlNode(None, key, self.root.line)

    def read_space(
        self, key: str, objects: tuple[int, ...], colors: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Read the state or observation space under `key`: return its type indices and its colour
        indices, sorted. A missing list gives the default `objects` or `colors`."""
        entries: dict[str, YamlNode] = {}
        entries = self.key(
            key, lambda node: fields.read_fields(self.problems, node, SPACE), entries
        )
        objects = self.read_list(entries.get("objects"), self.read_grid_object, objects)
        colors = self.read_list(entries.get("colors"), fields.read_color, colors)
        return objects, tuple(sorted({NONE, *colors}))

    def read_list(
        self, node: YamlNode | None, read: Callable[[YamlNode], int], default: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the sorted results of `read` for the items of a list; return `default` if there is
        no `node`, or if any item is wrong, so that one error does not cause others."""
        before = len(self.problems)
        if node is not None:
            with self.problems.collect():
                values = tuple(sorted(fields.read_distinct(self.problems, node, read)))
                return values if len(self.problems) == before else default
        return default

    def read_grid_object(self, node: YamlNode) -> int:
        """Return the index of the object type that `node` names; raise a FieldError for the types
        that stand for no object or a hidden cell."""
        index = self.names.resolve_object_type(node)
        if not self.names.types[index].in_grid:
            raise node.error(f"{node.text} belongs to every space; leave it out")
        return index

    def read_rules(self, key: str, phase: Phase) -> tuple[Call, ...]:
        """Return the calls of the functions of a phase that the list under `key` names."""
        return self.key(key, partial(self.read.read_calls, phase=phase, processors=True), ())

    def read_end_rule(self, node: YamlNode, processors: bool = True) -> tuple[Call, ...]:
        """Read the one terminating function that `node` names and return its call as a 1-tuple;
        with `processors`, an esper.Processor is allowed, too."""
        if isinstance(node.value, list):
            raise node.error(
                "found a list, expected one function; several go into "
                "{name: reduce_any, terminating_functions: […]}"
            )
        return (self.read.read_call(node, Phase.TERMINATING, processors=processors),)

    def read_observation(self, node: YamlNode) -> tuple[Call, ...]:
        """Read the agents' view area into `self.read.area`, and return the call of the function
        that fills in their view: a visibility function, which only hides cells, or an observation
        function."""
        entries = fields.mapping(node)
        if "area" in entries:
            with self.problems.collect():
                self.read.area = fields.read_area(entries["area"])
                if "turns" in entries:
                    turns = fields.boolean(entries["turns"])
                    self.read.area = replace(self.read.area, turns=turns)
        else:
            self.problems.add(node, "the area is missing; the usual one is [[-6, 0], [-3, 3]]")
        if "name" not in entries or entries["name"].text != "from_visibility":
            phase = (
                self.names.resolve_view_phase(entries["name"])
                if "name" in entries
                else Phase.VISIBILITY
            )
            if phase is Phase.VISIBILITY or "visibility_function" not in entries:
                return (self.read.read_call(node, phase, extra_keys=tuple(VIEW)),)
            seen = self.read.read_call(entries["visibility_function"], Phase.VISIBILITY)
            keys = *VIEW, "visibility_function"
            return seen, self.read.read_call(node, phase, extra_keys=keys)
        fields.read_fields(self.problems, node, FROM_VISIBILITY)
        if "visibility_function" not in entries:
            hint = describe_allowed("", REGISTRIES[Phase.VISIBILITY])
            raise node.error(f"from_visibility needs a visibility_function{hint}")
        return (self.read.read_call(entries["visibility_function"], Phase.VISIBILITY),)

    def read_reset(self, objects: tuple[int, ...], colors: tuple[int, ...]) -> tuple[Call, ...]:
        """Return the reset calls that build a level from a map, a room or a reset function.
        `objects` and `colors` are the indices of the object types and colours that levels may
        contain."""
        keys = [key for key in _LEVELS if key in self.entries]
        if len(keys) != 1:
            fault = f"given are {' and '.join(keys)}" if keys else "none is given"
            node = self.entries[keys[0]] if keys else self.missing_node("reset_function")
            self.problems.add(node, f"a level needs one of {', '.join(_LEVELS)}; {fault}")
            return ()
        has_map = not {"map", "maps", LEVELS}.isdisjoint(keys)
        for key, what in (("legend", "a legend"), ("symmetries", "symmetries")):
            if key in self.entries and not has_map:
                self.problems.add(self.entries[key], f"{what} without a map")
        self.key("draw", self.draws.read, None)
        no_legend = dict[str, Any]()
        legend = self.key("legend", partial(read_legend, self.draws), no_legend) if has_map else {}
        find_fault = make_symbol_check(self.draws, objects, colors)
        is_bodiless = any(cls is Bodiless for cls, _ in self.agents.bodies[0])
        most, levels = 0 if is_bodiless else len(self.agents.bodies), self.document.levels
        source = LevelSource(self.entries, self.draws, legend, find_fault, most, levels)
        is_fixed = all(symbol is None or symbol.is_fixed for symbol in legend.values())
        is_random = self.entries.keys() & {*PROCEDURAL_KEYS, LEVELS} or not is_fixed
        reset = self.key(
            "reset_function", lambda node: self.read.read_call(node, Phase.RESET), None
        )
        if "reset_function" in keys and not (reset and is_random):
            return (reset,) if reset else ()
        if not is_random:
            return self.key("map", partial(read_map, source), ())
        level = ProceduralReader(source)
        calls: tuple[Call, ...] = ()
        with self.problems.collect():
            calls = (level.read_level(reset),)
        self.depth = level.depth
        return calls

    def make_layout(
        self, reset: tuple[Call, ...], objects: tuple[int, ...], seen: tuple[int, ...]
    ) -> Layout | None:
        """Return the layout (sizes and columns of the world's arrays) for levels from `reset` with
        the types `objects` and the observed types `seen`; None after an error in the sizes."""
        shapes = find_shapes(reset)
        size = self.key("max_shape", fields.read_pair, None)
        if size is None:
            if not shapes:
                if all(map(is_complete, reset)) and reset and "max_shape" not in self.entries:
                    self.problems.add(
                        self.missing_node("max_shape"),
                        f"missing; {reset[0].name} does not tell the largest height and width, so "
                        f"give max_shape: [height, width]",
                    )
                return None
            size = max(height for height, _ in shapes), max(width for _, width in shapes)
        for shape in shapes:
            if shape[0] > size[0] or shape[1] > size[1]:
                self.problems.add(
                    self.entries["max_shape"],
                    f"found {list(size)}, smaller than the level of {list(shape)}",
                )
        height, width = round_up_size(size[0]), round_up_size(size[1])
        spawned = {*objects, *seen, *self.names.list_grid_types()}
        # rules may create objects of all built-in types and all types of the scenario
        known = ObjectTypes((*self.names.types, *OBJECT_TYPES.built_in))
        types = tuple(kind for kind in known if kind.index in spawned)
        in_cell = max(self.depth, 2 if BOX in objects else 1)
        in_cell += any(kind.layer == GROUND for kind in types)
        capacity = self.key(
            "capacity", GRID_KEYS["capacity"].read, _FREE_ENTITIES + height * width * in_cell
        )
        draws = is_procedural(reset) or (self.mission is not None and self.mission.arguments)
        drawn = self.draws.capacity if draws else 0
        capacity += len(self.agents.bodies) - 1 + bool(self.world_components)
        capacity += sum(kind.layer == TERRAIN for kind in types)
        components = self.find_components(ObjectTypes(types))
        bodies, own = self.agents.bodies, self.world_components
        return Layout(
            height, width, capacity, components, types, drawn, bodies, world_components=own
        )

    def find_components(self, types: ObjectTypes) -> tuple[type, ...]:
        """Return the component classes of the worlds: the built-in ones, then those of the scenario
        and of `types`, sorted by column name."""
        built_in = built_in_components()
        classes = [
            thing
            for module in self.names.modules.values()
            for thing in vars(module).values()
            if is_component(thing) and not issubclass(thing, Mission)
        ]
        classes += self.mission.components if self.mission else ()
        classes += [cls for kind in types for cls in kind.component_classes]
        classes += [cls for body in self.agents.bodies for cls, _ in body]
        classes += [cls for cls, _ in self.world_components]
        columns = {column_name(cls): cls for cls in built_in}
        own = columns.copy()
        for cls in dict.fromkeys(classes):
            self.add_column(own, cls, self.root)
        return (*built_in, *(own[column] for column in sorted(own.keys() - columns)))


def find_shapes(calls: tuple[Call, ...]) -> list[tuple[int, int]]:
    """Return the (height, width) pairs in the arguments `shape` and `shapes` of reset calls, and of
    the calls nested in these."""
    found_shapes: list[tuple[int, int]] = []
    for call in calls:
        # the default of an author's parameter may be anything
        match call.arguments.get("shape"):
            case [int(height), int(width)]:
                found_shapes.append((height, width))
        if isinstance(shapes := call.arguments.get("shapes"), np.ndarray):  # of maps
            height, width = shapes.reshape(-1, 2).max(0).tolist()
            found_shapes.append((height, width))
        for argument in call.arguments.values():
            nested = argument if isinstance(argument, tuple) else (argument,)
            found_shapes += find_shapes(tuple(each for each in nested if isinstance(each, Call)))
    return found_shapes
