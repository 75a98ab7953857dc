"""Settings: what the player chooses once."""

from __future__ import annotations

from collections.abc import Sequence

from gv_engine.frontend.controls.groups import GROUPS
from gv_engine.frontend.controls.palette import PALETTES
from gv_engine.frontend.controls.settings import SCALES, SPEEDS, STEERING, forced_scale
from gv_engine.frontend.controls.theme import THEMES
from gv_engine.frontend.window.screens.keys import KeysScreen
from gv_engine.frontend.window.screens.menu import Menu, MenuRow

SWITCH = {False: "off", True: "on"}


class SettingsScreen(Menu):
    """A row for each setting; changes are seen behind it at once and kept when it is left."""

    title = "Settings"

    def rows(self) -> Sequence[MenuRow]:
        settings = self.app.settings
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        scales: dict[float, str] = {0: "automatic", **{s: f"{s:.0%}" for s in SCALES}}
        size = self.choice(settings, "Size", "scale", scales)
        if forced_scale():
            size = MenuRow("Size", lambda _: None, f"{forced_scale():.0%} by GV_ENGINE_SCALE")
        full = SWITCH[settings.full_screen]
        return (
            self.choice(settings, "Theme", "theme", {name: name for name in THEMES}),
            self.choice(settings, "Colours", "palette", {name: name for name in PALETTES}),
            size,
            self.choice(settings, "Movement", "animation", SWITCH),
            self.choice(settings, "Arrow keys", "steering", STEERING),
            self.choice(settings, "Speed of time", "time_speed", speeds),
            self.choice(settings, "Speed of replays", "speed", speeds),
            self.choice(settings, "Recordings", "recording", {".mp4": "MP4", ".gif": "GIF"}),
            self.choice(settings, "Sound", "sound", SWITCH),
            MenuRow("Change keys", lambda _: self.app.push(KeysScreen(self.app, tuple(GROUPS)))),
            MenuRow("Full screen", lambda _: self.app.toggle_full_screen(), full),
            MenuRow("Back", lambda _: self.app.pop(), key=self.app.bindings.label("menu", "leave")),
        )

    def command(self, name: str) -> None:
        silent = not self.app.settings.sound
        super().command(name)
        if silent and self.app.settings.sound:
            self.app.sound("gain")

    def closed(self) -> None:
        self.app.remember()
