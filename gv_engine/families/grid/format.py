"""What scenario files of grids may say."""

from gv_engine.language.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
)
from gv_engine.reading.calls import ENDING_KEYS, TURN_KEYS, built_in
from gv_engine.reading.forms import Format, Functions, keyed
from gv_engine.reading.grid_keys import FROM_VISIBILITY, GRID_KEYS, VIEW
from gv_engine.reading.mixture import MIXTURE_KEYS

FORMAT = Format(
    GRID_KEYS,
    {
        "reset_function": Functions(RESET, built_in(RESET)),
        "transition_function": Functions(TRANSITION, built_in(TRANSITION), TURN_KEYS),
        "reward_function": Functions(REWARD, built_in(REWARD), TURN_KEYS),
        "terminating_function": Functions(
            TERMINATING, built_in(TERMINATING), {**ENDING_KEYS, **TURN_KEYS}
        ),
        "visibility_function": Functions(VISIBILITY, built_in(VISIBILITY)),
        "observation_function": Functions(
            OBSERVATION, built_in(VISIBILITY), VIEW, (keyed(FROM_VISIBILITY),), bare=False
        ),
    },
    MIXTURE_KEYS,
)
