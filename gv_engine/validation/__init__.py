"""What `gv-engine check` finds out about a scenario by playing it."""
