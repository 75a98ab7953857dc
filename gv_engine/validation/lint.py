"""What is most likely a slip in a scenario that is sound otherwise: a rule that never acts, say.

docs/checking.md has them as a table. Where a rule of an author's own may do anything, nothing is
concluded from what the engine's rules do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from components.objects import WALL
from gv_engine.compiler.programs import functions_of, strings
from gv_engine.rules.call import Call, is_nested
from gv_engine.rules.component import column_name
from gv_engine.rules.errors import FaultPlace
from gv_engine.rules.geometry import ACTIONS, DROP, PICK_UP, TOGGLE, Action
from gv_engine.rules.modules import is_engine_module
from gv_engine.rules.objects import COLORS, ObjectTypes
from gv_engine.rules.system import (
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    Phase,
    marked,
    source_place,
)
from gv_engine.scenario.fields import YamlNode, located, mapping, suggestion
from gv_engine.scenario.map import LEGEND
from gv_engine.scenario.plugin import from_here
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.sprite_paths import find_missing_sprites
from gv_engine.validation.invariants import (
    always,
    level_of_seed,
    misleading,
    open_to_agents,
    where_are,
)
from gv_engine.world.simulation import Simulation
from gv_engine.world.world import ObjectWorld
from systems.movers import let_pass
from systems.queries import is_asked_for
from systems.transition import follow, hold_down, move_agent, push, slide, switch

# ---- answers -------------------------------------------------------------------------------------


def unanswered(scenario: Scenario) -> list[str]:
    """A sentence for each action that asks for a rule, and that none of the rules names."""
    calls = list(_calls(scenario))
    if any(call.system.is_processor for call in calls):  # whose code is anywhere
        return []
    named = {name for call in calls for name in _names(call)}
    return [
        f"nothing acts on {action.name}; give a rule {{name: …, on_action: {action.name}}}, or "
        f"take it out of the action_space"
        for action in map(Action, scenario.actions)
        if (action.is_own or action in (PICK_UP, DROP, TOGGLE)) and action.name not in named
    ]


def undeclared(scenario: Scenario) -> list[str]:
    """A sentence for each function that names an action which the scenario has not declared."""
    own = [command.name for command in scenario.own_actions]
    said = {
        f"{from_here(*source_place(function))}: {function.__name__} asks for {action.name}, which "
        f"no action_space declares{suggestion(action.name, own, 'declared')}"
        for call in _calls(scenario)
        for function, uses in _functions(call).items()
        for _, value in uses
        for action in _actions(value)
        if action.is_own and action.name not in own
    }
    return sorted(said)


def _calls(scenario: Scenario) -> Iterator[Call]:
    """All calls of a scenario, also those within others."""
    for member in scenario.members:
        for phase in Phase:
            for call in member.calls(phase):
                yield from call.parts()


def _functions(call: Call) -> Mapping[FunctionType, list[tuple[str, Any]]]:
    """The functions that a call leads to, with the names that they use."""
    system = call.system
    return functions_of([*system.functions, system.objects, *call.arguments.values()])


def _actions(value: Any) -> Iterator[Action]:
    for part in value if isinstance(value, tuple | list) else (value,):
        if isinstance(part, Action):
            yield part


def _names(call: Call) -> Iterator[str]:
    """The names in a call, and in the functions that it leads to."""
    found = _functions(call)
    values = [*call.arguments.values(), *(value for uses in found.values() for _, value in uses)]
    yield from (action.name for value in values for action in _actions(value))
    yield from strings(found)
    for function in found:
        yield from function.__code__.co_names


# ---- findings ------------------------------------------------------------------------------------

_LEVELS = 20
_STEPS = 100
_OFTEN = 10
"""So many times a condition is true for other actions, before that tells anything."""
_LISTS = {
    TRANSITION: "transition_functions",
    REWARD: "reward_functions",
    TERMINATING: "terminating_function",
    SUCCESS: "success_function",
}
_COMMON = {"agent", "position", "kind", "color", "condition", "solid", "opaque", "portable"}
"""Columns of components that tell no rule from others."""
_MOVE = marked(move_agent).system
_MAKE_WAY = [marked(rule).system for rule in (push, let_pass)]
"""Rules that change what blocks the move of the same step."""
_GO_BY_MOVE = [marked(rule).system for rule in (slide, hold_down)]
_FOLLOW = marked(follow).system
_SET_STATES = [marked(rule).system for rule in (switch, hold_down)]


class Finding(NamedTuple):
    """Something that is most likely a slip.

    Attributes:
        name: of what kind, see docs/checking.md.
        says: where, what was found, and the likely fix.
    """

    name: str
    says: str


def findings(scenario: Scenario) -> list[Finding]:
    """What is found in a scenario, or in each that it mixes."""
    return [finding for finding, _ in placed_findings(scenario)]


def placed_findings(scenario: Scenario) -> list[tuple[Finding, FaultPlace]]:
    """The same, each with its place, as far as it has one."""
    found = [each for member in scenario.members for each in _Examiner(member).findings()]
    said = [("action", says) for says in (*unanswered(scenario), *undeclared(scenario))]
    said += [("mask", says) for says in misleading(scenario)]
    return [*found, *((Finding(name, says), FaultPlace()) for name, says in said)]


def rule_place(scenario: Scenario, says: str) -> FaultPlace:
    """Where the rule stands that a message names; nowhere if it names none."""
    for phase, key in _LISTS.items():
        for number, call in enumerate(scenario.calls(phase)):
            if any(re.search(rf"\b{part.name}\b", says) for part in call.parts()):
                node = mapping(scenario.document.root).get(key)
                listed = node is not None and isinstance(node.value, list)
                return FaultPlace(f"{key}[{number}]" if listed else key)
    return FaultPlace()


class _Slip(NamedTuple):
    """What a look has found.

    Attributes:
        node: where it stands in the text.
        says: what it is, and the likely fix.
        cells: y, x on the map that it is about.
    """

    node: YamlNode
    says: str
    cells: Sequence[tuple[int, int]] = ()


class _Examiner:
    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._top = mapping(scenario.document.root)
        self._levels = [level_of_seed(scenario, seed) for seed in range(_LEVELS)]
        calls = (call for phase in (RESET, TRANSITION) for call in scenario.calls(phase))
        parts = (part.system for call in calls for part in call.parts())
        # of an author's own rules nobody knows what they make
        self._known = all(
            is_engine_module(system.function.__module__) and not system.objects for system in parts
        )

    def findings(self) -> Iterator[tuple[Finding, FaultPlace]]:
        label = self._scenario.document.label
        for name, look in _LOOKS.items():
            for node, says, cells in look(self):
                place = node.place._replace(cells=(*node.place.cells, *cells))
                yield Finding(name, located(label, node, says)), place
        for line in find_missing_sprites(self._scenario):
            named = re.search(r"objects\.(\w+): ", line)
            place = mapping(self._top["objects"])[named[1]].place if named else FaultPlace()
            yield Finding("drawing", line), place

    def _entry(self, key: str, number: int = 0) -> YamlNode:
        """The item of a list, or what else stands there."""
        node = self._top.get(key, self._scenario.document.root)
        return node.value[number] if isinstance(node.value, list) else node

    def _rules(self, *phases: Phase) -> Iterator[tuple[YamlNode, Call]]:
        """All rules of some phases, also those within others."""
        for phase in phases:
            for number, call in enumerate(self._scenario.calls(phase)):
                yield from _parts(self._entry(_LISTS[phase], number), call)

    # ---- objects -----------------------------------------------------------------------------

    def states(self) -> Iterator[_Slip]:
        """States that bring alike components."""
        named = mapping(self._top["objects"]) if "objects" in self._top else {}
        for kind in self._scenario.layout.types:
            if kind.name in named and len(kind.brings) > 1:
                alike = set.intersection(*(set(parts) for parts in kind.brings))
                if alike:
                    parts = ", ".join(sorted(cls.__name__ for cls, _ in alike))
                    yield _Slip(
                        named[kind.name],
                        f"every state of {kind.name} brings {parts}, so that no state changes it; "
                        f"put it under `components`, or take it out of one state",
                    )

    def legend(self) -> Iterator[_Slip]:
        """Characters of the legend that no map has."""
        if "legend" not in self._top or self._scenario.document.variants:
            return
        for character, node in mapping(self._top["legend"]).items():
            if not node.file and not any(character in text for text in self._maps()):
                says = f"no map has the character {character!r}; draw it, or take this out"
                yield _Slip(node, says)

    def _on_map(self, there: Sequence[NDArray[np.bool_]]) -> list[tuple[int, int]]:
        """The cells of the map where something is in each level; none where there is no map."""
        return always(there) if "map" in self._top else []

    def _maps(self) -> list[str]:
        nodes = [self._top[key] for key in ("map", "maps") if key in self._top]
        return [each.text for node in nodes for each in _flat(node)]

    # ---- rules -------------------------------------------------------------------------------

    def rules(self) -> Iterator[_Slip]:
        """Rules for what there never is."""
        if not self._known:
            return
        kinds, types = self._possible(), self._scenario.types
        columns = {column_name(cls) for kind in kinds for cls in types[kind].classes}
        for node, call in self._rules(TRANSITION, REWARD, TERMINATING, SUCCESS):
            wanted = [call.arguments.get(key, FLOOR) for key in ("object_type", "other_type")]
            absent = [f"a {types[kind].name}" for kind in wanted if kind not in kinds]
            asked = _columns_of(call, types) - _COMMON
            if not absent and asked and not asked & columns:
                absent = [f"an object with the component {' or '.join(sorted(asked))}"]
            if absent:
                yield _Slip(
                    node,
                    f"{call.name} never acts: no map, place or rule ever makes {absent[0]}; put "
                    f"one into the level, or take the rule out",
                )

    def order(self) -> Iterator[_Slip]:
        """Rules that make way for a move, and come after it; and others the other way round."""
        rules = [*self._rules(TRANSITION)]
        for number, (node, call) in enumerate(rules):
            before, after = ([c for _, c in part] for part in (rules[:number], rules[number + 1 :]))
            moved, moves = (any(c.system is _MOVE for c in calls) for calls in (before, after))
            if moved and call.system in _MAKE_WAY:
                yield _Slip(node, f"{call.name} makes way for a move; put it before move_agent")
            if moves and not moved and call.system in _GO_BY_MOVE:
                says = f"{call.name} goes by where a move has led; put it behind move_agent"
                yield _Slip(node, says)
            for other in after if call.system is _FOLLOW else ():
                followed = other.arguments.get("object_type") == call.arguments["other_type"]
                if followed and other.system in _SET_STATES:
                    yield _Slip(node, f"follow is a step late; put it behind {other.name}")

    def colors(self) -> Iterator[_Slip]:
        """Things whose colour none of those has that they follow."""
        follows: dict[int, list[tuple[YamlNode, Call]]] = {}
        for node, call in self._rules(TRANSITION) if self._known else ():
            if call.system is _FOLLOW:
                follows.setdefault(call.arguments["object_type"], []).append((node, call))
        types = self._scenario.types
        for kind, rules in follows.items():
            led = [call.arguments["other_type"] for _, call in rules]
            if any(each.leaves in led for each in types):
                continue  # one may come from what is used up
            said: set[int] = set()
            for seed, world in enumerate(self._levels):
                things = range(len(world.everyone) + 1, world.capacity)
                there = {world.color.value[e] for e in things if world.kind.value[e] in led}
                for y, x in np.argwhere(where_are(world, {kind})).tolist():
                    color = int(world.cells()[y, x, 2])
                    if color not in there | said:
                        said.add(color)
                        others = " or ".join(types[other].name for other in led)
                        yield _Slip(
                            rules[0][0],
                            f"the {types[kind].name} at row {y + 1}, column {x + 1} is "
                            f"{COLORS[color]}, and no {others} is, so that it never moves; give "
                            f"one its colour" + f" (level of seed {seed})" * bool(seed),
                            self._on_map([where_are(w, {kind}, color) for w in self._levels]),
                        )

    def missions(self) -> Iterator[_Slip]:
        """A mission about what there never is."""
        if "mission" in self._top and self._known:
            entities = (
                (w, e) for w in self._levels for e in range(len(w.everyone) + 1, w.capacity)
            )
            if not any(is_asked_for(w, agent, e) for w, e in entities for agent in w.agents()):
                yield _Slip(
                    self._top["mission"],
                    "no level has what it asks for; put one into the level, or ask for another",
                )

    def _possible(self) -> set[int]:
        """The types that there may ever be, but not more than the text names or levels show."""
        found = {FLOOR}
        for world in self._levels:
            found |= {world.kind.value[e] for e in range(len(world.everyone) + 1, world.capacity)}
        keys = ("legend", "place", "draw", "reset_function")
        named = {
            part.text.rpartition(":")[2]
            for key in keys
            if key in self._top
            for part in _flat(self._top[key])
        }
        found |= {kind.index for kind in self._scenario.layout.types if kind.name in named}
        drawn = {character for text in self._maps() for character in text}
        found |= {symbol.kind for character, symbol in LEGEND.items() if character in drawn}
        while True:
            left = {self._scenario.types[kind].leaves for kind in found} - {None, *found}
            if not left:
                return found
            found |= {kind for kind in left if kind is not None}

    def actions(self) -> Iterator[_Slip]:
        """Rules whose condition holds for actions alone that the scenario has not."""
        own = self._scenario.actions
        tried = sorted({*range(len(ACTIONS)), *own})
        rules = [
            (node, call, call.condition(call.system.when)) for node, call in self._rules(TRANSITION)
        ]
        asked = [(node, call, when) for node, call, when in rules if when]
        counts = np.zeros((len(asked), len(tried)), np.int64)
        for world in self._played(tried):
            for number, (_, _, when) in enumerate(asked):
                counts[number] += [
                    any(when(world, agent, action) for agent in world.agents()) for action in tried
                ]
        for (node, call, _), count in zip(asked, counts, strict=True):
            answered = {action for action, times in zip(tried, count, strict=True) if times}
            needs = [ACTIONS[action] for action in sorted(answered.difference(own))]
            if count.sum() >= _OFTEN and answered.isdisjoint(own):
                yield _Slip(
                    node,
                    f"{call.name} never acts: it waits for {' or '.join(needs)}, which "
                    f"`action_space` has not; add it there, or take the rule out",
                )

    def _played(self, actions: list[int]) -> Iterator[ObjectWorld]:
        """Worlds in which random actions were taken, even those that the scenario has not."""
        simulation = Simulation(self._scenario)
        for seed in range(2):
            chance = np.random.default_rng(seed)
            try:
                simulation.reset(np.random.default_rng(seed))
                for _ in range(_STEPS):
                    yield simulation.world
                    simulation.step(*chance.choice(actions, len(simulation.agents)).tolist())
            except Exception:
                continue  # a rule that is not defined here, as others report

    # ---- ends --------------------------------------------------------------------------------

    def goals(self) -> Iterator[_Slip]:
        """Ends at objects that no way leads to."""
        types = self._scenario.types
        leaps = any(
            "telepod" in _columns_of(call, types) or WALL in call.arguments.values()
            for _, call in self._rules(TRANSITION)
        )
        for node, call in self._rules(TERMINATING, SUCCESS) if self._known and not leaps else ():
            columns = _columns_of(call, types) - _COMMON
            wanted = {call.arguments.get("object_type", -1)} | {
                kind.index
                for kind in self._scenario.layout.types
                if columns & {column_name(cls) for cls in kind.classes}
            }
            there = [where_are(world, wanted) for world in self._levels]
            ways = map(open_to_agents, self._levels)
            reached = [(goal & way).any() for goal, way in zip(there, ways, strict=True)]
            if all(goal.any() for goal in there) and not any(reached):
                says = f"{call.name} is never met: walls are around all that it waits for"
                yield _Slip(node, says, self._on_map(there))

    def rewards(self) -> Iterator[_Slip]:
        """Rewards that another one takes back in the same step."""
        rules = [*enumerate(self._scenario.calls(REWARD))]
        for (_, one), (number, other) in combinations(rules, 2):
            alike = one.system is other.system and one.whose == other.whose
            if alike and is_engine_module(one.system.function.__module__):
                paid = [name for name in one.arguments if name.startswith("reward")]
                numbers = [(one.arguments[name], other.arguments[name]) for name in paid]
                if not all(isinstance(value, float | int) for pair in numbers for value in pair):
                    continue
                rest = one.arguments.keys() - paid
                alike = all(one.arguments[name] == other.arguments[name] for name in rest)
                if alike and any(a for a, _ in numbers) and all(a == -b for a, b in numbers):
                    yield _Slip(
                        self._entry(_LISTS[REWARD], number),
                        f"{one.name} always cancels {one.name} above; take both out, or change one",
                    )


_LOOKS: dict[str, Callable[[_Examiner], Iterable[_Slip]]] = {
    "state": _Examiner.states,
    "legend": _Examiner.legend,
    "rule": _Examiner.rules,
    "order": _Examiner.order,
    "color": _Examiner.colors,
    "mission": _Examiner.missions,
    "action": _Examiner.actions,
    "goal": _Examiner.goals,
    "reward": _Examiner.rewards,
}
"""What looks for findings, by their name."""


def _parts(node: YamlNode, call: Call) -> Iterator[tuple[YamlNode, Call]]:
    """A rule and those within it, each with where it stands."""
    yield node, call
    said = node.value if isinstance(node.value, dict) else {}
    for name, argument in call.arguments.items():
        if is_nested(argument):
            inner = argument if isinstance(argument, tuple) else (argument,)
            below = said.get(name, node)
            nodes = below.value if isinstance(below.value, list) else [below] * len(inner)
            for each, part in zip(nodes, inner, strict=True):
                yield from _parts(each, part)


def _flat(node: YamlNode) -> Iterator[YamlNode]:
    """All scalars of a node."""
    if isinstance(node.value, dict | list):
        parts = node.value.values() if isinstance(node.value, dict) else node.value
        for part in parts:
            yield from _flat(part)
    else:
        yield node


def _columns_of(call: Call, types: ObjectTypes) -> set[str]:
    """Names that the functions of a rule say themselves: columns of components among them."""
    system = call.system
    if not is_engine_module(system.function.__module__):
        return set()
    codes = [getattr(each, "__code__", None) for each in system.functions]
    columns = {column_name(cls) for kind in types for cls in kind.classes}
    return columns & {name for code in codes if code for name in code.co_names}
