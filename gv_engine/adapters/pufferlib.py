from gv_engine.plugins.adapters.pufferlib import GridPufferEnv as GridPufferEnv
