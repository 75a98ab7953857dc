"""The camera: how large cells are, and which part of a grid is shown."""

Point = tuple[float, float]
"""y, x: in cells from the corner of the grid, or in pixels."""

ACROSS = 24  # cells along the shorter side where a grid is too large to be shown whole
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128)  # zoomed to, in pixels


class Camera:
    """Shows a grid whole where its cells can be made out, else the part around the agent.

    Attributes:
        cell: pixels of a cell's side; None as long as nobody has zoomed.
    """

    cell: int | None = None

    def size(self, grid: tuple[int, int], room: tuple[int, int], readable: int) -> int:
        """Pixels of a cell's side; arguments as for `usual`."""
        if self.cell is None:
            return usual(grid, room, readable)
        return max(self.cell, min(room[0] // grid[0], room[1] // grid[1]))  # all of it, or larger

    def zoom(self, notches: int, size: int, least: int) -> None:
        """Show cells larger or, with negative notches, smaller.

        Args:
            notches: how many steps.
            size: at present.
            least: no smaller than this.
        """
        steps = [step for step in SIZES if step > least]
        for _ in range(abs(notches)):
            if notches > 0:
                size = next((step for step in steps if step > size), size)
            else:
                size = next((step for step in reversed(steps) if step < size), max(1, least))
        self.cell = size


def usual(grid: tuple[int, int], room: tuple[int, int], readable: int) -> int:
    """Pixels of a cell's side if nobody zooms; 0 if not even one pixel is left for each.

    Args:
        grid: its height and width in cells.
        room: height and width in pixels.
        readable: the least side at which cells can be made out.
    """
    whole = min(room[0] // grid[0], room[1] // grid[1])
    return whole if whole >= readable else max(readable, min(room) // ACROSS)


def corner(grid: tuple[int, int], room: tuple[int, int], center: Point, cell: int) -> Point:
    """Pixels of the grid above and left of what is shown; negative where the grid is in the middle.

    Args:
        grid: its height and width in cells.
        room: height and width in pixels.
        center: y, x of the cell that is shown in the middle, but for the edges of the grid.
        cell: pixels of a cell's side.
    """
    y, x = (
        (size * cell - space) // 2
        if size * cell <= space
        else min(max(0.0, (at + 0.5) * cell - space / 2), size * cell - space)
        for size, space, at in zip(grid, room, center, strict=True)
    )
    return y, x
