from gv_engine.plugins.adapters.openenv import TextGameEnvironment as TextGameEnvironment
from gv_engine.plugins.adapters.openenv import TextObservation as TextObservation
from gv_engine.plugins.adapters.openenv import make_app as make_app
