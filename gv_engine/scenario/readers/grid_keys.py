"""Keys of a grid scenario's file, with their descriptions and JSON schemas."""

from __future__ import annotations

from gv_engine.rules.system import Phase
from gv_engine.scenario.levels.packs import VIEW_KEY
from gv_engine.scenario.missions import mission_reader
from gv_engine.scenario.readers import definitions
from gv_engine.scenario.readers.actions import ACTION_SPACE, OWN_ACTION_KEYS
from gv_engine.scenario.readers.appearance import APPEARANCE_KEYS
from gv_engine.scenario.readers.map import LEGEND_KEYS
from gv_engine.scenario.readers.observed_state import OBSERVATION_KEYS
from gv_engine.scenario.readers.procedural import PROCEDURAL_KEYS
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.json_schema import JsonSchema, Key, KeyTable

MAX_ENTITIES = 2**22
STEP_LIMIT = schema.integer_schema(1, fields.INT32_MAX)
SHARED_KEYS: KeyTable = {
    "name": Key("Name. By default, that of the file or folder.", schema.TEXT),
    "description": Key("Description for players. Its last sentence is the goal.", schema.TEXT),
    "view": VIEW_KEY,
    "dim": Key(
        "True to darken cells out of the agent's sight for people. By default true, "
        "unless `view` is `state`.",
        schema.BOOLEAN,
    ),
    "max_steps": Key("Step limit of an episode. By default, none.", schema.optional(STEP_LIMIT)),
    "action_space": Key(
        "Names of actions, or `{name: KICK, key: K}` for new ones. By default, the "
        "eight built-in ones.",
        ACTION_SPACE,
        nested=OWN_ACTION_KEYS,
    ),
}
"""Top-level keys of grid scenarios, and of mixtures of them."""
_SHOWN: tuple[JsonSchema, ...] = tuple(
    {"required": [key]} for key in ("object", "agent", "one_of", "room", "ground", "between")
)
SPACE: KeyTable = {
    "objects": Key("Object types. By default, all.", schema.unique_list(schema.OBJECT)),
    "colors": Key(
        "Colours. By default, NONE, RED, GREEN, BLUE and YELLOW.",
        schema.unique_list(schema.COLOR),
    ),
}
VIEW: KeyTable = {
    "area": Key(
        "[[ymin, ymax], [xmin, xmax]] around an agent that looks up. -6 is six cells "
        "ahead. A number is a radius: 3 is [[-3, 3], [-3, 3]].",
        schema.AREA,
        required=True,
    ),
    "turns": Key(
        "True if the agent's direction is up in its view. If false, the top of the "
        "grid is up. Default true.",
        schema.BOOLEAN,
    ),
}
TIME_KEYS: KeyTable = {
    "beat": Key("Steps a second, from 1 to 60.", schema.integer_schema(1, 60), required=True),
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
        "MiniGrid. Default false.",
        schema.BOOLEAN,
    ),
    "domain": Key("Domain: `grid`, the default, or `algebra`.", schema.enum_schema(["grid"])),
    **SHARED_KEYS,
    **APPEARANCE_KEYS,
    "time": Key(
        "Real time: with `{beat: 6}` the level takes 6 steps a second while people play "
        "it. Who does nothing takes the action WAIT, the last one of all agents.",
        schema.object_schema(TIME_KEYS),
        nested=TIME_KEYS,
    ),
    "capacity": Key(
        "Maximum number of entities. By default, computed.",
        schema.integer_schema(2, MAX_ENTITIES),
    ),
    "max_shape": Key("[height, width] of the largest grid. By default, computed.", schema.PAIR),
    "components": Key(
        "New components by name, with the numbers that each has and their start values: "
        "`{Health: {points: 3}}`.",
        schema.map_of(schema.map_of(definitions.START_FORM)),
        nested=definitions.START_KEYS,
    ),
    "objects": Key(
        "New object types by name: `Gate: {states: {CLOSED: [Solid], OPEN: []}}`.",
        schema.map_of(schema.object_schema(definitions.OBJECT_TYPE_KEYS)),
        nested=definitions.OBJECT_TYPE_KEYS,
    ),
    "layers": Key(
        "Names of the layers of a cell, from the ground up: `[ground, item, body]`. Objects "
        "without a `layer` are on the last one. By default, `[ground, above]`.",
        schema.unique_list(schema.TEXT),
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
        "Number or names of agents, or `{number: 4, turns: shuffled, done: leave}`. "
        "By default, one.",
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
    "settle": Key(
        "Transition rules that also run once after each reset, in order. None of them "
        "may take an agent.",
        schema.list_of(schema.function_schema(Phase.TRANSITION)),
    ),
    "reward_functions": Key(
        'Rules whose sum is the reward. `info["reward_terms"]` calls the second rule '
        "of a name `name_2`.",
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
        "Rule that ends the episode. `reduce_any` joins several rules.",
        schema.function_schema(Phase.TERMINATING),
        required=True,
    ),
    "success_function": Key(
        "Condition of success at the end. Without it, success is undefined.",
        schema.function_schema(Phase.TERMINATING),
    ),
}
"""Top-level keys of grid scenarios."""
