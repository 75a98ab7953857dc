"""Play in a terminal, over ssh for instance: the keys of the window, letters for pictures."""
