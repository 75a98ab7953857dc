"""Action space of a scenario: built-in actions by name, and custom ones.

action_space: [MOVE_FORWARD, PICK_UP, {name: KICK, key: K, says: kick the ball}]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pkgutil import resolve_name

from gv_engine.late_imports import KEY_READER
from gv_engine.rules.errors import describe_allowed, suggest_similar
from gv_engine.rules.geometry import ACTIONS, Action, action_name, named_action
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

OWN_ACTION_KEYS: KeyTable = {
    "name": Key("Name in capitals.", schema.TEXT, required=True),
    "key": Key("Key of the keyboard.", schema.TEXT),
    "says": Key("Description for the help; by default the name.", schema.TEXT),
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
    """Read the list of actions in `node`; return (action numbers, custom actions with their keys).
    Errors in single entries go to `problems`.

    Args:
        known: custom actions that other scenarios declare; they may be listed by name.
    """
    own = {command.name: command for command in known}
    declared: dict[str, YamlNode] = {}
    actions = fields.read_distinct(
        problems, node, lambda item: _read_entry(problems, item, own, declared)
    )
    if len(declared) > _MAX_OWN:
        raise node.error(f"found {len(declared)} actions of its own, allowed are {_MAX_OWN}")
    names = [action_name(number) for number in actions]
    usual = [command for command in DOMAINS["grid"].keys if command.name in names]
    for name, at in declared.items():
        with problems.collect():
            beside = [*usual, *(own[other] for other in names if other in own)]
            own[name] = own[name]._replace(keys=_read_key(at, name, beside))
    return actions, tuple(own[name] for name in names if name in own)


def _read_entry(
    problems: ErrorCollector,
    node: YamlNode,
    own: dict[str, KeyCommand],
    declared: dict[str, YamlNode],
) -> int:
    """Read one entry of the list of actions and return the action's number. If the entry declares a
    custom action, add the action to `own` and its key's node to `declared`, both by name."""
    if not isinstance(node.value, dict):
        name = fields.text(node)
        if name in (*ACTIONS, *own, "WAIT") or not _OWN.fullmatch(name):
            return read_action(node, own)
        near = suggest_similar(name, (*ACTIONS, *own)) or ";"
        raise node.error(f"no action {name!r}{near} {{name: {name}}} declares one of your own")
    entries = fields.read_fields(problems, node, OWN_ACTION_KEYS)
    if "name" not in entries:
        raise node.error("an action of your own needs its name: {name: KICK, key: K}")
    name = fields.text(entries["name"])
    if name in ACTIONS:
        raise entries["name"].error(f"{name} is built in; write its name alone")
    if name in declared:
        raise entries["name"].error(f"{name} stands here a second time")
    with entries["name"].report(ValueError):
        action = named_action(name)
    declared[name] = entries.get("key", node)
    says = name.replace("_", " ").lower()
    if "says" in entries:
        with problems.collect():
            says = fields.text(entries["says"])
    own[name] = KeyCommand(name, says, ())
    return action


def read_action(node: YamlNode, own: Iterable[str]) -> Action:
    """Return the action that `node` names: a built-in one, or one of the custom actions `own`."""
    names = [*ACTIONS, *own]
    name = fields.text(node)
    if name not in names:
        hint = "" if own else "; one of your own is declared under action_space: {name: …, key: …}"
        raise node.error(f"no action {name!r}{describe_allowed(name, names)}{hint}")
    return named_action(name)


def _read_key(node: YamlNode, name: str, other_commands: Iterable[KeyCommand]) -> tuple[str, ...]:
    """Return the key that plays the custom action `name`, () for none; raise a FieldError if one of
    `other_commands` uses the key."""
    if isinstance(node.value, dict):  # the node of an action without a key
        return ()
    arguments = DOMAINS["grid"].title, name, fields.text(node), other_commands
    with node.report(ValueError):
        return (resolve_name(KEY_READER)(*arguments),)
