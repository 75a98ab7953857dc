"""Whose Python a scenario may run: asked before any of it is loaded, and kept by the scenario.

Naming a scenario is consent to the Python inside its folder and to nothing else; docs/security.md
is the whole of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypedDict, Unpack, cast

from gv_engine.scenario.resources import SCENARIOS

ENTRY_POINT_GROUP = "gv_engine.rules"
"""Entry points by which installed packages declare modules that scenarios may name."""

_ENGINE_PACKAGES = ("components", "systems")


class Consent(TypedDict, total=False):
    """Options about a scenario's Python, for whoever loads it; see `Trust`."""

    trust: bool
    allow_modules: Iterable[str]
    code: bool


@dataclass(frozen=True)
class Trust:
    """Consent to a scenario's Python, by whoever loads it.

    Attributes:
        trust: scenarios that a file merely refers to may run the Python of their folders too.
        allow_modules: packages and modules that may be named, with all that is below them.
        code: False if nothing but YAML may be loaded.
        referrer: the file that refers to the scenario, if nobody has named or trusted it.
        extended: folders elsewhere that hold what the scenario extends.
        alone: the scenario came without its folder, so that it may name no other file.
    """

    trust: bool = False
    allow_modules: tuple[str, ...] = ()
    code: bool = True
    referrer: str = ""
    base_folders: tuple[Path, ...] = ()
    is_detached: bool = False

    @classmethod
    def from_options(cls, **consent: Unpack[Consent]) -> Trust:
        """The trust of somebody who names a scenario.

        Raises:
            TypeError: something among it is no such option.
            ValueError: `allow_modules` is a text, whose letters are no modules, or holds something
                that is no name of a module.
        """
        for name in consent:
            if name not in Consent.__annotations__:
                more = ", ".join(Consent.__annotations__)
                raise TypeError(f"no option {name!r}: allowed are the named arguments, and {more}")
        allow_modules = consent.get("allow_modules", ())
        if isinstance(allow_modules, str):
            raise ValueError(f"allow_modules={allow_modules!r}: expected a list of names")
        modules = tuple(allow_modules)
        for name in modules:
            if not is_module_name(name):
                raise ValueError(
                    f"allow_modules: {name!r} is no name of a module, as caves.rules is"
                )
        return cls(consent.get("trust", False), modules, consent.get("code", True))

    def for_reference(self, referrer: object) -> Trust:
        """The consent to a scenario that a file refers to."""
        return self if self.trust else replace(self, referrer=self.referrer or str(referrer))

    def for_member(self, file: Path, folder: Path, mixture: str) -> Trust:
        """The consent to a scenario in a file that a mixture in a folder lists."""
        file = file.resolve()
        if any(file.is_relative_to(home.resolve()) for home in (folder, SCENARIOS)):
            return self
        return self.for_reference(mixture)

    def for_base(self, base: Path, folder: Path) -> Trust:
        """The consent to a scenario in a folder, with what it extends from another one."""
        base = base.resolve()
        if base.is_relative_to(folder.resolve()):
            return self
        return replace(self, base_folders=(*self.base_folders, base))

    def can_name_files(self, folder: Path) -> bool:
        """Return True where a scenario in a folder may name other files than built-in scenarios."""
        return not self.is_detached or folder.is_relative_to(SCENARIOS)

    def explain_refusal(self, folder: Path, where: str) -> str:
        """Why a file of a scenario's folder, or a module, may not be loaded; empty if it may."""
        in_file = is_file_reference(where)
        if not in_file and _is_below(where, _ENGINE_PACKAGES):
            return ""
        if not self.code:
            return "no Python is, as was asked for (--no-code, code=False)"
        if self.referrer:
            return (
                f"{self.referrer} only refers to this scenario; if you trust it, name it yourself, "
                f"or add --trust (in Python trust=True)"
            )
        return (
            self._explain_outside_file(folder, where)
            if in_file
            else self._explain_unknown_module(where)
        )

    def _explain_outside_file(self, folder: Path, where: str) -> str:
        home = next((each for each in self.base_folders if _is_inside(folder / where, each)), None)
        if home is None:
            return _explain_path(folder, where)
        if self.trust or home.is_relative_to(SCENARIOS.resolve()):
            return ""
        return "the scenario only extends the one there; if you trust it, add --trust"

    def _explain_unknown_module(self, module: str) -> str:
        if _is_below(module, self.allow_modules) or _is_below(module, _list_declared_packages()):
            return ""
        return (
            f"scenarios may name files of their folder; if you trust the module, add "
            f"--allow-module {module} (in Python allow_modules=[{module!r}])"
        )


DEFAULT_TRUST = Trust()
"""The consent to a scenario that is named, and no more."""


def pop_consent(options: dict[str, Any]) -> Consent:
    """The options about Python, taken out of others."""
    given = {key: options.pop(key) for key in Consent.__annotations__ if key in options}
    return cast(Consent, given)


def split_options(options: Mapping[str, Any]) -> tuple[Trust, dict[str, Any]]:
    """The consent among options, and all others, which are values of parameters.

    Raises:
        ValueError: as for `Trust.from_options`.
    """
    settings = dict(options)
    return Trust.from_options(**pop_consent(settings)), settings


def is_file_reference(where: str) -> bool:
    """Whether what stands before the colon of a reference is a file, else it is a module."""
    return where.endswith(".py") or where.startswith((".", "/"))


def is_module_name(where: str) -> bool:
    """Whether a text is the name of a module, as far as its letters go."""
    return all(part.isidentifier() for part in where.split("."))


def _explain_path(folder: Path, where: str) -> str:
    paths = PurePosixPath(where), PureWindowsPath(where)
    if any(path.is_absolute() or path.drive or ".." in path.parts for path in paths):
        return "files are named from the scenario's folder on and lie in it, as ./rules.py"
    try:
        file = (folder / where).resolve()
        inside = file.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # links in a ring, a character of no name
        return f"it cannot be found: {error}"
    if file == folder.resolve():
        return "it is the scenario's folder; files in it are named as ./rules.py"
    return "" if inside else f"it leads out of the scenario's folder, to {file}"


def _is_inside(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):  # see `_leads_out`
        return False


def _is_below(module: str, packages: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _list_declared_packages() -> list[str]:
    """The packages and modules that installed packages offer to scenarios; none is imported."""
    return [point.module for point in entry_points(group=ENTRY_POINT_GROUP)]
