from gv_engine.plugins.adapters.tianshou import TianshouVecEnv as TianshouVecEnv
