"""Public path of the arrays that encode observations and states."""

from gv_engine.envs.representations import *
