"""A level that may name a canary, and the ways to name one."""

from __future__ import annotations

import py_compile
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import yaml

from tests.canary import canary

Door = Callable[..., Any]

PLAIN: dict[str, Any] = {
    "map": "#>.E#",
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["living_reward"],
    "observation_function": {"name": "fully_transparent", "area": [[0, 0], [0, 0]]},
    "terminating_function": "reach_exit",
}


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
        """Whether a canary has run."""
        return self.mark.exists()


# ---- ways to name code ---------------------------------------------------------------------------


def absolute(place: Place) -> str:
    return f"{canary(place.away / 'rules.py', place.mark)}:rule"


def absolute_inside(place: Place) -> str:
    return f"{canary(place.level / 'rules.py', place.mark)}:rule"


def above(place: Place) -> str:
    canary(place.away / "rules.py", place.mark)
    return "../away/rules.py:rule"


def above_in_the_middle(place: Place) -> str:
    canary(place.away / "rules.py", place.mark)
    (place.level / "sub").mkdir()
    return "./sub/../../away/rules.py:rule"


def linked_file(place: Place) -> str:
    (place.level / "link.py").symlink_to(canary(place.away / "rules.py", place.mark))
    return "./link.py:rule"


def linked_folder(place: Place) -> str:
    (place.level / "links").symlink_to(canary(place.away / "rules.py", place.mark).parent)
    return "./links/rules.py:rule"


def linked_helper(place: Place) -> str:
    linked_file(place)
    (place.level / "rules.py").write_text("from .link import rule\n", "utf-8")
    return "./rules.py:rule"


def linked_helpers_folder(place: Place) -> str:
    linked_folder(place)
    (place.level / "rules.py").write_text("from .links.rules import rule\n", "utf-8")
    return "./rules.py:rule"


def linked_helpers_package(place: Place) -> str:
    canary(place.away / "__init__.py", place.mark)
    (place.level / "links").symlink_to(place.away)
    (place.level / "rules.py").write_text("from . import links\nrule = links.rule\n", "utf-8")
    return "./rules.py:rule"


def linked_helpers_bytecode(place: Place) -> str:
    source = canary(place.away / "helper.py", place.mark)
    name = Path(cache_from_source(str(source))).name
    py_compile.compile(
        str(source),
        str(place.away / name),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    sub = place.level / "sub"
    sub.mkdir()
    (sub / "helper.py").write_text("rule = None\n", "utf-8")
    (sub / "__pycache__").symlink_to(place.away)
    (place.level / "rules.py").write_text("from .sub.helper import rule\n", "utf-8")
    return "./rules.py:rule"


def helper_above(place: Place) -> str:
    canary(place.level.parent / "away" / "rules.py", place.mark)
    (place.level / "rules.py").write_text("from ..away.rules import rule\n", "utf-8")
    return "./rules.py:rule"


def module(place: Place) -> str:
    canary(place.away / "canary_of_test.py", place.mark)
    return "canary_of_test:rule"


def module_of_a_package(place: Place) -> str:
    canary(place.away / "pack_of_test" / "rules.py", place.mark)
    return "pack_of_test.rules:rule"


def package(place: Place) -> str:
    canary(place.away / "pack_of_test" / "__init__.py", place.mark)
    (place.away / "pack_of_test" / "rules.py").touch()
    return "pack_of_test.rules:rule"


STRANGE = [
    absolute,
    absolute_inside,
    above,
    above_in_the_middle,
    linked_file,
    linked_folder,
    linked_helper,
    linked_helpers_folder,
    linked_helpers_package,
    linked_helpers_bytecode,
    helper_above,
    module,
    module_of_a_package,
    package,
]


def own(place: Place) -> str:
    canary(place.level / "rules.py", place.mark)
    return "./rules.py:rule"


def own_below(place: Place) -> str:
    canary(place.level / "sub" / "rules.py", place.mark)
    return "sub/rules.py:rule"


def own_helper(place: Place) -> str:
    canary(place.level / "helper.py", place.mark)
    (place.level / "rules.py").write_text("from .helper import rule\n", "utf-8")
    return "./rules.py:rule"


def own_helper_below(place: Place) -> str:
    canary(place.level / "sub" / "helper.py", place.mark)
    (place.level / "rules.py").write_text("from .sub.helper import rule\n", "utf-8")
    return "./rules.py:rule"


OWN = [own, own_below, own_helper, own_helper_below]
