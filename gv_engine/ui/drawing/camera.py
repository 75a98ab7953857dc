"""Camera of a grid: the size of its cells and the part that is visible."""

Point = tuple[float, float]
"""y, x in cells from the corner of the grid, or in pixels."""

CELLS_ACROSS = 24  # visible cells along the shorter side, if a grid is too large to be shown whole
ZOOM_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128)  # pixels


class Camera:
    """Zoom level of a grid. Without zoom a grid is shown whole if its cells are large enough, else
    around the agent.

    Attributes:
        cell: side of a cell in pixels; None before the first zoom.
    """

    cell: int | None = None

    def cell_size(self, grid: tuple[int, int], room: tuple[int, int], readable: int) -> int:
        """Return the side of a cell in pixels; the arguments are those of `default_cell_size`."""
        if self.cell is None:
            return default_cell_size(grid, room, readable)
        return max(
            self.cell, min(room[0] // grid[0], room[1] // grid[1])
        )  # at least large enough to fill the room

    def zoom(self, notches: int, size: int, min_size: int) -> None:
        """Change the size of a cell in pixels: zoom in, or out if `notches` is negative.

        Args:
            notches: number of zoom steps.
            size: present side of a cell in pixels.
            min_size: exclusive lower limit of the side in pixels.
        """
        steps = [step for step in ZOOM_SIZES if step > min_size]
        for _ in range(abs(notches)):
            if notches > 0:
                size = next((step for step in steps if step > size), size)
            else:
                size = next((step for step in reversed(steps) if step < size), max(1, min_size))
        self.cell = size


def default_cell_size(grid: tuple[int, int], room: tuple[int, int], readable: int) -> int:
    """Return the side of a cell in pixels without zoom; 0 if a cell is smaller than a pixel.

    Args:
        grid: height and width in cells.
        room: height and width in pixels.
        readable: smallest side in pixels that is readable.
    """
    whole = min(room[0] // grid[0], room[1] // grid[1])
    return whole if whole >= readable else max(readable, min(room) // CELLS_ACROSS)


def scroll_offset(grid: tuple[int, int], room: tuple[int, int], center: Point, cell: int) -> Point:
    """Return y, x in pixels of the viewport's corner on the grid; negative if the grid is smaller.

    Args:
        grid: height and width of the grid in cells.
        room: height and width of the viewport in pixels.
        center: y, x of the cell to show in the middle, as far as the edges of the grid allow.
        cell: side of a cell in pixels.
    """
    y, x = (
        (size * cell - space) // 2
        if size * cell <= space
        else min(max(0.0, (at + 0.5) * cell - space / 2), size * cell - space)
        for size, space, at in zip(grid, room, center, strict=True)
    )
    return y, x
