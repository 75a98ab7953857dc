"""OpenEnv environment of text games, and its server; needs openenv-core.

https://github.com/meta-pytorch/OpenEnv
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gv_engine import __version__
from gv_engine.play.session.text_games import TextGames
from gv_engine.plugins.adapters.extras import OPENENV
from gv_engine.plugins.adapters.listener import format_url, listen
from gv_engine.rules.errors import GVEngineError, MissingExtraError

if OPENENV.missing_message:
    raise MissingExtraError(OPENENV.missing_message)
import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app
from openenv.core.env_server.types import EnvironmentMetadata

DEFAULT_SCENARIO = "BabyAI-GoToObj-v0"
"""Scenario that a client plays if it names none."""


class TextAction(Action):
    """Action as text, such as `go forward`; of several agents `ann go forward | bob toggle`."""

    text: str


class TextObservation(Observation):
    """State of a game, see `TextGames.look`; `reward` and `done` are those of OpenEnv.

    Attributes:
        text: text of what the agents see.
        actions: actions that have an effect now; by agent if there are several.
        success: True if the goal was reached; None if the scenario has none.
        error: reason why the last action was not taken; empty if it was.
    """

    text: str
    actions: list[str] | dict[str, list[str]]
    success: bool | None = None
    error: str = ""


class TextGameEnvironment(Environment[TextAction, TextObservation, State]):
    """Environment of OpenEnv that plays one text game after the other.

    Args:
        games: games, which several environments may share.
        scenario: name of the scenario to play unless `reset` names one.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, games: TextGames | None = None, scenario: str = DEFAULT_SCENARIO) -> None:
        super().__init__()
        self._games, self._scenario = games or TextGames(), scenario
        self._session = ""
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        scenario: str | None = None,
        **_: Any,
    ) -> TextObservation:
        """Begin a game, and return what the agents see.

        Args:
            seed: selects the level of a scenario with random levels; None for a random seed.
            episode_id: name of the episode in `state`.
            scenario: name of a scenario, as in `TextGames.start`.

        Raises:
            GameError: there is no such scenario, or too many games are open.
        """
        self.close()
        result = self._games.start(scenario or self._scenario, seed)
        self._session = result["session"]
        names = "scenario", "description", "seed"
        episode_id = episode_id or self._session
        self._state = State(episode_id=episode_id, **{name: result[name] for name in names})
        return self._make_observation(result)

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        """Take an action. A refused action changes nothing, and `error` says why."""
        try:
            result, error = self._games.act(self._session, action.text), ""
        except GVEngineError as refusal:
            result, error = self._games.look(self._session), str(refusal)
            result["reward"] = 0.0
        return self._make_observation(result, error)

    # in the server's own thread: worlds of objects are not made for several threads
    async def reset_async(self, *args: Any, **options: Any) -> TextObservation:
        """Return the result of `reset`."""
        return self.reset(*args, **options)

    async def step_async(
        self, action: TextAction, timeout_s: float | None = None, **_: Any
    ) -> TextObservation:
        """Return the result of `step`."""
        return self.step(action)

    @property
    def state(self) -> State:
        """Episode, number of steps, and the game's scenario, description and seed."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name, description and version for the server's page."""
        text = "Gridworlds that are played by text. reset takes the name of a scenario and a seed."
        return EnvironmentMetadata(name="gv-engine", description=text, version=__version__)

    def close(self) -> None:
        """End the game, if there is one."""
        if self._session:
            self._games.end(self._session)
            self._session = ""

    def _make_observation(self, result: dict[str, Any], error: str = "") -> TextObservation:
        self._state.step_count = result["steps"]
        return TextObservation(
            text=result["observation"],
            actions=result["actions"],
            reward=result["reward"],
            done=result["done"],
            success=result["success"],
            error=error,
        )


def make_app(games: TextGames, scenario: str = DEFAULT_SCENARIO) -> Any:
    """Return a FastAPI app that serves `games` by OpenEnv's protocol, an environment for each
    client.

    Args:
        games: games of all clients.
        scenario: as for `TextGameEnvironment`.
    """

    def make_env() -> TextGameEnvironment:
        return TextGameEnvironment(games, scenario)

    limit = games.limits.games
    return create_app(make_env, TextAction, TextObservation, "gv-engine", max_concurrent_envs=limit)


def serve(app: Any, host: str, port: int, report: Callable[[str], object]) -> None:
    """Serve an app until a signal ends the process. `report` is called with the server's address.

    Args:
        app: result of `make_app`.
        host, port: as for `listen`.
        report: receives the URL, once it can be reached.

    Raises:
        OSError: the address cannot be used.
    """
    with listen(host, port) as listener:
        report(format_url(listener, host))
        # its errors are those of clients that go away
        uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
