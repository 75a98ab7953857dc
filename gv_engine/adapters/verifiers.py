from gv_engine.plugins.adapters.verifiers import TextGameEnv as TextGameEnv
from gv_engine.plugins.adapters.verifiers import TextGameEnvConfig as TextGameEnvConfig
from gv_engine.plugins.adapters.verifiers import TextGameTaskset as TextGameTaskset
from gv_engine.plugins.adapters.verifiers import TextGameTasksetConfig as TextGameTasksetConfig
