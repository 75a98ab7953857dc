"""Helper of mathy_envs."""

from gv_engine.plugins.algebra.library import util as _util

pad_array = _util.pad_array

__all__ = ["pad_array"]
