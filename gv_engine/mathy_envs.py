"""Public path of mathy_envs, with its own names: `gv_engine.plugins.algebra.mathy_envs`."""

from typing import TYPE_CHECKING

import gv_engine.plugins.algebra.mathy_envs.gym  # noqa: F401  # registers its ids
from gv_engine.plugins import alias_modules

if TYPE_CHECKING:
    from gv_engine.plugins.algebra.mathy_envs import *


alias_modules(__name__, "gv_engine.plugins.algebra.mathy_envs")
