"""Layout of worlds in memory, and checks of their rows."""
