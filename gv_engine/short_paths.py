"""Short paths of modules that users import, wherever in the house their rooms are.

>>> import gv_engine.geometry
>>> gv_engine.geometry.__name__
'gv_engine.rules.geometry'
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pkgutil import resolve_name
from types import ModuleType

_OBJECTS = "gv_engine.gridverse"
_REGISTRIES = f"{_OBJECTS}.registry"
_KINDS = ("observation", "reset", "reward", "terminating", "transition", "visibility")

ALIASES = {
    "gv_engine.episode_folder": "gv_engine.rollout.episode_folder",
    "gv_engine.errors": "gv_engine.rules.errors",
    "gv_engine.geometry": "gv_engine.rules.geometry",
    "gv_engine.mathy": "gv_engine.domains.algebra",
    "gv_engine.objects": "gv_engine.rules.objects",
    "gv_engine.session.recording": "gv_engine.ui.drawing.recording",
    "gv_engine.representations": "gv_engine.envs.representations",
    "gv_engine.snapshots": "gv_engine.rollout.snapshots",
    # as the documents of the GridVerse family print them
    f"{_OBJECTS}.actions": f"{_OBJECTS}.action",
    **{f"{_OBJECTS}.envs.{kind}_functions": f"{_REGISTRIES}:{kind}_functions" for kind in _KINDS},
    f"{_OBJECTS}.representations": _OBJECTS,
    f"{_OBJECTS}.representations.observation_representations": "gv_engine.envs.representations",
    f"{_OBJECTS}.representations.representation": f"{_OBJECTS}.outer_env",
    f"{_OBJECTS}.representations.state_representations": "gv_engine.envs.representations",
    f"{_OBJECTS}.utils": _OBJECTS,
}
"""Where each leads, `module` or `module:object`; what lies below one lies below the other."""


class _AliasFinder(MetaPathFinder, Loader):
    """Finds under a short path the very module that the long one leads to."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        above = [short for short in ALIASES if f"{fullname}.".startswith(f"{short}.")]
        if not above:
            return None
        short = max(above, key=len)
        return ModuleSpec(fullname, self, origin=ALIASES[short] + fullname.removeprefix(short))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that is there, whose own spec is kept from being overwritten."""
        assert spec.origin is not None
        origin = spec.origin if ":" in spec.origin else f"{spec.origin}:"  # no part is an attribute
        module: ModuleType = resolve_name(origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install_finder() -> None:
    """From now on, the short paths can be imported."""
    sys.meta_path.insert(0, _AliasFinder())  # ahead of what an old checkout has left in their place
