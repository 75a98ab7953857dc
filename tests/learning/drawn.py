"""Policies as runs keep them, whose weights are drawn, so that acting is tried without torch; and
learners, which need it."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from gv_engine import EachAgentVectorEnv
from gv_engine.envs.representations import Representation
from gv_engine.envs.rollout.network_spec import NetworkSpec, ScenarioSpec
from gv_engine.envs.rollout.numpy_net import GRU, NUM_HEADS
from gv_engine.envs.rollout.policy_file import PolicyFile
from gv_engine.plugins.learning.config import CNN, EMBEDDING, LEARNERS, MLP, Config


def make_learner(
    level: Any, world: str = "auto", device: str = "cpu", levels: Any = None, **settings: Any
) -> Any:
    """Make a learner of a level, or of a level set of it, with these hyperparameters."""
    from gv_engine.plugins.learning import ppo

    hyperparameters = Config.from_values(settings).hyperparameters
    env = ppo.make_training_env(level, hyperparameters, world=world, levels=levels)
    return resolve_name(LEARNERS[hyperparameters.learner])(env, hyperparameters, device)


def drawn(
    out: Path,
    level: Any = "keydoor-5x5",
    memory: bool = False,
    encoder: str = EMBEDDING,
    epsilon: float | None = None,
    activation: str = "relu",
    cell: str = GRU,
) -> None:
    """Make a run of a level, or of what its file holds, which has learned nothing; with `epsilon`
    that of PQN."""
    env = EachAgentVectorEnv(level, 1, world="object", observation_representation="cells")
    spec = ScenarioSpec.of_scenario(env.scenario)
    listed = Representation.of_observation(env.scenario, "cells").listed
    shape = NetworkSpec.of_scenario(spec, len(listed))
    rng, width, hidden = np.random.default_rng(5), 4, 24
    sizes: dict[str, tuple[int, ...]] = {
        "embedding": (shape.codes + sum(shape.extra_sizes), width),
        "first": (len(shape.sizes), width, hidden),
        "first_bias": (hidden,),
        "second.weight": (hidden, hidden),
        "second.bias": (hidden,),
        "actor.weight": (shape.actions, hidden),
        "actor.bias": (shape.actions,),
        "critic.weight": (1, hidden),
        "critic.bias": (1,),
    }
    if encoder == CNN:
        sizes["first"] = len(shape.sizes) - shape.cells, width, hidden
        for name, inputs, outputs in (("convolution_1", width, 32), ("convolution_2", 32, 32)):
            sizes |= {f"{name}.weight": (outputs, inputs, 3, 3), f"{name}.bias": (outputs,)}
        sizes |= {"picture.weight": (hidden, 32 * shape.cells), "picture.bias": (hidden,)}
    if encoder == MLP:
        del sizes["embedding"], sizes["first"]
        sizes["table"] = sum(shape.sizes), hidden
    elif shape.mission:
        sizes["queries"] = sum(shape.mission), NUM_HEADS * width
        sizes["match.weight"] = hidden, NUM_HEADS * (shape.cells + 1)
        sizes["match.bias"] = (hidden,)
    if memory:
        for which in ("ih", "hh"):
            gates = (3 if cell == GRU else 4) * hidden
            sizes[f"{cell}.weight_{which}"] = gates, hidden
            sizes[f"{cell}.bias_{which}"] = (gates,)
    weights = {}
    for name, size in sizes.items():
        deviation = 0.1 if name.startswith(("convolution", "picture")) else 0.4
        weights[name] = rng.normal(0, deviation, size).astype(np.float32)
    learned = PolicyFile(
        env.scenario.name,
        spec,
        True,
        listed,
        weights,
        epsilon is not None,
        epsilon,
        activation,
    )
    out.mkdir()
    learned.write(out)
