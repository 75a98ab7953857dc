"""Games written in PuzzleScript."""

from gv_engine.late_imports import Plugin

PLUGIN = Plugin(file_formats=("gv_engine.plugins.puzzlescript.scenario:FORMAT",))
