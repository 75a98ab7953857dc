"""`python -m benchmarks.window_wall SECONDS`: a batch viewer in a window, as `gv-engine view` opens
it.

Prints pictures per second, steps per second of all worlds, and cores used; see `window.py`.
"""

from __future__ import annotations

import sys
import time

from benchmarks.window import SCENARIO, WORLDS
from gv_engine import Scenario
from gv_engine.play.session.batch_viewer import BatchViewer
from gv_engine.play.ui.screens.batch import BatchScreen
from gv_engine.play.ui.window.app import App

WARM_UP = 3.0  # seconds before measuring starts


class _CountingBatchScreen(BatchScreen):
    """Batch screen that counts its pictures and quits when the time is up."""

    seconds = 0.0
    drawn = 0
    since: tuple[float, float, int, int] | None = None

    def draw(self, painter, now):  # type: ignore[no-untyped-def]  # as `Screen`
        """Draw the screen and count the picture."""
        super().draw(painter, now)
        self.drawn += 1

    def tick(self, now):  # type: ignore[no-untyped-def]  # as `Screen`
        """Print the figures and quit after the measured time."""
        assert self.local_worlds
        figures = now, time.process_time(), self.drawn, self.local_worlds.steps
        if self.since is None:
            self.since = (now + WARM_UP, *figures[1:])
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
    """Open the window."""
    viewer = BatchViewer(Scenario.load(SCENARIO), WORLDS)

    def open_screen(app: App) -> None:
        viewer.start()
        screen = _CountingBatchScreen(app, viewer, f"random, {WORLDS:,} worlds")
        screen.seconds = float(sys.argv[1])
        app.push(screen)

    App.load().run(open_screen)


if __name__ == "__main__":
    main()
