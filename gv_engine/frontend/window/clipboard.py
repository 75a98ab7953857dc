"""The clipboard of the system."""

from __future__ import annotations

from gv_engine.frontend.drawing.sprites import pygame

_KINDS = ("text/plain;charset=utf-8", pygame.SCRAP_TEXT)
"""What texts are called there: under X11 the first one can be put, elsewhere the second."""


def copied(text: str) -> str:
    """Put a line of text into the clipboard; returns why that does not go, empty if it does."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        try:
            pygame.scrap.put(_KINDS[0], text.encode())
        except pygame.error:
            pygame.scrap.put(_KINDS[1], text.encode())
    except pygame.error as error:
        return f"There is no clipboard: {error}"
    return ""


def pasted() -> str:
    """The text in the clipboard, one line of it; empty if there is none."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        raw = next(filter(None, map(pygame.scrap.get, _KINDS)), b"")
    except pygame.error:
        return ""
    return raw.decode("utf-8", "replace").replace("\0", "").strip().partition("\n")[0]
