"""`python -m benchmarks.window_wall SECONDS`: a wall in a window, as `gv-engine view` opens it.

Prints pictures a second, steps a second of all worlds, and cores that were used; see `window.py`.
"""

from __future__ import annotations

import sys
import time

from benchmarks.window import SCENARIO, WORLDS
from gv_engine import Scenario
from gv_engine.session.batch_viewer import BatchViewer
from gv_engine.ui.screens.batch import BatchScreen
from gv_engine.ui.window.app import App

WARM = 3.0  # s before anything counts


class _CountedWall(BatchScreen):
    """A wall that counts how often it is drawn, and leaves when it is time."""

    seconds = 0.0
    drawn = 0
    since: tuple[float, float, int, int] | None = None

    def draw(self, painter, now):  # type: ignore[no-untyped-def]  # as `Screen`
        super().draw(painter, now)
        self.drawn += 1

    def tick(self, now):  # type: ignore[no-untyped-def]  # as `Screen`
        assert self.local_worlds
        figures = now, time.process_time(), self.drawn, self.local_worlds.steps
        if self.since is None:
            self.since = (now + WARM, *figures[1:])
        elif now < self.since[0]:
            self.since = (self.since[0], *figures[1:])
        elif now > self.since[0] + self.seconds:
            passed, used, drawn, steps = (
                after - before for after, before in zip(figures, self.since, strict=True)
            )
            print(drawn / passed, steps * WORLDS / passed, used / passed)
            self.app.quit()
            return None
        return super().tick(now)


def main() -> None:
    """Open it."""
    worlds = BatchViewer(Scenario.load(SCENARIO), WORLDS)

    def first(app: App) -> None:
        worlds.start()
        screen = _CountedWall(app, worlds, f"random, {WORLDS:,} worlds")
        screen.seconds = float(sys.argv[1])
        app.push(screen)

    App.load().run(first)


if __name__ == "__main__":
    main()
