from gv_engine.plugins.adapters.verifiers import TextGameEnv as TextGameEnv
from gv_engine.plugins.adapters.verifiers import TextGameTaskset as TextGameTaskset
