from gv_engine.envs.rollout.policy_file import TrainedPolicy as TrainedPolicy
from gv_engine.plugins.learning.config import Config as Config
from gv_engine.plugins.learning.evaluation import evaluate_policy
from gv_engine.plugins.learning.evaluation import summarise_seeds as summarise_seeds
from gv_engine.plugins.learning.loggers import WandbLogger as WandbLogger
from gv_engine.plugins.learning.policy_export import export_policy as export_policy
from gv_engine.plugins.learning.training import resume_training as resume_training
from gv_engine.plugins.learning.training import train as train

evaluate = evaluate_policy
load_policy = TrainedPolicy
