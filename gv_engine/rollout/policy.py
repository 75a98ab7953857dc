"""Ways that are known ahead, such as those of games that were played, as a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.rng import random
from gv_engine.envs.representations import Arrays
from gv_engine.learning.checkpoint_policy import CheckpointPolicy
from gv_engine.learning.policy_file import POLICY_FILE
from gv_engine.rules.errors import GVEngineError, nearest, shortened
from gv_engine.rules.turns import SINGLE_AGENT, TurnPolicy
from gv_engine.scenario import rule_modules
from gv_engine.scenario.layout import RNG
from gv_engine.scenario.plugin import AnyScenario
from gv_engine.vector.seeding import seeded_pairs

# ---- policy --------------------------------------------------------------------------------------

_BLOCK = 128  # draws are cheaper many at a time


class PolicyError(GVEngineError):
    """There is no such policy, or it answers with something that is no action."""


class Policy(Protocol):
    """Acts in N worlds, each with chance of its own.

    Attributes:
        probabilities: (N, actions) probabilities of the actions at the last `act`; None if unknown.
            tell.
    """

    @property
    def probabilities(self) -> NDArray[np.float64] | None: ...

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Episodes of these numbers begin in worlds; what is drawn for each of them comes from
        `default_rng([seed, number])`."""

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N,) actions for what `GridVectorEnv` has returned.

        Raises:
            PolicyError: the policy answers with something that is no action.
        """


class RandomPolicy:
    """Draws every action with equal probability, or every one that would do something now.

    Args:
        num_envs: N.
        num_actions: the scenario's.
        valid: keep to the action mask; where it allows nothing, all actions are drawn.
        compiled: whether compiled code is to draw, the same.
    """

    def __init__(
        self, num_envs: int, num_actions: int, valid: bool, compiled: bool = False
    ) -> None:
        self._valid = valid
        self._open = np.ones((num_envs, num_actions), np.int8)
        self._chance = (_CompiledChance if compiled else _Chance)(num_envs, num_actions)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Draw from these generators from now on."""
        self._chance.begin(worlds, seed, numbers)

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N,) actions."""
        if not self._valid:
            return self._chance.any()
        self._open = info["action_mask"]
        return self._chance.choose(self._open)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(N, actions) the same for all that it draws from."""
        open_ = self._open.astype(np.float64)
        open_[~open_.any(axis=1)] = 1.0
        alike: NDArray[np.float64] = open_ / open_.sum(axis=1, keepdims=True)
        return alike


class _Chance:
    """A generator for each of N worlds."""

    def __init__(self, num_envs: int, num_actions: int) -> None:
        self._num_actions = num_actions
        self._rngs = [np.random.default_rng(0)] * num_envs
        self._draws = np.zeros((num_envs, _BLOCK))
        self._next = np.full(num_envs, _BLOCK)
        self._worlds = np.arange(num_envs)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = np.random.default_rng([seed, number])
            self._next[world] = _BLOCK

    def _draw(self) -> NDArray[np.float64]:
        """(N,) in [0, 1)."""
        for world in np.flatnonzero(self._next == _BLOCK):
            self._draws[world] = self._rngs[world].random(_BLOCK)
            self._next[world] = 0
        draws: NDArray[np.float64] = self._draws[self._worlds, self._next]
        self._next += 1
        return draws

    def any(self) -> NDArray[np.int64]:
        """(N,) actions."""
        return np.asarray(self._draw() * self._num_actions, np.int64)

    def choose(self, allowed: NDArray[np.int8]) -> NDArray[np.int64]:
        """(N,) actions, of those where (N, actions) is not 0; of all where it allows none."""
        open_ = allowed.astype(bool)
        open_[~open_.any(axis=1)] = True
        wanted = (self._draw() * open_.sum(axis=1)).astype(np.int64)
        chosen: NDArray[np.int64] = (open_.cumsum(axis=1) > wanted[:, None]).argmax(axis=1)
        return chosen


class _CompiledChance:
    """The same, as records that compiled code draws from."""

    def __init__(self, num_envs: int, num_actions: int) -> None:
        from gv_engine.compiler.compiler import compile_function

        self._records = np.zeros(num_envs, RNG)
        self._num_actions, self._chosen = num_actions, np.zeros(num_envs, np.int64)
        self._any, self._choose = compile_function(draw_any), compile_function(draw_allowed)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        self._records[worlds] = seeded_pairs(seed, numbers)

    def any(self) -> NDArray[np.int64]:
        self._any(self._records, self._num_actions, self._chosen)
        return self._chosen

    def choose(self, allowed: NDArray[np.int8]) -> NDArray[np.int64]:
        self._choose(self._records, allowed, self._chosen)
        return self._chosen


def draw_any(records: Any, num_actions: int, chosen: Any) -> None:
    """One action for each generator, by one draw of it; compiled."""
    for i in range(len(records)):
        chosen[i] = int(random(records[i]) * num_actions)


def draw_allowed(records: Any, allowed: Any, chosen: Any) -> None:
    """One allowed action for each generator, by one draw of it; compiled."""
    for i in range(len(records)):
        count = 0
        for open_ in allowed[i]:
            count += open_ != 0
        every = count == 0
        left = int(random(records[i]) * (len(allowed[i]) if every else count))
        for k in range(len(allowed[i])):
            if every or allowed[i, k] != 0:
                if left == 0:
                    chosen[i] = k
                left -= 1


class CallablePolicy:
    """A function `(observation, info, rngs) → (N,) actions`, where `rngs[i]` is world i's chance.

    It may return a pair instead, with (N, actions) chances behind the actions.

    Or a class for what remembers, made with N and the number of actions, whose `act` is such a
    function, and whose `begin(worlds)` is told the numbers of the worlds where an episode begins.

    Args:
        function: gets what `GridVectorEnv` returned, and a list of N generators; or the class.
        num_envs: N.
        num_actions: the scenario's.
        name: of the function, for messages.

    Raises:
        PolicyError: the function does not take that, or the class lacks one of its methods.
    """

    def __init__(
        self, function: Callable[..., Any], num_envs: int, num_actions: int, name: str
    ) -> None:
        self._function, self._forget = function, None
        if isinstance(function, type):
            lacks = [each for each in ("act", "begin") if not hasattr(function, each)]
            if lacks:
                raise PolicyError(f"{name}: the class lacks `{lacks[0]}`, which policies have")
            _takes(name, function, "num_envs", "num_actions")
            remembers: Any = function(num_envs, num_actions)
            self._function, self._forget = remembers.act, remembers.begin
            _takes(f"{name}.begin", self._forget, "worlds")
        called = f"{name}.act" if self._forget else name
        _takes(called, self._function, "observation", "info", "rngs")
        self._num_actions = num_actions
        self._name = name
        self.probabilities: NDArray[np.float64] | None = None
        self._rngs = [np.random.default_rng(0) for _ in range(num_envs)]

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Hand out these generators from now on."""
        if self._forget:
            self._forget([*worlds])
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = np.random.default_rng([seed, number])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N,) actions.

        Raises:
            PolicyError: the function returned something else.
        """
        found, self.probabilities = self._function(observation, info, self._rngs), None
        if isinstance(found, tuple) and len(found) == 2:
            found, self.probabilities = found[0], self._checked_chances(found[1])
        actions = np.asarray(found)
        wanted = (len(self._rngs),)
        if actions.shape != wanted or actions.dtype.kind not in "iu":
            raise PolicyError(
                f"{self._name} returned shape {actions.shape} and dtype {actions.dtype}: expected "
                f"{wanted} integers, one action for each world"
            )
        if actions.min() < 0 or actions.max() >= self._num_actions:
            wrong = actions[(actions < 0) | (actions >= self._num_actions)][0]
            raise PolicyError(
                f"{self._name} returned the action {wrong}: allowed are 0 to "
                f"{self._num_actions - 1}"
            )
        return actions.astype(np.int64)

    def _checked_chances(self, chances: Any) -> NDArray[np.float64]:
        found = np.asarray(chances)
        wanted = len(self._rngs), self._num_actions
        if found.shape != wanted or found.dtype.kind not in "iuf":
            raise PolicyError(
                f"{self._name} returned chances of shape {found.shape} and dtype {found.dtype}: "
                f"expected {wanted} numbers, one for each action of each world"
            )
        return found.astype(np.float64)


GREEDY = "greedy"
"""What stands behind the folder of a run for the likeliest action."""
SOLVER = "solver"
"""What is called that knows the shortest way, where that is taken in place of a policy."""
BUILT_IN = {"random": False, "valid": True}
"""Names of the policies that come with the engine, and whether they keep to the action mask."""


def load_policy(
    name: str,
    num_envs: int,
    num_actions: int,
    compiled: bool = False,
    scenario: AnyScenario | None = None,
    more: Sequence[str] = (),
) -> Policy:
    """A policy by name.

    Args:
        name: `random`, `valid`, the folder of a run, with `:greedy` behind it for the likeliest
            action in place of one drawn, or `./file.py:function` of one's own, see `CallablePolicy`.
        num_envs, num_actions: what it acts in.
        compiled: whether what comes with the engine may draw in compiled code.
        scenario: that it acts in; runs, which do not fit everywhere, act in nothing without it.
        more: names of what else may be asked for, for messages.

    Raises:
        PolicyError: there is none of that name.
        RunError: the run is damaged, or of another kind of worlds.
    """
    if name in BUILT_IN:
        return RandomPolicy(num_envs, num_actions, BUILT_IN[name], compiled)
    if run := run_of(name):
        return CheckpointPolicy(run, num_envs, scenario, greedy=name.endswith(f":{GREEDY}"))
    where, colon, attribute = name.rpartition(":")
    if Path(name).is_file() and (Path(name).parent / POLICY_FILE).is_file():
        raise PolicyError(f"{name} is of a run; name its folder, {Path(name).parent}")
    if colon and (Path(where) / POLICY_FILE).is_file():
        raise PolicyError(f"{name}: behind the run {where} may stand :{GREEDY} alone")
    if not colon or not where.endswith(".py"):
        known = (*BUILT_IN, *more, "./file.py:function", "the folder of a run")
        raise PolicyError(f"no policy {name!r}: {nearest(name, known)}")
    try:
        module = rule_modules.load_rule_file(Path(where))
    except rule_modules.RuleFileError as error:
        raise PolicyError(f"{where} cannot be loaded: {error}") from None
    function = getattr(module, attribute, None)
    if function is None:
        defined = nearest(attribute, rule_modules.defined_in(module))
        raise PolicyError(f"{where} has no function {attribute!r}: {defined}")
    return CallablePolicy(function, num_envs, num_actions, name)


def _takes(named: str, function: Any, *given: str) -> None:
    """Make sure that a function, or a class, takes what it will be given.

    Raises:
        PolicyError: it does not.
    """
    if not callable(function):
        found = shortened(repr(function), 60)
        raise PolicyError(f"{named} is {found}; expected a function, or a class")
    try:
        signature(function).bind(*given)
    except TypeError as error:
        raise PolicyError(f"{named} is called with ({', '.join(given)}): {error}") from None
    except ValueError:  # it does not say what it takes
        return


def policy_digest(text: str) -> str:
    """Hexadecimal digits that stand for the files of policies as they are now.

    Args:
        text: as for `by_agent`.

    Returns:
        Of the files that are named, not of what these import; empty if there is none.
    """
    digests = b""
    for name in _names(text):
        run, file = run_of(name), Path(name.rpartition(":")[0])
        file = run / POLICY_FILE if run else file
        if name not in BUILT_IN and file.is_file():
            digests += sha256(file.read_bytes()).digest()
    return sha256(digests).hexdigest() if digests else ""


def without_files(text: str) -> str:
    """Policies, as for `by_agent`, without the files that `policy_digest` stands for."""
    parts = text.split(",") if "=" in text else [text]
    return ",".join(map(_without_file, parts))


def _without_file(part: str) -> str:
    called, equals, name = part.rpartition("=")
    where, _, attribute = name.rpartition(":")
    if name not in BUILT_IN:
        name = f":{attribute}" if where.endswith(".py") or attribute == GREEDY else ""
    return called + equals + name


def runs_of(text: str) -> list[Path]:
    """The folders of runs among policies, as for `by_agent`."""
    return [run for run in map(run_of, _names(text)) if run]


def run_of(name: str) -> Path | None:
    """The folder of the run that a policy is, if it is one."""
    folder = Path(name.removesuffix(f":{GREEDY}"))
    return folder if name not in BUILT_IN and folder.is_dir() else None


def _names(text: str) -> list[str]:
    return [part.partition("=")[2] for part in text.split(",")] if "=" in text else [text]


def absolute(text: str, sharing: TurnPolicy = SINGLE_AGENT) -> str:
    """The same policies, as for `by_agent`, for a process that works in another folder."""
    if len(sharing.names) > 1 and "=" in text:
        parts = (part.partition("=") for part in text.split(","))
        return ",".join(f"{called}={absolute(name)}" for called, _, name in parts)
    where, _, attribute = text.rpartition(":")
    if text in BUILT_IN:
        return text
    return f"{Path(where).absolute()}:{attribute}" if where else str(Path(text).absolute())


def by_agent(text: str, sharing: TurnPolicy) -> dict[str, str]:
    """The policies of agents, by their names: that of all, or `ann=random,hunters=valid`.

    Raises:
        PolicyError: there is no such agent or team.
    """
    if "=" not in text:
        return dict.fromkeys(sharing.names, text)
    found: dict[str, str] = {}
    for part in text.split(","):
        called, _, policy = part.partition("=")
        if called not in sharing.called:
            known = nearest(called, sharing.called)
            raise PolicyError(f"--policy {text}: no agent or team {called!r}: {known}")
        found |= {sharing.names[agent - 1]: policy for agent in sharing.called[called]}
    return found


class MultiAgentPolicy:
    """Policies that act for the agents of the same worlds, one for each of A.

    Agent k of episode n draws from `default_rng([seed, A * n + k])`, k from 0 on. Chances are not
    told.
    """

    probabilities: NDArray[np.float64] | None = None

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Let each begin."""
        count = len(self._policies)
        for k, policy in enumerate(self._policies):
            policy.begin(worlds, seed, [count * number + k for number in numbers])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N, A) actions for what `AgentsVectorEnv` has returned."""
        chosen = [
            policy.act(_of_agent(observation, k), _of_agent(info, k))
            for k, policy in enumerate(self._policies)
        ]
        return np.stack(chosen, axis=1)


def _of_agent(told: Any, k: int) -> Any:
    """(N, …) what is told of agent k in arrays (N, A, …), in mappings too."""
    if isinstance(told, dict):
        return {name: _of_agent(value, k) for name, value in told.items()}
    return np.ascontiguousarray(told[:, k])


def load_policies(
    text: str,
    scenario: AnyScenario,
    num_envs: int,
    num_actions: int,
    compiled: bool = False,
    more: Sequence[str] = (),
) -> Policy:
    """The policy of all agents: that of one alone, or `MultiAgentPolicy`, where those that are not named
    act by chance.

    Args:
        text: as for `by_agent`.
        scenario: that they act in.
        num_envs, num_actions, compiled, more: as for `load_policy`.
    """
    sharing, acting = scenario.sharing, (num_envs, num_actions, compiled, scenario)
    if len(sharing.names) == 1:
        return load_policy(text, *acting, more)
    named = by_agent(text, sharing)
    each = (named.get(name, "random") for name in sharing.names)
    return MultiAgentPolicy([load_policy(name, *acting) for name in each])


# ---- following -----------------------------------------------------------------------------------


class ActionSequence(NamedTuple):
    """An episode from its beginning to its end.

    Attributes:
        seed: its level is that of `reset(seed=…)`.
        actions: numbers in the scenario's action space, (A,) of A agents.
    """

    seed: int
    actions: tuple[Any, ...]


class ScriptedPolicy:
    """Goes way k in episode k.

    Args:
        ways: of all episodes.
        num_envs: N.
    """

    probabilities: NDArray[np.float64] | None = None

    def __init__(self, ways: Sequence[ActionSequence], num_envs: int) -> None:
        self._ways = ways
        self._number, self._step = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Go these ways from now on."""
        self._number[list(worlds)] = numbers
        self._step[list(worlds)] = 0

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N,) actions, (N, A) of A agents.

        Raises:
            PolicyError: a way is at its end, and the episode is not.
        """
        chosen = np.zeros((len(self._step), *np.shape(self._ways[0].actions[0])), np.int64)
        each = zip(self._number.tolist(), self._step.tolist(), strict=True)
        for world, (number, step) in enumerate(each):
            actions = self._ways[number].actions
            if step >= len(actions):
                raise PolicyError(f"way {number} ends after {step} steps, and its episode does not")
            chosen[world] = actions[step]
        self._step += 1
        return chosen
