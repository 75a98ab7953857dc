"""Numbers that environments, batches and compiled programs agree on."""

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""When a finished world begins anew, as `gymnasium.vector.AutoresetMode` has it."""

RESTART, LOOK, KEEP, BEGIN = -1, -2, -3, -4
"""In place of an action: begin a new episode, only show the world, or leave it alone. BEGIN is for
kernels: a new episode of the member of a mixture that has been drawn."""
