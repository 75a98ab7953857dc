"""What the menus and panels of the editor know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from gv_engine.editing.brushes import Brushes
from gv_engine.editing.sketch import MapCell
from gv_engine.editing.workpiece import Fault, Workpiece
from gv_engine.frontend.window.screens.screen import Host


class EditHost(Protocol):
    """The editor of a level."""

    app: Host
    work: Workpiece
    brushes: Brushes
    cursor: MapCell
    tool: str
    chosen_fault: int

    @property
    def faults(self) -> Sequence[Fault]: ...
    @property
    def verdict(self) -> tuple[str, str]: ...
    @property
    def has_map(self) -> bool: ...
    def command(self, name: str) -> None: ...
    def open_fault(self, number: int) -> None: ...
    def refresh(self) -> None: ...
    def save(self, then: Callable[[], None] = ...) -> None: ...
    def save_as(self, then: Callable[[], None] = ...) -> None: ...
    def write(self, file: Path | None = None, then: Callable[[], None] = ...) -> None: ...
    def leave(self) -> None: ...
