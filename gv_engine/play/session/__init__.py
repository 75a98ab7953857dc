"""Interactive sessions without a window: play, replay, record and inspect episodes."""
