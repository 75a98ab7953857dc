"""BabyAI's instructions as objects of MiniGrid's own classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gv_engine.plugins.minigrid.extras import MINIGRID_PACKAGE
from gv_engine.plugins.minigrid.objects import COLOR_NAME_BY_INDEX, TYPE_NAME_BY_INDEX
from gv_engine.plugins.minigrid.systems import grammar

_PLACES = None, "left", "right", "front", "behind"


def make_instructions(mission: str, strict: bool) -> Any:
    """Return MiniGrid's instruction object for a BabyAI mission. If `strict`, any action other than
    the requested ones fails the mission.

    Raises:
        MissingExtraError: MiniGrid is not installed.
        AttributeError: the mission is none of BabyAI's.
    """
    MINIGRID_PACKAGE.require()
    try:
        wording, clauses = grammar.parse_instruction(mission)
    except ValueError as error:
        raise AttributeError(f"instrs: {mission!r} is no mission of BabyAI: {error}") from None
    from minigrid.envs.babyai.core import verifier

    instructions = [_make_clause(clause, strict) for clause in clauses.tolist() if clause[0]]
    count, _ = grammar.count_clauses(wording)
    sides = [
        verifier.AndInstr(*side, strict=strict) if len(side) == 2 else side[0]
        for side in (instructions[:count], instructions[count:])
        if side
    ]
    if len(sides) == 1:
        return sides[0]
    cls = verifier.AfterInstr if grammar.is_reversed(wording) else verifier.BeforeInstr
    return cls(*sides, strict=strict)


def _make_clause(clause: Sequence[int], strict: bool) -> Any:
    """Return MiniGrid's instruction object for one clause, encoded as 9 numbers."""
    from minigrid.envs.babyai.core import verifier

    verb, *numbers = clause
    first = verifier.ObjDesc(*_describe_object(numbers[: grammar.DESCRIPTION_LENGTH]))
    if verb == grammar.GO_TO:
        return verifier.GoToInstr(first)
    if verb == grammar.PICK_UP_OBJECT:
        return verifier.PickupInstr(first, strict=strict)
    if verb == grammar.OPEN_DOOR:
        return verifier.OpenInstr(first, strict=strict)
    second = verifier.ObjDesc(*_describe_object(numbers[grammar.DESCRIPTION_LENGTH :]))
    return verifier.PutNextInstr(first, second, strict=strict)


def _describe_object(numbers: Sequence[int]) -> tuple[str | None, str | None, str | None]:
    object_type, color, place, _ = numbers
    return TYPE_NAME_BY_INDEX.get(object_type), COLOR_NAME_BY_INDEX.get(color), _PLACES[place]
