"""Domains of worlds, and what each of them hands out.

A scenario file's key `domain` says which one it belongs to: `grid` where it is missing. A domain is
a module with the functions of `DomainPlugin`, imported when one of its scenarios is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.optional_deps import Extra
from gv_engine.scenario.resources import HOME

if TYPE_CHECKING:
    import gymnasium

    from gv_engine.rules.call import Call
    from gv_engine.rules.system import Phase, System
    from gv_engine.rules.turns import TurnPolicy
    from gv_engine.scenario.document import Document, ScenarioIdentity


class AnyScenario(Protocol):
    """What the scenarios of all domains have in common."""

    @property
    def domain(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def reward_names(self) -> tuple[str, ...]: ...
    @property
    def own_actions(self) -> tuple[KeyCommand, ...]: ...
    @property
    def sharing(self) -> TurnPolicy: ...
    @property
    def tells_success(self) -> bool: ...
    @property
    def document(self) -> Document: ...
    @property
    def changes(self) -> Mapping[str, Any]: ...
    @property
    def identity(self) -> ScenarioIdentity: ...
    def with_(self, **changes: Any) -> AnyScenario: ...


Systems = list[tuple[str, list[tuple[str, str, str]]]]
"""Titles, and for each (phase, system, where) in order."""


class DomainPlugin(Protocol):
    """The functions of a domain's module."""

    def read(self, document: Document) -> AnyScenario:
        """The scenario of a document.

        Raises:
            ScenarioError: all that is wrong with it.
        """

    def make_env(self, scenario: Any, **options: Any) -> gymnasium.Env[Any, Any]:
        """Its Gymnasium environment."""

    def make_vector_env(
        self, scenario: Any, num_envs: int, workers: int = 1, **options: Any
    ) -> Any:
        """Its Gymnasium vector environment, whose worlds several workers share."""

    def make_worlds(self, scenario: Any, num_envs: int, workers: int = 1, **options: Any) -> Any:
        """The same for rollouts, also of several agents, with an axis of them."""

    def size(self, scenario: Any) -> str:
        """Size of its first level, for people."""

    def schedules(self, scenario: Any) -> Schedules:
        """The name of the scenario, or of each that it mixes, and its calls by phase, in order."""

    def systems(self, scenario: Any) -> Systems:
        """(name, (phase, system, where) in order) of the scenario, or of each that it mixes."""

    def examine(
        self,
        scenario: Any,
        episodes: int,
        seed: int,
        limit: float,
        quick: bool = False,
        policy: str = "",
    ) -> CheckReport:
        """Play episodes, and look for what is wrong.

        Args:
            scenario: what is played.
            episodes, seed: how many, and the seed of the first.
            limit: seconds for a compiled step, which nobody can stop; then the process ends.
            quick: whether to leave out what takes long: to compile, and to search for ways to win.
            policy: what plays, in place of chance, see `gv_engine.rollout.policy`.

        Raises:
            PolicyError: there is no such policy, or policies do not play here.
        """

    def adviser(self, scenario: Any) -> Any:
        """What finds ways to win its games, a `gv_engine.session.autoplay.HintProvider`."""

    def compile(self, scenario: Any) -> str:
        """Compile its programs into the cache, if it has any; what came of it, in a few words.

        Raises:
            DoesNotCompileError: a rule of it cannot be compiled.
        """

    def frames(self, scenario: Any, policy: str, seed: int, steps: int) -> Iterator[Any]:
        """The frames of an episode: at its beginning, and after each step.

        Args:
            scenario: its episode is number 0 of `gv_engine.rollout.rollout` with this seed.
            policy: the name of what acts, see `gv_engine.rollout.policy`.
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
class CheckReport:
    """The findings that `gv-engine check` prints.

    Attributes:
        facts: (what, value) of what was looked at.
        faults: what is wrong, a line each.
    """

    facts: list[tuple[str, object]]
    faults: list[str]


def listed(schedule: Mapping[Phase, Iterable[Call]]) -> list[tuple[str, str, str]]:
    """(phase, system, where) of all systems of a schedule; one within another is indented."""
    return [
        (phase.name, "  " * (len(path) - 1) + path[-1].name, place(path[-1].system))
        for phase, calls in schedule.items()
        for call in calls
        for path in call.paths()
    ]


def place(system: System) -> str:
    """File and line of a system, see `from_here`."""
    return from_here(*system.place)


def from_here(name: str, line: int) -> str:
    """File and line; the file relative to where Python was started, or to the engine's home, if it
    lies below one of them."""
    file = Path(name)
    homes = [home for home in (Path.cwd(), HOME) if file.is_relative_to(home)]
    return f"{file.relative_to(homes[0]) if homes else file}:{line}"


class KeyCommand(NamedTuple):
    """Something that a key can do."""

    name: str
    says: str
    """What it does, in a few words for the help."""
    keys: tuple[str, ...]
    """The usual ones, the one to tell people first."""
    repeats: bool = False
    """Whether it happens on and on while the key is held."""


Schedules = list[tuple[str, "Mapping[Phase, Iterable[Call]]"]]
"""Names, and the calls of each phase in order."""

LevelsByName = Mapping[str, ScenarioRef]
"""By name: where each built-in scenario is."""


@dataclass(frozen=True)
class Domain:
    """One domain: all that can be told of it before anything of it is imported.

    Whatever is imported when it is needed is named by its place, `module:name`.

    Attributes:
        name: as scenario files write it.
        title: as people call it; its group of keys has this name too.
        hooks_module: with the functions of `DomainPlugin`.
        env, vector_env: places of its Gymnasium environments.
        built_in: finds its scenarios that come with the engine, by the names that they have; none
            is read for it.
        format: place of the `gv_engine.scenario.json_schema.Format` of its scenario files.
        episode: place of what makes a `gv_engine.session.episode.Episode` of one of its scenarios.
        stage: place of the `gv_engine.ui.drawing.stage.Stage` of its games.
        sketch: place of the `gv_engine.ui.drawing.stage.MapDrawing` of its
            levels; "" if they are not drawn, and so not edited.
        text: place of what writes a frame of its games as a str.
        terminal: place of the `gv_engine.ui.terminal.picture.TerminalPicture` of its games.
        views: places of the `Drawing` of each of its views, see
            `gv_engine.ui.drawing.recording`; the usual view first, whatever it is called.
        keys: what players can do in its games.
        panels: groups of keys that its games have besides.
        rules: the module with rules for its worlds alone; "" for grids, which have all others.
        extra: what it needs besides the package itself.
        of_several: finds those of its scenarios that have several agents, and so no Gymnasium ids.
    """

    name: str
    title: str
    hooks_module: str
    env: str
    vector_env: str
    built_in: Callable[[], LevelsByName]
    format: str
    episode: str
    stage: str
    text: str
    terminal: str
    views: Mapping[str, str]
    keys: tuple[KeyCommand, ...]
    panels: tuple[str, ...] = ()
    sketch: str = ""
    rules: str = ""
    extra: Extra | None = None
    of_several: Callable[[], LevelsByName] = dict

    @property
    def playable(self) -> LevelsByName:
        """All its scenarios that come with the engine."""
        return {**self.built_in(), **self.of_several()}

    @property
    def missing(self) -> str:
        """The way to install the library that it lacks; empty if it lacks none."""
        return self.extra.missing if self.extra else ""

    @property
    def hooks(self) -> DomainPlugin:
        """Its functions.

        Raises:
            MissingExtraError: a library is missing; the message says how to get it.
        """
        return cast(DomainPlugin, importlib.import_module(self.hooks_module))


_HOMES = ("gv_engine.domains.grid", "gv_engine.domains.algebra")
"""Every domain's folder, whose module `about` holds its `DOMAIN`."""

DOMAINS: dict[str, Domain] = {
    domain.name: domain for domain in (resolve_name(f"{home}.plugin:DOMAIN") for home in _HOMES)
}
"""All domains, by name."""


def hooks_of(scenario: AnyScenario) -> DomainPlugin:
    """The functions of a scenario's domain."""
    return DOMAINS[scenario.domain].hooks


def built_in_levels() -> LevelsByName:
    """Where each built-in scenario of any domain stands; none is read for it."""
    return {name: at for domain in DOMAINS.values() for name, at in domain.built_in().items()}


def playable_levels() -> LevelsByName:
    """The same, those of several agents too."""
    return {name: at for domain in DOMAINS.values() for name, at in domain.playable.items()}


def built_in_names() -> list[str]:
    """Their names."""
    return list(built_in_levels())
