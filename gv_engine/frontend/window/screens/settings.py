"""Settings: what the player chooses once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gv_engine.frontend.controls.palette import PALETTES
from gv_engine.frontend.controls.settings import SCALES, SPEEDS, forced_scale
from gv_engine.frontend.controls.theme import THEMES
from gv_engine.frontend.window.screens.menu import Menu, MenuRow

SWITCH = {False: "off", True: "on"}


class SettingsScreen(Menu):
    """A row for each setting; changes are seen behind it at once and kept when it is left."""

    title = "Settings"

    def rows(self) -> Sequence[MenuRow]:
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        scales: dict[float, str] = {0: "automatic", **{s: f"{s:.0%}" for s in SCALES}}
        size = self._choice("Size", "scale", scales)
        if forced_scale():
            size = MenuRow("Size", lambda _: None, f"{forced_scale():.0%} by GV_ENGINE_SCALE")
        return (
            self._choice("Theme", "theme", {name: name for name in THEMES}),
            self._choice("Colours", "palette", {name: name for name in PALETTES}),
            size,
            self._choice("Movement", "animation", SWITCH),
            self._choice("Speed of time and replays", "speed", speeds),
            self._choice("Recordings", "recording", {".mp4": "MP4", ".gif": "GIF"}),
            self._choice("Sound", "sound", SWITCH),
            MenuRow("Full screen", lambda _: self.app.toggle_full_screen(), self._full_screen()),
            MenuRow("Back", lambda _: self.app.pop(), key=self.app.bindings.label("menu", "leave")),
        )

    def _full_screen(self) -> str:
        return SWITCH[self.app.settings.full_screen]

    def _choice(self, label: str, name: str, values: dict[Any, str]) -> MenuRow:
        settings = self.app.settings
        keys = list(values)
        now = getattr(settings, name)
        number = keys.index(now) if now in keys else 0

        def act(step: int) -> None:
            setattr(settings, name, keys[(number + step) % len(keys)])
            self.app.stale = True

        return MenuRow(label, act, values[keys[number]])

    def command(self, name: str) -> None:
        silent = not self.app.settings.sound
        super().command(name)
        if silent and self.app.settings.sound:
            self.app.sound("gain")

    def closed(self) -> None:
        self.app.remember()
