"""Import aliases for modules that users import, independent of the package layout.

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
    # as the documents of GridVerse print them
    f"{_OBJECTS}.actions": f"{_OBJECTS}.action",
    **{f"{_OBJECTS}.envs.{kind}_functions": f"{_REGISTRIES}:{kind}_functions" for kind in _KINDS},
    f"{_OBJECTS}.representations": _OBJECTS,
    f"{_OBJECTS}.representations.observation_representations": "gv_engine.envs.representations",
    f"{_OBJECTS}.representations.representation": f"{_OBJECTS}.outer_env",
    f"{_OBJECTS}.representations.state_representations": "gv_engine.envs.representations",
    f"{_OBJECTS}.utils": _OBJECTS,
}
"""Real place of each alias, `module` or `module:object`; the same holds for their submodules."""


class _AliasFinder(MetaPathFinder, Loader):
    """Import hook that returns the real module for an alias."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec with the real place of an alias, or of a submodule of one; None for other
        modules."""
        parents = [alias for alias in ALIASES if f"{fullname}.".startswith(f"{alias}.")]
        if not parents:
            return None
        alias = max(parents, key=len)
        return ModuleSpec(fullname, self, origin=ALIASES[alias] + fullname.removeprefix(alias))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the real module, with its own spec kept in `spec.loader_state`."""
        assert spec.origin is not None
        origin = spec.origin if ":" in spec.origin else f"{spec.origin}:"  # a module, no attribute
        module: ModuleType = resolve_name(origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec; the module has been executed already."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install_finder() -> None:
    """Install the import hook for the aliases."""
    sys.meta_path.insert(0, _AliasFinder())  # ahead of files of an old checkout
