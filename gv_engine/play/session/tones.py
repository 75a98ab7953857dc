"""Sounds of steps: short synthesized tones, and the choice of a tone for a step."""

from __future__ import annotations

import numpy as np

from gv_engine.rules.frame import Scene

RATE = 22_050  # samples a second
VOLUME = 0.25  # from 0 to 1
TONES: dict[str, tuple[tuple[float, ...], float]] = {
    "step": ((196.0,), 0.04),
    "bump": ((98.0,), 0.07),
    "take": ((587.3, 880.0), 0.06),
    "drop": ((440.0, 293.7), 0.06),
    "push": ((130.8, 123.5), 0.05),
    "door": ((146.8, 220.0, 293.7), 0.05),
    "gain": ((523.3, 659.3), 0.09),
    "loss": ((233.1, 174.6), 0.09),
    "won": ((523.3, 659.3, 784.0, 1046.5), 0.12),
    "over": ((392.0, 311.1, 261.6), 0.14),
}
"""Frequencies in Hz, played one after the other, and the duration of each in seconds."""
CAPTIONS = {
    **{"step": "step", "bump": "thud", "take": "pick up", "drop": "put down", "push": "scrape"},
    **{"door": "door", "gain": "chime", "loss": "low tones", "won": "fanfare"},
    "over": "falling tones",
}
"""Words for each sound, for players who do not hear it."""


def choose_sound(scene: Scene, stage_sound: str = "") -> str:
    """Return the name of the sound for a step whose result is the frame `scene`; `stage_sound` is
    the domain's own sound for the step, or ""."""
    if scene.outcome:
        return "won" if scene.success else "over"
    if stage_sound:
        return stage_sound
    # a small cost of every step is no event
    total = sum(value for value in scene.terms.values() if abs(value) > 0.1)
    if not total:
        return "step"
    return "gain" if total > 0 else "loss"


def synthesize(name: str) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Return the waveform of the sound called `name`, a key of `TONES`, as int16 samples."""
    frequencies, seconds = TONES[name]
    time = np.arange(int(seconds * RATE)) / RATE
    # each tone fades in for 4 ms to avoid a click, and fades out
    envelope = np.minimum(time / 0.004, 1) * np.exp(-time * 4 / seconds)
    tones = [np.sin(2 * np.pi * frequency * time) * envelope for frequency in frequencies]
    return (np.concatenate(tones) * VOLUME * np.iinfo(np.int16).max).astype(np.int16)
