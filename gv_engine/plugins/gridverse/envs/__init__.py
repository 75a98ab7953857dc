"""Environments and the modules of their functions."""

from gv_engine.plugins.gridverse.envs.inner_env import InnerEnv as InnerEnv
