"""Python in another process, and a level to try the command line with."""

import os
import subprocess
from pathlib import Path
from typing import Any

from tests import ROOT
from tests.processes import run_program

SCENARIO = """
map: |
  #####
  #> E#
  #####
{more}
transition_functions: [{{name: move_agent}}, {{name: {rule}}}]
reward_functions: [{{name: reach_exit}}]
observation_function: {{name: fully_transparent, area: [[-2, 0], [-1, 1]]}}
terminating_function: {{name: reach_exit}}
"""
RULE = "@system(TRANSITION)\ndef rule(w, agent):\n"
HIDDEN = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")


def run_without_screen(program: str, *words: Any) -> subprocess.CompletedProcess[str]:
    """Run a program in another process, without a screen."""
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return run_program(program, *words, cwd=ROOT, env=environment, check=False)


def write(folder: Path, rule: str = "turn_agent", more: str = "", code: str = "") -> Path:
    """A corridor, maybe with a rule of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "scenario.yaml").write_text(SCENARIO.format(rule=rule, more=more))
    head = "from gv_engine import *\nfrom gv_engine.rules.component import *\n"
    (folder / "rules.py").write_text(head + code)
    return folder
