"""Pictures and windows of states and observations, drawn with the engine's sprites."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.play.ui.drawing.sprites import pygame as pygame
from gv_engine.play.ui.drawing.tiles import render_grid
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.state import State

_CELL = 40
"""Side of a cell in pixels."""

_KEYS = {
    pygame.K_BACKSPACE: 0xFF08,
    pygame.K_TAB: 0xFF09,
    pygame.K_RETURN: 0xFF0D,
    pygame.K_ESCAPE: 0xFF1B,
    pygame.K_LEFT: 0xFF51,
    pygame.K_UP: 0xFF52,
    pygame.K_RIGHT: 0xFF53,
    pygame.K_DOWN: 0xFF54,
}
"""Symbols that pyglet has for keys, where they differ from pygame's."""


class ViewerWindow:
    """Window with the part of pyglet's interface that scripts for GridVerse use.

    Attributes:
        visible: True while the window is shown.
    """

    _open: ClassVar[list[ViewerWindow]] = []

    def __init__(self, width: int, height: int, caption: str) -> None:
        """Open a window of this size in pixels."""
        from pygame._sdl2.video import Renderer, Texture, Window

        pygame.display.init()
        self.width, self.height, self.visible = width, height, True
        self._make_texture = Texture.from_surface
        self._window = Window(caption, size=(width, height))
        self._renderer = Renderer(self._window)
        self._handlers: list[Any] = []
        self._open.append(self)

    def push_handlers(self, *handlers: Any) -> None:
        """Call the methods `on_key_press(symbol, modifiers)` and `on_close()` of the `handlers`,
        as far as they have them. Keys have the symbols of `pyglet.window.key`."""
        self._handlers += handlers

    def set_caption(self, caption: str) -> None:
        """Set the title."""
        self._window.title = caption

    def set_visible(self, visible: bool = True) -> None:
        """Show or hide the window."""
        self.visible = visible
        if visible:
            self._window.show()
        else:
            self._window.hide()

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show an (H, W, 3) uint8 image of the window's size, then process keyboard and window
        events."""
        size = self.width, self.height
        surface = pygame.image.frombuffer(picture.tobytes(), size, "RGB")
        self._make_texture(self._renderer, surface).draw()
        self._renderer.present()
        for event in pygame.event.get((pygame.KEYDOWN, pygame.WINDOWCLOSE)):
            target = getattr(event, "window", None)  # None: of no certain window
            for window in [each for each in self._open if target in (None, each._window)]:
                window._handle_event(event)

    def _handle_event(self, event: Any) -> None:
        """Call the handlers registered for a pygame event, such as a key press."""
        if event.type == pygame.WINDOWCLOSE:
            self.set_visible(False)
        for handler in self._handlers:
            if event.type == pygame.KEYDOWN and hasattr(handler, "on_key_press"):
                handler.on_key_press(_KEYS.get(event.key, event.key), event.mod)
            elif event.type == pygame.WINDOWCLOSE and hasattr(handler, "on_close"):
                handler.on_close()

    def close(self) -> None:
        """Close the window."""
        if self in self._open:
            self._open.remove(self)
            del self._renderer  # the window would free it first
            self._window.destroy()


class GridVerseViewer:
    """Drawer of states and observations, with a window that opens when it is needed.

    Args:
        shape: (height, width) of the grids.
        caption: title of the window.
    """

    def __init__(self, shape: tuple[int, int], *, caption: str | None = None) -> None:
        """Prepare to draw grids of this shape. The window opens only when something is shown in
        it."""
        self._shape = shape
        self._caption = caption or "GV Engine"
        self._window: ViewerWindow | None = None
        self._draws_hud = True

    @property
    def window(self) -> ViewerWindow:
        """Return the window. It opens on first access."""
        if self._window is None:
            height, width = self._shape
            self._window = ViewerWindow(_CELL * width, _CELL * height, self._caption)
        return self._window

    def flip_visibility(self) -> None:
        """Hide the window, or show it again."""
        self.window.set_visible(not self.window.visible)

    def flip_hud(self) -> None:
        """Leave out action, reward, return and end from the pictures, or draw them again."""
        self._draws_hud = not self._draws_hud

    def render(
        self,
        state_or_observation: State | Observation,
        *,
        action: Action | None = None,
        reward: float | None = None,
        ret: float | None = None,
        done: bool | None = None,
        return_rgb_array: bool = False,
    ) -> NDArray[np.uint8] | bool:
        """Draw a state or observation. If `return_rgb_array`, return the picture as an array.
        Otherwise, or if a window is open, show it in the window.

        Args:
            action, reward, ret, done: last action and reward, return and end of the episode, which
                are written over the picture.
            return_rgb_array: return the picture.

        Returns:
            The picture, (40 H, 40 W, 3) uint8, or True.
        """
        lines = (
            f"action: {'' if action is None else action.name}",
            f"reward: {'' if reward is None else f'{reward:.2f}'}",
            f"return: {'' if ret is None else f'{ret:.2f}'}",
            f"done: {'' if done is None else done}",
        )
        arrays = state_or_observation.to_arrays()
        picture: NDArray[np.uint8] = render_grid(
            arrays["grid"],
            arrays["agent"],
            state_or_observation.grid.world.layout.object_types,
            _CELL,
            lines if self._draws_hud else (),
        )
        if self._window is not None or not return_rgb_array:
            self.window.show(picture)
        return picture if return_rgb_array else True

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()
            self._window = None
