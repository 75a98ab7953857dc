"""Representations of observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gv_engine.plugins.gridverse.representations import representation
from gv_engine.plugins.gridverse.representations.representation import (
    ArrayRepresentation,
    ObservationRepresentation,
)
from gv_engine.plugins.gridverse.spaces import ObservationSpace

ArrayObservationRepresentation = representation.ShownArray
GridObjectObservationRepresentation = representation.GridObjectRepresentation
DefaultGridObjectObservationRepresentation = representation.DefaultGridObject
NoOverlapGridObjectObservationRepresentation = representation.NoOverlapGridObject
CompactGridObjectObservationRepresentation = representation.CompactGridObject
GridObservationRepresentation = representation.GridArray
ItemObservationRepresentation = representation.ItemArray
AgentIDGridObservationRepresentation = representation.AgentIDGridArray


class DictObservationRepresentation(ObservationRepresentation):
    """Representation that is composed of one converter for each array.

    Args:
        observation_space: space of the observations.
        representations: converters by name.
    """

    def __init__(
        self,
        observation_space: ObservationSpace,
        representations: Mapping[str, ArrayRepresentation[Any]],
    ) -> None:
        super().__init__(observation_space)
        self.representations = representations


def make_observation_representation(
    name: str, observation_space: ObservationSpace
) -> ObservationRepresentation:
    """Return a representation with the arrays `grid` (h, w, 3), `agent_id_grid` (h, w) and `item`
    (3,).

    Args:
        name: "default", "no-overlap" or "compact".
        observation_space: space of the observations.

    Raises:
        ValueError: the name is unknown.
    """
    arrays = representation.make_arrays(name, observation_space)
    return DictObservationRepresentation(observation_space, arrays)
