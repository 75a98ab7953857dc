"""Many worlds of a scenario at once, with whichever backend.

A backend is a class that does what `Backend` says, and a line in `BACKENDS`. All of them show the
same thing in the same arrays (`StepArrays`), so that nobody asks which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.frame import Frame
from gv_engine.scenario.layout import RNG
from gv_engine.scenario.row_check import require_layout
from gv_engine.vector.seeding import seeded
from gv_engine.vector.step_buffers import StepArrays
from gv_engine.world.autoreset import DISABLED, DRAWN, KEEP, NEXT_STEP, RESTART, Which, looking
from gv_engine.world.rng import generator_to_row

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


class Backend(Protocol):
    """N worlds of a scenario. A copy of them, or what comes out of a pickle, has the same future.

    The base class of all backends: these say how worlds are made, stepped, put and read; what
    follows from that, `reset` and `restore`, is here.

    Args:
        scenario: what they play.
        num_worlds: N.
        num_threads: how many threads share the work, if the backend shares it.
        masks: whether to find out which actions would do something.
        checked: whether an index beyond its array is an error even in the engine's own rules.
        more: names of arrays in `StepArrays` to be shown, too, that few ask for: ground, whole.
        levels: (K,) records of generators: each world begins with the level of one of them, which
            it draws from its own, and goes on with that; without any it draws the level from it.
        outputs: what they show it in, if not in arrays of their own.

    Attributes:
        world: the backend's name.
        compiles: whether compiled code may help those who read what the worlds show.
        asked: (N,) the number of the level that each is to begin with, or DRAWN.
        outputs: what the worlds show, overwritten by `reset`, `step` and `restore`.

    Raises:
        DoesNotCompileError: the backend cannot run a rule of the scenario; or `prepare` says so.
    """

    world: str
    compiles: bool = False
    scenario: Scenario
    outputs: StepArrays
    num_threads: int
    masks: bool
    checked: bool
    more: tuple[str, ...]
    levels: NDArray[Any]
    asked: NDArray[np.int64]

    def __init__(
        self,
        scenario: Scenario,
        num_worlds: int,
        num_threads: int = 1,
        masks: bool = True,
        checked: bool = False,
        more: tuple[str, ...] = (),
        levels: NDArray[Any] | None = None,
        outputs: StepArrays | None = None,
    ) -> None:
        self.scenario = scenario
        self.outputs = outputs or StepArrays.of(scenario, num_worlds, more)
        self.num_threads, self.masks, self.checked = num_threads, masks, checked
        self.more = more
        self.levels = np.zeros(0, RNG) if levels is None else levels
        self.asked = np.full(num_worlds, DRAWN)
        self.make(num_worlds)

    def make(self, num_worlds: int) -> None:
        """Make the worlds; all attributes are there."""

    def prepare(self) -> None:
        """Be ready to step, however long that takes.

        Raises:
            DoesNotCompileError: the backend cannot run a rule of the scenario.
        """
        return  # without it mypy takes this for a method that all have to write

    @property
    def settled(self) -> Backend:
        """The same worlds, without what only those need that will change their backend."""
        return self

    def __len__(self) -> int: ...

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        """Give world i the state of a PCG64 generator, from which its next level is drawn."""
        record = np.zeros((), RNG)
        generator_to_row(generator, record)
        self.put_generators(i, record)

    def reset(self, chosen: NDArray[np.bool_]) -> None:
        """Begin a new episode in the worlds where `chosen`, (N,), is True.

        The very first one begins here too: a backend has no reset, its `step` sees RESTART.

        Raises:
            RuleError: as for `step`.
        """
        told = np.where(chosen, RESTART, KEEP)
        self.step(told.repeat(self.scenario.layout.agents), DISABLED)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Let every world act, or RESTART, LOOK or KEEP where the action says so.

        Args:
            actions: (N,) int64 positions in the scenario's action space; not checked. With A agents
                (N * A,), those of one world one after the other; what is said in place of one
                counts for the world where the first agent says it.
            mode: when a finished world begins anew; `gv_engine.world.autoreset` has the rules.

        Raises:
            RuleError: a rule is not defined on some of the worlds, or broke off with an error of
                Python's; its `worlds` says on which, and the others have gone on.
        """

    def snapshot(self, worlds: Which) -> NDArray[Any]:
        """These worlds as rows, () or (K,) like `worlds`, independent of the batch."""

    def restore(self, worlds: Which, rows: NDArray[Any], trusted: bool = False) -> None:
        """Make these worlds, all different, the worlds of rows, or all of them that of one row.

        They are shown, with no reward in `outputs.terms`.

        Args:
            trusted: the rows come from worlds of this scenario as they are, so that nothing in them
                is looked for that compiled code could stumble over.

        Raises:
            ValueError: the rows have another layout, or are damaged.
        """
        rows = self.check(rows, trusted)
        self.put(worlds, rows)
        by_world = partial(self.outputs.of_worlds, num_worlds=len(self))
        by_world("terms")[worlds] = 0.0  # those of another member would stay
        self.look(worlds)
        self.put_generators(worlds, rows["rng"])  # looking may have drawn
        by_world("success")[worlds] = rows["success"][..., 1:]

    def check(self, rows: NDArray[Any], trusted: bool) -> NDArray[Any]:
        """Return rows that can be worlds of the scenario, see `Scenario.check`; if trusted, only
        their layout is looked at.

        Raises:
            ValueError: they cannot.
        """
        if not trusted:
            return self.scenario.check_rows(rows)
        require_layout(self.scenario.layout, rows)
        return rows

    def look(self, worlds: Which) -> None:
        """Show these worlds, and leave all others alone.

        Raises:
            RuleError: as for `step`.
        """
        self.step(looking(len(self), self.scenario.layout.agents, worlds), NEXT_STEP)

    def restart(self, chosen: NDArray[np.bool_], seeds: Mapping[int, int]) -> None:
        """Begin a new episode where `chosen`, (N,), is True, in some worlds that of a seed.

        Of K levels that are listed, seed s has that of number s % K.

        Args:
            seeds: by world.
        """
        worlds = np.array([*seeds], np.int64)
        if seeds:
            self.put_generators(worlds, seeded([*seeds.values()]))
        if number := len(self.levels):
            self.asked[worlds] = [seed % number for seed in seeds.values()]
        self.reset(chosen)

    def bench(self, num_worlds: int) -> Backend:
        """Worlds of the same kind for whoever plans, in one thread."""
        made = type(self)(self.scenario, num_worlds, 1, self.masks, self.checked, self.more)
        made.prepare()
        return made

    def put(self, worlds: Which, rows: NDArray[Any]) -> None:
        """For `restore`: make these worlds those of the rows, and show nothing."""

    def put_generators(self, worlds: Which, records: NDArray[Any]) -> None:
        """Let these worlds draw as records of generators do, () for all of them or (K,)."""

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Run the rendering systems on world i; `show` takes the finished frame."""

    def __getstate__(self) -> tuple[Any, ...]:
        how = self.num_threads, self.masks, self.checked, self.more, self.levels
        given = self.scenario, len(self), *how
        return given, self.snapshot(np.arange(len(self))), self.outputs

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        given, rows, outputs = state
        self.__init__(*given)  # type: ignore[misc]  # contexts and addresses are those of now
        self.prepare()
        self.put(np.arange(len(rows)), rows)
        self.outputs.become(outputs)


def words_of(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """(n, words): rows () or (n,), where they are; NumPy copies records field by field."""
    words = np.ascontiguousarray(rows).view(np.uint64)
    return words.reshape(rows.size, rows.dtype.itemsize // 8)


BACKENDS = {
    "compiled": "gv_engine.vector.compiled_backend:CompiledBatch",
    "object": "gv_engine.vector.object_backend:ObjectBatch",
}
"""Where the `Backend` of each backend are, by the name that `world=` takes; imported when needed."""

_AT_ONCE = "gv_engine.vector.object_backend:DeferredBackend"
"""Where the `Backend` are that are objects first, and compiled later."""


def make_batch(
    scenario: Scenario,
    num_worlds: int,
    world: str = "auto",
    num_threads: int = 1,
    masks: bool = True,
    checked: bool = False,
    more: tuple[str, ...] = (),
    levels: NDArray[Any] | None = None,
) -> Backend:
    """Worlds of a backend, ready to step; compiled ones by default.

    Args:
        world: a name in `BACKENDS`, or "auto": compiled if possible, objects until their program
            is there; if an author's rule does not compile, objects and a warning.
        num_threads, masks, checked, more, levels: as for `Backend`.

    Raises:
        DoesNotCompileError: a backend was asked for and cannot run a rule, or "auto" and none of
            the rules is an author's.
        ValueError: there is no such backend.
    """

    if world not in ("auto", *BACKENDS):
        *names, last = map(repr, ("auto", *BACKENDS))
        raise ValueError(f"world={world!r}: allowed are {', '.join(names)} and {last}")
    place = _AT_ONCE if world == "auto" else BACKENDS[world]
    worlds = cast(type[Backend], resolve_name(place))(
        scenario, num_worlds, num_threads, masks, checked, more, levels
    )
    worlds.prepare()
    return worlds.settled
