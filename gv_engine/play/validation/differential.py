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
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.observations import make_encoder
from gv_engine.envs.representations import Arrays
from gv_engine.envs.rollout.policy import RandomPolicy, load_policies
from gv_engine.play.session.watchdog import hard_timeout
from gv_engine.rules.errors import RuleError, Stopped
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import Phase, system_of
from gv_engine.scenario.documents.rule_modules import find_author_line
from gv_engine.scenario.memory.row_checks import compute_derived_columns, find_fault
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import DISABLED, KEEP, NEXT_STEP, RESTART, SAME_STEP

# ---- invariants ----------------------------------------------------------------------------------


def find_row_fault(scenario: Scenario, row: NDArray[Any]) -> str:
    """Return an error message if a world's record is inconsistent; an empty text if it is
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
        self._room = max(1, min(_MAX_WAITING, _MAX_WAITING_BYTES // size))

    @property
    def is_full(self) -> bool:
        """True if enough rows wait to be checked."""
        return len(self._waiting) >= self._room

    def add(self, row: NDArray[Any], report: Report) -> None:
        """Add a record to check later. `report.fault` holds the place of the record, such as the
        step, with which an error message begins."""
        self._waiting.append((row, report))

    def find_fault(self) -> Report | None:
        """Check and remove all waiting records; return the report of the first inconsistent one,
        None if all are consistent."""
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
    """Play episodes in an object world and a compiled (or second object) world at once; report the
    first step at which they differ or are inconsistent.

    Checks that the world is consistent (see `find_row_fault`), that the observation lies in its
    space, and that the compiled world equals the object world: the whole record, observation,
    reward terms, ends, success and action mask. Episodes are random, every second one within the
    action mask, unless a policy plays them. Finally several worlds run in a batch, with different
    actions and resets at different times; each must equal the same world alone.

    Args:
        scenario: scenario to test.
        episodes: number of episodes, of at most 200 steps.
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
    second = _make_env(scenario, "compiled" if compiled else "object", checked=compiled)
    name = "compiled" if compiled else _AGAIN
    worlds = {"object": _make_env(scenario, "object", False), name: second}
    steps = 0
    player = _PolicyActions(scenario, policy) if policy else _RandomActions(scenario)
    rows = _WaitingRows(scenario)
    for number in range(episodes):
        player.begin(seed, number)
        action: NDArray[np.int64] | None = None
        for step in range(_MAX_STEPS + 1):
            indices = () if action is None else action.tolist()
            names = ", ".join(scenario.action_names[each] for each in indices) or "reset"
            report = Report(number + 1, steps, f"seed {seed + number}, step {step}, {names}: ")
            try:
                outputs = _step_all(worlds, seed + number, action, limit)
                _check_step(scenario, worlds, outputs, rows, report)
            except _Fault as fault:
                return rows.find_fault() or report.with_fault(str(fault))
            except (Exception, Stopped):
                # an earlier step may have left a world in which no rule can run
                if found := rows.find_fault():
                    return found
                raise
            steps += action is not None
            is_over = step == _MAX_STEPS or np.all(outputs["terminated"] | outputs["truncated"])
            if (is_over or rows.is_full) and (found := rows.find_fault()):
                return found
            if is_over:
                break
            action = player.act(outputs)
    kinds = dict.fromkeys(env.world for env in worlds.values())
    faults = (_find_batch_fault(scenario, kind, _TURNS * episodes, seed) for kind in kinds)
    return Report(episodes, steps, next(filter(None, faults), ""))


class _RandomActions:
    """Random actions; in every second episode only actions that the action mask allows."""

    def __init__(self, scenario: Scenario) -> None:
        """Create two random policies; only the second one obeys the action mask."""
        agents, actions = scenario.layout.agents, len(scenario.actions)
        self._agents = agents
        self._policies = [RandomPolicy(agents, actions, valid=valid) for valid in (False, True)]
        self._current = self._policies[0]

    def begin(self, seed: int, number: int) -> None:
        """Start an episode with new random generators, seeded by `seed` and the episode
        `number`."""
        self._current = self._policies[number % 2]
        first = self._agents * number
        self._current.begin(range(self._agents), seed, range(first, first + self._agents))

    def act(self, outputs: dict[str, Any]) -> NDArray[np.int64]:
        """Return (A,) random actions."""
        mask = outputs["action_mask"].reshape(self._agents, -1)
        return self._current.act({}, {"action_mask": mask}).copy()


class _PolicyActions:
    """Actions of a policy as in a rollout."""

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._several = scenario.layout.agents > 1
        self._policy = load_policies(name, scenario, 1, len(scenario.actions))

    def begin(self, seed: int, number: int) -> None:
        """Start an episode."""
        self._policy.begin([0], seed, [number])

    def act(self, outputs: dict[str, Any]) -> NDArray[np.int64]:
        """Return the action that the policy chooses for each agent, as (agents,) int64."""
        observations = outputs["observation"]
        if self._several:
            per_agent = list(observations.values())
            observations = {name: np.stack([o[name] for o in per_agent]) for name in per_agent[0]}
        batched = {name: np.asarray(array)[None] for name, array in observations.items()}
        info = {"action_mask": outputs["action_mask"][None]}
        return np.asarray(self._policy.act(batched, info)).reshape(-1)


class _MultiAgentEnv:
    """One world of several agents with the interface of `GridEnv`; outputs have an axis of
    agents."""

    def __init__(self, scenario: Scenario, world: str, checked: bool) -> None:
        """Make the world: compiled or of Python objects, as `world` says, and with bounds checks if
        `checked`."""
        self.scenario, self._names = scenario, scenario.agent_group.names
        self._batch = make_batch(scenario, 1, world, checked=checked)
        self.world = self._batch.world
        self._form = make_encoder(scenario, "default")
        self._form.bind_backend(self._batch)
        self.observation_space = self._form.space

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the level of a seed; return the observations by agent and the info."""
        self._batch.set_generator(0, np.random.default_rng(seed))
        self._batch.step(np.full(len(self._names), RESTART), DISABLED)
        return self._observation(), self._info()

    def step(self, actions: NDArray[np.int64]) -> tuple[Any, ...]:
        """Take the actions of all agents; return observations by agent, arrays of rewards,
        terminated and truncated, and the info."""
        self._batch.step(actions, DISABLED)
        out = self._batch.outputs
        ended = out.rewards.copy(), out.terminated.copy(), out.truncated.copy()
        return self._observation(), *ended, self._info()

    def snapshot(self) -> NDArray[Any]:
        """Return a record (row) of the whole world."""
        return self._batch.snapshot(0)

    def _observation(self) -> dict[str, Any]:
        arrays = self._batch.outputs.get_arrays(self._form.source_arrays)
        agents = zip(self._names, *arrays, strict=True)
        return {name: self._form.encode(*parts) for name, *parts in agents}

    def _info(self) -> dict[str, Any]:
        """Return rewards by function, success and action masks after the last step."""
        out = self._batch.outputs
        terms = dict(zip(self.scenario.reward_names, out.terms.T.copy(), strict=True))
        success, mask = out.success.copy(), out.mask.copy()
        return {"reward_terms": terms, "success": success, "action_mask": mask}


def _make_env(scenario: Scenario, world: str, checked: bool) -> GridEnv | _MultiAgentEnv:
    if scenario.layout.agents > 1:
        return _MultiAgentEnv(scenario, world, checked)
    return GridEnv(scenario, world=world, checked=checked)


def _name_raising_line(error: RuleError) -> str:
    """Return the message of an object world's error, with the line that raised it in place of the
    rule's first line."""
    cause = error.__cause__ or error
    system, place = system_of(cause), find_author_line(cause)
    text = str(error)
    return text.replace(system.title, f"{system.name} ({place})") if system and place else text


def _step_all(
    worlds: dict[str, GridEnv | _MultiAgentEnv],
    seed: int,
    action: NDArray[np.int64] | None,
    limit: float,
) -> dict[str, Any]:
    """Take the same step in every world, or reset all if `action` is None, and return their
    outputs.

    Returns:
        Outputs of the object world by name, and under "others" a list with the outputs of the other
        worlds.

    Raises:
        _Fault: a rule failed.
    """
    outputs: dict[str, dict[str, Any]] = {}
    errors: dict[str, str] = {}
    for name, env in worlds.items():
        reward: Any = 0.0
        terminated = truncated = np.False_
        message = _timeout_message(env.scenario, action is None, limit)
        try:
            with hard_timeout(limit, message) if name == "compiled" else nullcontext():
                if action is None:
                    observation, info = env.reset(seed=seed)
                else:
                    taken: Any = int(action[0]) if isinstance(env, GridEnv) else action
                    observation, reward, terminated, truncated, info = env.step(taken)
        except RuleError as error:
            errors[name] = str(error)
            if name == "object":
                raised = error
            continue
        try:
            row = env.snapshot()
        except RuleError as error:
            raise _Fault(
                f"{error} in the {name} world, and would be another number in the other"
            ) from None
        outputs[name] = {
            "observation": observation,
            "reward": reward,
            "reward_terms": info["reward_terms"],
            "terminated": terminated,
            "truncated": truncated,
            "success": info.get("success", False),
            "action_mask": info["action_mask"],
            "row": row,
        }
    if len(set(errors.values())) == 1 and not outputs:
        raise _Fault(_name_raising_line(raised))
    if errors:
        messages = (f"{name} world: {errors.get(name, 'goes on')}" for name in worlds)
        problem = "only one world fails" if outputs else "both worlds fail, in other words"
        raise _Fault(f"{problem}; {', '.join(messages)}")
    return outputs["object"] | {"others": list(outputs.values())[1:]}


def _timeout_message(scenario: Scenario, resets: bool, limit: float) -> str:
    """Return the error message for a compiled step, or a reset if `resets`, that did not end within
    `limit` seconds."""
    acting = (Phase.RESET,) if resets else (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING)
    rules = [
        call.name
        for member in scenario.members
        for phase in (*acting, Phase.VISIBILITY, Phase.OBSERVATION)
        for call in member.calls(phase)
    ]
    return (
        f"the compiled world ran for {limit:g} s and was stopped, where the object world had come "
        f"to an end; one of its rules does not: {', '.join(dict.fromkeys(rules))}"
    )


def _check_step(
    scenario: Scenario,
    worlds: dict[str, GridEnv | _MultiAgentEnv],
    outputs: dict[str, Any],
    rows: _WaitingRows,
    report: Report,
) -> None:
    """Check that all worlds have the same outputs after a step, and that observations are
    consistent; add the world to `rows`, which are checked later, with the `report` of this step.

    Raises:
        _Fault: two worlds differ, or an observation is inconsistent.
    """
    for rule, reward in outputs["reward_terms"].items():
        if not np.isfinite(reward).all():
            raise _Fault(f"{rule} returned {reward}; a reward is a finite number")
    for other in outputs["others"]:
        for name in other:
            for place, left, right in _differences(name, outputs[name], other[name]):
                if _AGAIN in worlds:
                    raise _Fault(
                        f"{place} is {left}, and {right} when the same seed is played {_AGAIN}: a "
                        f"rule remembers something, or draws from elsewhere than w.rng or rng"
                    )
                raise _Fault(f"{place} is {left} in the object world, {right} in the compiled one")
    rows.add(outputs["row"], report)
    observations, space = outputs["observation"], worlds["object"].observation_space
    for observation in observations.values() if scenario.layout.agents > 1 else (observations,):
        if message := find_observation_fault(scenario, observation):
            raise _Fault(message)
        if observation not in space:
            raise _Fault(f"the observation lies outside of {space}")


def _find_batch_fault(scenario: Scenario, kind: str, turns: int, seed: int) -> str:
    """Step a batch of worlds with the backend `kind` for `turns` steps; return an error message if
    a world behaves differently from the same world alone, else an empty text."""
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
    """Take a step from the world `row` in a batch of one world, in the autoreset mode `mode`, and
    return the outputs by name."""
    if actions[0] == KEEP:
        return {"row": row}
    if actions[0] == RESTART:
        batch.set_generator(0, generator_from_row(row["rng"]))
    else:
        batch.restore(0, row, trusted=True)
    batch.step(actions, mode)
    return _read_outputs(batch, 0, actions, mode)


def _read_outputs(batch: Backend, i: int, actions: NDArray[np.int64], mode: int) -> dict[str, Any]:
    """Return the outputs and the record of world `i` of a batch after a step, by name."""
    out, agents = batch.outputs, len(actions)
    own_slots = slice(i * agents, (i + 1) * agents) if agents > 1 else i
    is_over = np.all(out.terminated[own_slots] | out.truncated[own_slots])
    has_final = actions[0] >= 0 and mode == SAME_STEP and is_over
    names = (name for name in vars(out) if has_final or not name.startswith("final_"))
    return {name: vars(out)[name][own_slots] for name in names} | {"row": batch.snapshot(i)}


def _differences(name: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, left value, right value) for all numbers in which two arrays, records or
    mappings differ."""
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
