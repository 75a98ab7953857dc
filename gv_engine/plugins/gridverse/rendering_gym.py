"""Shapes on a canvas, with the interface of Gym's old drawing module, drawn with pygame.

x grows to the right, y upward. A shape is drawn through its attributes: colour, width of its lines,
and transforms, of which the one added last is applied last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.gridverse.rendering import ViewerWindow, pygame

Point2D = tuple[float, float]
RAD2DEG = 180 / math.pi


class _Canvas:
    """Surface that shapes are drawn on, and the attributes that are in force."""

    def __init__(self, width: int, height: int) -> None:
        """Make a transparent canvas of this size in pixels."""
        self.surface = pygame.Surface((width, height), 0, 32)
        self.surface.fill("white")
        # y grows downward on surfaces
        self.matrices = [np.array([[1.0, 0, 0], [0, -1, height], [0, 0, 1]])]  # the last applies
        self.color: tuple[float, ...] = (0, 0, 0)
        self.linewidth = 1.0

    def to_pixels(self, points: Iterable[Point2D]) -> list[Point2D]:
        """Return the pixels of points."""
        transformed = [self.matrices[-1] @ (x, y, 1.0) for x, y in points]
        return [(float(x), float(y)) for x, y, _ in transformed]

    def draw_polygon(self, points: Iterable[Point2D]) -> None:
        """Draw the area between points."""
        pygame.draw.polygon(self.surface, self._rgb, self.to_pixels(points))

    def draw_lines(self, points: Iterable[Point2D], close: bool) -> None:
        """Draw lines between points, and from the last to the first one if `close`."""
        width = max(1, round(self.linewidth))
        pygame.draw.lines(self.surface, self._rgb, close, self.to_pixels(points), width)

    @property
    def _rgb(self) -> list[int]:
        return [min(255, round(255 * channel)) for channel in self.color[:3]]


_canvases: list[_Canvas] = []
"""Canvas that is being drawn on, last."""


class Attr:
    """Base class of attributes: `enable` puts one in force before a shape is drawn, `disable` ends
    that."""

    def enable(self) -> None:
        """Put the attribute in force."""
        raise NotImplementedError

    def disable(self) -> None:
        """End the effect of the attribute."""


class Transform(Attr):
    """Scale, then rotation by radians, then translation."""

    def __init__(
        self,
        translation: Point2D = (0.0, 0.0),
        rotation: float = 0.0,
        scale: Point2D = (1, 1),
    ) -> None:
        self.translation, self.rotation, self.scale = translation, rotation, scale

    def enable(self) -> None:
        """Apply this translation, rotation and scale to everything drawn until `disable` is
        called."""
        (x, y), (scale_x, scale_y) = self.translation, self.scale
        cos, sin = math.cos(self.rotation), math.sin(self.rotation)
        matrix = np.array(
            [[cos * scale_x, -sin * scale_y, x], [sin * scale_x, cos * scale_y, y], [0, 0, 1]]
        )
        matrices = _canvases[-1].matrices
        matrices.append(matrices[-1] @ matrix)

    def disable(self) -> None:
        """End the effect of the transform."""
        _canvases[-1].matrices.pop()

    def set_translation(self, newx: float, newy: float) -> None:
        """Set the translation."""
        self.translation = float(newx), float(newy)

    def set_rotation(self, new: float) -> None:
        """Set the rotation in radians, counterclockwise."""
        self.rotation = float(new)

    def set_scale(self, newx: float, newy: float) -> None:
        """Set the scale."""
        self.scale = float(newx), float(newy)


class Color(Attr):
    """Colour: red, green, blue and alpha from 0 to 1; alpha has no effect."""

    def __init__(self, vec4: tuple[float, ...]) -> None:
        self.vec4 = vec4

    def enable(self) -> None:
        """Draw in this colour."""
        _canvases[-1].color = self.vec4


class LineStyle(Attr):
    """Pattern of dashes, which has no effect."""

    def __init__(self, style: int) -> None:
        self.style = style

    def enable(self) -> None:
        """Do nothing."""


class LineWidth(Attr):
    """Width of lines in pixels."""

    def __init__(self, stroke: float) -> None:
        self.stroke = stroke

    def enable(self) -> None:
        """Draw lines of this width."""
        _canvases[-1].linewidth = self.stroke


class Geom:
    """Base class of shapes; subclasses draw themselves in `render1`."""

    def __init__(self) -> None:
        self._color = Color((0, 0, 0, 1.0))
        self.attrs: list[Attr] = [self._color]

    def render(self) -> None:
        """Draw the shape with its colour, line width and transforms."""
        for attr in reversed(self.attrs):
            attr.enable()
        self.render1()
        for attr in self.attrs:
            attr.disable()

    def render1(self) -> None:
        """Draw the shape with the attributes in force."""
        raise NotImplementedError

    def add_attr(self, attr: Attr) -> None:
        """Add an attribute."""
        self.attrs.append(attr)

    def set_color(self, r: float, g: float, b: float) -> None:
        """Set the colour, each part from 0 to 1."""
        self._color.vec4 = (r, g, b, 1)


class Point(Geom):
    """Point at (0, 0)."""

    def render1(self) -> None:
        """Draw one pixel."""
        _canvases[-1].draw_lines([(0, 0), (0, 0)], close=False)


class FilledPolygon(Geom):
    """Area between points."""

    def __init__(self, v: Sequence[Point2D]) -> None:
        super().__init__()
        self.v = v

    def render1(self) -> None:
        """Draw the area."""
        _canvases[-1].draw_polygon(self.v)


class PolyLine(Geom):
    """Lines between points."""

    def __init__(self, v: Sequence[Point2D], close: bool) -> None:
        """Make a line through the points `v`. If `close`, it ends at the first point again."""
        super().__init__()
        self.v, self.close = v, close
        self.linewidth = LineWidth(1)
        self.add_attr(self.linewidth)

    def render1(self) -> None:
        """Draw the lines."""
        _canvases[-1].draw_lines(self.v, self.close)

    def set_linewidth(self, x: float) -> None:
        """Set the width of the lines in pixels."""
        self.linewidth.stroke = x


class Line(PolyLine):
    """Line between two points."""

    def __init__(self, start: Point2D = (0.0, 0.0), end: Point2D = (0.0, 0.0)) -> None:
        super().__init__([start, end], close=False)
        self.start, self.end = start, end


class Compound(Geom):
    """Several shapes, drawn in one colour."""

    def __init__(self, gs: Sequence[Geom]) -> None:
        """Combine the shapes `gs` into one shape, and remove their own colours."""
        super().__init__()
        self.gs = gs
        for shape in gs:
            shape.attrs = [attr for attr in shape.attrs if not isinstance(attr, Color)]

    def render1(self) -> None:
        """Draw all shapes."""
        for shape in self.gs:
            shape.render()


class Image(Geom):
    """Picture from a file, with its centre at (0, 0); rotations have no effect."""

    def __init__(self, fname: str | Path, width: float, height: float) -> None:
        super().__init__()
        self.width, self.height = width, height
        self.img = pygame.image.load(fname)

    def render1(self) -> None:
        """Draw the picture."""
        x, y = self.width / 2, self.height / 2
        (left, bottom), (right, top) = _canvases[-1].to_pixels([(-x, -y), (x, y)])
        area = pygame.Rect(left, top, right - left, bottom - top)
        _canvases[-1].surface.blit(pygame.transform.smoothscale(self.img, area.size), area)


def make_circle(radius: float = 10, res: int = 30, filled: bool = True) -> Geom:
    """Return a circle around (0, 0) with `res` corners."""
    angles = (2 * math.pi * i / res for i in range(res))
    return make_polygon([(math.cos(a) * radius, math.sin(a) * radius) for a in angles], filled)


def make_polygon(v: Sequence[Point2D], filled: bool = True) -> Geom:
    """Return the area between points, or its border."""
    return FilledPolygon(v) if filled else PolyLine(v, True)


def make_polyline(v: Sequence[Point2D]) -> PolyLine:
    """Return the lines between points."""
    return PolyLine(v, False)


def make_capsule(length: float, width: float) -> Geom:
    """Return a rectangle of this size with round ends, which extends to the right from (0, 0)."""
    half = width / 2
    box = make_polygon([(0, -half), (0, half), (length, half), (length, -half)])
    ends = make_circle(half), make_circle(half)
    ends[1].add_attr(Transform(translation=(length, 0)))
    return Compound([box, *ends])


def get_display(spec: object) -> None:
    """Return None: there is one display."""


class Viewer:
    """Canvas with a window, which opens when it is needed.

    Attributes:
        isopen: False after the window was closed.

    Args:
        width, height: size in pixels.
    """

    def __init__(self, width: int, height: int, display: object = None) -> None:
        """Make a canvas of this size in pixels; `display` is ignored."""
        self.width, self.height, self.isopen = width, height, True
        self.geoms: list[Geom] = []
        self.onetime_geoms: list[Geom] = []
        self.transform = Transform()
        self._window: ViewerWindow | None = None

    @property
    def window(self) -> ViewerWindow:
        """Return the window, which opens at the first call."""
        if self._window is None:
            self._window = ViewerWindow(self.width, self.height, "GV Engine")
        return self._window

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def window_closed_by_user(self) -> None:
        """Remember that the window was closed."""
        self.isopen = False

    def set_bounds(self, left: float, right: float, bottom: float, top: float) -> None:
        """Set the coordinates of the edges."""
        scale_x, scale_y = self.width / (right - left), self.height / (top - bottom)
        translation = -left * scale_x, -bottom * scale_y
        self.transform = Transform(translation, scale=(scale_x, scale_y))

    def add_geom(self, geom: Geom) -> None:
        """Draw a shape from now on."""
        self.geoms.append(geom)

    def add_onetime(self, geom: Geom) -> None:
        """Draw a shape in the next picture only."""
        self.onetime_geoms.append(geom)

    def get_array(self) -> NDArray[np.uint8]:
        """Return the picture of all shapes, (height, width, 3) uint8."""
        canvas = _Canvas(self.width, self.height)
        _canvases.append(canvas)
        try:
            self.transform.enable()
            for geom in (*self.geoms, *self.onetime_geoms):
                geom.render()
        finally:
            _canvases.pop()
        return np.ascontiguousarray(pygame.surfarray.array3d(canvas.surface).swapaxes(0, 1))

    def render(self, return_rgb_array: bool = False) -> NDArray[np.uint8] | bool:
        """Draw all shapes, in the window if it is open or no array is wanted; return the picture,
        or True while the window is open."""
        picture = self.get_array()
        self.onetime_geoms = []
        if self._window is not None or not return_rgb_array:
            self.window.show(picture)
        return picture if return_rgb_array else self.isopen

    def draw_circle(
        self, radius: float = 10, res: int = 30, filled: bool = True, **attrs: Any
    ) -> Geom:
        """Draw a circle in the next picture."""
        return self._draw(make_circle(radius, res, filled), attrs)

    def draw_polygon(self, v: Sequence[Point2D], filled: bool = True, **attrs: Any) -> Geom:
        """Draw an area or its border in the next picture."""
        return self._draw(make_polygon(v, filled), attrs)

    def draw_polyline(self, v: Sequence[Point2D], **attrs: Any) -> Geom:
        """Draw lines in the next picture."""
        return self._draw(make_polyline(v), attrs)

    def draw_line(self, start: Point2D, end: Point2D, **attrs: Any) -> Geom:
        """Draw a line in the next picture."""
        return self._draw(Line(start, end), attrs)

    def _draw(self, geom: Any, attrs: dict[str, Any]) -> Geom:
        """Add a shape with the given `color` and `linewidth` to the next picture only, and return
        the shape."""
        if "color" in attrs:
            geom.set_color(*attrs["color"])
        if "linewidth" in attrs:
            geom.set_linewidth(attrs["linewidth"])
        self.add_onetime(geom)
        return geom  # type: ignore[no-any-return]  # each shape is one


class SimpleImageViewer:
    """Window that shows pictures; wide ones are shown smaller."""

    def __init__(self, display: object = None, maxwidth: int = 500) -> None:
        self.window: ViewerWindow | None = None
        self.isopen, self.maxwidth = False, maxwidth

    def imshow(self, arr: NDArray[np.uint8]) -> None:
        """Show an (H, W, 3) uint8 picture."""
        height, width, _ = arr.shape
        scale = min(1.0, self.maxwidth / width)
        size = int(width * scale), int(height * scale)
        if self.window is None:
            self.window, self.isopen = ViewerWindow(*size, "GV Engine"), True
        picture = pygame.image.frombuffer(arr.tobytes(), (width, height), "RGB")
        shown = pygame.transform.scale(picture, (self.window.width, self.window.height))
        self.window.show(np.ascontiguousarray(pygame.surfarray.array3d(shown).swapaxes(0, 1)))

    def close(self) -> None:
        """Close the window."""
        if self.window is not None:
            self.window.close()
            self.window, self.isopen = None, False
