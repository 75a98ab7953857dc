"""Policies: random ones, bots, trained ones, functions in Python files, and recorded action
sequences.

Start with `load_policies`, which returns the policy of all agents by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import POLICY, make_purpose_generators, make_rng
from gv_engine.envs.representations import Arrays
from gv_engine.envs.rollout.policy_file import POLICY_FILE, CheckpointPolicy
from gv_engine.envs.rollout.step_history import NO_COLUMNS, CopiedColumns
from gv_engine.rules.errors import GVEngineError, describe_allowed, shorten
from gv_engine.rules.turns import SINGLE_AGENT, AgentGroup
from gv_engine.scenario.documents import rule_files
from gv_engine.scenario.domains import AnyScenario
from gv_engine.scenario.memory.layout import RNG
from gv_engine.scenario.storage.resources import ASSETS

POLICIES = ASSETS / "policies"
"""Folder of the trained policies that come with scenarios: a run folder for each scenario name."""
_BLOCK_SIZE = 256
"""Consecutive episodes whose generators are seeded at once, which is faster than one by one."""

# ---- policy --------------------------------------------------------------------------------------


class PolicyError(GVEngineError):
    """There is no such policy, or it returned an invalid action."""


class Policy(Protocol):
    """Interface of policies: they choose actions for N worlds, with a random generator for each
    world.

    Attributes:
        probabilities: (N, actions) action probabilities of the last `act`; None if unknown.
        values: (N,) values of the states of the last `act`; None if unknown.
    """

    @property
    def probabilities(self) -> NDArray[np.float64] | None: ...

    @property
    def values(self) -> NDArray[np.float64] | None: ...

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Start an episode in each of `worlds`, where the policy samples with
        `make_rng(seed, POLICY, number)`; `numbers` has the episode number of each world."""

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return one action for each of N worlds, from the observations and `info` that
        `GridVectorEnv` has returned.

        Raises:
            PolicyError: the policy returned an invalid action.
        """


class RandomPolicy:
    """Policy that chooses actions at random: among all actions, or only among those that have an
    effect now.

    Args:
        num_envs: N.
        num_actions: number of the scenario's actions.
        use_action_mask: sample only actions that the action mask allows; a mask of zeros allows all
            actions.
    """

    values = None

    def __init__(self, num_envs: int, num_actions: int, use_action_mask: bool) -> None:
        self._use_action_mask = use_action_mask
        self._allowed = np.ones((num_envs, num_actions), np.int8)
        self._rngs: Any = [np.random.default_rng(0)] * num_envs

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Give each of `worlds` a new random number generator, made from `seed` and the world's
        episode number in `numbers`."""
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = make_rng(seed, POLICY, number)

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return a random action for each of N worlds."""
        if self._use_action_mask:
            self._allowed = info["action_mask"]
        return self._sample_actions()

    def _sample_actions(self) -> NDArray[np.int64]:
        """Return a random action for each of N worlds: one that the action mask allows, or any
        action if it allows none."""
        random_numbers = np.array([rng.random() for rng in self._rngs])
        is_allowed = self._allowed.astype(bool)
        is_allowed[~is_allowed.any(axis=1)] = True
        ranks = (random_numbers * is_allowed.sum(axis=1)).astype(np.int64)  # among the allowed ones
        actions: NDArray[np.int64] = (is_allowed.cumsum(axis=1) > ranks[:, None]).argmax(axis=1)
        return actions

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(N, actions) array with the probability of each action in the last `act`, equal for all
        allowed actions."""
        allowed = self._allowed.astype(np.float64)
        allowed[~allowed.any(axis=1)] = 1.0
        return allowed / allowed.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]  # numpy's


class CompiledRandomPolicy(RandomPolicy):
    """`RandomPolicy` in compiled code, which chooses the same actions."""

    def __init__(self, num_envs: int, num_actions: int, use_action_mask: bool) -> None:
        """Compile the functions of the policy; `RandomPolicy` explains the arguments."""
        # imported here, as they import llvmlite
        from gv_engine.compiler.compiled_function import compile_function
        from gv_engine.envs.rollout.compiled_play import play_random_steps, sample_allowed_actions

        super().__init__(num_envs, num_actions, use_action_mask)
        self._rngs = np.zeros(num_envs, RNG)
        self._actions = np.zeros(num_envs, np.int64)  # overwritten by each step
        self._sample = compile_function(sample_allowed_actions)
        self._play_steps = compile_function(play_random_steps)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Give each of `worlds` a new random number generator, made from `seed` and the world's
        episode number in `numbers`, as `RandomPolicy` does."""
        for world, number in zip(worlds, numbers, strict=True):
            block, index = divmod(number, _BLOCK_SIZE)
            self._rngs[world] = _make_generator_block(seed, block)[index]

    def play(
        self,
        batch: Any,
        steps: int,
        is_playing: NDArray[np.bool_],
        terms: NDArray[np.float64],
        recorded: CopiedColumns = NO_COLUMNS,
    ) -> None:
        """Take up to `steps` random actions in each world of `batch`, a `CompiledBatch`, where
        `is_playing` (N,) is True. If its episode ends, set `is_playing` to False. Add the reward
        terms to `terms` (N, functions), and copy each step into the columns `recorded`."""
        out, no_masks = batch.outputs, self._allowed[:0]
        sampling = self._rngs, no_masks.shape[1], out.mask if self._use_action_mask else no_masks
        results = out.terminated, out.truncated, out.terms
        arguments = steps, sampling, results, is_playing, terms, recorded
        batch.run_loop(lambda *program: self._play_steps(program, *arguments))

    def _sample_actions(self) -> NDArray[np.int64]:
        self._sample(self._rngs, self._allowed, self._actions)
        return self._actions


@lru_cache(maxsize=4)
def _make_generator_block(seed: int, block: int) -> NDArray[Any]:
    numbers = range(block * _BLOCK_SIZE, (block + 1) * _BLOCK_SIZE)
    return make_purpose_generators(seed, POLICY, numbers)


class CallablePolicy:
    """Policy that calls an author's function `(observation, info, rngs)`, which returns (N,)
    actions. `rngs[i]` is the random generator of world i.

    The function may return a pair with (N, actions) probabilities after the actions. A stateful
    policy is a class instead, created with N and the number of actions. Its `act` is such a
    function, and its `begin(worlds)` gets the indices of the worlds where an episode begins.

    Args:
        function: function, class, or object with these methods.
        num_envs: N.
        num_actions: number of the scenario's actions.
        name: name for messages.

    Attributes:
        has_state: True if the policy is a class or an object, which may keep state between steps.

    Raises:
        PolicyError: the function has other parameters, or the class lacks a method.
    """

    values = None

    def __init__(
        self, function: Callable[..., Any], num_envs: int, num_actions: int, name: str
    ) -> None:
        """Make a policy from an author's function or class. `name` is what messages call it."""
        if isinstance(function, type):
            for method in ("act", "begin"):
                if not hasattr(function, method):
                    raise PolicyError(f"{name}: the class lacks `{method}`, which policies have")
            _check_signature(name, function, "num_envs", "num_actions")
            function = function(num_envs, num_actions)
        self._name, self._num_actions = name, num_actions
        self._act, self._begin = function, None
        self.has_state = hasattr(function, "act")
        if self.has_state:
            instance: Any = function
            self._act, self._begin = instance.act, instance.begin
            _check_signature(f"{name}.begin", self._begin, "worlds")
        act_name = f"{name}.act" if self.has_state else name
        _check_signature(act_name, self._act, "observation", "info", "rngs")
        self.probabilities: NDArray[np.float64] | None = None
        self._rngs = [np.random.default_rng(0) for _ in range(num_envs)]

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Start an episode in each of `worlds`: give it a new random generator, made from `seed`
        and its episode number in `numbers`, and call `begin` of the author's class."""
        if self._begin:
            self._begin([*worlds])
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = make_rng(seed, POLICY, number)

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return the actions that the author's function chooses for N worlds. Raise an error if
        they are not valid.

        Raises:
            PolicyError: the function returned something else.
        """
        result = self._act(observation, info, self._rngs)
        self.probabilities = None
        if isinstance(result, tuple) and len(result) == 2:
            result, probabilities = result
            self.probabilities = self._check_probabilities(probabilities)
        actions = np.asarray(result)
        shape = (len(self._rngs),)
        if actions.shape != shape or actions.dtype.kind not in "iu":
            raise PolicyError(
                f"{self._name} returned shape {actions.shape} and dtype {actions.dtype}: expected "
                f"{shape} integers, one action for each world"
            )
        invalid = actions[(actions < 0) | (actions >= self._num_actions)]
        if invalid.size:
            raise PolicyError(
                f"{self._name} returned the action {invalid[0]}: allowed are 0 to "
                f"{self._num_actions - 1}"
            )
        return actions.astype(np.int64)

    def _check_probabilities(self, values: Any) -> NDArray[np.float64]:
        """Return `values`, action probabilities from the author's function, as float64. Raise an
        error unless they have the shape (N, actions).

        Raises:
            PolicyError: they have another shape or dtype.
        """
        array = np.asarray(values)
        shape = len(self._rngs), self._num_actions
        if array.shape != shape or array.dtype.kind not in "iuf":
            raise PolicyError(
                f"{self._name} returned chances of shape {array.shape} and dtype {array.dtype}: "
                f"expected {shape} numbers, one for each action of each world"
            )
        return array.astype(np.float64)


class BotPolicy:
    """Policy that plays with the bot (a program that solves levels) which a scenario's missions
    name. It uses no random numbers.

    The attribute `bot` of the scenario's class `Mission` names the bot's module. The module has a
    class `Bot`, which is created with the number of worlds, the scenario, and a function that
    compiles functions, or returns them as they are; it raises a ValueError if it cannot play the
    scenario. The bot's `begin(worlds)` starts episodes, and its `act(observation)` returns an
    action for each world.

    Args:
        num_envs: N.
        scenario: scenario of the environment.
        compiled: whether the bot runs in compiled code; its actions are the same.

    Raises:
        PolicyError: the scenario has no bot, or its bot cannot play the scenario.
    """

    probabilities: NDArray[np.float64] | None = None
    values = None

    def __init__(self, num_envs: int, scenario: AnyScenario | None, compiled: bool) -> None:
        """Make the bot for the missions of `scenario`. Raise a PolicyError if they name no bot."""
        mission = getattr(getattr(scenario, "layout", None), "mission", None)
        module = getattr(mission, BOT, "")
        if not module:
            subject = f"the scenario {scenario.name}" if scenario else "no scenario"
            raise PolicyError(
                f"--policy {BOT} plays scenarios whose missions have a bot, as BabyAI's levels do, "
                f"and {subject} has none: choose random, valid, a run, or ./file.py:function"
            )
        compile_bot: Callable[..., Any] = _unchanged
        if compiled:
            from gv_engine.compiler.compiled_function import compile_function

            compile_bot = compile_function
        try:
            self._bot: Any = import_module(module).Bot(num_envs, scenario, compile_bot)
        except ValueError as error:
            raise PolicyError(f"--policy {BOT}: {error}") from None

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Let the bot forget what it has seen in `worlds`, where new episodes begin."""
        self._bot.begin([*worlds])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return the bot's action for each of N worlds."""
        actions: NDArray[np.int64] = self._bot.act(observation)
        return actions


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


GREEDY = "greedy"
"""Suffix of a run's folder for the most likely action."""
SOLVER = "solver"
"""Name of the solver, where it is allowed in place of a policy."""
BOT = "bot"
"""Name of the policy that plays with the bot of the scenario's missions, see `BotPolicy`."""
TRAINED = "trained"
"""Name of the trained policy that comes with a scenario."""
RANDOM = "random", "valid"
"""Names of the policies that act randomly."""
BUILT_IN = *RANDOM, BOT, TRAINED, f"{TRAINED}:{GREEDY}"
"""Names of the built-in policies."""


def load_policy(
    name: str,
    num_envs: int,
    num_actions: int,
    compiled: bool = False,
    scenario: AnyScenario | None = None,
    more_names: Sequence[str] = (),
) -> Policy:
    """Return the policy called `name`: "random" or another built-in one, a folder with a trained
    policy, or a Python function as `FILE.py:FUNCTION`.

    Args:
        name: `random`, `valid`, `bot`, see `BotPolicy`, `./file.py:function`, see `CallablePolicy`,
            or `trained`, see `find_trained_run`, or the folder of a run, the last two optionally
            followed by `:greedy` for the most likely action instead of a sampled one.
        num_envs, num_actions: sizes of the environment.
        compiled: whether built-in policies may sample in compiled code.
        scenario: scenario of the environment; needed for `bot`, `trained` and runs.
        more_names: names that the caller handles, for the message about an unknown name.

    Raises:
        PolicyError: there is no such policy, or the scenario has no bot.
        RunError: the run is damaged, or of another kind of worlds.
    """
    if not isinstance(name, str):
        raise PolicyError(f"policy={name!r}: expected a name, such as 'random', or a path as text")
    if name == BOT:
        return BotPolicy(num_envs, scenario, compiled)
    if name in RANDOM:
        policy_class = CompiledRandomPolicy if compiled else RandomPolicy
        return policy_class(num_envs, num_actions, use_action_mask=name == "valid")
    if run := find_run(name, scenario):
        return CheckpointPolicy(run, num_envs, scenario, greedy=name.endswith(f":{GREEDY}"))
    path, colon, attribute = name.rpartition(":")
    if Path(name).is_file() and (Path(name).parent / POLICY_FILE).is_file():
        raise PolicyError(f"{name} is of a run; name its folder, {Path(name).parent}")
    if colon and (Path(path) / POLICY_FILE).is_file():
        raise PolicyError(f"{name}: behind the run {path} may stand :{GREEDY} alone")
    if not colon or not path.endswith(".py"):
        names = (*BUILT_IN, *more_names, "./file.py:function", "the folder of a run")
        raise PolicyError(f"no policy {name!r}{describe_allowed(name, names)}")
    function = load_function(path, attribute)
    return CallablePolicy(function, num_envs, num_actions, name)


def load_function(path: str, attribute: str) -> Callable[..., Any]:
    """Load a Python file and return the function or class `attribute` from it.

    Raises:
        PolicyError: the file cannot be loaded, or does not define it.
    """
    try:
        module = rule_files.load_rule_file(Path(path))
    except rule_files.RuleFileError as error:
        raise PolicyError(f"{path} cannot be loaded: {error}") from None
    function: Callable[..., Any] | None = getattr(module, attribute, None)
    if function is None:
        defined = describe_allowed(attribute, rule_files.list_defined_names(module))
        raise PolicyError(f"{path} has no function {attribute!r}{defined}")
    return function


def _check_signature(name: str, function: Any, *arguments: str) -> None:
    """Raise an error unless the author's `function` can be called with these positional
    `arguments`, given by name. `name` is what the message calls it.

    Raises:
        PolicyError: it takes others.
    """
    if not callable(function):
        raise PolicyError(f"{name} is {shorten(repr(function), 60)}; expected a function or class")
    try:
        signature(function).bind(*arguments)
    except TypeError as error:
        raise PolicyError(f"{name} is called with ({', '.join(arguments)}): {error}") from None
    except ValueError:  # it does not say what it takes
        return


def policy_digest(text: str) -> str:
    """Return a SHA-256 digest of all files that the option `--policy` names. `text` is the value of
    the option.

    Args:
        text: as for `policies_by_agent`.

    Returns:
        Digest of the named files, without the files that they import; empty if no file is named.
    """
    digests = b""
    for name in _list_policy_names(text):
        run = find_run(name)
        file = run / POLICY_FILE if run else Path(name.rpartition(":")[0])
        if name not in BUILT_IN and file.is_file():
            digests += sha256(file.read_bytes()).digest()
    return sha256(digests).hexdigest() if digests else ""


def remove_file_names(text: str) -> str:
    """Return `text`, the value of the option `--policy`, without the names of files, so that
    rollouts can be compared; `policy_digest` compares the contents of the files."""
    return ",".join(map(_remove_file_name, text.split(",") if "=" in text else [text]))


def _remove_file_name(policy_text: str) -> str:
    """Return a policy text without the name of its file: `ann=./file.py:function` gives
    `ann=:function`."""
    agent, equals, name = policy_text.rpartition("=")
    file, _, attribute = name.rpartition(":")
    if name not in BUILT_IN:
        name = f":{attribute}" if file.endswith(".py") or attribute == GREEDY else ""
    return agent + equals + name


def policies_needing_default(text: str) -> list[str]:
    """Return the names of the policies in `text`, as for `policies_by_agent`, that need
    observations in the representation `default`: runs, trained policies of scenarios, the bot."""
    built_in = {*BUILT_IN} - {*RANDOM}
    return [name for name in _list_policy_names(text) if name in built_in or find_run(name)]


def find_run(name: str, scenario: AnyScenario | None = None) -> Path | None:
    """Return the folder of the trained policy called `name`; None for other policies. The name
    `trained` means the policy that comes with `scenario`.

    Raises:
        PolicyError: no run comes with the scenario.
    """
    text = name.removesuffix(f":{GREEDY}")
    if text == TRAINED and scenario is not None:
        return find_trained_run(scenario)
    return Path(text) if name not in BUILT_IN and Path(text).is_dir() else None


def find_trained_run(scenario: AnyScenario) -> Path:
    """Return the folder of the trained policy that comes with a built-in scenario.

    Raises:
        PolicyError: none does; the message names the scenarios with one.
    """
    folder = POLICIES / scenario.name
    if (folder / POLICY_FILE).is_file():
        return folder
    names = sorted(path.parent.name for path in POLICIES.glob(f"*/{POLICY_FILE}"))
    raise PolicyError(
        f"--policy {TRAINED}: no trained policy comes with {scenario.name}, but with "
        f"{', '.join(names)}; train one: gv-engine train {scenario.name}"
    )


def _list_policy_names(text: str) -> list[str]:
    return [part.partition("=")[2] for part in text.split(",")] if "=" in text else [text]


def with_absolute_paths(text: str, group: AgentGroup = SINGLE_AGENT) -> str:
    """Return `text`, the value of the option `--policy`, with absolute paths of files, so that
    processes in other folders can use it. `group` has the agents' names."""
    if len(group.names) > 1 and "=" in text and not Path(text).exists():
        parts = (part.partition("=") for part in text.split(","))
        return ",".join(f"{agent}={with_absolute_paths(name)}" for agent, _, name in parts)
    file, _, attribute = text.rpartition(":")
    if text in BUILT_IN:
        return text
    has_attribute = file and attribute.isidentifier()  # the colon is no drive's, as in C:\run
    return f"{Path(file).absolute()}:{attribute}" if has_attribute else str(Path(text).absolute())


def policies_by_agent(text: str, group: AgentGroup, option: str = "--policy") -> dict[str, str]:
    """Return the policy of each agent by name. `text` is one policy for all agents, or a list such
    as `ann=random,hunters=valid`; `group` has the names of agents and teams. `option` is what
    messages call the option.

    Raises:
        PolicyError: there is no such agent or team.
    """
    if "=" not in text or Path(text).exists():
        return dict.fromkeys(group.names, text)
    policies: dict[str, str] = {}
    for part in text.split(","):
        name, equals, policy = part.partition("=")
        if not equals:
            raise PolicyError(f"{option} {text}: found {part!r}, expected NAME=POLICY")
        if name not in group.agents_by_name:
            expected = describe_allowed(name, group.agents_by_name)
            raise PolicyError(f"{option} {text}: no agent or team {name!r}{expected}")
        policies |= {group.names[agent - 1]: policy for agent in group.agents_by_name[name]}
    return policies


class MultiAgentPolicy:
    """Policy for several agents, made of one policy for each of them.

    Agent k of episode n samples from `make_rng(seed, POLICY, A * n + k)`, k from 0 on.
    Probabilities are unknown.
    """

    probabilities: NDArray[np.float64] | None = None
    values = None

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Start the episodes `numbers` in `worlds` for the policies of all A agents; the policy of
        agent k is given the episode numbers A * n + k."""
        count = len(self._policies)
        for k, policy in enumerate(self._policies):
            policy.begin(worlds, seed, [count * number + k for number in numbers])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return the actions (N, A) of A agents in N worlds, for the observations and `info` of an
        `AgentsVectorEnv`."""
        actions = [
            policy.act(_select_agent(observation, k), _select_agent(info, k))
            for k, policy in enumerate(self._policies)
        ]
        return np.stack(actions, axis=1)


def _select_agent(values: Any, k: int) -> Any:
    if isinstance(values, dict):
        return {name: _select_agent(value, k) for name, value in values.items()}
    return np.ascontiguousarray(values[:, k])


def load_policies(
    text: str,
    scenario: AnyScenario,
    num_envs: int,
    num_actions: int,
    compiled: bool = False,
    more_names: Sequence[str] = (),
) -> Policy:
    """Return a policy that acts for all agents of a scenario, as `text` says, the value of the
    option `--policy`. Agents that it does not name act at random.

    Args:
        text: as for `policies_by_agent`.
        scenario: scenario of the environment.
        num_envs, num_actions, compiled, more_names: as for `load_policy`.
    """
    group = scenario.agent_group
    if len(group.names) == 1:
        return load_policy(text, num_envs, num_actions, compiled, scenario, more_names)
    named = policies_by_agent(text, group)
    return MultiAgentPolicy(
        [
            load_policy(named.get(name, "random"), num_envs, num_actions, compiled, scenario)
            for name in group.names
        ]
    )


# ---- scripted policies ---------------------------------------------------------------------------


class ActionSequence(NamedTuple):
    """Actions of one episode.

    Attributes:
        seed: seed of the episode.
        actions: an index in the scenario's action space for each step; (A,) indices for A agents.
    """

    seed: int
    actions: tuple[Any, ...]


class ScriptedPolicy:
    """Policy that plays given actions: the sequence with index k in episode k.

    Args:
        sequences: actions of all episodes.
        num_envs: N.
    """

    probabilities: NDArray[np.float64] | None = None
    values = None

    def __init__(self, sequences: Sequence[ActionSequence], num_envs: int) -> None:
        self._sequences = sequences
        # by world: number of the episode, and of the next step
        self._numbers, self._steps = np.zeros((2, num_envs), np.int64)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Start in each of `worlds` the action sequence of its episode number in `numbers`."""
        self._numbers[list(worlds)] = numbers
        self._steps[list(worlds)] = 0

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return the next action for each of N worlds, (N,); with A agents, (N, A).

        Raises:
            PolicyError: a sequence is too short for its episode.
        """
        actions = []
        for number, step in zip(self._numbers.tolist(), self._steps.tolist(), strict=True):
            sequence = self._sequences[number].actions
            if step >= len(sequence):
                raise PolicyError(f"way {number} ends after {step} steps, and its episode does not")
            actions.append(sequence[step])
        self._steps += 1
        return np.array(actions, np.int64)
