"""The object world and the compiled world side by side, until they differ or a rule goes wrong.

Then several worlds of either kind in turns, each compared with the same world alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.batches.worlds import Worlds, make_batch
from gv_engine.checking.invariants import fault_of_observation, fault_of_row
from gv_engine.envs.environment import GridEnv
from gv_engine.language.errors import RuleError
from gv_engine.language.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
)
from gv_engine.playing.runaway import fuse
from gv_engine.reading.scenario import Scenario
from gv_engine.rollouts.policy import Uniform
from gv_engine.worlds.rng import generator_from_row

_AGAIN = "a second time"
_LONGEST = 200  # steps of an episode; most of what goes wrong does so soon
_WORLDS = 4  # that take turns
_ALL = np.arange(_WORLDS)
_TURNS = 6  # of them for each episode that is played


class Report(NamedTuple):
    """Findings of a comparison.

    Attributes:
        episodes, steps: so many were played.
        fault: the first thing that is wrong, and where; empty if nothing is.
    """

    episodes: int
    steps: int
    fault: str


class _Fault(Exception):
    pass


def play_in_lockstep(
    scenario: Scenario,
    episodes: int = 10,
    seed: int = 0,
    compiled: bool = True,
    limit: float = threading.TIMEOUT_MAX,
) -> Report:
    """Play random episodes, and after each step look at all that there is.

    The world is whole (see `gv_engine.checking.invariants`), the observation lies in its space, and
    the compiled world equals the object world: its whole row, observation, reward term by term,
    ends, success and action mask. Every second episode keeps to the action mask. At last several
    worlds take turns in a batch, with different actions, and with resets now of these, now of
    those; what each of them does and shows must be what it does and shows alone.

    Args:
        scenario: what is played.
        episodes: how many, of at most 200 steps.
        seed: of the first; the next ones follow.
        compiled: whether there is a compiled world to compare with; if not, a second object world
            shows whether equal seeds give equal episodes.
        limit: seconds for a compiled step; one that takes longer ends the process.

    Raises:
        DoesNotCompileError: there is none, though `compiled` says so.
    """
    worlds = {"object": GridEnv(scenario, world="object")}
    if compiled:
        worlds["compiled"] = GridEnv(scenario, world="compiled", checked=True)
    else:
        worlds[_AGAIN] = GridEnv(scenario, world="object")
    steps = 0
    for number in range(episodes):
        policy = Uniform(1, len(scenario.actions), valid=bool(number % 2))
        policy.begin([0], seed, [number])
        action: int | None = None
        for step in range(_LONGEST + 1):
            try:
                seen = _advance(worlds, seed + number, action, limit)
                _inspect(scenario, worlds, seen)
            except _Fault as fault:
                did = "reset" if action is None else scenario.action_names[action]
                where = f"seed {seed + number}, step {step}, {did}"
                return Report(number + 1, steps, f"{where}: {fault}")
            steps += action is not None
            if seen["terminated"] or seen["truncated"]:
                break
            mask = {"action_mask": seen["action_mask"][None]}
            action = int(policy.act({}, mask)[0])
    kinds = dict.fromkeys(env.world for env in worlds.values())
    faults = (_fault_of_turns(scenario, kind, _TURNS * episodes, seed) for kind in kinds)
    return Report(episodes, steps, next(filter(None, faults), ""))


def _advance(
    worlds: dict[str, GridEnv], seed: int, action: int | None, limit: float
) -> dict[str, Any]:
    """Take a step, or reset, in every world; what the object world shows, by name."""
    shown: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for name, env in worlds.items():
        reward, terminated, truncated = 0.0, False, False
        says = _endless(env.scenario, action is None, limit)
        try:
            with fuse(limit, says) if name == "compiled" else nullcontext():
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
            "success": info.get("success", False),
            "action_mask": info["action_mask"],
            "row": row,
        }
    if len(set(failed.values())) == 1 and not shown:
        raise _Fault(next(iter(failed.values())))
    if failed:
        said = (f"{name} world: {failed.get(name, 'goes on')}" for name in worlds)
        how = "only one world fails" if shown else "both worlds fail, in other words"
        raise _Fault(f"{how}; {', '.join(said)}")
    return shown["object"] | {"others": list(shown.values())[1:]}


def _endless(scenario: Scenario, resets: bool, limit: float) -> str:
    acting = (RESET,) if resets else (TRANSITION, REWARD, TERMINATING)
    rules = [
        call.name
        for member in scenario.members
        for phase in (*acting, VISIBILITY, OBSERVATION)
        for call in member.calls(phase)
    ]
    return (
        f"the compiled world ran for {limit:g} s and was stopped, where the object world had come "
        f"to an end; one of its rules does not: {', '.join(dict.fromkeys(rules))}"
    )


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


def _fault_of_turns(scenario: Scenario, kind: str, turns: int, seed: int) -> str:
    """What is wrong with several worlds that take turns, as a sentence; empty if nothing is."""
    many, alone = (make_batch(scenario, n, kind, checked=True) for n in (_WORLDS, 1))
    chance = np.random.default_rng([seed, _WORLDS])
    for i in range(_WORLDS):
        many.set_generator(i, np.random.default_rng(seed + i))
    actions = np.full(_WORLDS, RESTART)
    for turn in range(turns):
        mode = int(chance.choice([NEXT_STEP, SAME_STEP]))
        where = f"turn {turn} of {_WORLDS} {kind} worlds"
        try:
            before = many.snapshot(_ALL)
            many.step(actions, mode)
            # in any order, so that one world is not always behind the same other one
            for i in chance.permutation(_WORLDS).tolist():
                found = _after(many, i, actions[i], mode)
                expected = _alone(alone, before[i : i + 1].reshape(()), actions[i], mode)
                for name in expected:
                    for place, one, other in _differences(name, found[name], expected[name]):
                        return (
                            f"{where}, world {i} of seed {seed + i}: {place} is {one}, and {other} "
                            f"when the world takes the turn alone: a rule remembers something from "
                            f"another world, or from before"
                        )
        except RuleError as error:
            return f"{where}: {error}"
        actions = chance.integers(len(scenario.actions), size=_WORLDS)
        if turn % 8 == 7:
            actions = np.where(chance.integers(2, size=_WORLDS), RESTART, KEEP)
    return ""


def _alone(batch: Worlds, row: NDArray[Any], action: int, mode: int) -> dict[str, Any]:
    """What there is after a turn of the world of a row, in a batch of one, by name."""
    if action == KEEP:
        return {"row": row}
    if action == RESTART:
        batch.set_generator(0, generator_from_row(row["rng"]))
    else:
        batch.restore(0, row)
    batch.step(np.array([action]), mode)
    return _after(batch, 0, action, mode)


def _after(batch: Worlds, i: int, action: int, mode: int) -> dict[str, Any]:
    """What world i shows after a turn, and its row, by name."""
    out = batch.outputs
    ended = action >= 0 and mode == SAME_STEP and (out.terminated[i] or out.truncated[i])
    shown = {
        name: array[i]
        for name, array in vars(out).items()
        if ended or not name.startswith("final_")
    }
    return {**shown, "row": batch.snapshot(i)}


def _differences(name: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """(place, one value, the other value) of all numbers that differ."""
    if _is_record(left) and left.tobytes() == right.tobytes():
        return  # as nearly always, and found out twenty times as fast
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
