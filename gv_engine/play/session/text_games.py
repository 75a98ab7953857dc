"""Text interface to sessions, for servers that let language models play: several games at once,
with limits of their number, steps and idle time.

>>> games = TextGames()
>>> game = games.start("keydoor-5x5", seed=3)
>>> game["actions"]
['go backward', 'turn left', 'turn right']
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pkgutil import resolve_name
from typing import Any, NamedTuple

from gv_engine.play.session.catalogue import built_in_entries, load_playable, search
from gv_engine.play.session.controller import PlayController
from gv_engine.play.session.episode import ACTION_SEPARATOR, Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.session import Session
from gv_engine.rules import errors, geometry
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.library import gym_id
from gv_engine.scenario.missions.sentences import VIEW_STYLES, action_to_text, find_action

_MAX_SEED = 2**32 - 1
_MAX_LOADED = 64
"""Maximum number of built-in scenarios that stay loaded."""
_MAX_DIGITS = 6
"""Maximum number of digits of a level's number in a pack."""
_MAX_QUOTED = 60
"""Maximum number of characters of an unknown name in an error message."""


class GameError(errors.GVEngineError):
    """A request for a game cannot be carried out; the message says why."""


class Limits(NamedTuple):
    """Maximum number of open games, of steps, and of idle seconds.

    Attributes:
        games: maximum number of open games.
        steps: maximum number of steps of a game.
        idle_seconds: seconds without a request after which a game may be ended.
    """

    games: int = 64
    steps: int = 1000
    idle_seconds: float = 600


@dataclass
class _OpenGame:
    """Game, the time of its last request, and the actions of agents that wait for the others."""

    controller: PlayController
    used_at: float
    chosen: dict[str, str] = field(default_factory=dict)


class TextGames:
    """Games that are played through text, of built-in scenarios and of the given ones. Clients name
    scenarios and games, never paths, so that they can neither read files nor run code.

    Args:
        scenarios: further scenarios that may be played, by name.
        limits: limits of the games.
        clock: function that returns the time in seconds.
    """

    def __init__(
        self,
        scenarios: Mapping[str, Playable] | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits, self._clock = limits or Limits(), clock
        self._given = dict(scenarios or {})
        self._load_built_in = lru_cache(_MAX_LOADED)(load_playable)
        self._games: dict[str, _OpenGame] = {}
        self._entries = [entry for entry in built_in_entries() if not entry.missing]
        self._names = {entry.source: entry.source for entry in self._entries}
        self._names |= {gym_id(name): name for name in self._names}

    # ---- requests ------------------------------------------------------------------------

    def list_scenarios(self, query: str = "") -> dict[str, Any]:
        """Return the names of the scenarios that match all words of `query`, by group."""
        query = query[:_MAX_QUOTED]
        matches = search(query, self._entries, lambda entry: (entry.title, entry.group))
        matches.sort(key=attrgetter("group"))  # stable: the best match of a group is first
        groups = groupby(matches, key=attrgetter("group"))
        built_in = {group: [entry.source for entry in entries] for group, entries in groups}
        given = search(query, self._given, lambda name: (name, ""))
        return {"Named on the command line": given, **built_in} if given else built_in

    def start(self, scenario: str, seed: int | None = None) -> dict[str, Any]:
        """Begin a game and return its state, see `look`, with the scenario's description.

        Args:
            scenario: a name from `list_scenarios`; `tutorial#3` is a level of a pack.
            seed: selects the level of a scenario with random levels; None for a random seed.

        Raises:
            GameError: there is no such scenario, too many games are open, or the seed is no whole
                number from 0 to 2³² - 1.
        """
        if seed is not None and not 0 <= seed <= _MAX_SEED:
            found = errors.shorten(
                str(seed) if abs(seed) < 2**64 else "a longer number", _MAX_QUOTED
            )
            raise GameError(f"seed: found {found}, allowed are 0 to {_MAX_SEED}")
        now = self._clock()
        idle = self.limits.idle_seconds
        self._games = {k: game for k, game in self._games.items() if now - game.used_at < idle}
        if len(self._games) >= self.limits.games:
            raise GameError(
                f"{len(self._games)} games are open, as many as are allowed: end one, or wait for "
                f"one to be idle for {idle:g} seconds"
            )
        session = Session(self._load(scenario), seed)
        name = secrets.token_hex(8)
        self._games[name] = _OpenGame(PlayController(session), now)
        return {
            "session": name,
            "scenario": scenario,
            "description": session.scenario.description,
            "seed": session.seed,
            **_describe_state(self._games[name]),
        }

    def act(self, session: str, action: str, agent: str = "") -> dict[str, Any]:
        """Take an action in a game and return the new state, see `look`.

        Args:
            session: name of the game, from `start`.
            action: words or name of an action, such as `go forward`; with several agents
                `ann go forward | bob toggle`; agents that are left out wait.
            agent: name of the agent that takes the action, if each agent has its own player. The
                step is taken once all agents that can act have an action.

        Raises:
            GameError: there is no such game, it has ended, it has had all its steps, an agent is
                unknown, or the action is refused.
            ActionTextError: there is no such action.
            RuleError: a rule failed, and the game is unchanged.
        """
        open_game = self._find(session)
        game = open_game.controller.game
        if game.outcome:
            raise GameError(f"the game has ended ({game.outcome}): start another one")
        if game.length >= self.limits.steps:
            raise GameError(f"the game has had {game.length} steps, the limit: start another one")
        _check_agent(game, agent)
        if agent and len(game.agents) > 1:
            open_game.chosen[agent] = f"{agent} {find_action(action, _list_actions(game))}"
            if _list_waited_for(open_game):
                return _describe_state(open_game, agent=agent)
            joint_action = ACTION_SEPARATOR.join(open_game.chosen.values())
        else:
            joint_action = _parse_action(game, action)
        open_game.chosen.clear()
        if not open_game.controller.take_action(joint_action):
            raise GameError(game.message)
        return _describe_state(open_game, agent=agent)

    def look(self, session: str, style: str = "sentences", agent: str = "") -> dict[str, Any]:
        """Return the state of a game.

        Args:
            session: name of the game, from `start`.
            style: a key of `VIEW_STYLES`: `sentences`, or `map` for a map in characters, too.
            agent: name of the agent whose view and actions are returned; all agents' by default.

        Returns:
            `observation`, the text of what the agents see; `actions`, those with an effect now, by
            agent if there are several; `reward` of the last step and `return`, their sum; `steps`
            and `max_steps`, null without a limit; `done`, `success`, and `ending`, a sentence about
            the end; for one agent of several `waiting_for`, the agents without an action yet.

        Raises:
            GameError: there is no such game, style or agent.
        """
        if style not in VIEW_STYLES:
            hint = errors.describe_allowed(style, VIEW_STYLES)
            raise GameError(f"style: found {_quote(style)}{hint}")
        open_game = self._find(session)
        _check_agent(open_game.controller.game, agent)
        return _describe_state(open_game, style, agent)

    def legal_actions(self, session: str) -> dict[str, Any]:
        """Return the `actions` with an effect in the current state of a game, see `look`, and `all`
        actions, also those without an effect.

        Raises:
            GameError: there is no such game.
        """
        open_game = self._find(session)
        texts = [action_to_text(name) for name in open_game.controller.game.mask()]
        return {"actions": _describe_state(open_game)["actions"], "all": texts}

    def end(self, session: str) -> dict[str, Any]:
        """End a game, and return its `steps`, `return` and `success`.

        Raises:
            GameError: there is no such game.
        """
        state = _describe_state(self._find(session))
        del self._games[session]
        return {name: state[name] for name in ("steps", "return", "success")}

    # ---- names ---------------------------------------------------------------------------

    def find_game(self, session: str) -> Game:
        """Return the game called `session`, which must not be changed.

        Raises:
            GameError: there is no such game.
        """
        return self._find(session).controller.game

    def list_frames(self, session: str, agent: str = "") -> list[Any]:
        """Return the frame, which can be drawn, of what an agent of a game sees, or of what each
        agent sees.

        Raises:
            GameError: there is no such game or agent.
        """
        game = self.find_game(session)
        _check_agent(game, agent)
        return [view.frame for view in _iter_views(game) if agent in ("", view.agent)]

    def _find(self, session: str) -> _OpenGame:
        """Return the game called `session`, and note that it is in use.

        Raises:
            GameError: there is no such game.
        """
        now, game = self._clock(), self._games.get(session)
        if game is None or now - game.used_at >= self.limits.idle_seconds:
            raise GameError(
                f"no game {_quote(session)}: it was never started, has ended, or was idle for "
                f"{self.limits.idle_seconds:g} seconds; start one"
            )
        game.used_at = now
        return game

    def _load(self, name: str) -> Playable:
        """Return the scenario called `name`, which is built in or was given to this object.

        Raises:
            GameError: there is no such scenario.
        """
        if name in self._given:
            return self._given[name]
        base, mark, number = name.partition("#")
        is_level = not mark or (number.isdecimal() and len(number) <= _MAX_DIGITS)
        if base not in self._names or not is_level:
            hint = errors.suggest_similar(name, [*self._given, *self._names]) or ";"
            raise GameError(f"no scenario {_quote(name)}{hint} list_scenarios has all names")
        try:
            return self._load_built_in(f"{self._names[base]}{mark}{number}")
        except errors.ScenarioError:  # its message has a path of this machine
            raise GameError(f"{base} has no level {number}") from None


def _quote(text: str) -> str:
    return errors.shorten(repr(text[:1000]), _MAX_QUOTED)


# ---- texts ---------------------------------------------------------------------------------------


def _check_agent(game: Game, agent: str) -> None:
    if agent and agent not in game.agents:
        hint = errors.describe_allowed(agent, game.agents)
        raise GameError(f"no agent {_quote(agent)}{hint}")


def _list_waited_for(open_game: _OpenGame) -> list[str]:
    """Return the names of the agents that can act and have no action yet."""
    game = open_game.controller.game
    waiting = (name for name in game.agents if name not in open_game.chosen)
    return [name for name in waiting if not game.outcome and any(game.mask(name).values())]


def _describe_state(
    open_game: _OpenGame, style: str = "sentences", agent: str = ""
) -> dict[str, Any]:
    """Return the state of a game, see `TextGames.look`."""
    game = open_game.controller.game
    views = [view for view in _iter_views(game, style) if agent in ("", view.agent)]
    frame, rewards = game.frame(), [step.reward for step in game.past_steps]
    observation, actions = views[0].text, views[0].actions
    if len(views) > 1:
        observation = "\n".join(f"{view.agent}:\n{view.text}" for view in views)
        actions = {view.agent: view.actions for view in views}
    return {
        "observation": observation,
        "actions": actions,
        "reward": rewards[-1] if rewards else 0.0,
        "return": geometry.add_up(rewards),
        "steps": frame.steps,
        "max_steps": frame.max_steps,
        "done": bool(frame.outcome),
        "success": frame.success,
        "ending": frame.ending,
        **({"waiting_for": _list_waited_for(open_game)} if agent else {}),
    }


class _AgentView(NamedTuple):
    """Name of an agent, the frame and the text of what it sees, and its actions that have an effect
    now."""

    agent: str
    frame: Any
    text: str
    actions: Any


def _iter_views(game: Game, style: str = "sentences") -> Iterator[_AgentView]:
    """Yield the view of each agent of a game, without actions after the end."""
    for _ in game.agents:
        frame, mask = game.frame(), {} if game.outcome else game.mask()
        domain = DOMAINS[frame.domain]
        if domain.observation_text:
            text = resolve_name(domain.observation_text)(frame, style)
        else:
            text = resolve_name(domain.text)(frame)
        actions = [action_to_text(name) for name, is_valid in mask.items() if is_valid]
        yield _AgentView(game.controlled, frame, text, actions)
        if len(game.agents) > 1:
            game.control_next_agent()


def _list_actions(game: Game) -> list[str]:
    return [*dict.fromkeys([*game.mask(), *filter(None, [game.wait])])]


def _parse_action(game: Game, text: str) -> str:
    """Return the action, or the joint action of several agents, that a player of `game` has typed
    as `text`; see `TextGames.act`.

    Raises:
        GameError: the text names an agent that is not in the game.
        ActionTextError: there is no such action.
    """
    names = _list_actions(game)
    if len(game.agents) == 1:
        return find_action(text, names)
    parts = []
    max_parts = len(game.agents) + 1  # further ones name an agent twice
    for part in text.split(ACTION_SEPARATOR.strip())[:max_parts]:
        agent, _, words = part.strip().partition(" ")
        if agent not in game.agents:
            hint = errors.describe_allowed(agent, game.agents)
            example = ACTION_SEPARATOR.join(f"{name} go forward" for name in game.agents[:2])
            raise GameError(f"no agent {_quote(agent)}{hint}; an action is as `{example}`")
        parts.append(f"{agent} {find_action(words, names)}")
    return ACTION_SEPARATOR.join(parts)
