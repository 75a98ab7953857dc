"""Action space of a scenario: built-in actions by name, and custom ones.

action_space: [MOVE_FORWARD, PICK_UP, {name: KICK, key: K, says: kick the ball}]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pkgutil import resolve_name

from gv_engine.late_imports import KEY_READER
from gv_engine.rules.errors import describe_allowed, suggest_similar
from gv_engine.rules.geometry import ACTIONS, Action, action_name, named_action
from gv_engine.scenario.domains import DOMAINS, KeyCommand
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

_MAX_COST = 10**6
OWN_ACTION_KEYS: KeyTable = {
    "name": Key("Name in capitals.", schema.TEXT, required=True),
    "key": Key("Key of the keyboard.", schema.TEXT),
    "says": Key("Description for the help. By default, the name.", schema.TEXT),
    "icon": Key("Sprite that stands for it below the board: `icon: table`.", schema.TEXT),
    "cost": Key(
        "Numbers that it needs, under `observation`: `{agent.counts.WOOD: 2}`.",
        schema.map_of(schema.integer_schema(1, _MAX_COST)),
    ),
    "needs": Key("What else it needs, in words for players: `a table beside you`.", schema.TEXT),
}
"""Keys of a custom action."""
ACTION_SPACE, ACTIONS_OF_ALL = (
    schema.unique_list(schema.any_of(known, schema.object_schema(OWN_ACTION_KEYS)))
    for known in (schema.enum_schema(ACTIONS), schema.ACTION)
)
"""JSON schemas of `action_space` in a scenario, and in a mixture, which may also name custom
actions of its members."""

_MAX_OWN = 100
_OWN = re.compile(r"[A-Z][A-Z0-9_]*")


def read_actions(
    problems: ErrorCollector, node: YamlNode, known: Iterable[KeyCommand] = ()
) -> tuple[tuple[int, ...], tuple[KeyCommand, ...]]:
    """Read the YAML list of actions. Return the action numbers, and the custom actions with their
    keys. Errors in single entries go to `problems`. Keys of the `known` commands are taken.

    Args:
        known: custom actions that other scenarios declare; they may be listed by name.
    """
    custom = {command.name: command for command in known}
    key_nodes: dict[str, YamlNode | None] = {}  # of the actions that this list declares
    actions = fields.read_distinct(
        problems, node, lambda item: _read_entry(problems, item, custom, key_nodes)
    )
    if len(key_nodes) > _MAX_OWN:
        raise node.error(f"found {len(key_nodes)} actions of its own, allowed are {_MAX_OWN}")
    names = [action_name(number) for number in actions]
    built_in = [command for command in DOMAINS["grid"].keys if command.name in names]
    for name, key_node in key_nodes.items():
        if key_node is not None:
            with problems.collect():
                others = [*built_in, *(custom[other] for other in names if other in custom)]
                custom[name] = custom[name]._replace(keys=(_read_key(key_node, name, others),))
    return actions, tuple(custom[name] for name in names if name in custom)


def _read_entry(
    problems: ErrorCollector,
    node: YamlNode,
    custom: dict[str, KeyCommand],
    key_nodes: dict[str, YamlNode | None],
) -> int:
    """Read one entry of the YAML list of actions and return the action's number. A custom action is
    added to `custom`, and the YAML node of its key (None without a key) to `key_nodes`."""
    if not isinstance(node.value, dict):
        name = fields.text(node)
        if name in (*ACTIONS, *custom, "WAIT") or not _OWN.fullmatch(name):
            return read_action(node, custom)
        hint = suggest_similar(name, (*ACTIONS, *custom)) or ";"
        raise node.error(f"no action {name!r}{hint} {{name: {name}}} declares a new one")
    entries = fields.read_fields(problems, node, OWN_ACTION_KEYS)
    if "name" not in entries:
        raise node.error("a new action needs a name: {name: KICK, key: K}")
    name = fields.text(entries["name"])
    if name in ACTIONS:
        raise entries["name"].error(f"{name} is built in; write its name alone")
    if name == "WAIT":
        raise entries["name"].error("WAIT is built in; the key `time` adds it: time: {beat: 6}")
    if name in key_nodes:
        raise entries["name"].error(f"{name} is listed twice")
    with entries["name"].report(ValueError):
        action = named_action(name)
    key_nodes[name] = entries.get("key")
    default = name.replace("_", " ").lower()
    description = problems.read_key(entries, "says", fields.text, default)
    icon, needs = (problems.read_key(entries, key, fields.text, "") for key in ("icon", "needs"))
    cost = problems.read_key(entries, "cost", _read_cost, ())
    custom[name] = KeyCommand(name, description, (), icon=icon, cost=cost, needs=needs)
    return action


def _read_cost(node: YamlNode) -> tuple[tuple[str, int], ...]:
    """Return the (name, amount) pairs of a YAML mapping."""
    return tuple(
        (name, fields.integer(amount, 1, _MAX_COST))
        for name, amount in fields.mapping(node).items()
    )


def read_action(node: YamlNode, custom: Collection[str]) -> Action:
    """Return the action that a YAML node names. It is a built-in action, or one of the `custom`
    actions."""
    names = [*ACTIONS, *custom]
    name = fields.text(node)
    if name in names:
        return named_action(name)
    hint = describe_allowed(name, names)
    if not custom:
        hint += "; declare a new one under action_space: {name: …, key: …}"
    raise node.error(f"no action {name!r}{hint}")


def _read_key(node: YamlNode, name: str, other_commands: Iterable[KeyCommand]) -> str:
    """Return the keyboard key in a YAML node for the custom action `name`. Raise FieldError if one
    of `other_commands` already uses that key."""
    check_action_key = resolve_name(KEY_READER)  # of the package `play`, which is imported late
    with node.report(ValueError):
        key: str = check_action_key(DOMAINS["grid"].title, name, fields.text(node), other_commands)
        return key
