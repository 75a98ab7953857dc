"""Public path of pictures, animations and videos of episodes."""

from gv_engine.play.ui.drawing.recording import *
