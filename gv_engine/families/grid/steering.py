"""Which action a key means in a level."""

from collections.abc import Collection

_ASIDE = {"TURN_LEFT": "MOVE_LEFT", "TURN_RIGHT": "MOVE_RIGHT"}


def action_of(name: str, actions: Collection[str]) -> str:
    """The action of a command: where nobody turns, the keys for turning step aside.

    >>> action_of("TURN_LEFT", ["MOVE_FORWARD", "MOVE_LEFT"])
    'MOVE_LEFT'
    """
    aside = _ASIDE.get(name, name)
    return aside if name not in actions and aside in actions else name
