"""Checks of scenarios for `gv-engine check` and `gv-engine solve`: they play the scenario, compare
backends, search for mistakes and for solutions."""
