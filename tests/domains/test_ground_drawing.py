"""What lies on the ground is drawn beneath things: in pictures, in the window, in a terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from components.core import FLOOR
from components.objects import EXIT, KEY, MOVING_OBSTACLE
from gv_engine.domains.grid.board import GridRenderer, find_motion
from gv_engine.domains.grid.terminal import GridTerminalView
from gv_engine.rules.frame import Frame
from gv_engine.ui.colors import DARK
from gv_engine.ui.drawing.sprites import SpriteSheet, TileCache, encode_looks

SHEET = SpriteSheet()
FREE = (FLOOR, 0, 0)


def a_frame(things, ground) -> Frame:
    """One row of cells; the exit stands in for what lies on the ground."""
    beneath = np.array([[(kind, 0, 0) for kind in ground]], np.uint8)
    grid = np.array(
        [[(kind, 0, 0) if kind != FLOOR else cell for kind, cell in zip(things, ground_cells)]
         for ground_cells in beneath.tolist()],
        np.uint8,
    )  # fmt: skip
    seen = np.ones(grid.shape[:2], np.bool_)
    return Frame("", grid, (0, 3, 0), (0, 0, 0), seen, grid, (0, 3, 0), beneath)


def tile(cell, below):
    found = encode_looks(np.array([[cell]], np.uint8), None, np.array([[below]], np.uint8))
    return TileCache(SHEET, 32, rgb=True)[found[0]][0].astype(int)


def test_a_thing_is_drawn_over_what_lies_beneath():
    over_exit = tile((KEY, 0, 4), (EXIT, 0, 0))
    alone, exit_alone = tile((KEY, 0, 4), FREE), tile((EXIT, 0, 0), (EXIT, 0, 0))
    changed = (over_exit != alone).any(-1)
    assert changed.any()
    assert (over_exit[changed] == exit_alone[changed]).all(-1).mean() > 0.5
    assert (over_exit != exit_alone).any()
    assert (tile((EXIT, 0, 0), (EXIT, 0, 0)) == tile((EXIT, 0, 0), FREE)).all()


def test_where_a_thing_has_gone_the_ground_is_left_and_does_not_come_or_go():
    before = a_frame((KEY, FLOOR, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    after = a_frame((FLOOR, KEY, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    found = find_motion(before, after)
    assert found is not None
    assert found[1:] == ((((KEY, 0, 0), (0, 0), (0, 1)),), (), ())


def test_pictures_have_the_ground_in_the_state_and_in_what_is_seen():
    with_ground = a_frame((MOVING_OBSTACLE, FLOOR, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    bare = a_frame((MOVING_OBSTACLE, FLOOR, FLOOR, FLOOR), (FLOOR, FLOOR, EXIT, FLOOR))
    one, other = (GridRenderer(SHEET).draw(frame) for frame in (with_ground, bare))
    differs = (one != other).any(-1).any(0)
    for left in (0, 4 * 32 + 16):
        assert differs[left : left + 32].any()
        assert not differs[left + 32 : left + 4 * 32].any()


def test_what_is_not_seen_shows_no_ground():
    frame = a_frame((KEY, FLOOR, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    hidden = replace(frame, seen=np.zeros((1, 4), np.bool_))
    assert frame.visible_ground is not None
    assert hidden.visible_ground is not None
    assert frame.visible_ground[0, 0].tolist() == [EXIT, 0, 0]
    assert not hidden.visible_ground.any()


@pytest.mark.parametrize(("ground", "text"), [(EXIT, "Ke"), (FLOOR, "K ")])
def test_a_terminal_underlines_what_lies_upon_something(ground, text):
    frame = a_frame((KEY, FLOOR, FLOOR, FLOOR), (ground, FLOOR, EXIT, FLOOR))
    line = GridTerminalView(None, DARK).draw(frame, "state", 20, 5)[0]
    assert line.plain.startswith(text)
    is_underlined = any("underline" in str(span.style) for span in line.spans)
    assert is_underlined == (ground == EXIT)
