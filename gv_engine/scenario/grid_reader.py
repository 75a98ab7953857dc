"""Reads the top-level keys of scenarios of grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from components.appearance import NONE
from components.mission import Mission
from components.objects import BOX, built_in_components
from gv_engine.rules.call import Call
from gv_engine.rules.component import column_name, is_component
from gv_engine.rules.frame import VIEWS
from gv_engine.rules.geometry import USUAL_ACTIONS
from gv_engine.rules.objects import GROUND, OBJECT_TYPES, USUAL_COLORS, ObjectType, ObjectTypes
from gv_engine.rules.system import (
    OBSERVATION,
    REGISTRIES,
    RENDERING,
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
    marked,
)
from gv_engine.scenario.actions import ACTION_SPACE, OWN_ACTION_KEYS, read_actions
from gv_engine.scenario.agents import AGENT_KEYS, AGENTS_FORM, ANY_NUMBER, AgentSpecs, read_agents
from gv_engine.scenario.calls import Calls, is_complete
from gv_engine.scenario.document import FILE_KEYS, Document
from gv_engine.scenario.fields import (
    INT32_MAX,
    ErrorCollector,
    FieldError,
    YamlNode,
    boolean,
    format_message,
    integer,
    make_unique,
    mapping,
    optional_text,
    read_area,
    read_choice,
    read_color,
    read_distinct,
    read_fields,
    read_name,
    read_pair,
    suggestion,
)
from gv_engine.scenario.json_schema import (
    AREA,
    BOOLEAN,
    COLOR,
    OBJECT,
    PAIR,
    TEXT,
    JsonSchema,
    Key,
    KeyTable,
    any_of,
    enum_schema,
    function_schema,
    integer_schema,
    list_of,
    map_of,
    object_schema,
    unique_list,
)
from gv_engine.scenario.layout import Layout, rounded
from gv_engine.scenario.map import LEGEND_KEYS, Legend, outside, read_legend, read_map
from gv_engine.scenario.missions import (
    MISSION_FORM,
    MISSION_KEYS,
    MissionSpec,
    asks_for_mission,
    read_mission,
)
from gv_engine.scenario.object_types import OBJECT_TYPE_KEYS, read_object_types
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.procedural import CHANCE_KEYS, ChanceReader, is_by_chance
from gv_engine.scenario.random_values import RandomValues
from gv_engine.scenario.resolver import NameResolver
from gv_engine.scenario.rule_modules import list_source_files
from gv_engine.scenario.type_ids import TypeIds, list_referring_nodes
from systems.chance import settle

# ---- grid keys -----------------------------------------------------------------------------------

MOST_ENTITIES = 2**22

SHARED_KEYS: KeyTable = {
    "name": Key("What the level is called: its file or folder, if left out.", TEXT),
    "description": Key("What it is about and what to do in it, for people.", TEXT),
    "view": Key(
        "How the window shows it at first; `explored` is what the agent has seen so far.",
        enum_schema(VIEWS),
    ),
    "max_steps": Key(
        "After so many steps an episode is cut off; without it, never.",
        any_of(integer_schema(1, INT32_MAX), {"type": "null"}),
    ),
    "action_space": Key(
        "Its actions, by name or, those of its own, as `{name: KICK, key: K}`; the usual eight, if "
        "left out.",
        ACTION_SPACE,
        nested=OWN_ACTION_KEYS,
    ),
}
"""Those of grids and of mixtures of them."""
_SHOWN: tuple[JsonSchema, ...] = tuple(
    {"required": [key]} for key in ("object", "agent", "one_of", "room", "ground")
)
SPACE: KeyTable = {
    "objects": Key("Names of the objects that may occur; all, if left out.", unique_list(OBJECT)),
    "colors": Key(
        "Colours that may occur; NONE, RED, GREEN, BLUE and YELLOW, if left out.",
        unique_list(COLOR),
    ),
}
VIEW: KeyTable = {
    "area": Key(
        "[[ymin, ymax], [xmin, xmax]] around an agent that looks up: -6 is six cells ahead, and a "
        "ymax of 2 two behind.",
        AREA,
        required=True,
    )
}
FROM_VISIBILITY: KeyTable = {
    "name": Key("It is `from_visibility`.", enum_schema(["from_visibility"]), required=True),
    **VIEW,
    "visibility_function": Key(
        "Which of the cells are seen.", function_schema(VISIBILITY), required=True
    ),
}

GRID_KEYS: KeyTable = {
    "always_truncates": Key(
        "True counts the step that reaches `max_steps` as truncated even if the episode terminates "
        "in it, as MiniGrid and Gymnasium's `TimeLimit` do; false, if left out.",
        BOOLEAN,
    ),
    "domain": Key(
        "The domain of worlds, `grid` if left out; `algebra` is the other one.",
        enum_schema(["grid"]),
    ),
    **SHARED_KEYS,
    "capacity": Key(
        "For how many entities a world has room; found out if left out.",
        integer_schema(2, MOST_ENTITIES),
    ),
    "max_shape": Key("[height, width] of the largest grid; found out if left out.", PAIR),
    "objects": Key(
        "Types of objects of its own, by name: `Gate: {states: {CLOSED: [Solid], OPEN: []}}`.",
        map_of(object_schema(OBJECT_TYPE_KEYS)),
        nested=OBJECT_TYPE_KEYS,
    ),
    "state_space": Key("What may be on the grid.", object_schema(SPACE), nested=SPACE),
    "observation_space": Key("What may be seen.", object_schema(SPACE), nested=SPACE),
    "map": Key(
        "The level, a character per cell, in place of a `reset_function`; messages count its rows "
        "and columns from 1.",
        TEXT,
    ),
    "legend": Key(
        "What characters of the map stand for, beside the built-in ones: `C: Coin`, "
        "`K: {object: Key, color: RED}`, `a: {agent: LEFT}`.",
        map_of(
            any_of(OBJECT, {**object_schema(LEGEND_KEYS), **any_of(*_SHOWN)}),
            propertyNames={"minLength": 1, "maxLength": 1},
        ),
        nested=LEGEND_KEYS,
    ),
    **CHANCE_KEYS,
    "agents": Key(
        "How many agents there are, or their names, or more: "
        "`{number: 4, turns: shuffled, done: leave}`; one, if left out.",
        AGENTS_FORM,
        nested=AGENT_KEYS,
    ),
    "mission": Key(
        "What the agent is asked to do, in words and numbers: "
        '`{text: "fetch the {color} {object}", object: Key, color: RED}`.',
        MISSION_FORM,
        nested=MISSION_KEYS,
    ),
    "reset_function": Key(
        "What builds the level, in place of a `map`: a rule that draws one by chance.",
        function_schema(RESET),
    ),
    "transition_functions": Key(
        "What a step does, in this order.", list_of(function_schema(TRANSITION)), required=True
    ),
    "reward_functions": Key(
        "What a step is worth: the sum of these, in this order; of the same name, the second is "
        '`name_2` in `info["reward_terms"]`.',
        list_of(function_schema(REWARD)),
        required=True,
    ),
    "observation_function": Key(
        "What the agent sees: an `area` of cells around it, and which of them are seen.",
        function_schema(OBSERVATION),
        required=True,
        nested=VIEW,
    ),
    "terminating_function": Key(
        "When the episode is over; several go into `reduce_any`.",
        function_schema(TERMINATING),
        required=True,
    ),
    "success_function": Key(
        "Whether that was a success: asked where the terminating function has ended the episode; "
        "without it, nothing is guessed.",
        function_schema(TERMINATING),
    ),
}
"""Those of scenarios of grids."""


# ---- reader --------------------------------------------------------------------------------------

_LEVELS = ("map", "maps", "room", "reset_function")
"""Of these, a level has one."""
_FREE_ENTITIES = 8
"""Beyond one for each cell: nothing, the agent, what it holds, and what rules put aside."""

_T = TypeVar("_T")
_D = TypeVar("_D")


def read_document(document: Document, numbering: TypeIds) -> dict[str, Any]:
    """The fields of the `Scenario` that a document describes.

    Args:
        numbering: of it, and of others that are played together with it.

    Raises:
        ScenarioError: with all problems.
    """
    return _Reader(document, numbering).fields()


class TopLevel:
    """Reads the top of a document; what is wrong there is collected.

    Attributes:
        entries: its keys, once they are checked.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems = document.problems or ErrorCollector(document.label)
        self.entries: dict[str, YamlNode] = {}

    def key(self, key: str, read: Callable[[YamlNode], _T], default: _D) -> _T | _D:
        """What a top-level key says; the default without it, or if it is wrong."""
        if key in self.entries:
            with self.problems.collect():
                return read(self.entries[key])
        return default

    def described(self, name: str) -> dict[str, Any]:
        """The fields for people and `source`; the name by default this one."""
        return {
            "name": self.key("name", read_name, name),
            "description": self.key("description", optional_text, ""),
            "view": self.key("view", lambda node: VIEWS[read_choice(node, VIEWS, "view")], ""),
            "source": self.document.source,
        }

    def limit(self, node: YamlNode) -> int:
        """The greatest number of steps."""
        return integer(node, 1, INT32_MAX)

    def actions(
        self, default: tuple[int, ...], known: Iterable[KeyCommand] = ()
    ) -> tuple[tuple[int, ...], tuple[KeyCommand, ...]]:
        """See `read_actions`; the default without a list, or if it is wrong."""
        return self.key(
            "action_space", lambda node: read_actions(self.problems, node, known), (default, ())
        )

    def add_column(self, columns: dict[str, type], cls: type, at: YamlNode) -> None:
        """Add a component to those of a world, by its column, which is its own."""
        column = column_name(cls)
        other = columns.setdefault(column, cls)
        if other is not cls:
            self.problems.add(
                at,
                f"two components would share the column w.{column}: {other.__name__} of "
                f"{other.__module__} and {cls.__name__} of {cls.__module__}; rename one",
            )


class _Reader(TopLevel):
    def __init__(self, document: Document, numbering: TypeIds) -> None:
        super().__init__(document)
        self.root = document.root
        self.names = NameResolver(document, numbering)
        self.read = Calls(self.problems, self.names)
        self.draws = RandomValues(self.problems, self.names)
        self.depth = 1  # of objects in each other
        self.mission: MissionSpec | None = None
        self.crew = AgentSpecs()

    def fields(self) -> dict[str, Any]:
        if self.document.domain != "grid":
            other = mapping(self.root)["domain"]
            self.problems.add(other, f"found {other.summary}; load_scenario() loads all domains")
            self.problems.raise_if_any()
        self.entries = read_fields(self.problems, self.root, (*GRID_KEYS, "mixture"), FILE_KEYS)
        for key, told in GRID_KEYS.items():
            if told.required and key not in self.entries:
                self.problems.add(self.missing(key), "missing; a scenario needs it")
        # below unknown keys too, lest a slip makes all seem wrong that their modules declare
        for node in list_referring_nodes(self.root):
            self.names.import_references(node)
        self.names.declared_types = self.key(
            "objects",
            lambda node: read_object_types(self.problems, self.names, node, self.document.folder),
            (),
        )
        actions, own_actions = self.actions(USUAL_ACTIONS)
        self.crew = self.key(
            "agents",
            lambda node: read_agents(self.problems, self.names, node),
            ANY_NUMBER if "agents" in self.entries else self.crew,
        )
        self.read.crew = self.crew
        self.names.own_actions = tuple(command.name for command in own_actions)
        objects, colors = self.space("state_space", self.names.list_grid_types(), USUAL_COLORS)
        seen_objects, seen_colors = self.space("observation_space", objects, colors)
        seen_objects = tuple(sorted({*seen_objects, *self.crew.kinds}))
        seen_colors = tuple(sorted({*seen_colors, *self.crew.colors}))
        # the area first, visibility functions check theirs against it
        sight = self.key("observation_function", self.observation, ())
        own = tuple(call for call in sight if call.system.phase is OBSERVATION)
        # what is seen besides: by pictures, when a function of states makes the observation
        all_seen = Call(REGISTRIES[VISIBILITY]["fully_transparent"], {})
        visibility = (all_seen,) if own else sight
        levels = self.reset(objects, colors)
        self.mission = self.key(
            "mission",
            lambda node: read_mission(self.problems, self.names, self.draws, node, objects, colors),
            None,
        )
        # whoever has no place in the level finds one
        settling = [Call(marked(settle).system, {})] if self.crew.kinds else []
        calls: dict[Phase, tuple[Call, ...]] = {
            RESET: (*(map(self.mission.after, levels) if self.mission else levels), *settling),
            TRANSITION: self.key("transition_functions", self.list_of(TRANSITION), ()),
            REWARD: self.key("reward_functions", self.list_of(REWARD), ()),
            TERMINATING: self.key("terminating_function", self.terminating, ()),
            SUCCESS: self.key("success_function", self.success, ()),
            VISIBILITY: visibility,
            OBSERVATION: own,
            RENDERING: (Call(REGISTRIES[RENDERING]["draw_state_and_observation"], {}),),
        }
        self.ask_for_mission(calls)
        fields = {
            **self.described(self.document.default_name),
            "max_steps": self.key("max_steps", self.limit_or_none, None),
            "always_truncates": self.key("always_truncates", boolean, False),
            "objects": objects,
            "colors": colors,
            "observation_objects": seen_objects,
            "observation_colors": seen_colors,
            "actions": actions,
            "own_actions": own_actions,
            "area": self.read.area,
            "layout": self.layout(levels, objects, seen_objects),
            "mission_texts": self.mission.texts if self.mission else (),
            "reward_names": make_unique([call.name for call in calls[REWARD]]),
            "warnings": tuple(self.warnings()),
            "sharing": self.crew.sharing,
            "code": tuple(list_source_files(self.names.modules.values())),
            "schedule": calls,
        }
        self.problems.raise_if_any()
        return fields

    def ask_for_mission(self, calls: Mapping[Phase, tuple[Call, ...]]) -> None:
        """Refuse rules about missions where there is none."""
        if "mission" in self.entries:
            return
        asking = dict.fromkeys(
            part.name
            for phase, unique_list in calls.items()
            if phase is not RENDERING
            for call in unique_list
            for part in call.parts()
            if asks_for_mission(part.system)
        )
        # an author's own component of that name is no mission, and none of our business
        if asking and column_name(Mission) not in map(column_name, self.components(())):
            self.problems.add(
                self.missing("mission"),
                f"missing, and needed by {', '.join(asking)}; write one: "
                f'mission: {{text: "fetch the {{color}} {{object}}", object: Key}}',
            )

    def missing(self, key: str) -> YamlNode:
        """Where a message about a key that is not there points to."""
        return YamlNode(None, key, self.root.line)

    def limit_or_none(self, node: YamlNode) -> int | None:
        return None if node.value is None else self.limit(node)

    def space(
        self, key: str, objects: tuple[int, ...], colors: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The types and colours of a space, in order of index; given are its defaults."""
        entries: dict[str, YamlNode] = {}
        entries = self.key(key, lambda node: read_fields(self.problems, node, SPACE), entries)
        objects = self.listed(entries.get("objects"), self.grid_object, objects)
        colors = self.listed(entries.get("colors"), read_color, colors)
        return objects, tuple(sorted({NONE, *colors}))

    def listed(
        self, node: YamlNode | None, read: Callable[[YamlNode], int], default: tuple[int, ...]
    ) -> tuple[int, ...]:
        """What a list says; the default if it is wrong, lest all it lacks seems wrong too."""
        before = len(self.problems)
        if node is not None:
            with self.problems.collect():
                found = tuple(sorted(read_distinct(self.problems, node, read)))
                return found if len(self.problems) == before else default
        return default

    def grid_object(self, node: YamlNode) -> int:
        index = self.names.resolve_object_type(node)
        if not self.names.types[index].in_grid:
            raise FieldError(node, f"{node.text} belongs to every space by itself; leave it out")
        return index

    def list_of(self, phase: Phase) -> Callable[[YamlNode], tuple[Call, ...]]:
        return lambda node: self.read.calls(node, phase, processors=True)

    def terminating(self, node: YamlNode) -> tuple[Call, ...]:
        return (self.test(node, processors=True),)

    def success(self, node: YamlNode) -> tuple[Call, ...]:
        return (self.test(node, processors=False),)

    def test(self, node: YamlNode, *, processors: bool) -> Call:
        """One function of TERMINATING."""
        if isinstance(node.value, list):
            raise FieldError(
                node,
                "found a list, expected one function; several go into "
                "{name: reduce_any, terminating_functions: […]}",
            )
        return self.read.call(node, TERMINATING, processors=processors)

    def observation(self, node: YamlNode) -> tuple[Call, ...]:
        entries = mapping(node)
        if "area" in entries:
            with self.problems.collect():
                self.read.area = read_area(entries["area"])
        else:
            self.problems.add(node, "the area is missing; the usual one is [[-6, 0], [-3, 3]]")
        if "name" not in entries or entries["name"].text != "from_visibility":
            phase = (
                self.names.resolve_view_phase(entries["name"]) if "name" in entries else VISIBILITY
            )
            return (self.read.call(node, phase, besides=("area",)),)
        read_fields(self.problems, node, FROM_VISIBILITY)
        if "visibility_function" not in entries:
            known = suggestion("", REGISTRIES[VISIBILITY])
            raise FieldError(node, f"from_visibility needs a visibility_function{known}")
        return (self.read.call(entries["visibility_function"], VISIBILITY),)

    def reset(self, objects: tuple[int, ...], colors: tuple[int, ...]) -> tuple[Call, ...]:
        named = [key for key in _LEVELS if key in self.entries]
        if len(named) != 1:
            both = f"given are {' and '.join(named)}"
            fault = both if named else "none is given"
            node = self.entries[named[0]] if named else self.missing("reset_function")
            self.problems.add(node, f"a level needs one of {', '.join(_LEVELS)}; {fault}")
            return ()
        drawn = "map" in named or "maps" in named
        for key, what in (("legend", "a legend"), ("symmetries", "symmetries")):
            if key in self.entries and not drawn:
                self.problems.add(self.entries[key], f"{what} without a map")
        legend: Legend = {}
        self.key("draw", self.draws.read, None)
        if drawn:
            legend = self.key(
                "legend",
                lambda node: read_legend(self.problems, self.names, self.draws, node),
                legend,
            )
        allowed = outside(self.names, self.draws, objects, colors)
        certain = all(symbol is None or symbol.is_certain for symbol in legend.values())
        chance = self.entries.keys() & CHANCE_KEYS or not certain
        built: tuple[Call, ...] = ()
        if "reset_function" in named:
            built = self.key("reset_function", lambda node: (self.read.call(node, RESET),), built)
        elif not chance:
            return self.key(
                "map",
                lambda node: read_map(self.problems, node, legend, allowed, len(self.crew.bodies)),
                built,
            )
        if not chance or ("reset_function" in named and not built):
            return built
        agents = len(self.crew.bodies)
        level = ChanceReader(
            self.problems, self.names, self.entries, self.draws, legend, allowed, agents
        )
        found: tuple[Call, ...] = ()
        with self.problems.collect():
            found = (level.call(next(iter(built), None)),)
        self.depth = level.depth
        return found

    def layout(
        self, reset: tuple[Call, ...], objects: tuple[int, ...], seen: tuple[int, ...]
    ) -> Layout | None:
        shapes = shapes_of(reset)
        size = self.key("max_shape", read_pair, None)
        if size is None:
            if not shapes:
                if all(map(is_complete, reset)) and reset and "max_shape" not in self.entries:
                    self.problems.add(
                        self.missing("max_shape"),
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
        height, width = rounded(size[0]), rounded(size[1])
        cells = height * width
        types = self.types((*objects, *seen))
        in_cell = max(self.depth, 2 if BOX in objects else 1)
        in_cell += any(kind.layer == GROUND for kind in types)
        capacity = _FREE_ENTITIES + cells * in_cell
        capacity = self.key("capacity", lambda node: integer(node, 2, MOST_ENTITIES), capacity)
        draws = is_by_chance(reset) or (self.mission is not None and self.mission.given)
        drawn = self.draws.capacity if draws else 0
        capacity += len(self.crew.bodies) - 1
        components = self.components(types)
        return Layout(height, width, capacity, components, types, drawn, self.crew.bodies)

    def types(self, objects: tuple[int, ...]) -> tuple[ObjectType, ...]:
        """What rules may spawn: what the scenario lists, and all that it could list by default."""
        spawned = {*objects, *self.names.list_grid_types()}
        known = ObjectTypes((*self.names.types, *OBJECT_TYPES.built_in))
        return tuple(kind for kind in known if kind.index in spawned)

    def components(self, types: tuple[ObjectType, ...]) -> tuple[type, ...]:
        """The built-in components and the scenario's own, the latter sorted by column."""
        built_in = built_in_components()
        found = [
            thing
            for module in self.names.modules.values()
            for thing in vars(module).values()
            if is_component(thing) and not issubclass(thing, Mission)
        ]
        found += [self.mission.component] if self.mission else []
        found += [cls for kind in types for cls in kind.classes]
        found += [cls for body in self.crew.bodies for cls, _ in body]
        columns = {column_name(cls): cls for cls in built_in}
        own = columns.copy()
        for cls in dict.fromkeys(found):
            self.add_column(own, cls, self.root)
        return (*built_in, *(own[column] for column in sorted(own.keys() - columns)))

    def warnings(self) -> list[str]:
        label = self.document.label
        return [format_message(label, node, message) for node, message in self.read.warnings]


def shapes_of(calls: tuple[Call, ...]) -> list[tuple[int, int]]:
    """The shapes that resets are given, also those within others."""
    found: list[tuple[int, int]] = []
    for call in calls:
        # one that an author gave by default may be anything
        match call.arguments.get("shape"):
            case [int(height), int(width)]:
                found.append((height, width))
        if isinstance(shapes := call.arguments.get("shapes"), np.ndarray):  # those of maps
            found += [(int(height), int(width)) for height, width in shapes.reshape(-1, 2)]
        for argument in call.arguments.values():
            nested = argument if isinstance(argument, tuple) else (argument,)
            found += shapes_of(tuple(each for each in nested if isinstance(each, Call)))
    return found
