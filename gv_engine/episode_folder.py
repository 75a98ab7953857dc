"""Public path of rollouts on disk."""

from gv_engine.envs.rollout.episode_folder import *
