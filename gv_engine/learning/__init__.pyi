from gv_engine.learning.config import Config as Config
from gv_engine.learning.loggers import WandbLogger as WandbLogger
from gv_engine.learning.policy_export import export_policy as export_policy
from gv_engine.learning.policy_file import TrainedPolicy as TrainedPolicy
from gv_engine.learning.training import resume_training as resume_training
from gv_engine.learning.training import train as train
from gv_engine.rollout.evaluation import evaluate_policy

evaluate = evaluate_policy
load_policy = TrainedPolicy
