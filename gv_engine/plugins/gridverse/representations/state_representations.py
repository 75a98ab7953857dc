"""Representations of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gv_engine.plugins.gridverse.representations import representation
from gv_engine.plugins.gridverse.representations.representation import (
    ArrayRepresentation,
    StateRepresentation,
)
from gv_engine.plugins.gridverse.spaces import StateSpace

ArrayStateRepresentation = representation.ShownArray
GridObjectStateRepresentation = representation.GridObjectRepresentation
DefaultGridObjectStateRepresentation = representation.DefaultGridObject
NoOverlapGridObjectStateRepresentation = representation.NoOverlapGridObject
CompactGridObjectStateRepresentation = representation.CompactGridObject
GridStateRepresentation = representation.GridArray
ItemStateRepresentation = representation.ItemArray
AgentIDGridStateRepresentation = representation.AgentIDGridArray
AgentStateRepresentation = representation.AgentArray


class DictStateRepresentation(StateRepresentation):
    """Representation that is composed of one converter for each array.

    Args:
        state_space: space of the states.
        representations: converters by name.

    Raises:
        ValueError: the space has objects that arrays do not describe completely.
    """

    def __init__(
        self, state_space: StateSpace, representations: Mapping[str, ArrayRepresentation[Any]]
    ) -> None:
        super().__init__(state_space)
        self.representations = representations


def make_state_representation(name: str, state_space: StateSpace) -> StateRepresentation:
    """Return a representation with the arrays `grid` (H, W, 3), `agent_id_grid` (H, W), `agent`
    (6,) and `item` (3,).

    Args:
        name: "default", "no-overlap" or "compact".
        state_space: space of the states.

    Raises:
        ValueError: the name is unknown, or arrays do not describe some objects completely.
    """
    arrays = representation.make_arrays(name, state_space)
    return DictStateRepresentation(state_space, arrays)
