"""Numbers that environments, batches and compiled programs agree on."""

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""When a finished world begins anew, as `gymnasium.vector.AutoresetMode` has it."""

RESTART, LOOK, KEEP, BEGIN, BUSY = -1, -2, -3, -4, -5
"""In place of an action: begin a new episode, only show the world, or leave it alone. The last two
are for kernels: BEGIN a new episode of the member of a mixture that has been drawn, and BUSY, the
world that is being run."""
