"""Names of the built-in grids, so that what compiles need not compile all."""

from __future__ import annotations

from gv_engine.reading.library import GALLERY, built_in_grids

OF_GALLERY = [
    name for name, level in built_in_grids().items() if level.file.is_relative_to(GALLERY)
]
"""Those of one idea each; `tests/families/test_gallery.py` wins them."""
NOT_OF_GALLERY = [name for name in built_in_grids() if name not in OF_GALLERY]
