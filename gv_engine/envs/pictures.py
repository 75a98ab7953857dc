"""Pictures of worlds in each render mode; what draws is imported when the first one needs it."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, cast

from gv_engine.batches.batch import Batch, ObjectBatch
from gv_engine.language.system import RENDERING
from gv_engine.reading.text import describe
from gv_engine.worlds.bound_call import BoundCall
from gv_engine.worlds.canvas import Canvas
from gv_engine.worlds.row_world import RowWorld
from gv_engine.worlds.simulation import Simulation
from gv_engine.worlds.view import View

if TYPE_CHECKING:
    from gv_engine.playing.episode import Playable


class Picture(Protocol):
    """Takes frames; `result` is what `render()` returns for the last one."""

    result: Any

    def __init__(self, scenario: Playable) -> None: ...

    def show(self, frame: Any) -> None:
        """Draw a frame."""

    def close(self) -> None:
        """Let go of what is on the screen."""


class Text:
    """Render mode `ansi`: a str."""

    result = ""

    def __init__(self, scenario: Playable) -> None:
        pass

    def show(self, frame: Any) -> None:
        """Write a frame."""
        self.result = describe(frame)

    def close(self) -> None:
        """Nothing to let go of."""


RENDER_MODES = {
    "human": "gv_engine.frontend.window.follower:Follower",
    "rgb_array": "gv_engine.frontend.drawing.pixels:Pixels",
    "ansi": "gv_engine.envs.pictures:Text",
}
"""Where the `Picture` of each render mode is; nothing that steps a world imports one."""


def picture(place: str, scenario: Playable) -> Picture:
    """The picture of a scenario, from where `RENDER_MODES` says that it is."""
    return cast(Picture, resolve_name(place)(scenario))


class Renderer:
    """Draws worlds of a batch in a render mode, through the rendering systems."""

    def __init__(self, mode: str, batch: Batch | ObjectBatch) -> None:
        self._batch = batch
        self._picture = picture(RENDER_MODES[mode], batch.scenario)
        self._view = View(batch.scenario.area)
        self._mirror: Simulation | None = None

    def draw(self, i: int) -> Any:
        """World i as the render mode has it: (H, W, 3) uint8, str or None."""
        batch, shown = self._batch, self._batch.outputs.grid[i]
        if isinstance(batch, ObjectBatch):
            batch.simulations[i].render(self._picture.show, shown)
            return self._picture.result
        calls = batch.scenario.members[int(batch.rows["member"][i])].calls(RENDERING)
        if not all(call.system.rows for call in calls):  # one that may want any part of a world
            self._copy(batch, i).render(self._picture.show, shown)
            return self._picture.result
        terms = batch.outputs.terms[i].tolist()
        canvas = Canvas(self._picture.show, batch.scenario, self._view, shown, terms)
        world = RowWorld(batch.scenario.layout, batch.rows[i : i + 1].reshape(()))
        for call in calls:
            BoundCall(call).run(world, canvas)
        return self._picture.result

    def _copy(self, batch: Batch, i: int) -> Simulation:
        """World i as an object world."""
        if self._mirror is None:
            self._mirror = Simulation(batch.scenario)
        self._mirror.world.restore(batch.snapshot(i))
        self._mirror.terms = batch.outputs.terms[i].tolist()
        return self._mirror

    def close(self) -> None:
        """Close the window, if there is one."""
        self._picture.close()
