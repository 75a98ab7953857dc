"""The object world and the compiled world side by side, until they differ or a rule goes wrong.

Then several worlds of either kind in turns, each compared with the same world alone.
"""

from __future__ import annotations

import math
import random  # noqa: TID251  # to see whether others draw from it
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.environment import GridEnv
from gv_engine.envs.observations import form_of
from gv_engine.rollout.policy import RandomPolicy, load_policies
from gv_engine.rules.errors import RuleError
from gv_engine.rules.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    System,
    source_place,
    unwrapped,
)
from gv_engine.rules.world import World
from gv_engine.scenario.layout import OF_AGENTS
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.watchdog import HardTimeout
from gv_engine.validation.invariants import fault_of_observation, fault_of_row
from gv_engine.vector.backend import Backend, make_batch
from gv_engine.world.autoreset import DISABLED, KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import Simulation

# ---- promises ------------------------------------------------------------------------------------

_EDIT = (RESET, TRANSITION)
_DRAW = (*_EDIT, VISIBILITY, OBSERVATION)
_ENGINES = [name for name, thing in vars(World).items() if isinstance(thing, property)]
_LONGEST_WATCHED = 50  # steps of an episode; broken promises show soon


def broken(scenario: Scenario, episodes: int = 3, seed: int = 0) -> list[str]:
    """Play random episodes in the object world.

    Returns:
        A sentence for each promise that a function broke, with its name, file and line.
    """
    found: dict[str, None] = {}
    simulation = Simulation(scenario)
    simulation.watch(lambda *rule: _watched(found, *rule))
    for number in range(episodes):
        chance = np.random.default_rng([seed, number])
        observation = np.zeros((*scenario.area.shape, 3), np.uint8), np.zeros(3, np.uint8)
        try:
            simulation.reset(np.random.default_rng(seed + number))
            for _ in range(_LONGEST_WATCHED):
                for agent in simulation.agents:
                    simulation.observe(*observation, agent)
                chosen = chance.integers(len(scenario.actions), size=len(simulation.agents))
                simulation.step(*(scenario.actions[number] for number in chosen))
                if simulation.world.terminated or simulation.world.truncated:
                    break
        except Exception:
            continue  # a fault of another kind, for others to report
    return list(found)


def _watched(
    found: dict[str, None], system: System, part: str, function: Callable[..., Any]
) -> Callable[..., Any]:
    """The function, and a look at everything before and after."""
    phase = system.phase if part == "function" else None
    engines = _ENGINES if phase in _EDIT and system.objects is None else []

    def tell(fault: str) -> None:
        found[f"{_title(system, part)}, {fault}"] = None

    def watched(w: Any, *rest: Any) -> Any:
        worlds = [w, *(thing.world for thing in rest if hasattr(thing, "world"))]
        rows = [] if phase in _EDIT else [world.snapshot() for world in worlds]
        figures = [_figure(w, name) for name in engines]
        chance = _global_generators()
        result = function(w, *rest)
        if _global_generators() != chance:
            tell("draws from a global generator, which no seed of the world reaches")
        if phase is TRANSITION and result is not None:
            tell(f"returns {type(result).__name__}; transitions edit the state, return nothing")
        for name, value in zip(engines, figures, strict=True):
            now = _figure(w, name)
            if now is not value and (name not in OF_AGENTS or now != value):
                tell(f"writes w.{name}, which is set by the engine; rules only read it")
        for world, row in zip(worlds, rows, strict=bool(rows)):
            now = world.snapshot()
            if now["rng"] != row["rng"] and phase not in _DRAW:
                tell("draws by chance; it must give the same for the same step")
            now["rng"] = row["rng"]
            if now.tobytes() != row.tobytes():
                tell("edits the state, which it may only look at")
        return result

    return watched


def _figure(w: Any, name: str) -> Any:
    """What the engine sets, those of agents as they are now."""
    value = getattr(w, name)
    return [*value] if name in OF_AGENTS else value


def _title(system: System, part: str) -> str:
    """A system, or its `remember` or `when`: name, file and line, and what it is."""
    if part == "function":
        return f"{system.title}, a {system.phase.label}"
    helper = getattr(system, part)
    file, line = source_place(helper)
    return f"{unwrapped(helper).__name__} ({file}:{line}), the {part} of {system.name}"


def _global_generators() -> tuple[Any, ...]:
    legacy: Any = np.random.get_state()  # noqa: NPY002  # to see whether others draw from it
    return random.getstate(), legacy[1].tobytes(), legacy[2:]


# ---- lockstep ------------------------------------------------------------------------------------

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
    limit: float = math.inf,
    policy: str = "",
) -> Report:
    """Play episodes, and after each step look at all that there is.

    The world is whole (see `gv_engine.validation.invariants`), the observation lies in its space,
    and the compiled world equals the object world: its whole row, observation, reward term by term,
    ends, success and action mask. Episodes are random, and every second one keeps to the mask,
    unless a policy plays them. At last several worlds take turns in a batch, with different
    actions, and with resets now of these, now of those; what each of them does and shows must be
    what it does and shows alone.

    Args:
        scenario: what is played.
        episodes: how many, of at most 200 steps.
        seed: of the first; the next ones follow.
        compiled: whether there is a compiled world to compare with; if not, a second object world
            shows whether equal seeds give equal episodes.
        limit: seconds for a compiled step; one that takes longer ends the process.
        policy: what plays, as in a rollout of that seed, see `gv_engine.rollout.policy`.

    Raises:
        PolicyError: there is no such policy.
        DoesNotCompileError: there is none, though `compiled` says so.
    """
    worlds = {"object": _one(scenario, "object", False)}
    if compiled:
        worlds["compiled"] = _one(scenario, "compiled", True)
    else:
        worlds[_AGAIN] = _one(scenario, "object", False)
    steps = 0
    actor = _Policy(scenario, policy) if policy else _Chance(scenario)
    with HardTimeout(limit) as fuse:
        for number in range(episodes):
            actor.begin(seed, number)
            action: NDArray[np.int64] | None = None
            for step in range(_LONGEST + 1):
                try:
                    seen = _advance(worlds, seed + number, action, fuse)
                    _inspect(scenario, worlds, seen)
                except _Fault as fault:
                    taken = () if action is None else action.tolist()
                    did = ", ".join(scenario.action_names[each] for each in taken) or "reset"
                    where = f"seed {seed + number}, step {step}, {did}"
                    return Report(number + 1, steps, f"{where}: {fault}")
                steps += action is not None
                if np.all(seen["terminated"] | seen["truncated"]):
                    break
                action = actor.act(seen)
    kinds = dict.fromkeys(env.world for env in worlds.values())
    faults = (_fault_of_turns(scenario, kind, _TURNS * episodes, seed) for kind in kinds)
    return Report(episodes, steps, next(filter(None, faults), ""))


class _Chance:
    """Draws actions, of all that there are and of those that would do something, in turn."""

    def __init__(self, scenario: Scenario) -> None:
        agents, actions = scenario.layout.agents, len(scenario.actions)
        self._agents = agents
        self._kinds = [RandomPolicy(agents, actions, valid=valid) for valid in (False, True)]
        self._drawing = self._kinds[0]

    def begin(self, seed: int, number: int) -> None:
        """Draw for an episode."""
        self._drawing = self._kinds[number % 2]
        first = self._agents * number
        self._drawing.begin(range(self._agents), seed, range(first, first + self._agents))

    def act(self, seen: dict[str, Any]) -> NDArray[np.int64]:
        """(A,) actions."""
        mask = seen["action_mask"].reshape(self._agents, -1)
        return self._drawing.act({}, {"action_mask": mask}).copy()


class _Policy:
    """Acts as in a rollout."""

    def __init__(self, scenario: Scenario, named: str) -> None:
        self._several = scenario.layout.agents > 1
        self._policy = load_policies(named, scenario, 1, len(scenario.actions))

    def begin(self, seed: int, number: int) -> None:
        """Act in an episode."""
        self._policy.begin([0], seed, [number])

    def act(self, seen: dict[str, Any]) -> NDArray[np.int64]:
        """(A,) actions."""
        shown = seen["observation"]
        if self._several:
            each = list(shown.values())
            shown = {name: np.stack([own[name] for own in each]) for name in each[0]}
        many = {name: np.asarray(array)[None] for name, array in shown.items()}
        chosen: NDArray[np.int64] = self._policy.act(
            many, {"action_mask": seen["action_mask"][None]}
        )
        return chosen.reshape(-1)


class _Together:
    """One world of several agents, which shows of each what `GridEnv` shows of one."""

    def __init__(self, scenario: Scenario, world: str, checked: bool) -> None:
        self.scenario, self._names = scenario, scenario.sharing.names
        self._batch = make_batch(scenario, 1, world, checked=checked)
        self.world = self._batch.world
        self._form = form_of(scenario, "default")
        self._form.belongs_to(self._batch)
        self.observation_space = self._form.space

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the level of a seed shows, and its info."""
        self._batch.set_generator(0, np.random.default_rng(seed))
        self._batch.step(np.full(len(self._names), RESTART), DISABLED)
        return self._observation(), self._info()

    def step(self, actions: NDArray[np.int64]) -> tuple[Any, ...]:
        """What comes of (A,) actions, with (A,) rewards and ends."""
        self._batch.step(actions, DISABLED)
        out = self._batch.outputs
        ended = out.rewards.copy(), out.terminated.copy(), out.truncated.copy()
        return self._observation(), *ended, self._info()

    def snapshot(self) -> NDArray[Any]:
        """The world as one row."""
        return self._batch.snapshot(0)

    def _observation(self) -> dict[str, Any]:
        arrays = self._batch.outputs.named(self._form.made_of)
        each = zip(self._names, *arrays, strict=True)
        return {name: self._form.one(*shown) for name, *shown in each}

    def _info(self) -> dict[str, Any]:
        out = self._batch.outputs
        terms = dict(zip(self.scenario.reward_names, out.terms.T.copy(), strict=True))
        return {
            "reward_terms": terms,
            "success": out.success.copy(),
            "action_mask": out.mask.copy(),
        }


def _one(scenario: Scenario, world: str, checked: bool) -> GridEnv | _Together:
    """One world, checked if it is compiled."""
    if scenario.layout.agents > 1:
        return _Together(scenario, world, checked)
    return GridEnv(scenario, world=world, checked=checked)


def _advance(
    worlds: dict[str, GridEnv | _Together],
    seed: int,
    action: NDArray[np.int64] | None,
    fuse: HardTimeout,
) -> dict[str, Any]:
    """Take a step, or reset, in every world; what the object world shows, by name."""
    shown: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for name, env in worlds.items():
        reward: Any = 0.0
        terminated = truncated = np.False_
        says = _endless(env.scenario, action is None, fuse.limit)
        try:
            with fuse.watch(says) if name == "compiled" else nullcontext():
                if action is None:
                    observation, info = env.reset(seed=seed)
                else:
                    told = (
                        env.step(int(action[0])) if isinstance(env, GridEnv) else env.step(action)
                    )
                    observation, reward, terminated, truncated, info = told
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


def _inspect(
    scenario: Scenario, worlds: dict[str, GridEnv | _Together], seen: dict[str, Any]
) -> None:
    for other in seen["others"]:
        for name in other:
            for place, left, right in _differences(name, seen[name], other[name]):
                if _AGAIN in worlds:
                    raise _Fault(
                        f"{place} is {left}, and {right} when the same seed is played {_AGAIN}: a "
                        f"rule remembers something, or draws from elsewhere than w.rng or rng"
                    )
                raise _Fault(f"{place} is {left} in the object world, {right} in the compiled one")
    if fault := fault_of_row(scenario, seen["row"]):
        raise _Fault(fault)
    shown, space = seen["observation"], worlds["object"].observation_space
    for observation in shown.values() if scenario.layout.agents > 1 else (shown,):
        if fault := fault_of_observation(scenario, observation):
            raise _Fault(fault)
        if observation not in space:
            raise _Fault(f"the observation lies outside of {space}")


def _fault_of_turns(scenario: Scenario, kind: str, turns: int, seed: int) -> str:
    """What is wrong with several worlds that take turns, as a sentence; empty if nothing is."""
    many, alone = (make_batch(scenario, n, kind, checked=True) for n in (_WORLDS, 1))
    chance, shape = np.random.default_rng([seed, _WORLDS]), (_WORLDS, scenario.layout.agents)
    for i in range(_WORLDS):
        many.set_generator(i, np.random.default_rng(seed + i))
    actions = np.full(shape, RESTART)  # (N, A)
    for turn in range(turns):
        mode = int(chance.choice([NEXT_STEP, SAME_STEP]))
        where = f"turn {turn} of {_WORLDS} {kind} worlds"
        try:
            before = many.snapshot(_ALL)
            many.step(actions.ravel(), mode)
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
        actions = chance.integers(len(scenario.actions), size=shape)
        if turn % 8 == 7:
            actions[:] = np.where(chance.integers(2, size=(_WORLDS, 1)), RESTART, KEEP)
    return ""


def _alone(
    batch: Backend, row: NDArray[Any], actions: NDArray[np.int64], mode: int
) -> dict[str, Any]:
    """What there is after a turn of the world of a row, in a batch of one, by name."""
    if actions[0] == KEEP:
        return {"row": row}
    if actions[0] == RESTART:
        batch.set_generator(0, generator_from_row(row["rng"]))
    else:
        batch.restore(0, row)
    batch.step(actions, mode)
    return _after(batch, 0, actions, mode)


def _after(batch: Backend, i: int, actions: NDArray[np.int64], mode: int) -> dict[str, Any]:
    """What world i shows after a turn, and its row, by name."""
    out, agents = batch.outputs, len(actions)
    own = slice(i * agents, (i + 1) * agents) if agents > 1 else i
    over = np.all(out.terminated[own] | out.truncated[own])
    ended = actions[0] >= 0 and mode == SAME_STEP and over
    shown = {
        name: array[own]
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
