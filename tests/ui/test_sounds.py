"""Sounds of a game, and their captions."""

import numpy as np
import pytest

from gv_engine.play.session import tones
from gv_engine.play.ui.screens import sounds
from tests.desk import Desk, playing

pytestmark = pytest.mark.window


def test_sounds_go_with_what_happens(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    heard: list[str] = []
    monkeypatch.setattr(sounds, "play_sound", lambda name, _: heard.append(name))
    playing(desk, seed=3)
    desk.press("Left", "Right")
    assert not heard
    desk.app.settings.sound = True
    desk.press("Down", "Right", "Up")
    assert heard == ["bump", "step", "won"]
    monkeypatch.setattr(sounds, "play_sound", lambda *_: "There is no sound: because")
    desk.press("R", "Right")
    assert not desk.app.settings.sound
    assert desk.app._note == "There is no sound: because"


def test_captions_stand_for_sounds(desk: Desk):
    playing(desk, seed=3)
    desk.press("Left", "Right")
    silent = desk.look()
    desk.app.settings.captions = True
    captions = []
    for key in ("Down", "Right", "Up"):
        desk.press(key)
        captions.append(desk.app._caption)
    assert captions == ["thud", "step", "fanfare"]
    assert tones.CAPTIONS.keys() == tones.TONES.keys()
    assert (desk.look() != silent).any()


@pytest.mark.parametrize("name", tones.TONES)
def test_sounds_are_short_and_not_too_loud(name: str):
    wave = tones.synthesize(name)
    assert 0.02 < len(wave) / tones.RATE < 1
    assert 1000 < np.abs(wave.astype(int)).max() < 10_000
    assert abs(int(wave[0])) < 100
