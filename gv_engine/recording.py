"""Public path of pictures, animations and videos of episodes."""

from gv_engine.ui.drawing.recording import *
