from gv_engine.plugins.adapters.torchrl import TorchRLEnv as TorchRLEnv
