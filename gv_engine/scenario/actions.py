"""Actions of a scenario: built-in ones by name, and its own.

action_space: [MOVE_FORWARD, PICK_UP, {name: KICK, key: K, says: kick the ball}]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pkgutil import resolve_name

from gv_engine.rules.errors import nearest
from gv_engine.rules.geometry import ACTIONS, Action, action_name, named_action
from gv_engine.scenario.fields import (
    ErrorCollector,
    FieldError,
    YamlNode,
    read_distinct,
    read_fields,
    suggestion,
    text,
)
from gv_engine.scenario.json_schema import (
    ACTION,
    TEXT,
    Key,
    KeyTable,
    any_of,
    enum_schema,
    object_schema,
    unique_list,
)
from gv_engine.scenario.plugin import DOMAINS, KeyCommand

OWN_ACTION_KEYS: KeyTable = {
    "name": Key("What it is called, in capitals.", TEXT, required=True),
    "key": Key("The key that players have for it, if any.", TEXT),
    "says": Key("What it does, in a few words for the help; its name, if left out.", TEXT),
}
"""What an action of a scenario's own may say."""
ACTION_SPACE, ACTIONS_OF_ALL = (
    unique_list(any_of(known, object_schema(OWN_ACTION_KEYS)))
    for known in (enum_schema(ACTIONS), ACTION)
)
"""The list of a scenario's actions, for editors; that of a mixture names those of its members."""

_MOST_OWN = 100
_OWN = re.compile(r"[A-Z][A-Z0-9_]*")
_KEY = "gv_engine.ui.input.bindings:free_key"
"""Place of what reads a key, in a room above."""


def read_actions(
    problems: ErrorCollector, node: YamlNode, known: Iterable[KeyCommand] = ()
) -> tuple[tuple[int, ...], tuple[KeyCommand, ...]]:
    """The numbers of listed actions, and how players take those that are a scenario's own.

    Args:
        known: own ones that are declared elsewhere, and may be listed by name.
    """
    own = {command.name: command for command in known}
    declared: dict[str, YamlNode] = {}
    found = read_distinct(problems, node, lambda item: _action(problems, item, own, declared))
    if len(declared) > _MOST_OWN:
        raise FieldError(node, f"found {len(declared)} actions of its own, allowed are {_MOST_OWN}")
    names = [action_name(number) for number in found]
    usual = [command for command in DOMAINS["grid"].keys if command.name in names]
    for name, at in declared.items():
        with problems.collect():
            beside = [*usual, *(own[other] for other in names if other in own)]
            own[name] = own[name]._replace(keys=_keys(at, name, beside))
    return found, tuple(own[name] for name in names if name in own)


def _action(
    problems: ErrorCollector,
    node: YamlNode,
    own: dict[str, KeyCommand],
    declared: dict[str, YamlNode],
) -> int:
    if not isinstance(node.value, dict):
        name = text(node)
        if name in (*ACTIONS, *own, "WAIT") or not _OWN.fullmatch(name):
            return read_action(node, own)
        near, _, _ = nearest(name, (*ACTIONS, *own)).partition("(")
        raise FieldError(
            node, f"no action {name!r}; {near}{{name: {name}}} declares one of your own"
        )
    entries = read_fields(problems, node, OWN_ACTION_KEYS)
    if "name" not in entries:
        raise FieldError(node, "an action of your own needs its name: {name: KICK, key: K}")
    name = text(entries["name"])
    if name in ACTIONS:
        raise FieldError(entries["name"], f"{name} is built in; write its name alone")
    if name in declared:
        raise FieldError(entries["name"], f"{name} stands here a second time")
    try:
        action = named_action(name)
    except ValueError as error:
        raise FieldError(entries["name"], str(error)) from None
    declared[name] = entries.get("key", node)
    says = name.replace("_", " ").lower()
    if "says" in entries:
        with problems.collect():
            says = text(entries["says"])
    own[name] = KeyCommand(name, says, ())
    return action


def read_action(node: YamlNode, own: Iterable[str]) -> Action:
    """A built-in action, or one of a scenario's own."""
    known = [*ACTIONS, *own]
    name = text(node)
    if name not in known:
        way = "" if own else "; one of your own is declared under action_space: {name: …, key: …}"
        raise FieldError(node, f"no action {name!r}{suggestion(name, known)}{way}")
    return named_action(name)


def _keys(node: YamlNode, name: str, beside: Iterable[KeyCommand]) -> tuple[str, ...]:
    """The key of an action, which nothing else has that players do in the level."""
    if isinstance(node.value, dict):  # the action itself, which has none
        return ()
    try:
        return (resolve_name(_KEY)(DOMAINS["grid"].title, name, text(node), beside),)
    except ValueError as error:
        raise FieldError(node, str(error)) from None
