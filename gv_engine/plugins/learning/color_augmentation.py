"""Data augmentation by colour permutation, for scenarios whose colours are interchangeable.

If the rules only ask whether two colours are the same, and levels sample the colours, a world with
permuted colours is a world of the same game. Each episode is observed under a different random
permutation, so that a policy cannot memorise the colours of a few levels. (Compare image
augmentation: Laskin et al., 2020.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays
from gv_engine.plugins.learning.torch_library import Tensor, torch
from gv_engine.rules.functions import find_functions, names_of
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import RENDERING, RESET, Call
from gv_engine.scenario.scenario import Scenario
from systems.queries import same_color

_MAX_COLORS = 6
"""Maximum number of colours that are permuted: 720 permutations."""


def interchangeable_colors(scenario: Scenario) -> tuple[int, ...]:
    """Return the colours that can be swapped without affecting any rule of the scenario, such as
    those of random keys. () if there are none.

    These are the `colors` that reset functions sample from, provided that reset functions name no
    colour themselves and all other rules compare colours by `same_color` alone.
    """
    calls = [
        call for member in scenario.members for phase in member.schedule.values() for call in phase
    ]
    resets = [call for call in calls if call.system.phase is RESET]
    sampled = {call.arguments.get("colors", ()) for call in resets}
    names = {name for call in resets for _, uses in _reached_functions(call) for name, _ in uses}
    color_functions = {
        function
        for call in calls
        if call.system.phase not in (RESET, RENDERING)
        for function, _ in _reached_functions(call)
        if "color" in names_of(function)
    }
    if len(sampled) > 1 or names.intersection(COLORS[1:]) or color_functions - {same_color}:
        return ()
    return tuple(*sampled)[:_MAX_COLORS]


def _reached_functions(call: Call) -> Iterator[tuple[Any, list[tuple[str, Any]]]]:
    """Yield each Python function that a rule may call, together with the globals and constants that
    it uses as (name, value) pairs."""
    for part in call.walk():
        system = part.system
        roots = *system.functions, system.objects, *part.arguments.values()
        yield from find_functions(roots).items()


class ColorAugmentation:
    """Colour permutations of N agents, sampled again for each episode.

    Args:
        colors: colours to permute, see `interchangeable_colors`.
        cells: (codes, 3) type, state and colour that each cell code stands for.
        agents: N.
        rng: generator of the permutations; unused if there are no colours.

    Attributes:
        permutation: (N,) index of each agent's permutation.
        num_permutations: number of permutations; 1 if there are no colours.
    """

    def __init__(
        self, colors: tuple[int, ...], cells: NDArray[np.uint8], agents: int, rng: torch.Generator
    ) -> None:
        """Prepare all permutations of `colors`. The class docstring explains the arguments."""
        codes = {tuple(cell): code for code, cell in enumerate(cells.tolist())}
        code_lists = []
        for permuted_colors in itertools.permutations(colors):
            new_colors = dict(zip(colors, permuted_colors))
            code_lists.append(
                [
                    codes.get((object_type, state, new_colors.get(color, color)), code)
                    for (object_type, state, color), code in codes.items()
                ]
            )
        # (permutations, codes): the code that each code becomes
        self._codes, self.num_permutations = np.array(code_lists), len(code_lists)
        self._rng = rng
        self.permutation = torch.zeros(agents, dtype=torch.int64)
        self.sample(torch.ones(agents, dtype=torch.bool))

    def sample(self, starts: Tensor) -> None:
        """Choose new random colour permutations for the agents for which `starts`, an (N,) mask, is
        True."""
        if len(self._codes) > 1:
            size = (int(starts.sum()),)
            self.permutation[starts] = torch.randint(len(self._codes), size, generator=self._rng)

    def apply(self, observation: Arrays, agents: Any = slice(None)) -> Arrays:
        """Permute the colours in observations of cell codes, by the current permutation of each
        agent. `agents` are the indices of the observing agents, by default all."""
        if len(self._codes) < 2:
            return observation
        codes = self._codes[self.permutation.numpy()[agents]]
        permuted = {
            name: np.take_along_axis(codes, observation[name].reshape(len(codes), -1), 1)
            for name in ("grid", "item")
        }
        return {**observation, **permuted}
