"""Playing of sounds by pygame; each sound is synthesised at its first use and cached."""

from __future__ import annotations

from functools import cache

from gv_engine.play.session.tones import RATE, synthesize
from gv_engine.play.ui.drawing.sprites import pygame


def play_sound(name: str, volume: int) -> str:
    """Play the sound called `name`, a key of `TONES`, with a volume in percent; return an error
    message, or "" if it worked."""
    try:
        pygame.mixer.init(RATE, -16, 1, allowedchanges=0)  # does nothing if already initialised
        sound = _load_sound(name)
        sound.set_volume(volume / 100)
        sound.play()
    except pygame.error as error:
        return f"There is no sound: {error}"
    return ""


def close() -> None:
    """Release the sound device."""
    _load_sound.cache_clear()
    pygame.mixer.quit()


@cache
def _load_sound(name: str) -> pygame.mixer.Sound:
    return pygame.mixer.Sound(buffer=synthesize(name).tobytes())
