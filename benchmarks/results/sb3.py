"""A row of a published table by Stable-Baselines3, on the engine's ids: `--by sb3`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import DtypeObservation

import gv_engine  # noqa: F401  # registers its ids
from benchmarks.peers import python_for
from gv_engine.plugins.learning.config import Config

_PACKAGES = "stable-baselines3", "minigrid"


def make_importable() -> None:
    """Add the virtual environment of Stable-Baselines3 and MiniGrid to the end of `sys.path`.
    Create it first if it does not exist."""
    folder = Path(python_for(_PACKAGES)).parent.parent
    sys.path += map(str, folder.glob("lib/python*/site-packages"))


def make_env(name: str) -> Any:
    """Make an environment with the observations that RL Baselines3 Zoo trains on, as floats. The
    buffer of Stable-Baselines3 2.9 has the dtype of the space, and normalised bytes would lose
    almost all information."""
    from minigrid.wrappers import FlatObsWrapper

    return DtypeObservation(FlatObsWrapper(gymnasium.make(name)), np.float32)


def make_model(name: str, config: Config, seed: int) -> tuple[Any, Any]:
    """Make PPO with the settings of a configuration and its environment, the id called `name` with
    normalised observations and rewards."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    worlds = make_vec_env(make_env, config.num_envs, seed, env_kwargs={"name": name})
    env = VecNormalize(worlds, gamma=config.gamma)
    return PPO("MlpPolicy", env, seed=seed, device="cpu", **make_settings(config)), env


def make_settings(config: Config) -> dict[str, Any]:
    """Return the arguments of `PPO` for a configuration."""
    same = "learning_rate", "gamma", "gae_lambda", "ent_coef", "vf_coef", "max_grad_norm"
    return {name: getattr(config, name) for name in same} | {
        "n_steps": config.num_steps,
        "batch_size": config.num_envs * config.num_steps // config.num_minibatches,
        "n_epochs": config.update_epochs,
        "clip_range": config.clip_coef,
    }


def train_seed(
    scenario: str, config: Config, seed: int, num_episodes: int, evaluation_seed: int
) -> dict[str, Any]:
    """Train an agent with `seed`, and evaluate its final policy. Return the result with the keys
    that `benchmarks.results` records.

    Args:
        scenario: id of the scenario, without "GV-".
        config: hyperparameters, and the number of steps.
        seed: seed of the training.
        num_episodes: number of episodes of the evaluation.
        evaluation_seed: seed of the first world of the evaluation; the others follow.
    """
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    began, name = time.process_time(), f"GV-{scenario}"
    model, env = make_model(name, config, seed)
    model.learn(config.steps)
    env.venv = make_vec_env(make_env, config.num_envs, evaluation_seed, env_kwargs={"name": name})
    env.training = env.norm_reward = False
    returns, lengths = evaluate_policy(
        model, env, num_episodes, deterministic=False, return_episode_rewards=True
    )
    return {
        "seed": seed,
        "steps": model.num_timesteps,
        "return": round(float(np.mean(returns)), 4),
        "success": round(float(np.mean(np.array(returns) > 0)), 4),
        "length": round(float(np.mean(lengths)), 2),
        "cpu_seconds": round(time.process_time() - began, 1),
    }
