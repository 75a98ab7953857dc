"""Differential tests of scenarios: the object world and the compiled world run in lockstep and must
be equal, and consistent.

Then a batch of several worlds of each kind is stepped, and every world is compared with the same
world stepped alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import HIDDEN, NONE_GRID_OBJECT
from gv_engine.envs.backends.backend import Backend, make_batch
from gv_engine.envs.backends.seeding import make_rng
from gv_engine.envs.observations import make_encoder
from gv_engine.envs.representations import Arrays
from gv_engine.envs.rollout.policy import RandomPolicy, load_policies
from gv_engine.play.session.watchdog import hard_timeout
from gv_engine.rules.errors import RuleError, Stopped
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import Phase, system_of
from gv_engine.scenario.documents.rule_errors import find_author_line
from gv_engine.scenario.memory.row_checks import compute_derived_columns, find_fault
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import DISABLED, KEEP, NEXT_STEP, RESTART, SAME_STEP

# ---- invariants ----------------------------------------------------------------------------------


def find_row_fault(scenario: Scenario, row: NDArray[Any]) -> str:
    """Return an error message if `row`, the record of a world, is inconsistent; "" if it is
    consistent.

    Args:
        scenario: scenario of the world.
        row: () or (n,) array of `scenario.layout.dtype`; the message is about one record.
    """
    rows = row.reshape(-1)
    if fault := find_fault(scenario.layout, rows):
        return fault
    for name, column in compute_derived_columns(scenario.layout, rows).items():
        for i in np.argwhere(rows[name] != column)[:1].tolist():
            stored, derived = rows[name][*i], column[*i]
            place = np.ravel_multi_index(i[1:], column.shape[1:]) if i[1:] else 0
            return (
                f"w.{name}[{place}] is {stored}, but {derived} by the objects on the grid: rules "
                f"must not write w.kind or w.position; use w.spawn, w.place, w.lift and w.remove"
            )
    kinds: set[int] = set()
    for each in rows:
        height, width = int(each["height"]), int(each["width"])
        for name in scenario.layout.layers:  # Floor, where there is nothing
            kinds.update(np.unique(each["kind"]["value"][each[name][:height, :width]]).tolist())
    return _find_unlisted(scenario, kinds, scenario.objects, "stands on the grid", "state_space")


def find_observation_fault(scenario: Scenario, observation: Arrays) -> str:
    """Return an error message if an observation is not in the scenario's observation space; an
    empty text if it is.

    Args:
        scenario: scenario of the observation.
        observation: observation of one world from `GridEnv`.
    """
    shown = np.concatenate([observation["grid"].reshape(-1, 3), observation["item"][None]])
    kinds, states, colors = shown.T
    allowed = (HIDDEN, NONE_GRID_OBJECT, *scenario.observation_objects)
    fault = _find_unlisted(scenario, kinds.tolist(), allowed, "is seen", "observation_space")
    if fault:
        return fault
    for color in sorted({*colors.tolist()} - {*scenario.observation_colors}):
        name = COLORS[color] if color < len(COLORS) else str(color)
        return f"the colour {name} is seen, which observation_space.colors does not list"
    for kind, state in sorted({*zip(kinds.tolist(), states.tolist())}):
        if state >= scenario.types[kind].num_states:
            return f"{scenario.types[kind].name} is seen in state {state}, which it does not have"
    state_vector = scenario.observed_state
    return state_vector.find_fault(observation["state"]) if state_vector else ""


def _find_unlisted(
    scenario: Scenario, kinds: Iterable[int], allowed: Iterable[int], verb: str, space: str
) -> str:
    for kind in sorted({*kinds} - {*allowed}):
        return f"{scenario.types[kind].name} {verb}, which {space}.objects does not list"
    return ""


# ---- lockstep ------------------------------------------------------------------------------------

_AGAIN = "a second time"
_MAX_STEPS = 200  # steps of an episode; most differences appear early
_MAX_CELLS = 2**20  # cells times steps of an episode
_BATCH_SIZE = 4  # worlds in the batch
_ALL_WORLDS = np.arange(_BATCH_SIZE)
_TURNS = 6  # steps of the batch for each episode played before


class Report(NamedTuple):
    """Result of a differential test.

    Attributes:
        episodes, steps: numbers of episodes and steps played.
        fault: first error and its place; empty if there is none.
    """

    episodes: int
    steps: int
    fault: str

    def with_fault(self, message: str) -> Report:
        """Return a copy with the text `message` appended to `fault`, which so far holds the place
        of the error, such as the step."""
        return self._replace(fault=self.fault + message)


_MAX_WAITING, _MAX_WAITING_BYTES = 32, 2**23


class _WaitingRows:
    """World records (rows) that wait to be checked together: a check of 32 records takes little
    longer than a check of one."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._waiting = scenario, list[tuple[NDArray[Any], Report]]()
        size = scenario.layout.dtype.itemsize
        self._capacity = max(1, min(_MAX_WAITING, _MAX_WAITING_BYTES // size))

    @property
    def is_full(self) -> bool:
        """True if enough rows wait to be checked."""
        return len(self._waiting) >= self._capacity

    def add(self, row: NDArray[Any], report: Report) -> None:
        """Add a record to check later. `report.fault` holds the place of the record, such as the
        step, with which an error message begins."""
        self._waiting.append((row, report))

    def find_fault(self) -> Report | None:
        """Check all waiting world records and remove them. Return the report about the first
        inconsistent one; None if all are consistent."""
        waiting, self._waiting = self._waiting, []
        if waiting and find_row_fault(self._scenario, np.stack([row for row, _ in waiting])):
            for row, report in waiting:
                if fault := find_row_fault(self._scenario, row):
                    return report.with_fault(fault)
        return None


class _Fault(Exception):
    """Error that a check found."""


def run_differential_test(
    scenario: Scenario,
    episodes: int = 10,
    seed: int = 0,
    compiled: bool = True,
    limit: float = math.inf,
    policy: str = "",
) -> Report:
    """Play the same episodes in an object world and a compiled (or second object) world. Return a
    report with the first step at which they differ or are inconsistent.

    Checks that the world is consistent (see `find_row_fault`), that the observation lies in its
    space, and that the compiled world equals the object world: the whole record, observation,
    reward terms, ends, success and action mask. Episodes are random, every second one within the
    action mask, unless a policy plays them. Finally several worlds run in a batch, with different
    actions and resets at different times; each must equal the same world alone.

    Args:
        scenario: scenario to test.
        episodes: number of episodes, of at most 200 steps, fewer in large grids.
        seed: seed of the first episode; the others use the next seeds.
        compiled: whether to compare with a compiled world; else with a second object world, which
            finds differences between runs with equal seeds.
        limit: seconds for a compiled step; a longer one ends the process.
        policy: policy that plays the episodes as in a rollout with this seed, see
            `gv_engine.envs.rollout.policy`; "" for random actions.

    Raises:
        PolicyError: there is no such policy.
        DoesNotCompileError: the scenario does not compile, and `compiled` is True.
    """
    other, other_kind = ("compiled", "compiled") if compiled else (_AGAIN, "object")
    worlds = {
        "object": _World(scenario, "object", is_checked=False),
        other: _World(scenario, other_kind, is_checked=compiled),
    }
    player = _PolicyActions(scenario, policy) if policy else _RandomActions(scenario)
    rows, steps = _WaitingRows(scenario), 0
    for number in range(episodes):
        player.begin(seed, number)
        before = Report(number + 1, steps, f"seed {seed + number}, ")
        report = _play_episode(scenario, worlds, player, rows, seed + number, limit, before)
        if report.fault:
            return report
        steps = report.steps
    turns = max(_TURNS, _TURNS * episodes * _get_max_steps(scenario) // _MAX_STEPS)
    faults = (
        _find_batch_fault(scenario, kind, turns, seed)
        for kind in dict.fromkeys(("object", other_kind))
    )
    return Report(episodes, steps, next(filter(None, faults), ""))


def _get_max_steps(scenario: Scenario) -> int:
    """Return the maximum number of steps of an episode."""
    cells = scenario.layout.height * scenario.layout.width
    return max(_MAX_STEPS // 20, min(_MAX_STEPS, _MAX_CELLS // cells))


def _play_episode(
    scenario: Scenario,
    worlds: dict[str, _World],
    player: _RandomActions | _PolicyActions,
    rows: _WaitingRows,
    seed: int,
    limit: float,
    before: Report,
) -> Report:
    """Play the level of `seed` in both worlds until it ends or a fault is found. `before` is the
    report on earlier episodes; return it with this episode's steps and fault ("" for none)
    added."""
    actions: NDArray[np.int64] | None = None
    max_steps = _get_max_steps(scenario)
    for step in range(max_steps + 1):
        indices = () if actions is None else actions.tolist()
        names = ", ".join(scenario.action_names[index] for index in indices) or "reset"
        report = before._replace(steps=before.steps + max(0, step - 1))
        report = report.with_fault(f"step {step}, {names}: ")
        try:
            first, second = _step_both(worlds, seed, actions, limit)
            _check_outputs(first, second, is_repeated=_AGAIN in worlds)
            rows.add(first["row"], report)
            _check_observations(scenario, first["observation"], worlds["object"].space)
        except _Fault as fault:
            return rows.find_fault() or report.with_fault(str(fault))
        except (Exception, Stopped):
            # an earlier step may have left a world in which no rule can run
            if found := rows.find_fault():
                return found
            raise
        is_over = step == max_steps or np.all(first["terminated"] | first["truncated"])
        if (is_over or rows.is_full) and (found := rows.find_fault()):
            return found
        if is_over:
            break
        actions = player.act(first)
    return Report(before.episodes, before.steps + step, "")


class _RandomActions:
    """Random actions; in every second episode only actions that the action mask allows."""

    def __init__(self, scenario: Scenario) -> None:
        self._agents = scenario.layout.agents
        self._policies = [
            RandomPolicy(self._agents, len(scenario.actions), use_action_mask)
            for use_action_mask in (False, True)
        ]

    def begin(self, seed: int, number: int) -> None:
        """Start an episode with new random generators, seeded by `seed` and the episode
        `number`."""
        self._current = self._policies[number % len(self._policies)]
        first = self._agents * number
        self._current.begin(range(self._agents), seed, range(first, first + self._agents))

    def act(self, outputs: dict[str, Any]) -> NDArray[np.int64]:
        """Return (A,) random actions."""
        mask = outputs["action_mask"].reshape(self._agents, -1)
        return self._current.act({}, {"action_mask": mask}).copy()


class _PolicyActions:
    """Actions of a policy as in a rollout."""

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._is_multi_agent = scenario.layout.agents > 1
        self._policy = load_policies(name, scenario, 1, len(scenario.actions))

    def begin(self, seed: int, number: int) -> None:
        """Start an episode."""
        self._policy.begin([0], seed, [number])

    def act(self, outputs: dict[str, Any]) -> NDArray[np.int64]:
        """Return the policy's action for each agent, (agents,) int64, given the world's outputs of
        the last step."""
        observations = outputs["observation"]
        if self._is_multi_agent:
            by_agent = [*observations.values()]
            observations = {
                name: np.stack([observation[name] for observation in by_agent])
                for name in by_agent[0]
            }
        batched = {name: np.asarray(array)[None] for name, array in observations.items()}
        info = {"action_mask": outputs["action_mask"][None]}
        return np.asarray(self._policy.act(batched, info)).reshape(-1)


class _World:
    """One world of a scenario. With several agents, outputs have an axis of agents, and
    observations are given by agent."""

    def __init__(self, scenario: Scenario, kind: str, is_checked: bool) -> None:
        self.scenario = scenario
        self._batch = make_batch(scenario, 1, kind, checked=is_checked)
        self._encoder = make_encoder(scenario, "default")
        self._encoder.bind_backend(self._batch)
        self.space = self._encoder.space

    def step(self, seed: int, actions: NDArray[np.int64] | None) -> None:
        """Take one action of each agent. If `actions` is None, reset the world to the level of
        `seed` instead."""
        if actions is None:
            self._batch.set_generator(0, np.random.default_rng(seed))
            actions = np.full(self.scenario.layout.agents, RESTART)
        self._batch.step(actions, DISABLED)

    def read_outputs(self) -> dict[str, Any]:
        """Return copies of the last step's results by name, and the world's record as `row`.

        Raises:
            RuleError: a number does not fit into the record.
        """
        out, scenario = self._batch.outputs, self.scenario
        observations = {
            name: self._encoder.encode(*arrays)
            for name, *arrays in zip(
                scenario.agent_group.names,
                *out.get_arrays(self._encoder.source_arrays),
                strict=True,
            )
        }
        is_multi_agent = scenario.layout.agents > 1
        lines = slice(None) if is_multi_agent else 0
        terms = dict(zip(scenario.reward_names, out.terms[lines].T.copy(), strict=True))
        return {
            "observation": observations if is_multi_agent else next(iter(observations.values())),
            "reward": out.rewards[lines].copy(),
            "reward_terms": terms,
            "terminated": out.terminated[lines].copy(),
            "truncated": out.truncated[lines].copy(),
            "success": out.success[lines].copy(),
            "action_mask": out.mask[lines].copy(),
            "row": self._batch.snapshot(0),
        }


def _name_raising_line(error: RuleError) -> str:
    """Return an error's message in which the first line of the rule is replaced by the line that
    raised the error."""
    cause = error.__cause__ or error
    system, place = system_of(cause), find_author_line(cause)
    text = str(error)
    return text.replace(system.title, f"{system.name} ({place})") if system and place else text


def _step_both(
    worlds: dict[str, _World], seed: int, actions: NDArray[np.int64] | None, limit: float
) -> list[dict[str, Any]]:
    """Take the same step in both worlds and return the outputs of each. If `actions` is None, reset
    them to the level of `seed`. `limit` is the maximum time in seconds.

    Raises:
        _Fault: a rule failed.
    """
    outputs: list[dict[str, Any]] = []
    errors: dict[str, RuleError] = {}
    message = _format_timeout(worlds["object"], is_reset=actions is None, limit=limit)
    for name, world in worlds.items():
        try:
            with hard_timeout(limit, message) if name == "compiled" else nullcontext():
                world.step(seed, actions)
        except RuleError as error:
            errors[name] = error
            continue
        try:
            outputs.append(world.read_outputs())
        except RuleError as error:
            raise _Fault(
                f"{error} in the {name} world, and would be another number in the other"
            ) from None
    if not errors:
        return outputs
    if not outputs and len(set(map(str, errors.values()))) == 1:
        raise _Fault(_name_raising_line(errors["object"]))
    messages = (f"{name} world: {errors.get(name, 'goes on')}" for name in worlds)
    problem = "only one world fails" if outputs else "both worlds fail, in other words"
    raise _Fault(f"{problem}; {', '.join(messages)}")


def _format_timeout(world: _World, is_reset: bool, limit: float) -> str:
    """Return the error message for a compiled step or reset that took longer than `limit`
    seconds."""
    step_phases = Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING
    phases = (Phase.RESET,) if is_reset else step_phases
    names = dict.fromkeys(
        call.name
        for member in world.scenario.members
        for phase in (*phases, Phase.VISIBILITY, Phase.OBSERVATION)
        for call in member.calls(phase)
    )
    return (
        f"the compiled world ran for {limit:g} s and was stopped, where the object world had come "
        f"to an end; one of its rules does not: {', '.join(names)}"
    )


def _check_outputs(first: dict[str, Any], second: dict[str, Any], is_repeated: bool) -> None:
    """Raise _Fault if a reward is not finite, or if the outputs of the two worlds differ.
    `is_repeated` is True if both are object worlds."""
    for rule, reward in first["reward_terms"].items():
        if not np.isfinite(reward).all():
            raise _Fault(f"{rule} returned {reward}; a reward is a finite number")
    for name in second:
        for field, left, right in _differences(name, first[name], second[name]):
            if is_repeated:
                raise _Fault(
                    f"{field} is {left}, and {right} when the same seed is played {_AGAIN}: a "
                    f"rule remembers something, or draws from elsewhere than w.rng or rng"
                )
            raise _Fault(f"{field} is {left} in the object world, {right} in the compiled one")


def _check_observations(scenario: Scenario, observations: dict[str, Any], space: Any) -> None:
    """Raise _Fault if an observation is inconsistent or not in `space`. `observations` is one
    observation, or, with several agents, one for each."""
    is_multi_agent = scenario.layout.agents > 1
    for observation in observations.values() if is_multi_agent else (observations,):
        if message := find_observation_fault(scenario, observation):
            raise _Fault(message)
        if observation not in space:
            raise _Fault(f"the observation lies outside of {space}")


def _find_batch_fault(scenario: Scenario, kind: str, turns: int, seed: int) -> str:
    """Step a batch of worlds with the backend `kind`, such as "compiled", for `turns` steps. Return
    an error message if a world behaves differently than alone, else ""."""
    batch, single = (make_batch(scenario, n, kind, checked=True) for n in (_BATCH_SIZE, 1))
    rng, shape = make_rng(seed, "turns"), (_BATCH_SIZE, scenario.layout.agents)
    for i in range(_BATCH_SIZE):
        batch.set_generator(i, np.random.default_rng(seed + i))
    actions = np.full(shape, RESTART)  # (N, A)
    for turn in range(turns):
        mode = int(rng.choice([NEXT_STEP, SAME_STEP]))
        turn_name = f"turn {turn} of {_BATCH_SIZE} {kind} worlds"
        try:
            before = batch.snapshot(_ALL_WORLDS)
            if turn and (fault := find_row_fault(scenario, before)):
                return f"{turn_name}: {fault}"
            batch.step(actions.ravel(), mode)
            # in any order, so that a world does not always follow the same other one
            for i in rng.permutation(_BATCH_SIZE).tolist():
                outputs = _read_outputs(batch, i, actions[i], mode)
                expected = _step_alone(single, before[i : i + 1].reshape(()), actions[i], mode)
                for name in expected:
                    for place, left, right in _differences(name, outputs[name], expected[name]):
                        return (
                            f"{turn_name}, world {i} of seed {seed + i}: {place} is {left}, and "
                            f"{right} when the world takes the turn alone: a rule remembers "
                            f"something from another world, or from before"
                        )
        except RuleError as error:
            return f"{turn_name}: {error}"
        actions = rng.integers(len(scenario.actions), size=shape)
        if turn % 8 == 7:
            actions[:] = np.where(rng.integers(2, size=(_BATCH_SIZE, 1)), RESTART, KEEP)
    return ""


def _step_alone(
    batch: Backend, row: NDArray[Any], actions: NDArray[np.int64], mode: int
) -> dict[str, Any]:
    """Take a step from the world record `row` in a batch of a single world. `mode` is the autoreset
    mode. Return the outputs by name."""
    if actions[0] == KEEP:
        return {"row": row}
    if actions[0] == RESTART:
        batch.set_generator(0, generator_from_row(row["rng"]))
    else:
        batch.restore(0, row, trusted=True)
    batch.step(actions, mode)
    return _read_outputs(batch, 0, actions, mode)


def _read_outputs(batch: Backend, i: int, actions: NDArray[np.int64], mode: int) -> dict[str, Any]:
    """Return outputs and record of world number `i` of a batch after a step, by name. `mode` is the
    autoreset mode."""
    out, agents = batch.outputs, len(actions)
    own_slots = slice(i * agents, (i + 1) * agents) if agents > 1 else i
    is_over = np.all(out.terminated[own_slots] | out.truncated[own_slots])
    has_final = actions[0] >= 0 and mode == SAME_STEP and is_over
    names = (name for name in vars(out) if has_final or not name.startswith("final_"))
    return {name: vars(out)[name][own_slots] for name in names} | {"row": batch.snapshot(i)}


def _differences(name: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, left value, right value) for each number that differs between two arrays,
    records or mappings. `name` is the beginning of the place."""
    if _is_record(left) and left.tobytes() == right.tobytes():
        return  # nearly always, and this comparison is twenty times as fast
    names = left if isinstance(left, dict) else left.dtype.names if _is_record(left) else ()
    for part in names or ():
        yield from _differences(f"{name}.{part}".removeprefix("row."), left[part], right[part])
    if not names:
        values, others = np.asarray(left), np.asarray(right)
        for index in np.argwhere((values != others) & ~((values != values) & (others != others))):
            position = tuple(index.tolist())
            place = f"{name}{list(position)}" if position else name
            yield place, values[position], others[position]


def _is_record(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.void) and value.dtype.names is not None
