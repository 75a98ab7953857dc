"""Import hook for rule files: those of one folder become the modules of one package, whose name
lists them as `<folder>|<files>.<file>`, all escaped.

Python imports this package with the first of them, which installs the finder of the others.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import machinery
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

from gv_engine.rules import errors
from gv_engine.rules.objects import RULE_MODULE_PREFIX
from gv_engine.scenario.documents.rule_files import (
    SourceLoader,
    get_rule_folder,
    split_package_name,
)

# a module with a path, even an empty one, can have submodules
__path__: list[str] = []


class _PackageLoader(Loader):
    """Loader of a package that imports all files listed in the package's name. The error of a file
    is raised only when that file itself is imported."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the rule files that the name of this package lists; ignore the errors of files
        that fail."""
        for root in split_package_name(module.__name__)[1].split(","):
            with suppress(Exception, SystemExit, errors.Stopped):
                importlib.import_module(f"{module.__name__}.{root}")


_LOADERS = (
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (SourceLoader, machinery.SOURCE_SUFFIXES),
)


class _Finder(MetaPathFinder):
    """Import hook for rule files: folders are packages, and the files in them are their modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> machinery.ModuleSpec | None:
        """Hook of Python's import system: return the import specification of a rule file or of a
        package of rule files. None for any other module.

        Raises:
            ImportError: the file lies outside of the scenario's folder.
        """
        if not fullname.startswith(RULE_MODULE_PREFIX):
            return None
        folder = str(get_rule_folder(fullname))
        below = [unquote(part) for part in fullname.removeprefix(RULE_MODULE_PREFIX).split(".")[1:]]
        # `from ..name import …` gives a relative folder, outside of the scenario's
        if not below and Path(folder).is_absolute() and Path(folder).is_dir():
            package = machinery.ModuleSpec(fullname, _PackageLoader(), is_package=True)
            package.submodule_search_locations = [folder]
            return package
        file = Path(folder, f"{'.'.join(below)}.py")
        if len(below) == 1 and file.is_file():
            spec = spec_from_file_location(fullname, file, loader=SourceLoader(fullname, str(file)))
        else:
            finders = (machinery.FileFinder(place, *_LOADERS) for place in path or ())
            spec = next(filter(None, (finder.find_spec(fullname) for finder in finders)), None)
        # the file of a module, and the folders of its submodules
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        for place in map(Path, filter(None, places)):
            if not place.resolve().is_relative_to(Path(folder).resolve()):
                raise ImportError(f"{place} leads out of its folder, to {place.resolve()}")
        return spec


sys.meta_path.insert(0, _Finder())
