"""Games: without a window, in a window or a terminal; their editor, and checks of scenarios."""
