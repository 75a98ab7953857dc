"""Play in a terminal, as over ssh: the keys of the window, letters instead of sprites."""
