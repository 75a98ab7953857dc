from gv_engine.plugins.adapters.minari import to_dataset as to_dataset
from gv_engine.plugins.adapters.minari import to_folder as to_folder
