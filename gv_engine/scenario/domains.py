"""Domains and their plugin interface, and their optional dependencies.

The key `domain` of a scenario file names its domain, `grid` if left out. The plugin of a domain is
a module with the functions of `DomainPlugin`, imported when one of its scenarios is loaded.
"""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from gv_engine import late_imports
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.storage.resources import HOME

if TYPE_CHECKING:
    import gymnasium

    from gv_engine.rules.system import Call, Phase
    from gv_engine.rules.turns import AgentGroup
    from gv_engine.scenario.documents.document import Document, ScenarioIdentity


def format_command(words: Sequence[str]) -> str:
    """Return a command line, quoted for the system's shell."""
    return (subprocess.list2cmdline if sys.platform == "win32" else shlex.join)(words)


class Extra(NamedTuple):
    """A library that an extra of this package installs.

    Attributes:
        user: the feature that needs the library, for messages.
        library: name of the library's module.
        name: name of the extra.
    """

    user: str
    library: str
    name: str

    @property
    def missing_message(self) -> str:
        """Instructions to install the library; empty if it is installed."""
        return "" if find_spec(self.library) else self.install_message

    @property
    def install_message(self) -> str:
        """Text of one line that tells how to install the missing library into this Python."""
        command = [sys.executable, "-m", "pip", "install", *self._list_requirements()]
        return (
            f"{self.user} needs the extra {self.name}: {self.library} is not installed; "
            f"install it with: {format_command(command)}"
        )

    def require(self) -> None:
        """Raise MissingExtraError, with instructions, unless the library is installed."""
        if self.missing_message:
            raise MissingExtraError(self.missing_message)

    def _list_requirements(self) -> list[str]:
        """Return the requirements of this extra in pip's syntax, from the package metadata. Without
        metadata, return only the library's name."""
        pattern = re.compile(rf";\s*extra\s*==\s*['\"]{self.name}['\"]$")
        try:
            requirements = requires("gv-engine") or []
        except PackageNotFoundError:  # not installed
            requirements = []
        extra = [pattern.sub("", line) for line in requirements if pattern.search(line)]
        return extra or [self.library]


RAY = Extra("Work on a cluster", "ray", "ray")


class AnyScenario(Protocol):
    """Interface that the scenarios of all domains share."""

    @property
    def domain(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def beat(self) -> int: ...
    @property
    def description(self) -> str: ...
    @property
    def reward_names(self) -> tuple[str, ...]: ...
    @property
    def own_actions(self) -> tuple[KeyCommand, ...]: ...
    @property
    def agent_group(self) -> AgentGroup: ...
    @property
    def view(self) -> str: ...
    @property
    def mission_texts(self) -> tuple[str, ...]: ...
    @property
    def tells_success(self) -> bool: ...
    @property
    def document(self) -> Document: ...
    @property
    def changes(self) -> Mapping[str, Any]: ...
    @property
    def identity(self) -> ScenarioIdentity: ...
    def with_(self, **changes: Any) -> AnyScenario: ...


class DomainPlugin(Protocol):
    """Interface of a domain's plugin module."""

    def read_scenario(self, document: Document) -> AnyScenario:
        """Return the scenario that `document`, a parsed scenario file, describes.

        Raises:
            ScenarioError: the document has errors; the message lists all of them.
        """

    def make_env(self, scenario: Any, **options: Any) -> gymnasium.Env[Any, Any]:
        """Return the Gymnasium environment of a scenario."""

    def make_vector_env(
        self, scenario: Any, num_envs: int, workers: int = 1, **options: Any
    ) -> Any:
        """Return a Gymnasium vector environment with `num_envs` worlds of the scenario, which
        `workers` processes or threads share."""

    def make_rollout_env(
        self, scenario: Any, num_envs: int, workers: int = 1, **options: Any
    ) -> Any:
        """Return a vector environment for recording episodes in `num_envs` worlds, shared by
        `workers`; for several agents, arrays have an axis of agents."""

    def describe_size(self, scenario: Any) -> str:
        """Return the size of the scenario's first level as a text."""

    def list_schedules(self, scenario: Any) -> Schedules:
        """Return the scenario's name, or the name of each member of a mixture, with its calls by
        phase."""

    def check_scenario(self, scenario: Any, plan: CheckPlan) -> CheckReport:
        """Play episodes of a scenario to test it as `plan` says, and return a report of the faults
        that were found.

        Raises:
            PolicyError: there is no such policy, or the domain supports none.
        """

    def make_hint_provider(self, scenario: Any, agent: int = 0) -> Any:
        """Return a `gv_engine.play.session.autoplay.HintProvider`, which finds winning actions of a
        scenario; with `agent`, from 1, those of this agent while all others do nothing."""

    def make_policy_mapper(self, scenario: Any, policy: Any, agent: int = 1) -> Any:
        """Return an object whose `map_row(row, visits)` computes the `PolicyMap` of a policy in the
        state `row`, see `gv_engine.play.grid.policy_map.PolicyMapper`; None if the domain or the
        scenario has no cells for an agent.

        Raises:
            PolicyError: there is no such policy.
        """

    def compile_scenario(self, scenario: Any) -> str:
        """Compile the scenario's rules and return a short message: "compiled", or "nothing to
        compile" for a domain without compiled rules.

        Raises:
            DoesNotCompileError: a rule cannot be compiled.
        """

    def with_step_limit(self, scenario: Any, max_steps: int | None) -> Any:
        """Return a copy of the scenario whose episodes end after `max_steps` steps; None keeps the
        scenario's own limit.

        Raises:
            ValueError: the scenario has no limit, so that episodes may never end.
        """


class CheckPlan(NamedTuple):
    """Extent of the test of a scenario.

    Attributes:
        episodes: number of episodes.
        seed: seed of the first episode.
        limit: seconds after which a compiled step, which cannot be interrupted, ends the process.
        quick: True to skip the slow checks: the compilation, and the search for winning actions.
        policy: name of the policy that plays, see `gv_engine.envs.rollout.policy`; random actions
            if "".
    """

    episodes: int
    seed: int
    limit: float
    quick: bool = False
    policy: str = ""


class CheckReport(NamedTuple):
    """Findings that `gv-engine check` prints.

    Attributes:
        facts: (name, value) pairs about the scenario and the checks.
        faults: errors, one line each.
    """

    facts: list[tuple[str, object]]
    faults: list[str]


def list_schedule_systems(schedule: Mapping[Phase, Iterable[Call]]) -> list[tuple[str, str, str]]:
    """Return (phase, name, source location) of each system of a scenario. `schedule` has the
    systems by phase. Names of systems nested in others are indented."""
    return [
        (phase.name, "  " * (len(path) - 1) + path[-1].name, format_place(*path[-1].system.place))
        for phase, calls in schedule.items()
        for call in calls
        for path in call.iter_call_paths()
    ]


def format_place(name: str, line: int) -> str:
    """Return `name:line` for the file `name`, with its path relative to the current folder or the
    engine's folder if the file is in one of them."""
    file = Path(name)
    folders = [folder for folder in (Path.cwd(), HOME) if file.is_relative_to(folder)]
    return f"{file.relative_to(folders[0]) if folders else file}:{line}"


class KeyCommand(NamedTuple):
    """Command of a game that keys can be bound to.

    Attributes:
        description: a few words for the help.
        keys: the default keys; the help shows the first.
        repeats: True if the command repeats while the key is held.
        icon: name of a sprite that stands for the command; "" for none.
        cost: names of observed or displayed numbers, and how much of each an action needs.
        needs: what else an action needs, in words.
    """

    name: str
    description: str
    keys: tuple[str, ...]
    repeats: bool = False
    icon: str = ""
    cost: tuple[tuple[str, int], ...] = ()
    needs: str = ""

    def find_missing(self, amounts: Mapping[str, tuple[str, float]]) -> str:
        """Return the labels of the numbers that are less than its cost, such as `wood, stone`; ""
        if none is. `amounts` are labels and values of numbers by name."""
        return ", ".join(amounts[name][0] for name, cost in self.cost if amounts[name][1] < cost)


def read_commands(file: Path) -> dict[str, tuple[KeyCommand, ...]]:
    """Read the key commands in a TOML file such as `gv_engine/play/ui/input/commands.toml`. Return
    them by group."""
    import tomllib  # imported here: environments have no keys

    return {
        group: tuple(
            KeyCommand(name, each["description"], tuple(each["keys"]), each.get("repeats", False))
            for name, each in commands.items()
        )
        for group, commands in tomllib.loads(file.read_text("utf-8")).items()
    }


Schedules = list[tuple[str, "Mapping[Phase, Iterable[Call]]"]]
"""(scenario name, calls of each phase in order)."""

ScenariosByName = Mapping[str, ScenarioRef]
"""File and variant of scenarios, by name."""


@dataclass(frozen=True)
class Domain:
    """A domain and its settings, available before its modules are imported.

    Modules and classes that are imported on demand are named as `module:name`.

    Attributes:
        name: the name in scenario files.
        title: the name for people, also of its group of keys.
        plugin_module: the module with the functions of `DomainPlugin`.
        env, vector_env: its Gymnasium environments.
        built_in: function that returns its built-in scenarios by name, without reading them.
        format: the `gv_engine.scenario.syntax.json_schema.ScenarioFormat` of its scenario files.
        episode: factory of a `gv_engine.play.session.episode.Episode` of a scenario.
        stage: the `gv_engine.play.ui.drawing.stage.Stage` of its games.
        sketch: the `gv_engine.play.ui.drawing.stage.MapDrawing` of its levels; "" if levels cannot
            be edited.
        text: function that returns a frame of its games as a str.
        observation_text: function that returns what the agent observes in a frame as a str, given
            the frame and a style of `gv_engine.scenario.missions.sentences`; "" if agents see
            everything.
        terminal: the `gv_engine.play.ui.terminal.tty.TerminalPicture` of its games.
        views: the `RendererFactory` of each view by name, the default view first; see
            `gv_engine.play.ui.drawing.recording`.
        commands_file: the `commands.toml` with the commands of its players, in a group that is
            called like `title`.
        panels: further groups of keys of its games.
        rules: module with rules for this domain only; "" for grids, which have all others.
        extra: the optional dependency that the domain needs.
        multi_agent: function that returns its built-in scenarios of several agents, which have no
            Gymnasium ids.
    """

    name: str
    title: str
    plugin_module: str
    env: str
    vector_env: str
    built_in: Callable[[], ScenariosByName]
    format: str
    episode: str
    stage: str
    text: str
    terminal: str
    views: Mapping[str, str]
    commands_file: Path
    panels: tuple[str, ...] = ()
    sketch: str = ""
    rules: str = ""
    observation_text: str = ""
    extra: Extra | None = None
    multi_agent: Callable[[], ScenariosByName] = dict

    @cached_property
    def keys(self) -> tuple[KeyCommand, ...]:
        """Commands of the players with their default keys."""
        return read_commands(self.commands_file)[self.title]

    @property
    def playable(self) -> ScenariosByName:
        """All built-in scenarios, those of several agents included."""
        return {**self.built_in(), **self.multi_agent()}

    @property
    def missing_message(self) -> str:
        """Instructions to install the missing library; empty if no library is missing."""
        return self.extra.missing_message if self.extra else ""

    @property
    def plugin(self) -> DomainPlugin:
        """Module with the functions of this domain (`DomainPlugin`), imported on first use.

        Raises:
            MissingExtraError: a library is missing; the message says how to install it.
        """
        return cast(DomainPlugin, importlib.import_module(self.plugin_module))


_PLUGIN_DOMAINS = [name for plugin in late_imports.find_plugins() for name in plugin.domains]
DOMAINS: dict[str, Domain] = {
    domain.name: domain
    for domain in map(resolve_name, [late_imports.GRID_DOMAIN, *_PLUGIN_DOMAINS])
}
"""All domains, by name."""


def get_plugin(scenario: AnyScenario) -> DomainPlugin:
    """Return the plugin module of a scenario's domain."""
    return DOMAINS[scenario.domain].plugin


@cache
def list_playable_scenarios() -> ScenariosByName:
    """Return the built-in scenarios of all domains by name, those of several agents included."""
    return {name: ref for domain in DOMAINS.values() for name, ref in domain.playable.items()}


def list_built_in_names() -> list[str]:
    """Return the names of the built-in scenarios of all domains."""
    return [name for domain in DOMAINS.values() for name in domain.built_in()]
