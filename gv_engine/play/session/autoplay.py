"""Autoplay: policies and the solver act in a session; and races against an opponent."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.policy import SOLVER as SOLVER
from gv_engine.envs.rollout.policy import TRAINED, Policy, RandomPolicy, load_policies, load_policy
from gv_engine.play.session.episode import PolicyInput
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import SUFFIX, Replay, ReplayError
from gv_engine.play.session.timeline import run_generator
from gv_engine.rules.errors import GVEngineError, format_count
from gv_engine.rules.frame import Frame, PolicyMap
from gv_engine.rules.geometry import add_up
from gv_engine.scenario.documents.rule_errors import make_rule_error
from gv_engine.scenario.domains import get_plugin
from gv_engine.scenario.readers.map import format_reward

_RUN_PATTERNS = "*/policy.npz", "runs/*/policy.npz"
_MAX_RUNS = 20  # in a list
_POLL_SECONDS = 0.01  # between two checks whether an autoplayer has chosen

# ---- acting --------------------------------------------------------------------------------------


class AutoplayError(GVEngineError):
    """Autoplay has no action to take."""


class ActionChoice(NamedTuple):
    """Action that an autoplayer would take.

    Attributes:
        probabilities: probability of each action, by name; empty if unknown.
    """

    action: str
    probabilities: Mapping[str, float]


class Autoplayer(Protocol):
    """Interface of autoplayers, which choose actions in a session in place of the player.

    Attributes:
        name: name for people.
    """

    name: str

    def choose(self, session: Game) -> ActionChoice | None:
        """Return the action to take in the current state of the session; None while it is still
        computed. The same past states always give the same action.

        Raises:
            GVEngineError: there is no action to take; the message says why.
        """

    def close(self) -> None:
        """Release the resources."""


MapSteps = Generator[float, None, PolicyMap]
"""Generator that computes a policy map: yields the seconds to wait before it goes on."""


class PolicyMaps:
    """Policy maps of the states of a session, for the agent of the player.

    Args:
        policy: `solver`, or the name of a policy, see `gv_engine.envs.rollout.policy.load_policy`;
            or a function from a number of worlds to a policy for them.
    """

    def __init__(self, policy: str | Callable[[int], Policy]) -> None:
        self._policy = policy
        self._mapper: Any = None
        self._mapper_key: Any = None  # scenario and agent of the mapper
        self._cells: dict[str, tuple[int, int]] = {}  # cell of the agent by digest of the state

    def start(
        self, session: Game, visits: Mapping[tuple[int, int], int] | None = None
    ) -> MapSteps | None:
        """Return a generator that computes the policy map (value and best action in each cell) of
        the session's current state. None if the policy has no maps in this scenario. `visits`
        counts visits by cell (y, x), by default in the current episode.

        Raises:
            GVEngineError: the policy does not exist or, in the generator, cannot act in a cell.
        """
        agent = session.agents.index(session.controlled) + 1
        if self._mapper_key != (session.scenario, agent):
            self.close()
            self._mapper_key = session.scenario, agent
            plugin = get_plugin(session.scenario)
            self._mapper = plugin.make_policy_mapper(session.scenario, self._policy, agent)
        if self._mapper is None:
            return None
        visits = self._count_visits(session) if visits is None else visits
        map_steps: MapSteps = self._mapper.map_row(session.row(), visits)
        return map_steps

    def close(self) -> None:
        """Release what the maps need, such as a search process."""
        if self._mapper is not None:
            self._mapper.close()
        self._mapper = self._mapper_key = None

    def _count_visits(self, session: Game) -> Counter[tuple[int, int]]:
        """Return the number of states from the beginning of the episode to the current one in which
        the agent is in a cell, by cell (y, x)."""
        digests = session.state_digests()
        new = [number for number, digest in enumerate(digests) if digest not in self._cells]
        for number in _seek_each(session, new):
            self._cells[digests[number]] = session.frame().agent[:2]
        cells = (self._cells[digest] for digest in digests)
        return Counter((y, x) for y, x in cells if y >= 0)


def _seek_each(session: Game, numbers: Iterable[int]) -> Iterator[int]:
    """Move the session to the state after each number of steps in `numbers`, and yield the number.
    At the end, restore position and message."""
    position, message = session.position, session.message
    for number in numbers:
        if number != session.position:
            session.seek(number)
        yield number
    if session.position != position:
        session.seek(position)
    session.message = message


class PolicyAutoplayer:
    """Policy that acts in a session as in a rollout: seed S of the session is episode 0 of a
    rollout with seed S. It acts for all agents.

    The policy observes every state of the episode and samples for every step, also where
    the player acted.

    Args:
        session: session to act in, or another one of the same scenario.
        name: name of the policy, see `gv_engine.envs.rollout.policy.load_policy`.

    Raises:
        PolicyError: there is no such policy.
    """

    def __init__(self, session: Game, name: str) -> None:
        self.name = name
        self._num_actions = session.observe()[1]["action_mask"].shape[-1]
        self._policy = load_policies(
            name, session.scenario, 1, self._num_actions, more_names=[SOLVER]
        )
        self._digests: list[str] = []
        self._inputs: list[PolicyInput] = []
        self._choices: list[ActionChoice] = []

    def choose(self, session: Game) -> ActionChoice:
        """Return the policy's action for the current state of `session`, after the policy has
        observed all earlier states of the episode."""
        digests = session.state_digests()
        pairs = zip(digests, self._digests)
        num_shared = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        if num_shared < len(digests):
            if num_shared < len(self._digests) or not num_shared:
                self._replay_policy(session.seed, num_shared)
            self._observe_new_states(session, digests)
        return self._choices[session.position]

    def close(self) -> None:
        """Do nothing: a policy holds no resources."""

    def _replay_policy(self, seed: int, num_states: int) -> None:
        """Reset the policy for the episode of `seed`, let it act again in the first `num_states`
        recorded states, and forget later states."""
        del self._digests[num_states:], self._inputs[num_states:], self._choices[num_states:]
        self._policy.begin([0], seed, [0])
        for inputs in self._inputs:
            self._act(inputs)

    def _observe_new_states(self, session: Game, digests: tuple[str, ...]) -> None:
        """Let the policy act in the states of `session` that it has not observed yet, up to the
        current one, and record its actions; `digests` are hashes of all states so far."""
        for number in _seek_each(session, range(len(self._digests), len(digests))):
            inputs = session.observe()
            action, probabilities = session.format_action(self._act(inputs)), {}
            if self._policy.probabilities is not None:
                probabilities = dict(zip(session.actions, self._policy.probabilities[0].tolist()))
            self._choices.append(ActionChoice(action, probabilities))
            self._inputs.append(inputs)
            self._digests.append(digests[number])

    def _act(self, inputs: PolicyInput) -> NDArray[np.int64]:
        """Return the index of the policy's action, or (A,) indices for several agents. `inputs` is
        a pair (observation, info).

        Raises:
            GVEngineError: the policy failed.
        """
        try:
            indices: NDArray[np.int64] = self._policy.act(*inputs)[0]
        except GVEngineError:
            raise
        except Exception as error:  # any error of a custom policy
            raise make_rule_error(error) from error
        return indices


class SolutionPath(NamedTuple):
    """Actions that win from a state.

    Attributes:
        actions: at least the first actions; () if none were found.
        message: reason why none were found, or a remark.
    """

    actions: tuple[str, ...]
    message: str


class HintProvider(Protocol):
    """Interface of searches for winning actions, which run in the background."""

    def ask(self, session: Game) -> None:
        """Start a search for winning actions from the current state of `session`; an earlier search
        is dropped."""

    def answer(self) -> SolutionPath | None:
        """Return the result of the last search; None while it runs, and after the result has been
        returned once."""

    def close(self) -> None:
        """End the search."""


class SolverAutoplayer:
    """Autoplayer that takes a shortest path to a win.

    Args:
        hints: searches for the path; by default that of the session's scenario.
        agent: number of the agent that acts alone, from 1; 0 for all agents.
    """

    name = SOLVER

    def __init__(self, hints: HintProvider | None = None, agent: int = 0) -> None:
        self._hints, self._agent = hints, agent
        self._scenario: Any = None  # scenario of the default provider
        self._paths: dict[str, SolutionPath] = {}  # by digest of the state
        self._searched_state = ""  # digest

    def path(self, session: Game) -> SolutionPath | None:
        """Return the shortest sequence of actions that wins from the current state of `session`;
        None while the search runs in the background."""
        hints, state = self.prepare(session), session.state_digest()
        if state not in self._paths:
            path = self._continue_path(session)
            if path is None:
                if self._searched_state != state:
                    hints.ask(session)
                    self._searched_state = state
                path = hints.answer()
            if path is None:
                return None
            self._paths[state] = path
        return self._paths[state]

    def prepare(self, session: Game) -> HintProvider:
        """Return the provider of paths for the scenario of `session`. A new one gets ready in the
        background, so that its first search takes less time."""
        if self._hints is None or self._scenario not in (None, session.scenario):
            self.close()
            self._scenario, self._searched_state = session.scenario, ""
            self._paths.clear()
            plugin = get_plugin(self._scenario)
            self._hints = cast(HintProvider, plugin.make_hint_provider(self._scenario, self._agent))
        return self._hints

    def _continue_path(self, session: Game) -> SolutionPath | None:
        """Return the rest of the previous solution if the player's last step was its first action
        and others follow. Else return None."""
        if not session.past_steps:
            return None
        *_, previous_state, _ = session.state_digests()
        path = self._paths.get(previous_state)
        if path is None or len(path.actions) < 2:
            return None
        if path.actions[0] != session.past_steps[-1].action:
            return None
        return SolutionPath(path.actions[1:], "")

    def choose(self, session: Game) -> ActionChoice | None:
        """Return the next action of the shortest solution in `session`; None while the search runs.
        Raise an error if there is no solution."""
        path = self.path(session)
        if path is None:
            return None
        if not path.actions:
            raise AutoplayError(path.message)
        return ActionChoice(path.actions[0], {})

    def close(self) -> None:
        """End the search."""
        if self._hints is not None:
            self._hints.close()
            self._hints = None


def make_autoplayer(session: Game, name: str) -> Autoplayer:
    """Return an autoplayer, which takes actions in `session` in place of the player: the solver if
    `name` is `solver`, else the policy of that name. The solver starts to search at once.

    Args:
        session: session to act in.
        name: `solver`, or a policy, see `gv_engine.envs.rollout.policy.load_policy`.

    Raises:
        PolicyError: there is no such policy.
    """
    if name == SOLVER:
        solver = SolverAutoplayer()
        solver.path(session)
        return solver
    return PolicyAutoplayer(session, name)


# ---- racing --------------------------------------------------------------------------------------


_OPPONENT_NAMES = {
    **dict.fromkeys(("random", "valid"), "Random player"),
    **{SOLVER: "Solver", TRAINED: "Trained player"},
}


class Opponent:
    """Game of an opponent, kept at the same number of steps as the player's session.

    Args:
        name: name of the opponent.
        session: session of the opponent, with the steps so far.
        autoplayer: takes further steps; None for a recorded episode.

    Attributes:
        name, session: as above.
    """

    def __init__(self, name: str, session: Game, autoplayer: Autoplayer | None = None) -> None:
        self.name, self.session = name, session
        self._autoplayer = autoplayer

    @classmethod
    def load(cls, source: str, player: Game) -> Opponent:
        """Return an opponent for a race on the level of the session `player`: the recorded game if
        `source` is a replay file, else the solver or the policy called `source`.

        Args:
            source: file of a replay, or name of an autoplayer, see `make_autoplayer`.
            player: session of the player.

        Raises:
            GVEngineError: there is no such policy, or the replay is of another level.
            OSError: the file cannot be read.
        """
        file = Path(source)
        if file.suffix != SUFFIX:
            session = Game(player.scenario, player.seed)
            name = _OPPONENT_NAMES.get(source, source)
            return cls(name, session, make_autoplayer(session, source))
        replay = Replay.load(file)
        if replay.seed != player.seed:
            seeds = f"{file} is of seed {replay.seed}, and here is {player.seed}"
            raise ReplayError(f"{seeds}: race it on its own")
        return cls(file.stem, Game.from_replay(replay, player.scenario))

    @property
    def is_over(self) -> bool:
        """True if the opponent takes no further steps, since its episode or its recording has
        ended."""
        session = self.session
        is_at_end = session.position == session.length
        return is_at_end and (bool(session.outcome) or self._autoplayer is None)

    def go_to(self, steps: int) -> bool:
        """Move the opponent's game to the state after `steps` steps, or to its end if that comes
        first. Return False if its next action is still being computed.

        Raises:
            GVEngineError: the autoplayer has no action to take.
        """
        session = self.session
        if session.position > steps or session.length >= steps:
            session.seek(min(steps, session.length))
        while session.position < steps and not self.is_over:
            if session.position < session.length:
                session.seek(session.position + 1)
                continue
            assert self._autoplayer is not None  # else `is_over` is True
            choice = self._autoplayer.choose(session)
            if choice is None:
                return False
            if not session.step(choice.action):
                raise AutoplayError(session.message)  # it would be refused again
        return True

    def close(self) -> None:
        """Release what the opponent's policy or solver holds, such as a search process."""
        if self._autoplayer is not None:
            self._autoplayer.close()

    def follow_level(self, player: Game) -> bool:
        """Switch the opponent to the level of the session `player`, if it plays another one. Return
        False if that is impossible: for a recorded game, or if the player has changed the
        scenario."""
        if (player.seed, player.scenario) == (self.session.seed, self.session.scenario):
            return True
        if self._autoplayer is None or player.scenario is not self.session.scenario:
            return False
        self.session = Game(player.scenario, player.seed)
        return True


def play_steps(session: Game, policy: str, steps: int = sys.maxsize) -> None:
    """Let the policy or solver called `policy` play `session` to its end, or up to the step number
    `steps`.

    Raises:
        PolicyError: the policy does not exist.
    """
    with closing(Opponent(policy, session, make_autoplayer(session, policy))) as opponent:
        while not opponent.go_to(steps):  # its action is computed in another process
            time.sleep(_POLL_SECONDS)


def iter_mapped_frames(session: Game, policy: str) -> Iterator[Frame]:
    """Yield each frame of the episode of `session`, with the policy map of the policy or solver
    called `policy`.

    Raises:
        AutoplayError: the scenario has no such maps.
        PolicyError: the policy does not exist.
    """
    with closing(PolicyMaps(policy)) as maps:
        for frame in session.frames():
            map_steps = maps.start(session)
            if map_steps is None:
                raise AutoplayError(
                    f"{session.title} has no overlay of {policy}: it is drawn in the cells of "
                    f"grids, with an agent on the board"
                )
            yield replace(frame, policy_map=run_generator(map_steps))


AHEAD = ", ahead"  # end of a standing


def describe_standing(
    name: str, session: Game, has_return: bool = True, rival: Game | None = None
) -> str:
    """Return a line such as `ann: 5 steps, return 0.5, ahead` about the game of `session`, played
    by `name`. It has the return if `has_return` is True, and `AHEAD` if the return is higher than
    that of the game `rival`."""
    standing, total = f"{name}: {format_count(session.position, 'step')}", _return_of(session)
    if has_return:
        standing += f", return {format_reward(total)}"
    is_ahead = rival is not None and round(total - _return_of(rival), 9) > 0
    return standing + AHEAD * is_ahead


def _return_of(session: Game) -> float:
    return add_up(step.reward for step in session.past_steps)


# ---- opponents -----------------------------------------------------------------------------------


class SolverPolicy(RandomPolicy):
    """Policy of one agent in one world: follows the solver's path, as if all others did nothing.

    While the solver searches from a new state, the agent goes on with its last path. It acts at
    random before the first one, and where the solver finds no way to win.

    Args:
        game: game to act in.
        agent: name of the agent.

    Attributes:
        note: sentence on why the agent acts at random; "" if it does not.
    """

    def __init__(self, game: Game, agent: str) -> None:
        super().__init__(num_envs=1, num_actions=len(game.actions), use_action_mask=True)
        self._game, self._agent = game, agent
        self.note = ""
        self._solver = SolverAutoplayer(agent=game.agents.index(agent) + 1)  # numbers from 1 on
        self._planned_actions: list[str] = []  # rest of the last path

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Start a new random number generator, and forget the path of the last episode."""
        super().begin(worlds, seed, numbers)
        self._planned_actions = []

    def update_path(self) -> bool:
        """Update the path and `note` if the solver in the background has an answer, and start a
        search if the game is in another state than the last search. Return True if the note has
        changed."""
        previous_note, game = self.note, self._game
        path = None if game.outcome else self._solver.path(game)
        if path is not None:
            self._planned_actions = [*path.actions]
        reason = path.message if path else "The solver searches"
        is_random = not (self._planned_actions or game.outcome)
        self.note = f"{self._agent} acts at random. {reason}" if is_random else ""
        return self.note != previous_note

    def act(self, observation: Any, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return the (1,) next action of the path, or a random one."""
        self.update_path()
        if not self._planned_actions:
            return super().act(observation, info)
        return np.array([self._game.actions.index(self._planned_actions.pop(0))])

    def close(self) -> None:
        """End the search."""
        self._solver.close()


BEST = "best"
"""Name of the opponents' policy that is the trained one of the level, or else the solver."""


def list_opponent_policies(session: Game | None) -> dict[str, str]:
    """Return the policies that can play the opponents in `session`, as a dict from name to a short
    text: the best one, random actions, the solver, trained policies, and "" for a player's keys.
    Runs in the current folder and in `runs` are included. Without a session, none is checked."""
    policies = {BEST: "play to win", "valid": "act at random", "": "wait for keys"}
    policies[SOLVER] = "the solver"
    runs = [file.parent for pattern in _RUN_PATTERNS for file in Path().glob(pattern)]
    for name in (TRAINED, *map(str, sorted(runs)[:_MAX_RUNS])):
        with suppress(GVEngineError, OSError):
            if session is not None:
                load_policy(name, 1, len(session.actions), scenario=session.scenario)
            policies[name] = "the trained policy" if name == TRAINED else name
    return policies


def list_opponents(session: Game) -> list[str]:
    """Return the names of the agents outside the team of the player's agent; [] without teams."""
    teams = session.scenario.agent_group.teams
    if not teams:
        return []
    player = session.agents.index(session.controlled) + 1
    allies = {player}
    for _, members in teams:
        if player in members:
            allies |= {*members}
    return [name for agent, name in enumerate(session.agents, 1) if agent not in allies]


def assign_opponents(session: Game, policy: str) -> str:
    """Let the policy called `policy`, maybe `BEST`, act in `session` for each agent outside the
    team of the player's agent; `Game.assign_policy` restarts the episode each time. Nothing changes
    in a level without teams. Opponents whose policy cannot act here act at random.

    Returns:
        The reason why opponents act at random; "" if they do not.
    """
    message, num_actions = "", len(session.actions)
    if policy == BEST:
        policy = SOLVER
        with suppress(GVEngineError):
            load_policy(TRAINED, 1, num_actions, scenario=session.scenario)
            policy = TRAINED
    for name in list_opponents(session):
        session.release_agent(name)
        if not policy:
            continue
        if policy == SOLVER:
            session.assign_policy(name, SolverPolicy(session, name))
            continue
        try:
            loaded = load_policy(policy, 1, num_actions, scenario=session.scenario)
        except GVEngineError as error:
            loaded = load_policy("valid", 1, num_actions)
            reason = f"no trained policy comes with {session.title}"
            message = f"Opponents act at random: {reason if policy == TRAINED else error}"
        session.assign_policy(name, loaded)
    return message


def describe_winner(player: Game, opponent: Opponent) -> str:
    """Return a sentence that says who won the race: the player or the opponent, whoever has the
    higher return or, if returns are equal, fewer steps. It compares the steps if the winner has
    fewer of them, else the returns."""
    games = (("You", player), (opponent.name, opponent.session))
    scores = [(round(_return_of(game), 9), -game.position) for _, game in games]
    if scores[0] == scores[1]:
        return f"You and {opponent.name} were equally good"
    (name, won), (_, lost) = games if scores[0] > scores[1] else games[::-1]
    if won.position < lost.position:
        steps = format_count(won.position, "step")
        return f"{name} won the race: {steps} against {lost.position}"
    best, other = (format_reward(score) for score, _ in sorted(scores, reverse=True))
    return f"{name} won the race: return {best} against {other}"
