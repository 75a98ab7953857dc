"""Drawings of objects: their names, and the folders that scenarios keep their own in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gv_engine.language.objects import OBJECT_TYPES
from gv_engine.playing.episode import Playable


def sprite_name(kind: int, state: int) -> str:
    """Base name of the drawing of an object of this type in this state."""
    return OBJECT_TYPES[kind].sprite_of(state)


def sprite_folders(scenario: Playable) -> tuple[Path, ...]:
    """Where an author's own drawings are: beside the scenario file and in `sprites/` there."""
    members: Sequence[Playable] = getattr(scenario, "members", (scenario,))  # those of a mixture
    sources = dict.fromkeys(member.source for member in members)
    folders = [source.parent for source in sources if source is not None]
    return tuple(each for folder in folders for each in (folder, folder / "sprites"))
