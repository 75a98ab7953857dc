"""Workloads of `benchmarks.algebra`, each run in its own process.

`python algebra_workers.py NAME SECONDS PROBLEMS.json` prints one line of JSON: steps per second of
mask, uniform valid action and step, with the garbage collector enabled. States share the same
problems; environments sample their own, and include resets and observations.
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

GAMES = 64
"""Games in a vector environment."""


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
    """gv_engine.plugins.algebra, PolySimplify."""
    import numpy as np

    from gv_engine.plugins.algebra import MathyEnvState, PolySimplify, is_terminal_transition

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


# ---- whole environments ------------------------------------------------------------------------


def mathy_envs_env(problems: Problems) -> Callable[[int], int]:
    """mathy_envs 0.12.5, environment"""
    envs, types = import_module("mathy_envs.envs"), import_module("mathy_envs.types")
    made = import_module("mathy_envs.gym.mathy_gym_env").MathyGymEnv
    args = types.MathyEnvProblemArgs(difficulty=types.MathyEnvDifficulty.normal)
    env = made(envs.PolySimplify, args)
    return _episode_player(env, lambda info: env.action_space.mask)


def gv_engine_env(problems: Problems) -> Callable[[int], int]:
    """gv_engine, environment"""
    from gv_engine.plugins.algebra import ExpressionEnv

    env = ExpressionEnv("mathy-poly-simplify-normal")
    return _episode_player(env, lambda info: info["action_mask"])


def _episode_player(env: Any, get_mask: Callable[[dict[str, Any]], Any]) -> Callable[[int], int]:
    """Return a function that plays one episode of an environment with random valid actions and
    returns its steps."""
    import numpy as np

    rng = np.random.default_rng(0)
    env.reset(seed=0)

    def episode(number: int) -> int:
        _, info = env.reset()
        steps, over = 0, False
        while not over and len(valid := np.flatnonzero(get_mask(info))):
            _, _, terminated, truncated, info = env.step(int(valid[rng.integers(len(valid))]))
            steps, over = steps + 1, terminated or truncated
        return steps

    return episode


def vector(problems: Problems) -> Callable[[int], int]:
    """64 games in one process"""
    return _make_vector_stepper(1)


def vector_shared(problems: Problems) -> Callable[[int], int]:
    """64 games in two processes"""
    return _make_vector_stepper(2)


def _make_vector_stepper(processes: int) -> Callable[[int], int]:
    """Return a function that steps all games of a vector environment once and returns their
    number."""
    import numpy as np

    from gv_engine.plugins.algebra.vector_env import ExpressionVectorEnv

    envs = ExpressionVectorEnv("mathy-poly-simplify-normal", GAMES, processes=processes)
    rng = np.random.default_rng(0)
    shown = envs.reset(seed=0)[1]["action_mask"]

    def step(number: int) -> int:
        nonlocal shown
        shown = envs.step((rng.random(shown.shape, np.float32) * shown).argmax(1))[4]["action_mask"]
        return GAMES

    return step


# ---- gv_engine with parts replaced by those of mathy_core --------------------------------------


def library_masks(problems: Problems) -> Callable[[int], int]:
    """with rule checks by mathy_core"""
    from gv_engine.plugins.algebra import rule_set

    rule_set.core_rule_properties = lambda rule: None
    return gv_engine(problems)


def every_move(problems: Problems) -> Callable[[int], int]:
    """with mathy_core asked for every move"""
    from gv_engine.plugins.algebra import rule_set

    rule_set._apply_cached = rule_set._apply_to_part
    return gv_engine(problems)


def whole_texts(problems: Problems) -> Callable[[int], int]:
    """with whole texts read by mathy_core"""
    from gv_engine.plugins.algebra import rule_set, state
    from gv_engine.plugins.algebra.library import ExpressionParser

    def parse(text: str) -> Any:
        return rule_set.from_library(ExpressionParser().parse(text))

    rule_set.parse = state.parse = parse  # type: ignore[attr-defined]  # in this process
    return gv_engine(problems)


def whole_trees(problems: Problems) -> Callable[[int], int]:
    """with whole trees handed to mathy_core"""
    from gv_engine.plugins.algebra import rule_set

    def apply(self: Any, root: Any, node: int, number: int) -> Any:
        tree = rule_set.to_library(root)
        change = rule_set._get_change(self[number], tree.nodes[node])
        result = rule_set.from_library(change.result.get_root(), tree.sources)  # type: ignore[union-attr]  # there is one
        return result.text, rule_set.parse_again(result)

    rule_set.RuleSet.apply = apply  # type: ignore[method-assign]  # in this process
    return gv_engine(problems)


def library_constructors(problems: Problems) -> Callable[[int], int]:
    """with nodes constructed by mathy_core"""
    from gv_engine.plugins.algebra import rule_set

    rule_set._default_attributes = lambda kind: vars(kind())
    return gv_engine(problems)


PARTS = (gv_engine, library_masks, every_move, whole_texts, whole_trees, library_constructors)
STATES = (mathy_envs, gv_engine)
ENVIRONMENTS = (mathy_envs_env, gv_engine_env)
MANY = (gv_engine_env, vector, vector_shared)
WORKERS = {worker.__name__: worker for worker in (*PARTS, *STATES, *ENVIRONMENTS, *MANY)}


def main(name: str, seconds: float, file: str, clock: Callable[[], float]) -> None:
    """Measure one workload and print its steps per second."""
    play = WORKERS[name](json.loads(Path(file).read_text("utf-8")))
    number = steps = 0
    for warm in range(10):
        play(warm)
    start = clock()
    while (spent := clock() - start) < seconds:
        steps += play(number)
        number += 1
    print(json.dumps({"steps_per_second": steps / spent}))


if __name__ == "__main__":
    # several processes are measured by wall time
    wall = time.perf_counter if "wall" in sys.argv else time.process_time
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], wall)
