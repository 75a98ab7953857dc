"""Scenarios: what is played, as YAML files say it.

>>> scenario = Scenario.load("keydoor-9x9")
>>> scenario.max_steps, scenario.reward_names[:2]
(500, ('reach_exit', 'pickndrop'))
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.call import Call
from gv_engine.rules.ending import ending
from gv_engine.rules.errors import ScenarioError, SeveralAgentsError
from gv_engine.rules.frame import Canvas, Frame
from gv_engine.rules.geometry import Area, action_name
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.rules.system import RESET, SUCCESS, TERMINATING, VISIBILITY, Phase
from gv_engine.rules.turns import SINGLE_AGENT, TurnPolicy
from gv_engine.scenario.document import (
    Document,
    ScenarioIdentity,
    list_watched_files,
    read_file,
    read_mapping,
)
from gv_engine.scenario.grid_reader import read_document, shapes_of
from gv_engine.scenario.layout import Layout, rounded
from gv_engine.scenario.library import find_ref
from gv_engine.scenario.missions import Missions
from gv_engine.scenario.mixture import is_mixture, read_mixture
from gv_engine.scenario.plugin import KeyCommand, list_playable_scenarios
from gv_engine.scenario.row_check import checked_rows
from gv_engine.scenario.rule_modules import SourceFile
from gv_engine.scenario.trust import split_options
from gv_engine.scenario.type_ids import TypeIds

_INNER_ENV = "gv_engine.gridverse.envs.gridworld:GridWorld.from_scenario"
"""Place of what makes environments of objects, in a room above."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """A game: its level, its rules in their order, and what the agent sees and may do.

    Never changed; copies share everything, and pickles hold the text, so that rule files load
    again from their source.

    Attributes:
        name: by default the file's.
        description: for people, maybe several lines.
        view: how the window shows it at first; "" for as the player likes.
        max_steps: an episode is cut off after so many; None for no limit.
        always_truncates: whether the last step of these is truncated beside an end in it.
        objects: type indices of what may stand on the grid, in order.
        colors: indices of its colours, in order, NONE among them.
        observation_objects, observation_colors: the same for what is seen.
        actions: numbers of `gv_engine.rules.geometry.Action`, indexed by those of the
            environment.
        own_actions: those among them that are not built in: how players take them.
        area: what the agent looks at.
        layout: of every world that plays the scenario.
        source: the file; None if the scenario came as a mapping.
        reward_names: one for each reward function, unique.
        warnings: what was ignored, one located line each.
        code: the Python files of its own that it uses, as they were when they were loaded.
        schedule: see `calls`.
        document: what was read, to be read again in another process.
        changes: attributes that differ from the document.
        mission_texts: templates of what the agent is asked to do, in a mixture those of its
            members; () if it is asked nothing.
        mixture: the scenarios of which each reset draws one; mostly ().
        weights: one for each of these.
        sharing: what holds for its agents as a whole.
        numbering: of its object types.
    """

    domain: ClassVar[str] = "grid"

    name: str
    description: str
    view: str
    max_steps: int | None
    objects: tuple[int, ...]
    colors: tuple[int, ...]
    observation_objects: tuple[int, ...]
    observation_colors: tuple[int, ...]
    actions: tuple[int, ...]
    own_actions: tuple[KeyCommand, ...]
    area: Area
    layout: Layout
    source: Path | None
    reward_names: tuple[str, ...]
    warnings: tuple[str, ...]
    schedule: Mapping[Phase, tuple[Call, ...]] = field(repr=False)
    document: Document = field(repr=False)
    changes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    mission_texts: tuple[str, ...] = ()
    mixture: tuple[Scenario, ...] = ()
    weights: tuple[float, ...] = ()
    code: tuple[SourceFile, ...] = ()
    sharing: TurnPolicy = SINGLE_AGENT
    always_truncates: bool = False
    numbering: TypeIds = field(default_factory=TypeIds, repr=False)

    @classmethod
    def load(
        cls,
        source: str | Path | Mapping[str, Any],
        folder: str | Path | None = None,
        **options: Any,
    ) -> Scenario:
        """Load a scenario.

        Args:
            source: the name of a built-in scenario or its Gymnasium id; a YAML file, or a folder
                with a `scenario.yaml`; or what such a file holds, as a mapping.
            folder: where a mapping's rule files are; by default where Python was started.
            options: values of its parameters, by name: `size=9`; and what else than the Python of
                its folder may run, as docs/security.md has it: `trust=True`, that of scenarios
                elsewhere that it extends or mixes; `allow_modules=["name"]`, these modules;
                `code=False`, none at all.

        Raises:
            ScenarioError: all that is wrong with it, or there is no such scenario; a `TrustError`
                if it names Python that may not run, an `UnknownOptionError` for an option that it
                has no parameter for.

        Warns:
            UserWarning: something in it is ignored.
        """
        trust, settings = split_options(options)
        if isinstance(source, Mapping):
            return cls.read(read_mapping(source, Path(folder or "."), trust, settings))
        return cls.read(read_file(find_ref(source, list_playable_scenarios()), trust, settings))

    @classmethod
    def read(cls, document: Document) -> Scenario:
        """The scenario that a document describes.

        Raises:
            ScenarioError: all that is wrong with it.

        Warns:
            UserWarning: something in it is ignored.
        """
        scenario = _understood(document, {})
        for line in scenario.warnings:
            warnings.warn(line, UserWarning, stacklevel=3)
        return scenario

    def calls(self, phase: Phase) -> tuple[Call, ...]:
        """The systems of a phase with their arguments, in the scenario's order.

        A mixture has none of its own: ask its `members`.
        """
        return self.schedule.get(phase, ())

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of its actions, indexed by the numbers of the environment."""
        return tuple(map(action_name, self.actions))

    @property
    def visibility(self) -> Call:
        """Which cells of the area the agent sees."""
        return self.calls(VISIBILITY)[0]

    @property
    def success(self) -> Call | None:
        """The test for an end that is a success; None if the scenario has none.

        A mixture has none of its own: ask its `members`.
        """
        return next(iter(self.calls(SUCCESS)), None)

    @property
    def tells_success(self) -> bool:
        """Whether it says of every episode if it was a success, as all members of a mixture do."""
        return all(member.success is not None for member in self.members)

    @cached_property
    def missions(self) -> Missions | None:
        """What the agent is asked to do, in numbers and words; None if it is asked nothing."""
        if not self.mission_texts:
            return None
        return Missions(self.layout, [member.mission_texts for member in self.members])

    @property
    def largest_shape(self) -> tuple[int, int]:
        """(height, width) of the largest level that resets are told to make; that of the layout,
        which has steps, where it may be larger."""
        resets = tuple(call for member in self.members for call in member.calls(RESET))
        sizes = shapes_of(resets) or [(0, 0)]
        height, width = map(max, zip(*sizes, strict=True))
        room = self.layout.height, self.layout.width
        told = (rounded(height), rounded(width)) == room
        return (height, width) if told else room

    def mission(self, w: Any) -> str:
        """What the agent of a world is asked to do, in words; empty if it is nothing.

        Args:
            w: a `World` or a `RowWorld` of this scenario.
        """
        return "" if self.missions is None else self.missions.text(self.missions.numbers(w))

    @cached_property
    def _ends(self) -> tuple[tuple[Call, ...], ...]:
        """The terminating function and all nested in it, as `ended_by` counts them, from 1 on."""
        return tuple(path for call in self.calls(TERMINATING) for path in call.paths())

    def ending(self, w: Any, agent: int) -> str:
        """How the episode of a world has ended for an agent, for the player; empty while it goes
        on.

        Args:
            w: a `World` or a `RowWorld` of this scenario.
            agent: whose end it is.
        """
        if not (w.terminated or w.truncated):
            return ""
        member = self.members[w.member]
        by = member._ends[w.ended_by[agent] - 1] if w.ended_by[agent] else ()
        cut = bool(w.truncated and not w.terminated)
        return ending(member.success if w.success[agent] else None, cut, by)

    def canvas(
        self,
        w: Any,
        show: Callable[[Frame], None],
        observation: NDArray[np.uint8],
        terms: Sequence[float],
        message: str = "",
        agent: int = 1,
    ) -> Canvas:
        """What its rendering systems draw a world on.

        Args:
            w: a `World` or a `RowWorld` of this scenario.
            show, observation, message: see the attributes.
            terms: the reward of the last step, function by function as in `reward_names`.
            agent: whose view and figures it shows.
        """
        member = self.members[w.member]
        named = dict(zip(self.reward_names, terms, strict=True))
        told = member.max_steps, self.mission(w), self.ending(w, agent), message
        return Canvas(show, member.name, self.area, observation, named, *told, self.types, agent)

    @property
    def types(self) -> ObjectTypes:
        """Its object types, by name and by the index that grids and observations show."""
        return self.layout.known

    @property
    def members(self) -> tuple[Scenario, ...]:
        """The scenarios that a world may play: this one, or those of a mixture."""
        return self.mixture or (self,)

    @property
    def shares(self) -> tuple[float, ...]:
        """Where the part of each member in [0, 1) ends, for a draw from there."""
        weights = self.weights or (1.0,)
        # a power of two takes nothing from their digits, and keeps the sum finite
        _, exponent = math.frexp(max(weights))
        *inner, total = accumulate(math.ldexp(weight, -exponent) for weight in weights)
        return (*(end / total for end in inner), 1.0)

    def present(self, member: NDArray[Any] | int = 0) -> NDArray[np.bool_]:
        """(…, A) which agents are there in worlds that play these members of a mixture.

        Args:
            member: (…) numbers of members.
        """
        counts = np.array([len(each.sharing.names) for each in self.members])
        return np.arange(self.layout.agents) < counts[member, None]

    def of_one_agent(self, what: str) -> Scenario:
        """This scenario, for something that knows one agent.

        Args:
            what: such as "this environment".

        Raises:
            SeveralAgentsError: it has several.
        """
        if self.layout.agents > 1:
            raise SeveralAgentsError(
                f"{self.name} has {self.layout.agents} agents, and {what} one: "
                f"gv_engine.parallel_env and gv_engine.AgentsVectorEnv have several"
            )
        return self

    def check(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows that can be this scenario's worlds, with columns that follow from others
        computed anew.

        Args:
            rows: () or (n,), from anywhere.

        Raises:
            ValueError: they have another layout, hold what no world can, or play a member or have
                an end or a mission that there is not.
        """
        rows = checked_rows(self.layout, rows)
        played = np.atleast_1d(rows["member"])
        wrong = played[(played < 0) | (played >= len(self.members))]
        if len(wrong):
            raise ValueError(
                f"the snapshot plays member {wrong[0]} of a mixture, {self.name} has "
                f"{len(self.members)}; restore it into an environment of the same scenario"
            )
        if self.layout.fewer:
            counts, told = self.present(played).sum(axis=1), np.atleast_1d(rows["present"])
            strange = (told != counts) & (np.atleast_1d(rows["height"]) > 0)
            if strange.any():
                raise ValueError(
                    f"the snapshot is damaged: present is {told[strange][0]}, and its member of "
                    f"the mixture has {counts[strange][0]} agents"
                )
        ends = np.array([len(member._ends) for member in self.members])
        found = np.atleast_2d(rows["ended_by"])
        beyond = found[found > ends[played][:, None]]
        if len(beyond):
            raise ValueError(f"the snapshot is damaged: ended_by is {beyond[0]}")
        if self.missions and (fault := self.missions.find_fault(np.atleast_1d(rows))):
            raise ValueError(f"the snapshot is damaged: {fault}")
        return rows

    def inner_env(self) -> Any:
        """The environment of states and observations as objects; it knows no `max_steps`.

        Returns:
            a `gv_engine.gridverse.GridWorld`.

        Raises:
            RuleError: the scenario lists an esper.Processor, or is a mixture.
        """
        return resolve_name(_INNER_ENV)(self)

    @cached_property
    def identity(self) -> ScenarioIdentity:
        """Its identity, kept in replays; equal for equal content, wherever the files are."""
        members = [member.identity.digest for member in self.mixture]
        return ScenarioIdentity.from_document(
            "grid", self.name, self.document, self.changes, self.code, members
        )

    def watched(self) -> tuple[Path, ...]:
        """The files that it was made of, and all Python files that it might come to use."""
        own = list_watched_files(self.document, self.code)
        return tuple(sorted({*own, *(path for m in self.mixture for path in m.watched())}))

    def loaded_again(self) -> Scenario:
        """The same scenario as its files say it now.

        Raises:
            ScenarioError: all that is wrong with them.
        """
        with OBJECT_TYPES.all_or_nothing():  # those in play stay as they are
            return _understood(self.document.reload(), self.changes)

    def limited(self, max_steps: int) -> Scenario:
        """The same scenario, cut off after so many steps, or never for 0.

        Where it has a parameter `max_steps`, as rewards may count with it, that is set.

        Raises:
            ScenarioError: the parameter does not allow it.
        """
        if any(parameter.name == "max_steps" for parameter in self.document.parameters):
            return _understood(self.document.with_settings(max_steps=max_steps), self.changes)
        return self.with_(max_steps=max_steps or None)

    def with_(self, **changes: Any) -> Scenario:
        """The same scenario but for some attributes: `scenario.with_(max_steps=100)`.

        The members of a mixture change with it, but for `name` and `description`.
        """
        shared = {key: changes[key] for key in changes if key not in ("name", "description")}
        return dataclasses.replace(
            self,
            changes={**self.changes, **changes},
            mixture=tuple(member.with_(**shared) for member in self.mixture),
            **changes,
        )

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}>"

    def __copy__(self) -> Scenario:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Scenario:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _understood, (self.document, self.changes, self.mixture, self.numbering)


def _understood(
    document: Document,
    changes: Mapping[str, Any],
    members: tuple[Scenario, ...] = (),
    numbering: TypeIds | None = None,
) -> Scenario:
    if is_mixture(document):
        fields = read_mixture(document, members, _document_of, _member)
    else:
        numbering = numbering or TypeIds.assign([document])
        fields = {**read_document(document, numbering), "numbering": numbering}
    scenario = Scenario(document=document, **fields)
    return scenario.with_(**changes) if changes else scenario


def _member(document: Document, numbering: TypeIds) -> Scenario:
    return _understood(document, {}, (), numbering)


def _document_of(
    wanted: Document | str | Path, mixture: Document, settings: Mapping[str, Any]
) -> Document:
    """That of a member of a mixture."""
    if isinstance(wanted, Document):
        document, called = wanted, wanted.label
    else:
        level, called = find_ref(wanted, list_playable_scenarios()), str(wanted)
        trust = mixture.trust.for_member(level.file, mixture.folder, mixture.label)
        document = read_file(level, trust, settings)
    if document.domain != Scenario.domain:
        unmixed = f"of the domain {document.domain}, which cannot be mixed"
        raise ScenarioError([f"{called} is {unmixed}; members of mixtures are grids"])
    if is_mixture(document):
        raise ScenarioError([f"{document.label} is a mixture itself; list its members instead"])
    return document
