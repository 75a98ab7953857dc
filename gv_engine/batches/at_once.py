"""Worlds that nobody waits for: objects, until their program is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import Which
from gv_engine.batches.objects import ObjectBatch
from gv_engine.batches.worlds import Worlds
from gv_engine.language.errors import BuiltInDoesNotCompileError, DoesNotCompileError
from gv_engine.language.frame import Frame

if TYPE_CHECKING:
    from gv_engine.batches.compiled.batch import CompiledBatch
    from gv_engine.batches.compiled.elsewhere import Compilation


class WorldsAtOnce(Worlds):
    """N worlds that are compiled if their program is kept, and objects until it is compiled.

    They move over between two steps, and nothing that they show or do tells when. They stay
    objects, with a warning, if an author's rule does not compile.

    Attributes:
        now: the worlds that step.
    """

    now: Worlds
    _coming: tuple[CompiledBatch, Compilation] | None = None

    def make(self, num_worlds: int) -> None:
        from gv_engine.batches.compiled.batch import CompiledBatch

        settings = self.num_threads, self.masks, self.checked, self.more, self.levels
        given = self.scenario, num_worlds, *settings, self.outputs
        self._coming = None
        try:
            compiled = CompiledBatch(*given)
            self._coming = self._awaited(compiled)
            if not self._coming:
                compiled.prepare()
        except DoesNotCompileError as error:
            self._stay_objects(error)
            self._take(ObjectBatch(*given))
        else:
            self._take(ObjectBatch(*given) if self._coming else compiled)

    def _awaited(self, compiled: CompiledBatch) -> tuple[CompiledBatch, Compilation] | None:
        """The compiled worlds, and what compiles them; None if they need not or cannot wait."""
        if compiled.load():
            return None
        from gv_engine.batches.compiled.elsewhere import compilation_of

        try:
            return compiled, compilation_of(compiled)
        except Exception:  # whatever cannot be told to another process is compiled here
            return None

    @property
    def settled(self) -> Worlds:
        return self if self._coming else self.now

    def _take(self, worlds: Worlds) -> None:
        self.now, self.world, self.compiles = worlds, worlds.world, worlds.compiles
        self.asked = worlds.asked

    def _move(self, compiled: CompiledBatch, compilation: Compilation) -> None:
        """Go on with compiled worlds, if they compile."""
        self._coming = None
        for program in compiled.programs:
            program.failure = (compilation.failures or {}).get(program.key, program.failure)
        try:
            compiled.prepare()
        except DoesNotCompileError as error:
            self._stay_objects(error)
            return
        every = np.arange(len(self))
        compiled.put(every, self.now.snapshot(every))
        self._take(compiled)
        compilation.tell()

    def _stay_objects(self, error: DoesNotCompileError) -> None:
        """Warn that the worlds stay objects, and why.

        Raises:
            BuiltInDoesNotCompileError: no rule is an author's, so that it is a fault.
        """
        if isinstance(error, BuiltInDoesNotCompileError):
            raise error
        message = f"{self.scenario.name}: {error}; stepping object worlds instead"
        warnings.warn(message, RuntimeWarning, stacklevel=6)

    def __len__(self) -> int:
        return len(self.now)

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        self.now.set_generator(i, generator)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        if self._coming and self._coming[1].over():
            self._move(*self._coming)
        self.now.step(actions, mode)

    def snapshot(self, worlds: Which) -> NDArray[Any]:
        return self.now.snapshot(worlds)

    def put(self, worlds: Which, rows: NDArray[Any]) -> None:
        self.now.put(worlds, rows)

    def put_generators(self, worlds: Which, rows: NDArray[Any]) -> None:
        self.now.put_generators(worlds, rows)

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        self.now.render(i, show)
