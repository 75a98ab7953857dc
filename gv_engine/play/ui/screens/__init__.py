"""Screens of the window: start, play, replay, editor, batch viewer and menus."""
