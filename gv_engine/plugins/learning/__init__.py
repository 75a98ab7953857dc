"""Learners, training runs on disk, and the learning benchmark; most of them need torch.

The public path is `gv_engine.learning`; each public name is imported on first use.
"""

from pkgutil import resolve_name
from typing import Any

NAMES = {
    "Config": "gv_engine.plugins.learning.config:Config",
    "RolloutDataset": "gv_engine.plugins.learning.rollout_dataset:RolloutDataset",
    "TrainedPolicy": "gv_engine.envs.rollout.policy_file:TrainedPolicy",
    "WandbLogger": "gv_engine.plugins.learning.loggers:WandbLogger",
    "evaluate": "gv_engine.plugins.learning.evaluation:evaluate_policy",
    "export_policy": "gv_engine.plugins.learning.policy_export:export_policy",
    "load_policy": "gv_engine.envs.rollout.policy_file:TrainedPolicy",
    "resume_training": "gv_engine.plugins.learning.training:resume_training",
    "summarise_seeds": "gv_engine.plugins.learning.evaluation:summarise_seeds",
    "train": "gv_engine.plugins.learning.training:train",
}
"""Module of each public name."""


def __getattr__(name: str) -> Any:
    """Import and return the public name `name` on first access, so that importing the package does
    not import torch."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "export_policy":
        from gv_engine.plugins.learning.extras import RL

        RL.require()
    return resolve_name(NAMES[name])


def __dir__() -> list[str]:
    """Return the public names."""
    return [*NAMES]
