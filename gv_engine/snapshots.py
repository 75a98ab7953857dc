"""Public path of the functions that save worlds to files and load them."""

from gv_engine.envs.rollout.snapshots import *
