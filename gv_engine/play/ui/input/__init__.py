"""Key bindings of the window and the terminal; nothing here draws."""
