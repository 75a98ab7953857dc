"""An example for each line of the tables in `docs/compiling.md`, see `tables`."""

from tests.compiler.documented import (
    expressions,
    numbers,
    refusals,
    results,
    sequences,
    statements,
    worlds,
)

__all__ = ["expressions", "numbers", "refusals", "results", "sequences", "statements", "worlds"]
