"""The window: the app with its event loop, and windows that show an environment or a batch."""
