"""User's consent to run the Python code that a scenario names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypedDict, Unpack, cast

from gv_engine.rules import errors
from gv_engine.rules.objects import is_rule_package
from gv_engine.scenario.storage.resources import SCENARIOS

ENTRY_POINT_GROUP = "gv_engine.rules"
"""Entry point group by which installed packages declare modules that scenarios may name."""


class Consent(TypedDict, total=False):
    """Options of `load_scenario` that say which Python code a scenario may run; see `Trust`."""

    trust: bool
    allow_modules: Iterable[str]
    code: bool


@dataclass(frozen=True)
class Trust:
    """User's consent to run a scenario's Python code.

    Attributes:
        trust: True if scenarios that a file only refers to may run the Python code of their folders
            too.
        allow_modules: packages and modules that may be named, with their submodules.
        code: False if only YAML may be loaded.
        referrer: the file that refers to the scenario; "" if the user named or trusts the scenario.
        base_folders: other folders, which hold the scenarios that this one extends.
        is_detached: True if the scenario came without its folder, so that it may name no other
            file.
    """

    trust: bool = False
    allow_modules: tuple[str, ...] = ()
    code: bool = True
    referrer: str = ""
    base_folders: tuple[Path, ...] = ()
    is_detached: bool = False

    @classmethod
    def from_options(cls, **consent: Unpack[Consent]) -> Trust:
        """Return which Python code may run, according to the user's options `trust`,
        `allow_modules` and `code`.

        Raises:
            TypeError: an option is unknown.
            ValueError: `allow_modules` is a text instead of a list, or holds an invalid module
                name.
        """
        known = Consent.__annotations__
        for name in consent:
            if name not in known:
                hint = errors.describe_allowed(name, ("the named arguments", *known))
                raise TypeError(f"no option {name!r}{hint}")
        modules = consent.get("allow_modules", ())
        if isinstance(modules, str):
            raise ValueError(f"allow_modules={modules!r}: expected a list of names")
        modules = tuple(modules)
        for name in modules:
            if not is_module_name(name):
                raise ValueError(
                    f"allow_modules: {name!r} is not a module name, such as caves.rules"
                )
        return cls(consent.get("trust", False), modules, consent.get("code", True))

    def for_reference(self, referrer: object) -> Trust:
        """Return the trust for a scenario that a file refers to."""
        return self if self.trust else replace(self, referrer=self.referrer or str(referrer))

    def for_member(self, file: Path, folder: Path, mixture: str) -> Trust:
        """Return which Python code may run in `file`, a scenario that the scenario `mixture` in
        `folder` lists as a member.

        Args:
            file: file of the member.
            folder: folder of the mixture.
            mixture: name of the mixture.
        """
        file = file.resolve()
        if any(file.is_relative_to(home.resolve()) for home in (folder, SCENARIOS)):
            return self
        return self.for_reference(mixture)

    def for_base(self, base: Path, folder: Path) -> Trust:
        """Return which Python code may run when a scenario in `folder` extends a scenario file in
        the folder `base`."""
        base = base.resolve()
        if base.is_relative_to(folder.resolve()):
            return self
        return replace(self, base_folders=(*self.base_folders, base))

    def can_name_files(self, folder: Path) -> bool:
        """Return True if a scenario in a folder may name files other than built-in scenarios."""
        return not self.is_detached or folder.is_relative_to(SCENARIOS)

    def explain_refusal(self, folder: Path, source: str) -> str:
        """Return why a scenario in `folder` may not load the Python file or module `source`, as a
        text for a message. "" if it may.

        Args:
            folder: folder of the scenario.
            source: the file or module as the scenario names it.
        """
        is_file = is_file_reference(source)
        if not is_file and is_rule_package(source):
            return ""
        if not self.code:
            return "Python code is switched off (--no-code, code=False)"
        is_own = is_file and folder.resolve().is_relative_to(SCENARIOS.resolve())
        if self.referrer and not is_own:  # rules that come with the engine may always run
            return (
                f"{self.referrer} only refers to this scenario; if you trust it, name it yourself, "
                f"or add --trust (in Python trust=True)"
            )
        explain = self._explain_outside_file if is_file else self._explain_unknown_module
        return explain(folder, source)

    def _explain_outside_file(self, folder: Path, source: str) -> str:
        """Return why a scenario may not load the Python file `source`, which is outside of its
        `folder`, as a text for a message. "" if it may."""
        home = next((base for base in self.base_folders if _is_inside(folder / source, base)), None)
        if home is None:
            return _explain_path(folder, source)
        if self.trust or home.is_relative_to(SCENARIOS.resolve()):
            return ""
        return "it belongs to a scenario that this one extends; if you trust that, add --trust"

    def _explain_unknown_module(self, folder: Path, module: str) -> str:
        """Return why a scenario may not import `module`, as a text for a message. "" if the user or
        an installed package allows it."""
        # read from the metadata of installed packages, which are not imported for it
        declared = (point.module for point in entry_points(group=ENTRY_POINT_GROUP))
        if _is_below(module, self.allow_modules) or _is_below(module, declared):
            return ""
        return (
            f"scenarios may name only files in their folder; if you trust the module, add "
            f"--allow-module {module} (in Python allow_modules=[{module!r}])"
        )


DEFAULT_TRUST = Trust()
"""Consent that a user gives by naming a scenario: its folder's Python code may run."""


def pop_consent(options: dict[str, Any]) -> Consent:
    """Remove from `options` those that say which Python code may run, and return them."""
    names = options.keys() & Consent.__annotations__.keys()
    return cast(Consent, {name: options.pop(name) for name in names})


def split_options(options: Mapping[str, Any]) -> tuple[Trust, dict[str, Any]]:
    """Return (trust, settings): which Python code may run according to `options`, and all other
    options, which are values of parameters.

    Raises:
        ValueError: as for `Trust.from_options`.
    """
    settings = dict(options)
    return Trust.from_options(**pop_consent(settings)), settings


def is_file_reference(source: str) -> bool:
    """Return True if the part of a reference before the colon is a file, False for a module."""
    return source.endswith(".py") or source.startswith((".", "/"))


def is_module_name(name: str) -> bool:
    """Return True if a text is a valid module name."""
    return all(part.isidentifier() for part in name.split("."))


def _explain_path(folder: Path, source: str) -> str:
    """Return why the path `source` is not a file inside the scenario's folder, as a text for a
    message. "" if it is one."""
    paths = PurePosixPath(source), PureWindowsPath(source)
    if any(path.is_absolute() or path.drive or ".." in path.parts for path in paths):
        return "name a file inside the scenario's folder, such as ./rules.py"
    try:
        file = (folder / source).resolve()
        is_inside = file.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a cycle of links, an invalid character
        return f"it cannot be found: {error}"
    if file == folder.resolve():
        return "it is the scenario's folder; name a file in it, such as ./rules.py"
    return "" if is_inside else f"it leads out of the scenario's folder, to {file}"


def _is_inside(file: Path, folder: Path) -> bool:
    """Return True if `file`, with links resolved, is in `folder` or below."""
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):  # a loop of links, or no path
        return False


def _is_below(module: str, packages: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)
