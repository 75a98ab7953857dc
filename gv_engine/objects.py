"""Public path of object types and colors."""

from gv_engine.rules.objects import *
