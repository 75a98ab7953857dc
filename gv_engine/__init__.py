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

import re  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import lazy_loader  # noqa: E402

from gv_engine.envs.registration import register_all  # noqa: E402

__version__ = "0.1.0"


def _find_absent_names() -> Iterator[str]:
    """Yield each name that `__init__.pyi` imports from a plugin whose folder does not exist."""
    file = Path(__file__)
    imports = re.findall(
        r"from \.plugins\.(\w+)\S* import (\([^)]+\)|.+)",
        file.with_suffix(".pyi").read_text("utf-8"),
    )
    for plugin, names in imports:
        if not (file.parent / "plugins" / plugin).is_dir():
            yield from re.findall(r"\w+", names)


__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted({*__all__}.difference(_find_absent_names()))

register_all()
