"""Levels that can be played in notebooks: their web page in an iframe."""

from __future__ import annotations

import html
from typing import Any

from gv_engine.plugins.web.page import PageStyle, make_page
from gv_engine.scenario.scenario import Scenario


class PlayableLevel:
    """Level with keys, touch and gamepads in the output of a notebook, without a connection to
    Python.

    Args:
        source: name or file of a scenario, a `Scenario`, or an environment or session of one.
        seed: seed of the first game; by default that of a session, else 0.
        policy: policy to watch, see `gv-engine export --policy`.
        size: width and height of the frame, in pixels.

    Attributes:
        page: HTML text of the page.

    Raises:
        DoesNotCompileError: a rule cannot be compiled.
        PolicyError, RunError: the policy does not exist, or cannot act in the level.
        ScenarioError: there is no such scenario, or it is an algebra scenario.
    """

    def __init__(
        self,
        source: Any,
        seed: int | None = None,
        policy: str | None = None,
        size: tuple[int, int] = (800, 600),
    ) -> None:
        """Make the page of a level for an iframe of `size` pixels, (width, height)."""
        scenario = getattr(source, "scenario", source)
        scenario = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
        seed = getattr(source, "seed", 0) if seed is None else seed
        style = PageStyle(embedded=True)
        self.page = make_page(scenario.name, [scenario], int(seed), style, policy)
        self._size = size

    def _repr_html_(self) -> str:
        width, height = self._size
        frame = f'<iframe width="{width}" height="{height}" style="border: 0; max-width: 100%"'
        return f'{frame} srcdoc="{html.escape(self.page)}"></iframe>'
