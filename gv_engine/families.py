"""Families of worlds, and scenarios of all of them.

A scenario file's key `family` says which one it belongs to: `grid` where it is missing. A family is
a module with the functions of `Hooks`, imported when one of its scenarios is asked for.

>>> load_scenario("keydoor-9x9").name
'keydoor-9x9'
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

from gv_engine.errors import ScenarioError
from gv_engine.extras import MATH, Extra
from gv_engine.files import exists
from gv_engine.reading.file import Document, read_file, read_mapping
from gv_engine.reading.trust import Consent, Trust
from gv_engine.reading.values import Node, instead, located
from gv_engine.resources import SCENARIOS
from gv_engine.scenario import built_in, find, gym_id
from gv_engine.system import Call, Phase, System

if TYPE_CHECKING:
    import gymnasium

_HOME = Path(__file__).parent.parent


class AnyScenario(Protocol):
    """What the scenarios of all families have in common."""

    @property
    def family(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def reward_names(self) -> tuple[str, ...]: ...
    @property
    def tells_success(self) -> bool: ...


Systems = list[tuple[str, list[tuple[str, str, str]]]]
"""Titles, and for each (phase, system, where) in order."""


class Hooks(Protocol):
    """What a family's module offers."""

    def read(self, document: Document, changes: Mapping[str, Any]) -> AnyScenario:
        """The scenario of a document, with some of its keys replaced.

        Raises:
            ScenarioError: all that is wrong with it.
        """

    def make_env(self, scenario: Any, **options: Any) -> gymnasium.Env[Any, Any]:
        """Its Gymnasium environment."""

    def make_vector_env(
        self, scenario: Any, num_envs: int, workers: int = 1, **options: Any
    ) -> Any:
        """Its Gymnasium vector environment, whose worlds several workers share."""

    def identity(self, scenario: Any) -> dict[str, Any]:
        """What finds the scenario again, as plain values."""

    def size(self, scenario: Any) -> str:
        """How large its first level is, for people."""

    def systems(self, scenario: Any) -> Systems:
        """(name, (phase, system, where) in order) of the scenario, or of each that it mixes."""

    def examine(self, scenario: Any, episodes: int, seed: int, limit: float) -> Examination:
        """Play random episodes, and look for what is wrong.

        Args:
            scenario: what is played.
            episodes, seed: how many, and the seed of the first.
            limit: seconds for a compiled step, which nobody can stop; then the process ends.
        """

    def frames(self, scenario: Any, policy: str, seed: int, steps: int) -> Iterator[Any]:
        """What is to be seen at the beginning of an episode and after each of its steps.

        Args:
            scenario: its episode is number 0 of `gv_engine.rollout` with this seed.
            policy: the name of what acts, see `gv_engine.policy`.
            seed: of the world, and of what the policy draws.
            steps: at most so many; the episode may end before.

        Raises:
            PolicyError: there is no such policy.
        """

    def limited(self, scenario: Any, max_steps: int | None) -> Any:
        """The scenario with another limit of steps, its own if None.

        Raises:
            ValueError: its episodes may go on for ever.
        """


@dataclass(frozen=True)
class Examination:
    """What `gv-engine check` prints.

    Attributes:
        facts: (what, value) of what was looked at.
        faults: what is wrong, a line each.
    """

    facts: list[tuple[str, object]]
    faults: list[str]


def listed(schedule: Mapping[Phase, Iterable[Call]]) -> list[tuple[str, str, str]]:
    """(phase, system, where) of all systems of a schedule."""
    return [
        (phase.name, call.name, place(call.system))
        for phase, calls in schedule.items()
        for call in calls
    ]


def place(system: System) -> str:
    """File and line of a system, see `from_here`."""
    return from_here(*system.place)


def from_here(name: str, line: int) -> str:
    """File and line; the file relative to where Python was started, or to the engine's home, if it
    lies below one of them."""
    file = Path(name)
    homes = [home for home in (Path.cwd(), _HOME) if file.is_relative_to(home)]
    return f"{file.relative_to(homes[0]) if homes else file}:{line}"


BuiltIn = Mapping[str, tuple[Path, Mapping[str, str]]]
"""By name: the file of each built-in scenario, and the keys that are replaced in it."""


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        name: as scenario files write it.
        module: with the functions of `Hooks`.
        env, vector_env: entry points of its Gymnasium ids.
        built_in: finds its scenarios that come with the engine; none is read for it.
        extra: what it needs besides the package itself.
    """

    name: str
    module: str
    env: str
    vector_env: str
    built_in: Callable[[], BuiltIn]
    extra: Extra | None = None

    @property
    def missing(self) -> str:
        """How to get what it needs and is not installed; empty if nothing is missing."""
        return self.extra.missing if self.extra else ""

    @property
    def hooks(self) -> Hooks:
        """Its functions.

        Raises:
            MissingExtraError: a library is missing; the message says how to get it.
        """
        return cast(Hooks, importlib.import_module(self.module))


def _grids() -> BuiltIn:
    return {name: (path, {}) for name, path in sorted(built_in().items())}


def _mathy() -> BuiltIn:
    return {
        f"mathy-{path.stem}-{difficulty}": (path, {"difficulty": difficulty})
        for path in sorted((SCENARIOS / "mathy").glob("*.yaml"))
        for difficulty in ("easy", "normal", "hard")
    }


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "grid",
            "gv_engine.grid_family",
            "gv_engine.environment:GridEnv",
            "gv_engine.vector_environment:GridVectorEnv",
            _grids,
        ),
        Family(
            "mathy",
            "gv_engine.mathy.family",
            "gv_engine.mathy.gym_env:ExpressionEnv",
            "gv_engine.mathy.vector_env:ExpressionVectorEnv",
            _mathy,
            MATH,
        ),
    )
}
"""All families, by name."""


def load_scenario(
    source: str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    **consent: Unpack[Consent],
) -> AnyScenario:
    """Load a scenario of any family.

    Args:
        source: the name of a built-in scenario, or its beginning, which stands for the
            shortest; a Gymnasium id; a YAML file, or a folder with a `scenario.yaml`; or what
            such a file holds, as a mapping.
        folder: where a mapping's rule files are; by default where Python was started.
        consent: which Python may run, see `Scenario.load`.

    Raises:
        ScenarioError: all that is wrong with it, or there is no such scenario.
        MissingExtraError: its family needs a library that is not installed.
    """
    return read_scenario(source, Trust.given(**consent), folder)


def read_scenario(
    source: str | Path | Mapping[str, Any], trust: Trust, folder: str | Path | None = None
) -> AnyScenario:
    """Load a scenario, as `load_scenario` does, that may run so much Python."""
    changes: Mapping[str, str] = {}
    if isinstance(source, Mapping):
        document = read_mapping(source, Path(folder or "."), trust)
    else:
        path, changes = _found(source)
        document = read_file(path, trust)
    return family_of(document).hooks.read(document, changes)


def _found(source: str | Path) -> tuple[Path, Mapping[str, str]]:
    known = {
        name: found for family in FAMILIES.values() for name, found in family.built_in().items()
    }
    for name, found in known.items():
        if source in (name, gym_id(name)):
            return found
    if not exists(Path(source)):
        longer = [name for name in known if name.startswith(f"{source}-")]
        if longer:
            return known[min(longer, key=len)]
    return find(source, known), {}


def family_of(document: Document) -> Family:
    """The family that a document says it belongs to.

    Raises:
        ScenarioError: there is none of that name.
    """
    name = document.family
    if name not in FAMILIES:
        node = cast("dict[str, Node]", document.root.value)["family"]
        message = f"no family {name!r}{instead(name, FAMILIES)}"
        raise ScenarioError([located(document.label, node, message)])
    return FAMILIES[name]


def scenario_of(source: Any, **consent: Unpack[Consent]) -> AnyScenario:
    """A scenario as it is, or loaded from what `load_scenario` takes."""
    if isinstance(source, str | Path | Mapping):
        return load_scenario(source, **consent)
    scenario: AnyScenario = source
    return scenario


def hooks_of(scenario: AnyScenario) -> Hooks:
    """What the family of a scenario offers."""
    return FAMILIES[scenario.family].hooks


def names() -> list[str]:
    """Names of the built-in scenarios of all families; none is read for it."""
    return [name for family in FAMILIES.values() for name in family.built_in()]
