"""Names of the built-in grids, so that what compiles need not compile all.

MiniGrid's are in neither: `tests/systems/test_minigrid.py` replays some of them.
"""

from __future__ import annotations

from gv_engine.scenario.library import (
    GALLERY,
    list_built_in_grids,
    list_plugin_grids,
)

OF_GALLERY = [
    name for name, level in list_built_in_grids().items() if level.file.is_relative_to(GALLERY)
]
"""Those of one idea each; `tests/domains/test_gallery.py` wins them."""
GRID_NAMES = sorted(list_built_in_grids().keys() - list_plugin_grids().keys())
"""All but MiniGrid's and BabyAI's."""
NOT_OF_GALLERY = [name for name in GRID_NAMES if name not in OF_GALLERY]
