from gv_engine.plugins.adapters.stable_baselines3 import SB3VecEnv as SB3VecEnv
