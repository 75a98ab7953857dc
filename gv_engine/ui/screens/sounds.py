"""Sounds: short tones, made when they are first wanted."""

from __future__ import annotations

from functools import cache

import numpy as np

from gv_engine.rules.frame import Scene
from gv_engine.ui.drawing.sprites import pygame

RATE = 22_050  # samples a second
LOUD = 0.25  # of what is possible
TONES: dict[str, tuple[tuple[float, ...], float]] = {
    "step": ((196.0,), 0.04),
    "bump": ((98.0,), 0.07),
    "take": ((587.3, 880.0), 0.06),
    "drop": ((440.0, 293.7), 0.06),
    "door": ((146.8, 220.0, 293.7), 0.05),
    "gain": ((523.3, 659.3), 0.09),
    "loss": ((233.1, 174.6), 0.09),
    "won": ((523.3, 659.3, 784.0, 1046.5), 0.12),
    "over": ((392.0, 311.1, 261.6), 0.14),
}
"""Frequencies in Hz, one after the other, and how long each is, in seconds."""


def sound_of(scene: Scene, own: str = "") -> str:
    """The name of the sound that goes with a step; `own` is what the stage has for it."""
    if scene.outcome:
        return "won" if scene.success else "over"
    if own:
        return own
    # what every step costs is no event
    notable = [value for value in scene.terms.values() if abs(value) > 0.1]
    total = sum(notable)
    return "gain" if total > 0 else "loss" if total < 0 else "step"


def play_sound(name: str) -> str:
    """Play a sound; returns why there is none, empty if there is."""
    try:
        pygame.mixer.init(RATE, -16, 1, allowedchanges=0)  # nothing, once it is
        _made(name).play()
    except pygame.error as error:
        return f"There is no sound: {error}"
    return ""


def close() -> None:
    """Let go of the loudspeakers."""
    _made.cache_clear()
    pygame.mixer.quit()


@cache
def _made(name: str) -> pygame.mixer.Sound:
    return pygame.mixer.Sound(buffer=wave(name).tobytes())


def wave(name: str) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """(samples,) int16 of a sound."""
    frequencies, seconds = TONES[name]
    time = np.arange(int(seconds * RATE)) / RATE
    # each tone swells for 4 ms, so that it does not click, and fades
    shape = np.minimum(time / 0.004, 1) * np.exp(-time * 4 / seconds)
    parts = [np.sin(2 * np.pi * frequency * time) * shape for frequency in frequencies]
    return (np.concatenate(parts) * LOUD * 32_767).astype(np.int16)
