"""Keys, settings and files that window and terminal share; nothing here draws."""
