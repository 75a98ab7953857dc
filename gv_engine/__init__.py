"""GV Engine: gridworlds to play, to write and to train on.

The public names are listed in `__init__.pyi`; each is imported on first use.

>>> import gymnasium
>>> import gv_engine
>>> env = gymnasium.make("GV-Keydoor-9x9-v0", world="object")
>>> observation, info = env.reset(seed=0)
>>> observation["grid"].shape
(7, 7, 3)
"""

from gv_engine.scenario.storage.resources import check_sibling_packages, use_default_sigint

use_default_sigint()
check_sibling_packages()

import lazy_loader  # noqa: E402

from gv_engine.envs.registration import register_all  # noqa: E402

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_all()
