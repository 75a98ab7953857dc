"""Everything that is drawn: sprites, stages, panels, pictures without a display."""
