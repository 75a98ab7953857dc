"""Lint: likely mistakes in valid scenarios, such as rules that never act.

docs/checking.md lists the kinds of mistakes. Some checks skip scenarios with custom rules, as these
may do anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from components.objects import MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine.envs.backends.seeding import make_rng
from gv_engine.play.session.sprite_paths import find_missing_sprites, find_unused_files
from gv_engine.play.validation.action_masks import find_mask_faults
from gv_engine.rules.component import column_name
from gv_engine.rules.errors import ProblemPlace, describe_allowed, format_cell
from gv_engine.rules.functions import find_functions, names_of
from gv_engine.rules.geometry import ACTIONS, DROP, PICK_UP, TOGGLE, Action
from gv_engine.rules.objects import COLORS, ObjectTypes, is_engine_module
from gv_engine.rules.system import Call, Phase, get_system, is_nested_call, source_location
from gv_engine.scenario.domains import format_place
from gv_engine.scenario.missions.mission_reader import find_mission_languages
from gv_engine.scenario.readers.map import LEGEND
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.syntax.fields import YamlNode, format_message, mapping
from gv_engine.world.simulation import Simulation, make_level
from gv_engine.world.world import ObjectWorld
from systems.movers import let_pass
from systems.queries import matches_mission
from systems.transition import (
    follow,
    hold_down,
    move_agent,
    move_obstacles,
    push,
    slide,
    switch,
    teleport,
)

# ---- unused actions ------------------------------------------------------------------------------


def find_unused_actions(scenario: Scenario) -> list[str]:
    """Return a sentence for each action of the scenario that no rule mentions, and that therefore
    has no effect."""
    calls = list(scenario.walk_calls(*Phase))
    if any(call.system.is_processor for call in calls):  # whose code cannot be searched for names
        return []
    named = {name for call in calls for name in _iter_used_names(call)}
    return [
        f"nothing acts on {action.name}; give a rule {{name: …, on_action: {action.name}}}, or "
        f"take it out of the action_space"
        for action in map(Action, scenario.actions)
        if (action.is_custom or action in (PICK_UP, DROP, TOGGLE)) and action.name not in named
    ]


def find_undeclared_actions(scenario: Scenario) -> list[str]:
    """Return a sentence for each function of a rule that uses an action the scenario lacks."""
    declared = [command.name for command in scenario.own_actions]
    messages = {
        f"{format_place(*source_location(function))}: {function.__name__} asks for {action.name}, "
        f"which no action_space declares{describe_allowed(action.name, declared, 'declared')}"
        for call in scenario.walk_calls(*Phase)
        for function, names in _find_called_functions(call).items()
        for _, value in names
        for action in _actions_in(value)
        if action.is_custom and action.name not in declared
    }
    return sorted(messages)


def _find_called_functions(call: Call) -> Mapping[FunctionType, list[tuple[str, Any]]]:
    system = call.system
    return find_functions([*system.functions, system.objects, *call.arguments.values()])


def _actions_in(value: Any) -> Iterator[Action]:
    for part in value if isinstance(value, tuple | list) else (value,):
        if isinstance(part, Action):
            yield part


def _iter_used_names(call: Call) -> Iterator[str]:
    """Yield all action names, identifiers and strings that occur in a rule's arguments and
    functions."""
    called = _find_called_functions(call)
    values = [*call.arguments.values(), *(value for uses in called.values() for _, value in uses)]
    yield from (action.name for value in values for action in _actions_in(value))
    for function in called:
        names = names_of(function)
        yield from names.strings | names.attributes | names.variables


# ---- levels --------------------------------------------------------------------------------------


def _find_objects(
    world: ObjectWorld, object_types: set[int], color: int | None = None
) -> NDArray[Any]:
    cells = world.cells()
    mask = np.isin(cells[..., 0], list(object_types))
    return mask if color is None else mask & (cells[..., 2] == color)


def _find_reachable(world: ObjectWorld) -> NDArray[np.bool_]:
    """Return an (H, W) mask of the cells that agents could reach if only walls blocked them."""
    open_cells = ~_find_objects(world, {WALL})
    reached = np.zeros_like(open_cells)
    for agent in world.agents():
        reached[world.position.y[agent], world.position.x[agent]] = True
    while True:
        grown = reached.copy()
        grown[1:] |= reached[:-1]
        grown[:-1] |= reached[1:]
        grown[:, 1:] |= reached[:, :-1]
        grown[:, :-1] |= reached[:, 1:]
        grown &= open_cells
        if (grown == reached).all():
            return reached
        reached = grown


# ---- mistakes ------------------------------------------------------------------------------------

_LEVELS = 20
_STEPS = 100
_MIN_MATCHES = 10  # number of true conditions before a conclusion
_RULE_KEYS = {
    Phase.TRANSITION: "transition_functions",
    Phase.REWARD: "reward_functions",
    Phase.TERMINATING: "terminating_function",
    Phase.SUCCESS: "success_function",
}
# Columns too common to tell rules apart
_COMMON = {"agent", "position", "kind", "color", "condition", "solid", "opaque", "portable"}
_MOVE = get_system(move_agent)
# Rules that clear the cell for a move in the same step
_BEFORE_MOVE = [get_system(rule) for rule in (push, let_pass)]
_AFTER_MOVE = [get_system(rule) for rule in (slide, hold_down)]
_FOLLOW = get_system(follow)
# Object types that do nothing without a rule, and the usual rule
_ACTIVE_TYPES = {MOVING_OBSTACLE: move_obstacles, TELEPOD: teleport}
_SET_STATES = [get_system(rule) for rule in (switch, hold_down)]


class Finding(NamedTuple):
    """Likely mistake in a scenario.

    Attributes:
        name: kind of mistake, see docs/checking.md.
        message: place, problem, and likely fix.
    """

    name: str
    message: str


def find_mistakes(scenario: Scenario) -> list[Finding]:
    """Return the findings for a scenario; for a mixture of scenarios, the findings for each of
    them."""
    return [finding for finding, _ in find_placed_mistakes(scenario)]


def find_placed_mistakes(scenario: Scenario) -> list[tuple[Finding, ProblemPlace]]:
    """Return likely mistakes in a scenario, each with its place in the scenario file. The place is
    empty if it is unknown."""
    mistakes = [mistake for member in scenario.members for mistake in _Linter(member).findings()]
    actions = (*find_unused_actions(scenario), *find_undeclared_actions(scenario))
    findings = [Finding("action", message) for message in actions]
    findings += [Finding("mask", message) for message in find_mask_faults(scenario)]
    return [*mistakes, *((finding, ProblemPlace()) for finding in findings)]


def find_rule_place(scenario: Scenario, message: str) -> ProblemPlace:
    """Return where in the scenario file the rule named in `message` is. The place is empty if the
    message names no rule."""
    for phase, key in _RULE_KEYS.items():
        for number, call in enumerate(scenario.calls(phase)):
            if any(re.search(rf"\b{part.name}\b", message) for part in call.walk()):
                node = mapping(scenario.document.root).get(key)
                is_list = node is not None and isinstance(node.value, list)
                return ProblemPlace(f"{key}[{number}]" if is_list else key)
    return ProblemPlace()


class _Mistake(NamedTuple):
    """Message of one check, with the YAML node of the mistake.

    Attributes:
        node: YAML node with the mistake.
        message: problem and likely fix.
        cells: (y, x) map cells of the mistake.
    """

    node: YamlNode
    message: str
    cells: Sequence[tuple[int, int]] = ()


class _Linter:
    """Checks of one scenario that is no mixture of scenarios; each `check_…` method yields mistakes
    of one kind."""

    def __init__(self, scenario: Scenario) -> None:
        """Sample some levels of the scenario for the checks."""
        self._scenario = scenario
        self._root = mapping(scenario.document.root)
        self._levels = [make_level(scenario, seed) for seed in range(_LEVELS)]
        systems = (call.system for call in scenario.walk_calls(Phase.RESET, Phase.TRANSITION))
        # other rules may make any object
        self._has_engine_rules_only = all(
            is_engine_module(system.function.__module__) and not system.objects
            for system in systems
        )

    def findings(self) -> Iterator[tuple[Finding, ProblemPlace]]:
        """Yield the likely mistakes that all checks find, each with its place in the scenario
        file."""
        label = self._scenario.document.label
        for name, check in _CHECKS.items():
            for node, message, cells in check(self):
                place = node.place._replace(cells=(*node.place.cells, *cells))
                yield Finding(name, format_message(label, node, message)), place
        for message in find_missing_sprites(self._scenario):
            match = re.search(r"objects\.(\w+): ", message)
            place = mapping(self._root["objects"])[match[1]].place if match else ProblemPlace()
            yield Finding("drawing", message), place
        for message in find_unused_files(self._scenario):
            yield Finding("file", message), ProblemPlace()

    def _entry(self, key: str, number: int) -> YamlNode:
        node = self._root.get(key, self._scenario.document.root)
        return node.value[number] if isinstance(node.value, list) else node

    def _rules(self, *phases: Phase) -> Iterator[tuple[YamlNode, Call]]:
        for phase in phases:
            for number, call in enumerate(self._scenario.calls(phase)):
                yield from _iter_nested_rules(self._entry(_RULE_KEYS[phase], number), call)

    # ---- objects -----------------------------------------------------------------------------

    def check_states(self) -> Iterator[_Mistake]:
        """Report object types with a component that all of their states add. Such a component does
        not depend on the state, so it belongs to the type itself."""
        nodes = mapping(self._root["objects"]) if "objects" in self._root else {}
        for object_type in self._scenario.layout.types:
            components_by_state = [set(parts) for parts in object_type.state_components]
            if object_type.name not in nodes or len(components_by_state) < 2:
                continue
            if shared := set.intersection(*components_by_state):
                names = ", ".join(sorted(cls.__name__ for cls, _ in shared))
                yield _Mistake(
                    nodes[object_type.name],
                    f"every state of {object_type.name} brings {names}, so that no state changes "
                    f"it; put it under `components`, or take it out of one state",
                )

    def check_legend(self) -> Iterator[_Mistake]:
        """Yield a mistake for each character of the map legend that appears on no map."""
        document = self._scenario.document
        if "legend" not in self._root or document.variants or document.levels:
            return
        for character, node in mapping(self._root["legend"]).items():
            if not node.file and not any(character in text for text in self._map_texts()):
                message = f"no map has the character {character!r}; draw it, or take this out"
                yield _Mistake(node, message)

    def _map_cells(self, masks: Sequence[NDArray[np.bool_]]) -> list[tuple[int, int]]:
        if "map" not in self._root or len({mask.shape for mask in masks}) > 1:
            return []
        return [(y, x) for y, x in np.argwhere(np.logical_and.reduce(masks)).tolist()]

    def _scalars_of(self, *keys: str) -> list[YamlNode]:
        return [
            scalar for key in keys if key in self._root for scalar in _iter_scalars(self._root[key])
        ]

    def _map_texts(self) -> list[str]:
        return [scalar.text for scalar in self._scalars_of("map", "maps")]

    # ---- rules -------------------------------------------------------------------------------

    def check_rules(self) -> Iterator[_Mistake]:
        """Report rules that need an object type or component that no level ever contains."""
        if not self._has_engine_rules_only:
            return
        possible_types, types = self._find_possible_types(), self._scenario.types
        possible_columns = {
            column_name(cls) for index in possible_types for cls in types[index].component_classes
        }
        for node, call in self._rules(*_RULE_KEYS):
            needed_types = [call.arguments.get(key, FLOOR) for key in ("object_type", "other_type")]
            missing = [f"a {types[i].name}" for i in needed_types if i not in possible_types]
            columns = _find_columns_used(call, types) - _COMMON
            if not missing and columns and not columns & possible_columns:
                missing = [f"an object with the component {' or '.join(sorted(columns))}"]
            if missing:
                yield _Mistake(
                    node,
                    f"{call.name} never acts: no map, place or rule ever makes {missing[0]}; put "
                    f"one into the level, or take the rule out",
                )

    def check_objects(self) -> Iterator[_Mistake]:
        """Report objects in levels that need a rule to act, where no rule is about them."""
        if not self._has_engine_rules_only:
            return
        types, calls = self._scenario.types, [call for _, call in self._rules(Phase.TRANSITION)]
        for kind, rule in _ACTIVE_TYPES.items():
            masks = [_find_objects(world, {kind}) for world in self._levels]
            columns = {column_name(cls) for cls in types[kind].component_classes} - _COMMON
            has_rule = any(
                columns & _find_columns_used(call, types)
                or kind in map(call.arguments.get, ("object_type", "other_type"))
                for call in calls
            )
            if not has_rule and any(mask.any() for mask in masks):
                name = rule.__name__
                message = f"no rule acts on a {types[kind].name}; add {name} to this list"
                node = self._root.get("transition_functions", self._scenario.document.root)
                yield _Mistake(node, message, self._map_cells(masks))

    def check_order(self) -> Iterator[_Mistake]:
        """Report rules in the wrong order, such as a rule that must come before the move rule but
        comes after it."""
        rules = [*self._rules(Phase.TRANSITION)]
        calls = [call for _, call in rules]
        move_indices = [index for index, call in enumerate(calls) if call.system is _MOVE]
        for index, (node, call) in enumerate(rules):
            is_after_move = any(move < index for move in move_indices)
            is_before_all_moves = bool(move_indices) and index < move_indices[0]
            if is_after_move and call.system in _BEFORE_MOVE:
                yield _Mistake(node, f"{call.name} makes way for a move; put it before move_agent")
            if is_before_all_moves and call.system in _AFTER_MOVE:
                message = f"{call.name} goes by where a move has led; put it behind move_agent"
                yield _Mistake(node, message)
            if call.system is not _FOLLOW:
                continue
            for later in calls[index + 1 :]:
                is_followed = later.arguments.get("object_type") == call.arguments["other_type"]
                if is_followed and later.system in _SET_STATES:
                    yield _Mistake(node, f"follow is a step late; put it behind {later.name}")

    def check_colors(self) -> Iterator[_Mistake]:
        """Report objects that follow objects of their own colour where no such object exists."""
        follow_rules: dict[int, list[tuple[YamlNode, Call]]] = {}  # by type of the followers
        for node, call in self._rules(Phase.TRANSITION) if self._has_engine_rules_only else ():
            if call.system is _FOLLOW:
                follow_rules.setdefault(call.arguments["object_type"], []).append((node, call))
        for follower, rules in follow_rules.items():
            leaders = [call.arguments["other_type"] for _, call in rules]
            if any(object_type.leaves in leaders for object_type in self._scenario.types):
                continue  # a leader may come from what is used up
            yield from self._find_followers_without_leader(rules[0][0], follower, leaders)

    def _find_followers_without_leader(
        self, node: YamlNode, follower: int, leaders: list[int]
    ) -> Iterator[_Mistake]:
        """Report each colour in which a level has an object of type `follower` but none of the
        types `leaders`. `node` is the YAML node of the rule."""
        types = self._scenario.types
        leader_names = " or ".join(types[leader].name for leader in leaders)
        reported: set[int] = set()
        for seed, world in enumerate(self._levels):
            entities = range(world.layout.first_object, world.capacity)
            colors = {world.color.value[e] for e in entities if world.kind.value[e] in leaders}
            for y, x in np.argwhere(_find_objects(world, {follower})).tolist():
                color = int(world.cells()[y, x, 2])
                if color in colors | reported:
                    continue
                reported.add(color)
                yield _Mistake(
                    node,
                    f"the {types[follower].name} at {format_cell(y, x)} is {COLORS[color]}, and "
                    f"no {leader_names} is, so that it never moves; give one its colour"
                    + f" (level of seed {seed})"
                    * bool(seed),
                    self._map_cells([_find_objects(w, {follower}, color) for w in self._levels]),
                )

    def check_missions(self) -> Iterator[_Mistake]:
        """Report the mission if no level has an object that it asks for."""
        if not ("mission" in self._root and self._has_engine_rules_only):
            return
        mission = self._scenario.layout.mission
        languages = [each for each in find_mission_languages() if each.components[0] is mission]
        if languages:
            first, *later = map(languages[0].list_unmatched, self._levels)
            for bit, description in first.items():
                if all(bit in unmatched for unmatched in later):
                    message = f"no level has {description}; put one into it, or ask for another"
                    yield _Mistake(self._root["mission"], message)
        else:
            entities = (
                (w, e) for w in self._levels for e in range(w.layout.first_object, w.capacity)
            )
            terrain = (
                (w, w.terrain_of(kind.index))
                for w in self._levels
                for kind in w.layout.terrain
                if w.placed[kind.index]
            )
            objects = chain(entities, terrain)
            if not any(matches_mission(w, agent, e) for w, e in objects for agent in w.agents()):
                message = (
                    "no level has what it asks for; put one into the level, or ask for another"
                )
                yield _Mistake(self._root["mission"], message)

    def _find_possible_types(self) -> set[int]:
        """Return the indices of object types that can occur: those in levels, those named in the
        scenario file, and those that objects become when they are used up."""
        types = {FLOOR}
        for world in self._levels:
            types |= {world.kind.value[e] for e in range(world.layout.first_object, world.capacity)}
            types |= {kind.index for kind in world.layout.terrain if world.placed[kind.index]}
        scalars = self._scalars_of("legend", "place", "draw", "reset_function")
        names = {scalar.text.rpartition(":")[2] for scalar in scalars}
        types |= {kind.index for kind in self._scenario.layout.types if kind.name in names}
        characters = {character for text in self._map_texts() for character in text}
        types |= {symbol.kind for character, symbol in LEGEND.items() if character in characters}
        while new_types := {self._scenario.types[kind].leaves for kind in types} - {None, *types}:
            types |= {kind for kind in new_types if kind is not None}
        return types

    def check_actions(self) -> Iterator[_Mistake]:
        """Report rules that wait for an action the scenario lacks, as an argument or in their
        condition."""
        declared = self._scenario.actions
        tried = sorted({*range(len(ACTIONS)), *declared})
        conditional_rules = []
        for phase in _RULE_KEYS:
            for node, call in self._rules(phase):
                named = {
                    action for value in call.arguments.values() for action in _actions_in(value)
                }
                if named and named.isdisjoint(declared):
                    yield _Mistake(node, _describe_waiting(call, sorted(named)))
                elif phase is Phase.TRANSITION and (when := call.make_condition(call.system.when)):
                    conditional_rules.append((node, call, when))
        counts = np.zeros((len(conditional_rules), len(tried)), np.int64)
        for world in self._random_worlds(tried):
            for number, (_, _, when) in enumerate(conditional_rules):
                counts[number] += [
                    any(when(world, agent, action) for agent in world.agents()) for action in tried
                ]
        for (node, call, _), count in zip(conditional_rules, counts, strict=True):
            matching = {action for action, matches in zip(tried, count, strict=True) if matches}
            if count.sum() >= _MIN_MATCHES and matching.isdisjoint(declared):
                yield _Mistake(node, _describe_waiting(call, sorted(matching)))

    def _random_worlds(self, actions: list[int]) -> Iterator[ObjectWorld]:
        """Yield the world before each step of short random episodes. Actions are sampled from
        `actions`, some of which the scenario may not declare."""
        simulation = Simulation(self._scenario)
        for seed in range(2):
            rng = make_rng(seed, "actions")
            try:
                simulation.reset(np.random.default_rng(seed))
                for _ in range(_STEPS):
                    yield simulation.world
                    simulation.step(*rng.choice(actions, len(simulation.agents)).tolist())
            except Exception:
                continue  # a rule that is not defined here, as others report

    # ---- ends --------------------------------------------------------------------------------

    def check_goals(self) -> Iterator[_Mistake]:
        """Report terminating and success functions about objects that agents cannot reach because
        of walls."""
        types = self._scenario.types
        can_pass_walls = any(
            "telepod" in _find_columns_used(call, types)
            or any(isinstance(each, int) and each == WALL for each in call.arguments.values())
            for _, call in self._rules(Phase.TRANSITION)
        )
        if can_pass_walls or not self._has_engine_rules_only:
            return
        for node, call in self._rules(Phase.TERMINATING, Phase.SUCCESS):
            columns = _find_columns_used(call, types) - _COMMON
            goal_types = {call.arguments.get("object_type", -1)} | {
                kind.index
                for kind in self._scenario.layout.types
                if columns & {column_name(cls) for cls in kind.component_classes}
            }
            goal_masks = [_find_objects(world, goal_types) for world in self._levels]
            is_reached = any(
                (mask & _find_reachable(world)).any()
                for mask, world in zip(goal_masks, self._levels, strict=True)
            )
            if all(mask.any() for mask in goal_masks) and not is_reached:
                message = f"{call.name} is never met: walls are around all that it waits for"
                yield _Mistake(node, message, self._map_cells(goal_masks))

    def check_rewards(self) -> Iterator[_Mistake]:
        """Report reward functions whose rewards always cancel those of an earlier function."""
        calls = enumerate(self._scenario.calls(Phase.REWARD))
        for (_, earlier), (number, later) in combinations(calls, 2):
            if _are_opposite(earlier, later):
                name = earlier.name
                yield _Mistake(
                    self._entry(_RULE_KEYS[Phase.REWARD], number),
                    f"{name} always cancels {name} above; take both out, or change one",
                )


# Checks by kind of mistake
_CHECKS: dict[str, Callable[[_Linter], Iterable[_Mistake]]] = {
    "state": _Linter.check_states,
    "legend": _Linter.check_legend,
    "rule": _Linter.check_rules,
    "object": _Linter.check_objects,
    "order": _Linter.check_order,
    "color": _Linter.check_colors,
    "mission": _Linter.check_missions,
    "action": _Linter.check_actions,
    "goal": _Linter.check_goals,
    "reward": _Linter.check_rewards,
}


def _are_opposite(one: Call, other: Call) -> bool:
    """Return True if two uses of a built-in reward function differ only in the sign of their
    rewards."""
    is_same_function = one.system is other.system and one.agent_mask == other.agent_mask
    if not is_same_function or not is_engine_module(one.system.function.__module__):
        return False
    rewards = [name for name in one.arguments if name.startswith("reward")]
    pairs = [(one.arguments[name], other.arguments[name]) for name in rewards]
    return (
        all(isinstance(value, float | int) for pair in pairs for value in pair)
        and any(reward for reward, _ in pairs)
        and all(reward == -opposite for reward, opposite in pairs)
        and all(one.arguments[n] == other.arguments[n] for n in one.arguments.keys() - rewards)
    )


def _describe_waiting(call: Call, actions: Iterable[int]) -> str:
    """Return a message about a rule that waits for `actions`, none of which the scenario has."""
    names = " or ".join(ACTIONS[action] for action in actions)
    return (
        f"{call.name} never acts: it waits for {names}, which `action_space` has not; add it "
        f"there, or take the rule out"
    )


def _iter_nested_rules(node: YamlNode, call: Call) -> Iterator[tuple[YamlNode, Call]]:
    """Yield (YAML node, rule) for a rule and all rules nested in its arguments."""
    yield node, call
    fields = node.value if isinstance(node.value, dict) else {}
    for name, argument in call.arguments.items():
        if is_nested_call(argument):
            inner_calls = argument if isinstance(argument, tuple) else (argument,)
            field = fields.get(name, node)
            nodes = field.value if isinstance(field.value, list) else [field] * len(inner_calls)
            for inner_node, part in zip(nodes, inner_calls, strict=True):
                yield from _iter_nested_rules(inner_node, part)


def _iter_scalars(node: YamlNode) -> Iterator[YamlNode]:
    """Yield the YAML nodes of all texts and numbers below a node."""
    if not isinstance(node.value, dict | list):
        yield node
        return
    for part in node.value.values() if isinstance(node.value, dict) else node.value:
        yield from _iter_scalars(part)


def _find_columns_used(call: Call, types: ObjectTypes) -> set[str]:
    """Return the names of the components that a built-in rule uses. The set is empty for
    user-defined rules."""
    system = call.system
    if not is_engine_module(system.function.__module__):
        return set()
    names = [names_of(function) for function in system.functions]
    columns = {column_name(cls) for kind in types for cls in kind.component_classes}
    return {column for column in columns if any(column in each for each in names)}
