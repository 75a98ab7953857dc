"""The keys of scenario files of grids: what each says, and in which form."""

from __future__ import annotations

from gv_engine.language.frame import VIEWS
from gv_engine.language.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
)
from gv_engine.reading.actions import ACTION_SPACE, OWN_ACTION_KEYS
from gv_engine.reading.agents import AGENT_KEYS, AGENTS_FORM
from gv_engine.reading.chance import CHANCE_KEYS
from gv_engine.reading.forms import (
    AREA,
    COLOR,
    OBJECT,
    PAIR,
    TEXT,
    TRUTH,
    JsonForm,
    Key,
    KeyTable,
    either,
    function,
    keyed,
    list_of,
    mapped,
    named,
    several,
    whole,
)
from gv_engine.reading.map import LEGEND_KEYS
from gv_engine.reading.mission_reader import MISSION_FORM, MISSION_KEYS
from gv_engine.reading.things import THING_KEYS
from gv_engine.reading.values import LARGEST

MOST_ENTITIES = 2**22

SHARED_KEYS: KeyTable = {
    "name": Key("What the level is called: its file or folder, if left out.", TEXT),
    "description": Key("What it is about and what to do in it, for people.", TEXT),
    "view": Key(
        "How the window shows it at first; `explored` is what the agent has seen so far.",
        named(VIEWS),
    ),
    "max_steps": Key(
        "After so many steps an episode is cut off; without it, never.",
        either(whole(1, LARGEST), {"type": "null"}),
    ),
    "action_space": Key(
        "Its actions, by name or, those of its own, as `{name: KICK, key: K}`; the usual eight, if "
        "left out.",
        ACTION_SPACE,
        below=OWN_ACTION_KEYS,
    ),
}
"""Those of grids and of mixtures of them."""
_SHOWN: tuple[JsonForm, ...] = tuple(
    {"required": [key]} for key in ("object", "agent", "one_of", "room", "ground")
)
SPACE: KeyTable = {
    "objects": Key("Names of the objects that may occur; all, if left out.", several(OBJECT)),
    "colors": Key(
        "Colours that may occur; NONE, RED, GREEN, BLUE and YELLOW, if left out.", several(COLOR)
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
    "name": Key("It is `from_visibility`.", named(["from_visibility"]), required=True),
    **VIEW,
    "visibility_function": Key("Which of the cells are seen.", function(VISIBILITY), required=True),
}

GRID_KEYS: KeyTable = {
    "always_truncates": Key(
        "True counts the step that reaches `max_steps` as truncated even if the episode terminates "
        "in it, as MiniGrid and Gymnasium's `TimeLimit` do; false, if left out.",
        TRUTH,
    ),
    "family": Key("The family of worlds, `grid` if left out; `mathy` is algebra.", named(["grid"])),
    **SHARED_KEYS,
    "capacity": Key(
        "For how many entities a world has room; found out if left out.", whole(2, MOST_ENTITIES)
    ),
    "max_shape": Key("[height, width] of the largest grid; found out if left out.", PAIR),
    "objects": Key(
        "Types of objects of its own, by name: `Gate: {states: {CLOSED: [Solid], OPEN: []}}`.",
        mapped(keyed(THING_KEYS)),
        below=THING_KEYS,
    ),
    "state_space": Key("What may be on the grid.", keyed(SPACE), below=SPACE),
    "observation_space": Key("What may be seen.", keyed(SPACE), below=SPACE),
    "map": Key(
        "The level, a character per cell, in place of a `reset_function`; messages count its rows "
        "and columns from 1.",
        TEXT,
    ),
    "legend": Key(
        "What characters of the map stand for, beside the built-in ones: `C: Coin`, "
        "`K: {object: Key, color: RED}`, `a: {agent: LEFT}`.",
        mapped(
            either(OBJECT, {**keyed(LEGEND_KEYS), **either(*_SHOWN)}),
            propertyNames={"minLength": 1, "maxLength": 1},
        ),
        below=LEGEND_KEYS,
    ),
    **CHANCE_KEYS,
    "agents": Key(
        "How many agents there are, or their names, or more: "
        "`{number: 4, turns: shuffled, done: leave}`; one, if left out.",
        AGENTS_FORM,
        below=AGENT_KEYS,
    ),
    "mission": Key(
        "What the agent is asked to do, in words and numbers: "
        '`{text: "fetch the {color} {object}", object: Key, color: RED}`.',
        MISSION_FORM,
        below=MISSION_KEYS,
    ),
    "reset_function": Key(
        "What builds the level, in place of a `map`: a rule that draws one by chance.",
        function(RESET),
    ),
    "transition_functions": Key(
        "What a step does, in this order.", list_of(function(TRANSITION)), required=True
    ),
    "reward_functions": Key(
        "What a step is worth: the sum of these, in this order; of the same name, the second is "
        '`name_2` in `info["reward_terms"]`.',
        list_of(function(REWARD)),
        required=True,
    ),
    "observation_function": Key(
        "What the agent sees: an `area` of cells around it, and which of them are seen.",
        function(OBSERVATION),
        required=True,
        below=VIEW,
    ),
    "terminating_function": Key(
        "When the episode is over; several go into `reduce_any`.",
        function(TERMINATING),
        required=True,
    ),
    "success_function": Key(
        "Whether that was a success: asked where the terminating function has ended the episode; "
        "without it, nothing is guessed.",
        function(TERMINATING),
    ),
}
"""Those of scenarios of grids."""
