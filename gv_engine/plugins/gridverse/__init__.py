"""Object API of GridVerse: states, grids and objects for writing rules and levels.

The public path is `gv_engine.gridverse`, with the names and modules of the GridVerse documents. The
public names are listed in `__init__.pyi`; each is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
