"""Policies of web pages: random actions, and trained networks as their weights."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gv_engine.envs.rollout.network_spec import BINS_PER_UNIT
from gv_engine.envs.rollout.numpy_net import NUM_HEADS
from gv_engine.envs.rollout.policy import GREEDY, RANDOM, PolicyError, find_run
from gv_engine.envs.rollout.policy_file import TRAINING_ONLY, CheckpointPolicy, PolicyFile
from gv_engine.scenario.scenario import Scenario

_UNUSED = "critic.", *TRAINING_ONLY
"""Prefixes of the weights that pages do not need."""


def describe_policy(name: str, levels: Sequence[Scenario]) -> dict[str, Any]:
    """Return the data of a policy that acts on a page, for JSON, after a check that it can act in
    all `levels`.

    Args:
        name: `random`, `valid`, or `trained` or the folder of a run, optionally followed by
            `:greedy`, as for `gv_engine.envs.rollout.policy.load_policy`.
        levels: levels of the page.

    Raises:
        PolicyError: there is no such policy, or it is arbitrary Python.
        RunError: the run is damaged, or does not fit a level.
    """
    run = find_run(name, levels[0])
    if run is None:
        if name not in RANDOM:
            raise PolicyError(
                f"--policy {name}: a page plays {', '.join(RANDOM)}, or the folder of a run of "
                f"`gv-engine train`, with :{GREEDY} for its most likely action; other policies are "
                f"Python, which pages do not run"
            )
        return {"name": name, "masks": name == "valid"}
    for level in levels:
        CheckpointPolicy(run, 1, level)  # raises an error if the run does not fit the level
    file = PolicyFile.read(run)
    spec = file.network_spec
    weights = {key: each for key, each in file.weights.items() if not key.startswith(_UNUSED)}
    packed = zlib.compress(b"".join(each.astype("<f4").tobytes() for each in weights.values()), 9)
    return {
        "name": Path(run).resolve().name,
        "greedy": name.endswith(f":{GREEDY}"),
        "masks": file.mask_actions,
        "scenario": file.scenario,
        "cells": file.cells.tolist(),
        "cellSlots": spec.cells + 1,  # the cells of the view, and the object in hand
        "height": spec.height,
        "layerNorm": file.layer_norm,
        "epsilon": file.epsilon,
        "activation": file.activation,
        "sizes": spec.sizes,
        "mission": spec.mission,
        "state": spec.state,
        "heads": NUM_HEADS,
        "binsPerUnit": BINS_PER_UNIT,
        "weightSizes": [[key, each.size] for key, each in weights.items()],
        "packedWeights": base64.b64encode(packed).decode(),
    }
