"""Cells that actions lead to."""

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.geometry import Orientation, Position


def get_next_position(position: Position, orientation: Orientation, action: Action) -> Position:
    """Return the cell to which `action` moves an agent at `position`, without a check for
    obstacles. An action that is no move returns `position`."""
    if not action.is_move():
        return position
    # moves have the numbers of the orientations
    return position + Position.from_orientation(orientation * Orientation(action))
