"""Worlds that are seen in other colours, where all colours are alike.

Where rules ask no more of colours than whether two are the same, and levels draw them, a world in
other colours is one of the same game. So each episode is seen in colours of its own: what was right
among few of them is not learned by heart, and what is left is what the rules say. (As pictures are
cropped and tinted to learn from: Laskin et al., 2020.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gv_engine.batches.compiled.program_functions import functions_of
from gv_engine.envs.representations import Arrays
from gv_engine.language.call import Call
from gv_engine.language.objects import COLORS
from gv_engine.language.system import RENDERING, RESET
from gv_engine.reading.scenario import Scenario
from systems.queries import same_color

_MOST = 6
"""Colours that change places: in 720 ways."""


def colors_alike(scenario: Scenario) -> tuple[int, ...]:
    """The colours that may change places without any rule noticing it; () if none may.

    They are the `colors` that resets draw from, if these name no colour themselves, and if all
    other rules touch colours by `same_color` alone.
    """
    calls = [
        call for each in scenario.members for phase in each.schedule.values() for call in phase
    ]
    resets = [call for call in calls if call.system.phase is RESET]
    drawn = {call.arguments.get("colors", ()) for call in resets}
    named = {name for call in resets for _, uses in _reached(call) for name, _ in uses}
    touching = {
        function
        for call in calls
        if call.system.phase not in (RESET, RENDERING)
        for function, _ in _reached(call)
        if "color" in function.__code__.co_names
    }
    if len(drawn) > 1 or named.intersection(COLORS[1:]) or touching - {same_color}:
        return ()
    return tuple(*drawn)[:_MOST]


def _reached(call: Call) -> Iterator[tuple[Any, list[tuple[str, Any]]]]:
    """The functions that a call leads to, and the names and values that each of them uses."""
    for part in call.parts():
        system = part.system
        roots = *system.functions, system.objects, *part.arguments.values()
        yield from functions_of(roots).items()


class Recoloring:
    """The colours in which N agents see their worlds, drawn anew for each episode.

    Args:
        alike: colours that change places, see `colors_alike`.
        listed: (codes, 3) type, state and colour that each code of a cell stands for.
        agents: N.
        chance: that draws; it draws nothing where there are none of these.

    Attributes:
        orders: (N,) the number of each agent's order of the colours.
    """

    def __init__(
        self,
        alike: tuple[int, ...],
        listed: NDArray[np.uint8],
        agents: int,
        chance: torch.Generator,
    ) -> None:
        cells = [(kind, state, color) for kind, state, color in listed.tolist()]
        known = {cell: code for code, cell in enumerate(cells)}
        orders = [dict(zip(alike, each)) for each in itertools.permutations(alike)]
        self._codes = np.array(
            [
                [known.get((k, s, order.get(c, c)), code) for code, (k, s, c) in enumerate(cells)]
                for order in orders
            ]
        )
        self._chance = chance
        self.orders = torch.zeros(agents, dtype=torch.int64)
        self.draw(torch.ones(agents, dtype=torch.bool))

    def draw(self, begins: Tensor) -> None:
        """Draw the colours of agents whose episodes begin: an (N,) mask."""
        if len(self._codes) > 1:
            size = (int(begins.sum()),)
            self.orders[begins] = torch.randint(len(self._codes), size, generator=self._chance)

    def seen(self, arrays: Arrays, which: Any = slice(None)) -> Arrays:
        """What all of them, or some, see: `cells`, in their colours."""
        if len(self._codes) < 2:
            return arrays
        codes = self._codes[self.orders.numpy()[which]]
        found = {
            name: np.take_along_axis(codes, arrays[name].reshape(len(codes), -1), 1)
            for name in ("grid", "item")
        }
        return {**arrays, **found}
