"""The object world and the compiled world side by side, until they differ or a rule goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gv_engine.checking.invariants import fault_of_observation, fault_of_row
from gv_engine.envs.environment import GridEnv
from gv_engine.language.errors import RuleError
from gv_engine.language.geometry import ACTIONS
from gv_engine.reading.scenario import Scenario
from gv_engine.rollouts.policy import Uniform

_AGAIN = "a second time"
_LONGEST = 200  # steps of an episode; most of what goes wrong does so soon


class Report(NamedTuple):
    """What an examination has found.

    Attributes:
        episodes, steps: so many were played.
        fault: the first thing that is wrong, and where; empty if nothing is.
    """

    episodes: int
    steps: int
    fault: str


class _Fault(Exception):
    pass


def examine(scenario: Scenario, episodes: int = 10, seed: int = 0, compiled: bool = True) -> Report:
    """Play random episodes, and after each step look at all that there is.

    The world is whole (see `gv_engine.checking.invariants`), the observation lies in its space, and
    the compiled world equals the object world: its whole row, observation, reward term by term,
    ends and action mask. Every second episode keeps to the action mask.

    Args:
        scenario: what is played.
        episodes: how many, of at most 200 steps.
        seed: of the first; the next ones follow.
        compiled: whether there is a compiled world to compare with; if not, a second object world
            shows whether equal seeds give equal episodes.

    Raises:
        DoesNotCompileError: there is none, though `compiled` says so.
    """
    worlds = {"object": GridEnv(scenario, world="object")}
    if compiled:
        worlds["compiled"] = GridEnv(scenario, world="compiled")
    else:
        worlds[_AGAIN] = GridEnv(scenario, world="object")
    steps = 0
    for number in range(episodes):
        policy = Uniform(1, len(scenario.actions), valid=bool(number % 2))
        policy.begin(0, np.random.default_rng([seed, number]))
        action: int | None = None
        for step in range(_LONGEST + 1):
            try:
                seen = _advance(worlds, seed + number, action)
                _inspect(scenario, worlds, seen)
            except _Fault as fault:
                did = "reset" if action is None else ACTIONS[scenario.actions[action]]
                where = f"seed {seed + number}, step {step}, {did}"
                return Report(number + 1, steps, f"{where}: {fault}")
            steps += action is not None
            if seen["terminated"] or seen["truncated"]:
                break
            mask = {"action_mask": seen["action_mask"][None]}
            action = int(policy.act({}, mask)[0])
    return Report(episodes, steps, "")


def _advance(worlds: dict[str, GridEnv], seed: int, action: int | None) -> dict[str, Any]:
    """Take a step, or reset, in every world; what the object world shows, by name."""
    shown: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for name, env in worlds.items():
        reward, terminated, truncated = 0.0, False, False
        try:
            if action is None:
                observation, info = env.reset(seed=seed)
            else:
                observation, reward, terminated, truncated, info = env.step(action)
        except RuleError as error:
            failed[name] = str(error)
            continue
        try:
            row = env.snapshot()
        except RuleError as error:
            raise _Fault(
                f"{error} in the {name} world, and would be another number in the other"
            ) from None
        shown[name] = {
            "observation": observation,
            "reward": reward,
            "reward_terms": info["reward_terms"],
            "terminated": terminated,
            "truncated": truncated,
            "action_mask": info["action_mask"],
            "row": row,
        }
    if len(set(failed.values())) == 1 and not shown:
        raise _Fault(next(iter(failed.values())))
    if failed:
        said = (f"{name} world: {failed.get(name, 'goes on')}" for name in worlds)
        raise _Fault(f"only one world fails; {', '.join(said)}")
    return shown["object"] | {"others": list(shown.values())[1:]}


def _inspect(scenario: Scenario, worlds: dict[str, GridEnv], seen: dict[str, Any]) -> None:
    for other in seen["others"]:
        for name in other:
            for place, left, right in _differences(name, seen[name], other[name]):
                if _AGAIN in worlds:
                    raise _Fault(
                        f"{place} is {left}, and {right} when the same seed is played {_AGAIN}: a "
                        f"rule remembers something, or draws from elsewhere than w.rng or rng"
                    )
                raise _Fault(f"{place} is {left} in the object world, {right} in the compiled one")
    fault = fault_of_row(scenario, seen["row"]) or fault_of_observation(
        scenario, seen["observation"]
    )
    if fault:
        raise _Fault(fault)
    space = worlds["object"].observation_space
    if seen["observation"] not in space:
        raise _Fault(f"the observation lies outside of {space}")


def _differences(name: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """(place, one value, the other value) of all numbers that differ."""
    names = left if isinstance(left, dict) else left.dtype.names if _is_record(left) else ()
    for part in names or ():
        yield from _differences(f"{name}.{part}".removeprefix("row."), left[part], right[part])
    if not names:
        one, other = np.asarray(left), np.asarray(right)
        for index in np.argwhere((one != other) & ~((one != one) & (other != other))):
            at = tuple(index.tolist())
            place = f"{name}{list(at)}" if at else name
            yield place, one[at], other[at]


def _is_record(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.void) and value.dtype.names is not None
