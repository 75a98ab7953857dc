"""A level that may name a canary, and the ways to name one."""

from __future__ import annotations

import py_compile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import yaml

from tests.canary import canary
from tests.scenario.reading import RULES

Door = Callable[..., Any]

PLAIN: dict[str, Any] = {**RULES, "map": "#>.E#"}


class Place:
    """A level, and where a canary of it would leave its mark.

    Attributes:
        level: the folder of the scenario.
        file: of the scenario.
        away: a folder beside it.
        mark: what a canary makes.
    """

    def __init__(self, folder: Path) -> None:
        self.level, self.away, self.mark = folder / "level", folder / "away", folder / "mark"
        self.file = self.level / "scenario.yaml"
        self.level.mkdir()
        self.write({})

    def write(self, changes: dict[str, Any]) -> None:
        """Let the scenario say something else."""
        content = {key: value for key, value in {**PLAIN, **changes}.items() if value is not None}
        self.file.write_text(yaml.safe_dump(content), "utf-8")

    def name(self, reference: str) -> None:
        """Let the scenario name a transition."""
        self.write({"transition_functions": ["move_agent", reference]})

    @property
    def ran(self) -> bool:
        """True once a canary has run."""
        return self.mark.exists()


# ---- ways to name code ---------------------------------------------------------------------------


OWN_RULES = "./rules.py:rule"


@dataclass(frozen=True)
class Way:
    """A way to name code.

    Attributes:
        file: of the canary, in the folder of the level and of what lies beside it.
        reference: to a transition; `{folder}` is that folder.
        text: of the level's own rule file, if it has one.
        links: symbolic links in the level, and what they lead to.
    """

    file: str
    reference: str = OWN_RULES
    text: str = ""
    links: tuple[str, str] = ("", "")

    def __call__(self, place: Place) -> str:
        """Lay the files down; return what the scenario has to say."""
        folder = place.level.parent
        canary(folder / self.file, place.mark)
        if self.text:
            (place.level / "rules.py").write_text(self.text, "utf-8")
        link, target = self.links
        if link:
            (place.level / link).symlink_to(folder / target)
        return self.reference.format(folder=folder)


def above_in_the_middle(place: Place) -> str:
    (place.level / "sub").mkdir()
    return Way("away/rules.py", "./sub/../../away/rules.py:rule")(place)


def package(place: Place) -> str:
    reference = Way("away/pack_of_test/__init__.py", "pack_of_test.rules:rule")(place)
    (place.away / "pack_of_test" / "rules.py").touch()
    return reference


def linked_helpers_bytecode(place: Place) -> str:
    source = canary(place.away / "helper.py", place.mark)
    py_compile.compile(
        str(source),
        str(place.away / Path(cache_from_source(str(source))).name),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    sub = place.level / "sub"
    sub.mkdir()
    (sub / "helper.py").write_text("rule = None\n", "utf-8")
    (sub / "__pycache__").symlink_to(place.away)
    (place.level / "rules.py").write_text("from .sub.helper import rule\n", "utf-8")
    return OWN_RULES


RULES_AWAY = "away/rules.py"
LINKED_FILE = ("link.py", RULES_AWAY)
STRANGE: dict[str, Door] = {
    "absolute": Way(RULES_AWAY, "{folder}/away/rules.py:rule"),
    "absolute_inside": Way("level/rules.py", "{folder}/level/rules.py:rule"),
    "above": Way(RULES_AWAY, "../away/rules.py:rule"),
    "above_in_the_middle": above_in_the_middle,
    "linked_file": Way(RULES_AWAY, "./link.py:rule", links=LINKED_FILE),
    "linked_folder": Way(RULES_AWAY, "./links/rules.py:rule", links=("links", "away")),
    "linked_helper": Way(RULES_AWAY, text="from .link import rule\n", links=LINKED_FILE),
    "linked_helpers_folder": Way(
        RULES_AWAY, text="from .links.rules import rule\n", links=("links", "away")
    ),
    "linked_helpers_package": Way(
        "away/__init__.py", text="from . import links\nrule = links.rule\n", links=("links", "away")
    ),
    "linked_helpers_bytecode": linked_helpers_bytecode,
    "helper_above": Way(RULES_AWAY, text="from ..away.rules import rule\n"),
    "module": Way("away/canary_of_test.py", "canary_of_test:rule"),
    "module_of_a_package": Way("away/pack_of_test/rules.py", "pack_of_test.rules:rule"),
    "package": package,
}
OWN: dict[str, Door] = {
    "own": Way("level/rules.py"),
    "own_below": Way("level/sub/rules.py", "sub/rules.py:rule"),
    "own_helper": Way("level/helper.py", text="from .helper import rule\n"),
    "own_helper_below": Way("level/sub/helper.py", text="from .sub.helper import rule\n"),
}
own, above, module_of_a_package = OWN["own"], STRANGE["above"], STRANGE["module_of_a_package"]
