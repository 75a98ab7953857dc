"""Games written in PuzzleScript as grid scenarios."""
