"""Environment and tasks of the library verifiers (Prime Intellect): a model plays text games turn
by turn; needs verifiers.

`vf-eval gv_text_games` finds the classes in the module `gv_text_games`, because verifiers takes
only names without a dot.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from gv_engine.play.session.text_games import Limits, TextGames
from gv_engine.plugins.adapters.extras import VERIFIERS
from gv_engine.rules.errors import GVEngineError, MissingExtraError

if VERIFIERS.missing_message:
    raise MissingExtraError(VERIFIERS.missing_message)
import verifiers.v1 as vf
from pydantic import Field

_SYSTEM_PROMPT = """\
You play a gridworld by text. In each turn you get what your agent sees, and the actions that have \
an effect now. You may think first. The last line of your answer is the action, and nothing else, \
such as: go forward"""
_MAX_GAMES = 2**20


class TextGameTasksetConfig(vf.TasksetConfig):
    """Settings under `--env.taskset`.

    Attributes:
        scenarios: names of scenarios, see `TextGames.start`; tasks take them in turn.
        first_seed: seed of the first task of each scenario; the following tasks have the next ones.
    """

    scenarios: list[str] = Field(default_factory=lambda: ["BabyAI-GoToObj-v0"])
    first_seed: int = 0


class TextGameData(vf.TaskData):
    """Task: one level of a scenario."""

    scenario: str
    seed: int


class TextGameTask(vf.Task[TextGameData, vf.State, vf.TaskConfig]):
    """Game to be played."""


class TextGameTaskset(vf.Taskset[TextGameTask, TextGameTasksetConfig]):
    """Endless tasks: the scenarios in turn, each with one seed after the other."""

    INFINITE = True

    def load(self) -> Iterator[TextGameTask]:
        """Yield the tasks."""
        for seed in count(self.config.first_seed):
            for scenario in self.config.scenarios:
                data = TextGameData(
                    name=f"{scenario}#{seed}",
                    prompt=None,
                    system_prompt=_SYSTEM_PROMPT,
                    scenario=scenario,
                    seed=seed,
                )
                yield TextGameTask(data, self.config.task)


class TextGameEnvConfig(vf.EnvConfig):
    """Settings under `--env`.

    Attributes:
        player: the model that plays; it only chats.
        max_answers: number of answers, also of refused ones, after which a game ends.
    """

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    max_answers: int = 200


class TextGameEnv(vf.Env[TextGameEnvConfig]):
    """Environment of verifiers in which a model plays a text game. The reward is the return of the
    episode; metrics are `success`, `steps` and `refused`, the number of answers that are no
    action."""

    def __init__(self, config: TextGameEnvConfig) -> None:
        super().__init__(config)
        self._games = TextGames(limits=Limits(games=_MAX_GAMES, idle_seconds=float("inf")))

    async def run(self, task: Any, agents: Any) -> None:
        """Play the game of a task with `agents.player`."""
        state = self._games.start(task.data.scenario, task.data.seed)
        text, refused = f"{state['description']}\n\n{_format_state(state)}", 0
        try:
            async with agents.player.interaction(task) as interaction:
                for _ in range(self.config.max_answers):
                    segment = await interaction.turn(text)
                    if segment.terminated:
                        break
                    try:
                        action = find_command(segment.last_reply)
                        state |= self._games.act(state["session"], action)
                        text = _format_state(state)
                    except GVEngineError as error:
                        refused += 1
                        text = f"{error}\n\n{_format_state(state)}"
                    if state["done"]:
                        break
        finally:
            self._games.end(state["session"])
        trace = interaction.trace
        trace.record_reward("return", state["return"], 1.0)
        trace.record_metrics(
            {"success": float(bool(state["success"])), "steps": state["steps"], "refused": refused}
        )


def find_command(reply: str) -> str:
    """Return the last line of a reply that has text, without quotes and full stops.

    >>> find_command("The key is ahead.\\n\\n`go forward`.")
    'go forward'
    """
    lines = [line.strip(" \t*`'\".") for line in reply.splitlines()]
    return next((line for line in reversed(lines) if line), "")


def _format_state(state: dict[str, Any]) -> str:
    actions = state["actions"]
    if isinstance(actions, dict):
        each = "\n".join(f"{agent}: {', '.join(names)}" for agent, names in actions.items())
        return f"{state['observation']}\n\nActions, as `ann go forward | bob toggle`:\n{each}"
    return f"{state['observation']}\n\nActions: {', '.join(actions)}"
