"""The clipboard of the system."""

from __future__ import annotations

from gv_engine.frontend.drawing.sprites import pygame


def copied(text: str) -> str:
    """Put a line of text into the clipboard; returns why that does not go, empty if it does."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        pygame.scrap.put(pygame.SCRAP_TEXT, text.encode())
    except pygame.error as error:
        return f"There is no clipboard: {error}"
    return ""


def pasted() -> str:
    """The text in the clipboard, one line of it; empty if there is none."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        raw = pygame.scrap.get(pygame.SCRAP_TEXT) or b""
    except pygame.error:
        return ""
    return raw.decode("utf-8", "replace").replace("\0", "").strip().partition("\n")[0]
