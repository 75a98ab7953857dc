"""The editor in tests of the front end, and a level with comments."""

from gv_engine.play.editor.document import STARTERS
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.start import StartScreen
from tests.desk import Desk

COMMENTED = """\
# My first cave.
description: Get out.  # in words
map: |  # as I drew it
  #####
  #>.E#
  #####
# What a step does.
transition_functions:
  - move_agent  # goes
  # Last of all:
  - turn_agent
reward_functions: [reach_exit]  # what pays
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}  # all it sees

# The end.
terminating_function: reach_exit
max_steps: $steps
parameters: {steps: {default: 9, says: length of an episode}}
# That is all.
"""


def editing(desk: Desk, level: str = "keydoor") -> EditScreen:
    """The editor with a new level, or one that is there."""
    desk.app.push(StartScreen(desk.app))
    (desk.app.edit_new_level if level in STARTERS else desk.app.edit)(level)
    desk.draw()
    return desk.top(EditScreen)
