from gv_engine.plugins.adapters.pettingzoo import ParallelGridEnv as ParallelGridEnv
