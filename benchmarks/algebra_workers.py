"""Algebra that is measured, each contestant in a process of its own.

`python algebra_workers.py NAME SECONDS PROBLEMS.json` prints one line of JSON: steps per CPU second
of mask, uniform valid action and step, from the same problems, the garbage collector on.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Problems = list[tuple[str, int]]


def mathy_envs(problems: Problems) -> Callable[[int], int]:
    """mathy_envs 0.12.5, PolySimplify."""
    import numpy as np

    PolySimplify = import_module("mathy_envs.envs").PolySimplify
    MathyEnvState = import_module("mathy_envs.state").MathyEnvState

    env = PolySimplify()
    rng = np.random.default_rng(0)

    def episode(number: int) -> int:
        text, moves = problems[number % len(problems)]
        state: Any = MathyEnvState(problem=text, max_moves=moves, num_rules=len(env.rules))
        for step in range(1, moves + 1):
            mask = np.array(env.get_valid_moves(state))
            valid = np.flatnonzero(mask)
            if not len(valid):
                return step
            rule, node = divmod(int(valid[rng.integers(len(valid))]), mask.shape[1])
            state, timestep, _ = env.get_next_state(state, (rule, node))
            if timestep.step_type[0] == 2:
                return step
        return moves

    return episode


def gv_engine(problems: Problems) -> Callable[[int], int]:
    """gv_engine.families.algebra, PolySimplify."""
    import numpy as np

    from gv_engine.families.algebra import MathyEnvState, PolySimplify, is_terminal_transition

    env = PolySimplify()
    rng = np.random.default_rng(0)

    def episode(number: int) -> int:
        text, moves = problems[number % len(problems)]
        state = MathyEnvState(problem=text, max_moves=moves)
        for step in range(1, moves + 1):
            valid = np.flatnonzero(env.mask(state))
            if not len(valid):
                return step
            action = int(valid[rng.integers(len(valid))])
            state, timestep, _ = env.get_next_state(state, action)
            if is_terminal_transition(timestep):
                return step
        return moves

    return episode


# ---- gv_engine with what mathy_core has in place of a part of its own --------------------------


def their_masks(problems: Problems) -> Callable[[int], int]:
    """with mathy_core asked which rules apply"""
    from gv_engine.families.algebra import rule_set

    rule_set.reach_of = lambda rule: None
    return gv_engine(problems)


def whole_trees(problems: Problems) -> Callable[[int], int]:
    """with whole trees handed to mathy_core"""
    from gv_engine.families.algebra import parsing, rule_set

    def apply(self: Any, root: Any, node: int, number: int) -> Any:
        tree = parsing.to_library(root)
        change = rule_set._applied(self[number], tree.nodes[node])
        result = parsing.from_library(change.result.get_root(), tree.known)  # type: ignore[union-attr]  # there is one
        return result.text, rule_set.as_parsed(result)

    rule_set.RuleSet.apply = apply  # type: ignore[method-assign]  # in this process
    return gv_engine(problems)


def their_constructors(problems: Problems) -> Callable[[int], int]:
    """with nodes that mathy_core constructs"""
    from gv_engine.families.algebra import parsing

    parsing._blank = lambda kind: vars(kind())
    return gv_engine(problems)


PARTS = (gv_engine, their_masks, whole_trees, their_constructors)
WORKERS = {worker.__name__: worker for worker in (mathy_envs, *PARTS)}


def main(name: str, seconds: float, file: str) -> None:
    """Measure, print."""
    play = WORKERS[name](json.loads(Path(file).read_text("utf-8")))
    number = steps = 0
    for warm in range(10):
        play(warm)
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds:
        steps += play(number)
        number += 1
    print(json.dumps({"steps_per_cpu_second": steps / spent}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
