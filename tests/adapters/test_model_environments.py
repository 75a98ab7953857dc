"""Text games as environments of OpenEnv and verifiers, each played by a scripted client; needs
them, see `make adapters`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gv_engine.cli import main
from gv_engine.play.session.text_games import Limits, TextGames
from tests import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

SOLUTION = "turn left", "go forward", "go forward", "turn left", "go forward"
"""Actions that solve BabyAI-GoToObj-v0 with seed 1."""


def play(*actions: str) -> dict[str, Any]:
    """Return the state of the game with seed 1 after these actions."""
    games = TextGames()
    state = games.start("BabyAI-GoToObj-v0", 1)
    for action in actions:
        state = games.act(state["session"], action) | {"session": state["session"]}
    return state


# ---- OpenEnv -------------------------------------------------------------------------------------


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Serve by the protocol of OpenEnv; yield the URL."""
    command = [sys.executable, "-m", "gv_engine", "serve", "--openenv", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().split()[2].rstrip(";")
            assert process.poll() is None, "the server has ended"
        finally:
            process.terminate()


def test_clients_of_openenv_play():
    pytest.importorskip("openenv")
    from openenv.core.generic_client import GenericEnvClient

    with (
        serving("hand-over") as url,
        GenericEnvClient(base_url=url).sync() as env,
        GenericEnvClient(base_url=url).sync() as other,
    ):
        together = other.reset(seed=3).observation
        assert [*together["actions"]] == ["ann", "bob"]
        result = env.reset(seed=1, scenario="BabyAI-GoToObj-v0", episode_id="mine")
        start = play()
        assert result.observation["text"] == start["observation"]
        assert result.observation["actions"] == start["actions"]
        refused = env.step({"text": "jump"})
        assert "no action 'jump'" in refused.observation["error"]
        assert refused.observation["text"] == start["observation"]
        for number, action in enumerate(SOLUTION, 1):
            assert not result.done
            result = env.step({"text": action})
            expected = play(*SOLUTION[:number])
            assert result.observation["text"] == expected["observation"]
            assert (result.reward, result.done) == (expected["reward"], expected["done"])
            assert result.observation["error"] == ""
        assert result.done
        assert result.observation["success"]
        state = env.state()
        names = "episode_id", "step_count", "scenario", "seed"
        assert [state[name] for name in names] == ["mine", 5, "BabyAI-GoToObj-v0", 1]
        assert "the game has ended" in env.step({"text": "go forward"}).observation["error"]
        assert env.reset(seed=1, scenario="BabyAI-GoToObj-v0").observation == {
            **result.observation,
            "text": start["observation"],
            "actions": start["actions"],
            "success": False,
        }
        assert other.step({"text": "bob turn left"}).observation["error"] == ""
        with pytest.raises(RuntimeError, match=r"no scenario 'x\.yaml'"):
            env.reset(scenario="x.yaml")
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            env.step({"words": "go forward"})


def test_environments_of_openenv_end_their_games():
    pytest.importorskip("openenv")
    from gv_engine.plugins.adapters.openenv import TextGameEnvironment

    games = TextGames(limits=Limits(games=1))
    env = TextGameEnvironment(games)
    for seed in range(3):
        assert env.reset(seed=seed).text
    with pytest.raises(Exception, match="1 games are open"):
        TextGameEnvironment(games).reset()
    env.close()
    assert TextGameEnvironment(games).reset().text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no protocol is given; add --mcp or --openenv"),
        (["--openenv"], "--openenv is served over HTTP; add --port N"),
    ],
)
def test_wrong_options_are_told(words: list[str], message: str, capsys: Any):
    assert main(["serve", *words]) == 2
    assert message in capsys.readouterr().err


# ---- verifiers -----------------------------------------------------------------------------------


class ScriptedModel(BaseHTTPRequestHandler):
    """Endpoint of OpenAI's chat completions, which streams the next of `replies`."""

    replies: list[str]
    prompts: list[Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.prompts.append(body["messages"])
        assert body["stream"]
        delta = {"role": "assistant", "content": self.replies.pop(0)}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        events = [json.dumps({**chunk, "choices": [each]}) for each in (choice, end)]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in [*events, "[DONE]"]:
            self.wfile.write(f"data: {event}\n\n".encode())
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[str]:
    """The URL of a scripted model."""
    ScriptedModel.prompts = []
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def run_episode(url: str, **settings: Any) -> Any:
    """Return the episode of the first task of `gv_text_games`, played by the model at `url`."""
    from verifiers.v1.clients import EvalClientConfig, ModelContext
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    taskset = {"id": "gv_text_games", "first_seed": 1}
    env = load_environment(resolve_env_config({"taskset": taskset, **settings}))

    async def run() -> Any:
        async with env.serving():
            context = ModelContext("scripted", EvalClientConfig(base_url=url, api_key_var="NO_KEY"))
            return await env.run_episode(next(iter(env.taskset)), context)

    return asyncio.run(run())


@pytest.fixture
def without_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chat programs of verifiers run in this environment; `uv` would fetch another one."""
    pytest.importorskip("verifiers")
    from verifiers.v1.runtimes.base import Runtime

    async def prepare(runtime: Any, script: Any, *_: Any, **__: Any) -> list[str]:
        path = tmp_path / "chat.py"
        path.write_text(script if isinstance(script, str) else script.decode(), "utf-8")
        return [sys.executable, str(path)]

    monkeypatch.setattr(Runtime, "prepare_uv_script", prepare)


@pytest.mark.usefixtures("without_uv")
def test_models_of_verifiers_play(model: str):
    ScriptedModel.replies = ["jump", *SOLUTION[:2], f"I go on.\n\n`{SOLUTION[2]}`.", *SOLUTION[3:]]
    episode = run_episode(model)
    assert (episode.ok, episode.errors) == (True, [])
    (trace,) = episode.traces
    assert trace.rewards["return"].score == pytest.approx(play(*SOLUTION)["return"])
    assert trace.metrics["success"] == 1
    assert (trace.metrics["steps"], trace.metrics["refused"]) == (5, 1)
    first, second, third = ScriptedModel.prompts[:3]
    start = play()
    assert start["observation"] in first[1]["content"]
    assert "Actions: turn left, turn right, go forward" in first[1]["content"]
    assert "no action 'jump'" in second[-1]["content"]
    assert third[-1]["content"].startswith(play(SOLUTION[0])["observation"])
    assert not ScriptedModel.replies


@pytest.mark.usefixtures("without_uv")
def test_answers_of_verifiers_are_limited(model: str):
    ScriptedModel.replies = ["jump"] * 9
    (trace,) = run_episode(model, max_answers=3).traces
    assert trace.rewards["return"].score == 0
    assert (trace.metrics["success"], trace.metrics["refused"]) == (0, 3)
    assert len(ScriptedModel.replies) == 6


def test_tasks_of_verifiers_take_scenarios_in_turn():
    pytest.importorskip("verifiers")
    from verifiers.v1.utils.loaders import resolve_env_config

    from gv_engine.plugins.adapters.verifiers import TextGameTaskset

    taskset = {"id": "gv_text_games", "scenarios": ["keydoor-5x5", "hand-over"], "first_seed": 4}
    config = resolve_env_config({"taskset": taskset}).taskset
    names = [task.data.name for task in TextGameTaskset(config).take(3)]
    assert names == ["keydoor-5x5#4", "hand-over#4", "keydoor-5x5#5"]
