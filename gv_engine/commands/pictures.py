"""Options of commands that draw, and the drawing itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gv_engine.commands.arguments import UsageError, at_most, positive
from gv_engine.language.errors import nearest
from gv_engine.playing.episode import Playable
from gv_engine.playing.picture_files import FORMATS
from gv_engine.reading.families import FAMILIES


def add_pictures(parser: Any) -> None:
    """The options --view, --fps and --cell."""
    parser.add_argument(
        "--view",
        metavar="V",
        help=f"{_views()}; or window: what a player sees (default: the first of its family)",
    )
    parser.add_argument(
        "--fps", metavar="F", type=positive, default=8, help="steps a second (default: 8)"
    )
    parser.add_argument(
        "--cell", metavar="PX", type=_cell, default=48, help="a cell's side (default: 48)"
    )


def _views() -> str:
    """The views of each family."""
    return "; ".join(f"{family.title}: {', '.join(family.views)}" for family in FAMILIES.values())


def _cell(text: str) -> int:
    """Pixels of a cell's side, so few that a picture of a player's view goes into memory."""
    return at_most(256, positive(text))


def check_name(out: Path) -> None:
    """Make sure that pictures can go into a file of this name.

    Raises:
        UsageError: there is no such kind of file.
    """
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"{out}: the name must end with {', '.join(FORMATS)}")


def draw(frames: Iterable[Any], scenario: Playable, out: Path, options: argparse.Namespace) -> int:
    """Draw frames into a file.

    Returns:
        How many there were.

    Raises:
        UsageError: there is no such view.
        OSError: the file cannot be written.
    """
    # here, so that no other command imports pygame
    from gv_engine.frontend.drawing import recording

    views = recording.views_of(scenario)
    view = options.view or next(iter(views))
    if view not in views:
        raise UsageError(f"--view {view}: {nearest(view, views)}")
    with recording.Recorder(out, scenario, view, options.cell, options.fps) as recorder:
        for frame in frames:
            recorder.add(frame)
    return recorder.shown
