"""Names imported from torch; without torch, an error that says how to install it."""

from gv_engine.plugins.learning.extras import RL
from gv_engine.rules.errors import MissingExtraError

if RL.missing_message:
    raise MissingExtraError(RL.missing_message)
import torch as torch
from torch import Tensor as Tensor
from torch import nn as nn
from torch.nn import functional as functional
