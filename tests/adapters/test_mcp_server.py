"""Language models play over the Model Context Protocol, and nobody breaks the server."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import imageio.v3
import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.play.session.text_games import Limits, TextGames
from tests import ROOT
from tests.screen import PATIENCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("mcp"), reason="needs the extra mcp: pip install 'mcp>=2.3'"),
]

SERVE = [sys.executable, "-m", "gv_engine", "serve", "--mcp"]
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MAX_GAMES = 60
SOLUTION = "turn left", "go forward", "go forward", "turn left", "go forward"
"""Actions that solve BabyAI-GoToObj-v0 with seed 1."""


def call(name: str, number: Any = 1, **arguments: Any) -> dict[str, Any]:
    """Return a request for a tool."""
    parameters = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}


# ---- tools ---------------------------------------------------------------------------------------


def connect(server: str | TextGames) -> Any:
    """Return a client of a server at a URL, or of one in this process that serves these games."""
    # imported when needed, as every process of pytest-xdist collects this file
    from mcp import Client

    from gv_engine.plugins.adapters.mcp_server import make_server

    return Client(server if isinstance(server, str) else make_server(server))


def ask(name: str, arguments: dict[str, Any], games: TextGames | None = None) -> Any:
    """Return the result of a tool, from a client in this process."""

    async def run() -> Any:
        async with connect(games or TextGames()) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(run())


def test_tools_are_described():
    async def run() -> Any:
        async with connect(TextGames()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(run())}
    assert [*tools] == ["list_scenarios", "start", "act", "look", "legal_actions", "end"]
    assert tools["start"].input_schema["required"] == ["scenario"]
    assert tools["start"].input_schema["properties"]["scenario"]["type"] == "string"
    assert all(
        tool.description.startswith(("Return", "Begin", "Take", "End")) for tool in tools.values()
    )


def test_results_are_texts_and_numbers():
    result = ask("start", {"scenario": "BabyAI-GoToObj-v0", "seed": 1})
    assert not result.is_error
    state = result.structured_content
    text = result.content[0].text
    assert text.startswith(state["observation"])
    assert json.loads(text.splitlines()[-1])["session"] == state["session"]


def test_pictures_come_on_request():
    async def run() -> Any:
        async with connect(TextGames()) as client:
            arguments: dict[str, Any] = {"scenario": "hand-over", "seed": 3, "picture": True}
            results = [await client.call_tool("start", arguments)]
            session = {"session": results[0].structured_content["session"]}
            for agent in ({"agent": "bob"}, {}):
                results.append(
                    await client.call_tool("look", {**session, **agent, "picture": True})
                )
            action = {**session, "action": "bob turn left"}
            results.append(await client.call_tool("act", {**action, "picture": True}))
            results.append(await client.call_tool("act", action))
            return results

    def read_pictures(result: Any) -> list[Any]:
        assert {each.mime_type for each in result.content[1:]} <= {"image/png"}
        return [imageio.v3.imread(base64.b64decode(each.data)) for each in result.content[1:]]

    start, of_bob, of_all, turned, without = map(read_pictures, asyncio.run(run()))
    assert [picture.shape for picture in start] == [(7 * 32, 7 * 32, 3)] * 2
    assert not np.array_equal(*start)  # ann sees something else
    assert np.array_equal(start, of_all)
    assert np.array_equal(start[1:], of_bob)
    assert not np.array_equal(start[1], turned[1])
    assert without == []


def test_two_models_play_in_one_session():
    async def run() -> dict[str, Any]:
        games = TextGames()
        async with connect(games) as ann, connect(games) as bob:
            clients = {"ann": ann, "bob": bob}
            start = await ann.call_tool("start", {"scenario": "hand-over", "seed": 3})
            name = start.structured_content["session"]
            for steps in range(3):
                for agent, client in clients.items():
                    look = await client.call_tool("look", {"session": name, "agent": agent})
                    state = look.structured_content
                    assert state["steps"] == steps
                    arguments = {"session": name, "agent": agent, "action": "turn left"}
                    state = (await client.call_tool("act", arguments)).structured_content
            return dict(state)

    state = asyncio.run(run())
    assert (state["steps"], state["waiting_for"]) == (3, ["ann", "bob"])
    assert isinstance(state["observation"], str)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("start", {}, "scenario\n  Field required"),
        ("start", {"scenario": 5}, "scenario\n  Input should be a valid string"),
        ("start", {"scenario": None}, "scenario\n  Input should be a valid string"),
        ("start", {"scenario": "keydoor-5x5", "seed": 1.5}, "seed\n  Input should be a valid int"),
        ("start", {"scenario": "keydoor-5x5", "seed": -1}, "seed: found -1, allowed are 0 to"),
        ("start", {"scenario": "x.yaml"}, "no scenario 'x.yaml'"),
        ("act", {"session": "x", "action": "go"}, "no game 'x'"),
        (
            "start",
            {"scenario": "keydoor-5x5", "picture": 7},
            "picture\n  Input should be a valid bool",
        ),
        ("look", {"session": ["x"]}, "session\n  Input should be a valid string"),
        ("run", {}, "Unknown tool: run"),
    ],
)
def test_mistakes_are_told(tool: str, arguments: dict[str, Any], message: str):
    result = ask(tool, arguments)
    assert result.is_error
    assert message in result.content[0].text


def test_a_mistake_of_ours_ends_nothing(monkeypatch: pytest.MonkeyPatch, caplog: Any):
    def fail(self: TextGames, session: str) -> dict[str, Any]:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(TextGames, "end", fail)
    games = TextGames()
    assert ask("end", {"session": "x"}, games).content[0].text == "Error executing tool end"
    assert "secret" in caplog.text
    assert not ask("start", {"scenario": "keydoor-5x5"}, games).is_error


# ---- stdin and stdout ----------------------------------------------------------------------------


def test_a_host_talks_over_stdin_and_wrong_lines_end_nothing():
    client = {"protocolVersion": "2025-06-18", "capabilities": {}}
    client["clientInfo"] = {"name": "test", "version": "1"}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    start = call("start", 7, scenario="empty-4x4", seed=0, picture=True)
    lines = ["{", "x" * 10**6, json.dumps(begin), "", "[1]", json.dumps(start)]
    pipe = subprocess.PIPE
    with subprocess.Popen(SERVE, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.wait(30) == 0
    (game,) = (each["result"] for each in answers if each["id"] == 7)
    assert game["structuredContent"]["seed"] == 0
    assert [each["type"] for each in game["content"]] == ["text", "image"]


# ---- HTTP ----------------------------------------------------------------------------------------


RULE = '''"""Rules."""

import time

from gv_engine import TRANSITION, World, system


@system(TRANSITION)
def hang(w: World, agent: int) -> None:
    """Wait for ever."""
    while True:
        time.sleep(0.01)
'''
LEVEL = """
name: cave
map: |
  ####
  #>E#
  ####
transition_functions: [{name: "rules.py:hang"}]
reward_functions: [{name: reach_exit}]
terminating_function: {name: reach_exit}
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
"""
LOGS: list[str] = []
"""Texts that servers with a pipe for stderr have written there."""


@contextmanager
def serving(*options: str, stderr: int = subprocess.DEVNULL) -> Iterator[tuple[str, int]]:
    """Serve over HTTP; yield the URL and the process's number."""
    with subprocess.Popen(
        [*SERVE, "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().split()[2].rstrip(";"), process.pid
            assert process.poll() is None, "the server has ended"
        finally:
            process.terminate()
            if process.stderr:
                LOGS.append(process.stderr.read())


@pytest.fixture
def poster(server: tuple[str, int]) -> Iterator[Poster]:
    with Poster(server[0]) as poster:
        yield poster


@pytest.fixture(scope="module")
def cave(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write an author's level, and return its path."""
    folder = tmp_path_factory.mktemp("cave")
    (folder / "cave.yaml").write_text(LEVEL)
    (folder / "rules.py").write_text(RULE)
    return str(folder / "cave.yaml")


@pytest.fixture(scope="module")
def server(cave: str) -> Iterator[tuple[str, int]]:
    with serving(cave, "--max-games", str(MAX_GAMES), "--max-steps", "50") as (url, number):
        yield url, number


class Poster:
    """Sends requests one after the other, as a context manager."""

    def __enter__(self) -> Poster:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        assert address.hostname
        self._connection = http.client.HTTPConnection(address.hostname, address.port or 0, 30)

    def send(
        self, body: bytes, headers: dict[str, str] | None = None, method: str = "POST"
    ) -> tuple[int, str]:
        """Return status and body of the answer; a refused upload may close the connection."""
        try:
            self._connection.request(method, "/mcp", body, HEADERS | (headers or {}))
            answer = self._connection.getresponse()
            return answer.status, answer.read().decode()
        except (ConnectionError, http.client.HTTPException):
            self._connection.close()
            return 0, "closed"

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a valid request."""
        status, text = self.send(json.dumps(request).encode())
        assert status == 200, text
        result: dict[str, Any] = json.loads(text)["result"]
        return result


def memory(number: int) -> int:
    """Return the resident bytes of a process."""
    pages = int(Path(f"/proc/{number}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


VALUES: list[Any] = [
    *(None, True, -1, 0, 1.5, 10**30, "", "x", "keydoor-5x5", "../x.yaml", "\0", "go forward"),
    *([], {}, [[]], {"a": 1}, "ü" * 50, "tutorial#3", "a | b | c", "x" * 40_000, [1] * 5000),
]
NAMES = (
    *("session", "scenario", "action", "seed", "style", "agent", "picture"),
    "query",
    "code",
    "__class__",
)
TOOLS = "start", "act", "look", "legal_actions", "end", "list_scenarios", "run", ""
METHODS = "tools/call", "tools/list", "initialize", "ping", "prompts/list", "resources/read", "x"


def make_body(random: Random, games: list[str]) -> bytes:
    """Return a request with mistakes: of another form, for other games, or with other values."""
    kind = random.randrange(6)
    if kind == 0:
        return random.randbytes(random.randrange(1, 300))
    if kind == 1:
        return b"[" * random.choice([1, 300, 20_000]) + b"x" * random.choice([0, 10, 3 * 10**5])
    name = random.choice(TOOLS)
    arguments = {random.choice(NAMES): random.choice(VALUES) for _ in range(random.randrange(4))}
    if games and random.random() < 0.5:
        arguments["session"] = random.choice(games)[: random.choice([15, 16, 16])]
    request: Any = call(name, random.choice([1, "a", None, -5, [], 10**30]), **{})
    request["params"]["arguments"] = random.choice([arguments, arguments, random.choice(VALUES)])
    if kind == 2:
        request["method"] = random.choice(METHODS)
    if kind == 3:
        request[random.choice([*request])] = random.choice(VALUES)
    body = json.dumps(request).encode()
    return body[: random.randrange(len(body))] if kind == 4 else body


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_a_thousand_wrong_requests_end_nothing_and_fill_nothing(
    server: tuple[str, int], poster: Poster
):
    random, number = Random(37), server[1]
    game = poster.ask(call("start", scenario="BabyAI-GoToObj-v0", seed=1))["structuredContent"]
    statuses: Counter[int] = Counter()
    games: list[str] = []
    sizes = []
    for count in range(1000):
        headers = (
            {}
            if random.random() < 0.9
            else {
                random.choice(
                    ["Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Protocol-Version"]
                ): "x"
            }
        )
        method = random.choice(["POST"] * 20 + ["GET", "PUT", "DELETE"])
        status, text = poster.send(make_body(random, games), headers, method)
        statuses[status] += 1
        assert status < 500
        assert not re.search(r'Error executing tool \w*"', text), "a crash"
        assert "Traceback" not in text
        assert text or status in (202, 405), "an answer says what is wrong"
        if status == 200 and '"structuredContent":{"session"' in text:
            games.append(json.loads(text)["result"]["structuredContent"]["session"])
        if count % 100 == 99:
            for each in games:
                with suppress(AssertionError):
                    poster.ask(call("end", session=each))
            games.clear()
            sizes.append(memory(number))
    print(dict(statuses), [size >> 20 for size in sizes], "MiB")
    assert statuses[200] > 100
    assert statuses[400] > 100
    assert statuses[413] > 10
    assert sizes[-1] - sizes[2] < 16 * 2**20  # scenarios that are loaded once take some
    for action in SOLUTION:
        state = poster.ask(call("act", session=game["session"], action=action))["structuredContent"]
    assert state["success"], "the game that was begun before went on"
    poster.ask(call("end", session=game["session"]))


def test_clients_play_at_once(server: tuple[str, int]):
    async def play(number: int) -> bool:
        async with connect(server[0]) as client:
            arguments: dict[str, Any] = {"scenario": "BabyAI-GoToObj-v0", "seed": 1}
            state = (await client.call_tool("start", arguments)).structured_content
            name = state["session"]
            for action in SOLUTION:
                wrong = await client.call_tool("act", {"session": name, "action": f"jump {number}"})
                assert wrong.is_error
                result = await client.call_tool("act", {"session": name, "action": action})
                state = result.structured_content
            await client.call_tool("end", {"session": name})
            return bool(state["success"])

    async def play_all() -> list[bool]:
        return await asyncio.gather(*map(play, range(8)))

    assert asyncio.run(play_all()) == [True] * 8


def test_games_are_limited_and_those_of_others_unknown(poster: Poster):
    start = call("start", scenario="empty-4x4")
    games = [poster.ask(start)["structuredContent"]["session"] for _ in range(MAX_GAMES)]
    assert f"{MAX_GAMES} games are open" in poster.ask(start)["content"][0]["text"]
    for name in games:
        assert poster.ask(call("look", session=name[:-1]))["isError"]
        assert not poster.ask(call("end", session=name))["isError"]
    last = poster.ask(start)
    assert not last["isError"]
    poster.ask(call("end", session=last["structuredContent"]["session"]))


@pytest.mark.thorough
def test_connections_without_requests_lock_nobody_out(server: tuple[str, int]):
    address = urlsplit(server[0])
    place = str(address.hostname), address.port or 0
    idle = [socket.create_connection(place, PATIENCE) for _ in range(300)]
    with Poster(server[0]) as poster:
        assert poster.ask(call("list_scenarios", query="empty"))
    for each in idle:  # each is closed, the first ones at once
        with each, suppress(ConnectionError):
            assert each.recv(1) == b""


def test_another_address_is_served_and_clients_that_go_away_in_a_body_are_not_logged():
    host = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"  # others need it set up
    head = "POST /mcp HTTP/1.1\r\nHost: {}\r\n{}Content-Length: 50\r\n\r\n{{"
    names = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    with serving("--host", host, stderr=subprocess.PIPE) as (url, _):
        address = urlsplit(url)
        assert address.hostname == host
        for _ in range(5):
            with socket.create_connection((str(address.hostname), address.port or 0)) as client:
                client.sendall(head.format(address.netloc, names).encode())
        with Poster(url) as poster:
            assert not poster.ask(call("start", scenario="empty-4x4"))["isError"]
    assert LOGS.pop() == ""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_games_leave_no_memory_behind(server: tuple[str, int], poster: Poster):
    number, sizes = server[1], []
    for count in range(300):
        state = poster.ask(call("start", scenario="BabyAI-BossLevel-v0", seed=count))
        name = state["structuredContent"]["session"]
        poster.ask(call("act", session=name, action="turn left"))
        poster.ask(call("end", session=name))
        sizes.append(memory(number))
    print([size >> 20 for size in sizes[::50]], "MiB")
    assert sizes[-1] - sizes[99] < 8 * 2**20


def test_only_this_machine_reaches_the_server_unless_asked(server: tuple[str, int], poster: Poster):
    address = urlsplit(server[0])
    assert address.hostname == "127.0.0.1"
    own = {str(each[4][0]) for each in socket.getaddrinfo(socket.gethostname(), None)}
    for other in {"127.0.0.2", *own} - {"127.0.0.1"}:
        with pytest.raises(OSError):  # noqa: PT011  # refused, or no such address
            socket.create_connection((other, address.port), 5).close()
    body = json.dumps(call("list_scenarios")).encode()
    assert poster.send(body, {"Host": "evil.example"})[0] == 421  # of a page that rebinds its name
    assert poster.send(body, {"Origin": "http://evil.example"})[0] == 403
    assert poster.send(body)[0] == 200
    assert poster.send(b"", method="GET") == (405, "only POST is served here")


def test_scenarios_of_the_command_line_are_played_and_rules_that_hang_are_stopped(
    poster: Poster, cave: str
):
    assert cave in json.dumps(poster.ask(call("list_scenarios")))
    name = poster.ask(call("start", scenario=cave))["structuredContent"]["session"]
    answer = poster.ask(call("act", session=name, action="go forward"))
    assert "hang" in answer["content"][0]["text"]
    assert "was stopped" in answer["content"][0]["text"]
    assert poster.ask(call("look", session=name))["structuredContent"]["steps"] == 0
    poster.ask(call("end", session=name))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no protocol is given; add --mcp"),
        (["--mcp", "--host", "0.0.0.0"], "--host 0.0.0.0 is for HTTP; add --port N"),
        (
            ["--mcp", "--port", "1", "--host", "203.0.113.1"],
            "port 1 of 203.0.113.1 cannot be used: Cannot assign",
        ),
        (["--mcp", "missing.yaml"], "missing.yaml: no such file"),
    ],
)
def test_wrong_options_are_told(words: list[str], message: str, capsys: Any):
    assert main(["serve", *words]) == 2
    assert message in capsys.readouterr().err


def test_defaults_are_those_of_games():
    assert Limits() == (64, 1000, 600.0)
