"""Drawings of PuzzleScript objects as SVG texts."""

from __future__ import annotations

import re

from gv_engine.plugins.puzzlescript.source import Sprite

_HEX = {
    **{"black": "#000000", "white": "#ffffff", "grey": "#9d9d9d", "darkgrey": "#697175"},
    **{"lightgrey": "#cccccc", "red": "#be2633", "darkred": "#732930", "lightred": "#e06f8b"},
    **{"brown": "#a46422", "darkbrown": "#493c2b", "lightbrown": "#eeb62f", "orange": "#eb8931"},
    **{"yellow": "#f7e26b", "green": "#44891a", "darkgreen": "#2f484e", "lightgreen": "#a3ce27"},
    **{"blue": "#1d57f7", "lightblue": "#b2dcef", "darkblue": "#1b2632", "purple": "#342a97"},
    "pink": "#de65e2",
}
"""PuzzleScript's default colours by name."""
_SIDE, _UNIT = 5, 10
"""Pixels of a sprite, and SVG units of a pixel."""


def draw_sprite(sprite: Sprite) -> str:
    """Return the SVG text of a sprite: one path for each colour, so that its pixels join."""
    rows = sprite.rows or ["0" * _SIDE] * _SIDE
    paths: dict[str, str] = {}
    for y, row in enumerate(rows[:_SIDE]):
        for run in re.finditer(r"(\d)\1*", row[:_SIDE]):
            number, width = int(run[1]), _UNIT * len(run[0])
            name = sprite.colors[number] if number < len(sprite.colors) else "pink"
            color = name if name.startswith("#") else _HEX.get(name.replace("gray", "grey"), "")
            if color:
                move = f"M{_UNIT * run.start()} {_UNIT * y}h{width}v{_UNIT}h-{width}z"
                paths[color] = paths.get(color, "") + move
    shapes = "".join(f'<path fill="{color}" d="{path}"/>' for color, path in paths.items())
    size = _SIDE * _UNIT
    return f'<svg viewBox="0 0 {size} {size}">{shapes}</svg>'
