"""Public path of the errors that the engine raises."""

from gv_engine.rules.errors import *
