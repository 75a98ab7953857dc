"""The window: its screens, and what happens in them."""
