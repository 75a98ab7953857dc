"""Public path of rollouts on disk."""

from gv_engine.rollout.episode_folder import *
