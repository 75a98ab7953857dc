"""Where frames go in each render mode; pygame is imported when the first one needs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gv_engine.batch import Batch, ObjectBatch
from gv_engine.canvas import Canvas
from gv_engine.objects import OBJECT_TYPES
from gv_engine.row_world import RowWorld
from gv_engine.simulation import Simulation
from gv_engine.system import RENDERING
from gv_engine.text import describe
from gv_engine.view import View
from gv_engine.world import AGENT
from systems.rendering import draw_state_and_observation

if TYPE_CHECKING:
    from gv_engine.playing.episode import Playable

CELL = 32
"""Pixels of a cell's side in arrays."""


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


class Pixels:
    """Render mode `rgb_array`: (H, W, 3) uint8, drawn without a display."""

    result: Any = None

    def __init__(self, scenario: Playable) -> None:
        from gv_engine.playing.recording import views_of

        view, drawing = next(iter(views_of(scenario).items()))
        self._draw = drawing(scenario, view, CELL)

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self.result = self._draw(frame)

    def close(self) -> None:
        """Nothing to let go of."""


class Window:
    """Render mode `human`: a window that follows the environment."""

    result = None

    def __init__(self, scenario: Playable) -> None:
        from gv_engine.frontend.window import Viewer

        self._viewer = Viewer(scenario.name, sprite_name, sprite_folders(scenario))

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self._viewer.show(frame)

    def close(self) -> None:
        """Close the window."""
        self._viewer.close()


RENDER_MODES: dict[str, type[Picture]] = {"human": Window, "rgb_array": Pixels, "ansi": Text}


class Renderer:
    """Draws worlds of a batch in a render mode, through the rendering systems."""

    def __init__(self, mode: str, batch: Batch | ObjectBatch) -> None:
        self._batch = batch
        self._picture = RENDER_MODES[mode](batch.scenario)
        self._view = View(batch.scenario.area)
        self._mirror: Simulation | None = None

    def draw(self, i: int) -> Any:
        """World i as the render mode has it: (H, W, 3) uint8, str or None."""
        batch, shown = self._batch, self._batch.outputs.grid[i]
        if isinstance(batch, ObjectBatch):
            batch.simulations[i].render(self._picture.show, shown)
        elif batch.scenario.calls(RENDERING):  # an author's, who may want any part of a world
            self._copy(batch, i).render(self._picture.show, shown)
        else:
            terms = batch.outputs.terms[i].tolist()
            canvas = Canvas(self._picture.show, batch.scenario, self._view, shown, terms)
            world = RowWorld(batch.scenario.layout, batch.rows[i : i + 1].reshape(()))
            draw_state_and_observation(world, AGENT, canvas)
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


def sprite_name(kind: int, state: int) -> str:
    """Base name of the drawing of an object of this type in this state."""
    return OBJECT_TYPES[kind].sprite_of(state)


def sprite_folders(scenario: Playable) -> tuple[Path, ...]:
    """Where an author's own drawings are: beside the scenario file and in `sprites/` there."""
    members: Sequence[Playable] = getattr(scenario, "members", (scenario,))  # those of a mixture
    sources = dict.fromkeys(member.source for member in members)
    folders = [source.parent for source in sources if source is not None]
    return tuple(each for folder in folders for each in (folder, folder / "sprites"))
