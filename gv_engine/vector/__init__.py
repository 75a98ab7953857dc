"""Many worlds side by side: compiled rows, or objects."""
