"""What window and terminal share of keys, settings and files; nothing here draws."""
