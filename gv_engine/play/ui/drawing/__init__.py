"""Drawing with pygame: sprites, stages, panels, widgets and recordings without a display."""
