"""Numbers that environments, batches and compiled programs agree on."""

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""When a finished world begins anew, as `gymnasium.vector.AutoresetMode` has it."""

RESTART, LOOK, KEEP = -1, -2, -3
"""In place of an action: begin a new episode, only show the world, or leave it alone."""
