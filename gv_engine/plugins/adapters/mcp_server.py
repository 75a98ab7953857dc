"""Server of the Model Context Protocol, by which language models play: the methods of `TextGames`
as tools, over stdin and stdout or HTTP.

https://modelcontextprotocol.io
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial, wraps
from typing import Any

import imageio.v3

from gv_engine import __version__
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.text_games import TextGames
from gv_engine.plugins.adapters.extras import MCP
from gv_engine.plugins.adapters.listener import format_url, listen
from gv_engine.rules.errors import GVEngineError, MissingExtraError, Stopped

if MCP.missing_message:
    raise MissingExtraError(MCP.missing_message)
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ImageContent, TextContent
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

PATH = "/mcp"
"""Path of the HTTP address."""
_MAX_CONNECTIONS = 256
_REQUEST_SECONDS = 5.0
"""Seconds in which a whole request has to arrive."""
_INSTRUCTIONS = """\
Play gridworlds by text. `list_scenarios` has their names, `start` begins a game and names it, `act`
takes an action, `end` ends the game. You see only what the agent sees. `success` says whether the
goal was reached."""
TOOL_NAMES = "list_scenarios", "start", "act", "look", "legal_actions", "end"
"""Methods of `TextGames` that are tools."""
_DRAWN = "start", "act", "look"
"""Tools that also return pictures, if the argument `picture` is true."""
_PICTURE_TEXT = "\n\nWith picture=true, the answer also has a picture of what each agent sees."
_CELL = 32
"""Side of a cell in pixels."""


def make_server(games: TextGames) -> MCPServer[Any]:
    """Return an MCP server whose tools are the methods of `games` named in `TOOL_NAMES`. A tool
    that fails returns an error message; the server continues."""
    server: MCPServer[Any] = MCPServer(
        "gv-engine", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR"
    )
    for name in TOOL_NAMES:
        method = getattr(games, name)
        summary, _, _ = (inspect.getdoc(method) or "").partition("\n\nRaises:")
        text = summary + _PICTURE_TEXT if name in _DRAWN else summary
        server.add_tool(_make_tool(games, method), name, description=text)
    return server


def _make_tool(
    games: TextGames, method: Callable[..., dict[str, Any]]
) -> Callable[..., Awaitable[CallToolResult]]:
    """Wrap a method of `games` in a coroutine that returns the result both as structured content
    and as text for the model. The text is the observation, then all other values as JSON. A method
    in `_DRAWN` gets another argument, `picture`."""
    signature = inspect.signature(method, eval_str=True)
    parameters = [*signature.parameters.values()]
    if method.__name__ in _DRAWN:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("picture", kind, default=False, annotation=bool))

    @wraps(method)
    async def call_tool(  # not async, it would run in a thread
        *, picture: bool = False, **arguments: Any
    ) -> CallToolResult:
        pictures: list[Any] = []
        try:
            result = method(**arguments)
            if picture:
                session = result.get("session") or arguments["session"]
                pictures = _draw_views(games, session, arguments.get("agent", ""))
        except (GVEngineError, OSError, Stopped) as error:
            raise ToolError(str(error)) from error
        values = {name: value for name, value in result.items() if name != "observation"}
        text = json.dumps(values, ensure_ascii=False)
        if observation := result.get("observation"):
            text = f"{observation}\n{text}"
        content = [TextContent(text=text), *pictures]
        return CallToolResult(content=content, structured_content=result)

    # the server makes the tool's description of them
    new_signature = signature.replace(parameters=parameters, return_annotation=CallToolResult)
    call_tool.__signature__ = new_signature  # type: ignore[attr-defined]
    call_tool.__annotations__ = {each.name: each.annotation for each in parameters}
    call_tool.__annotations__["return"] = CallToolResult
    return call_tool


def _draw_views(games: TextGames, session: str, agent: str) -> list[ImageContent]:
    """Return a picture of what `agent` sees in a game, or of what each agent sees."""
    scenario: Any = games.find_game(session).scenario  # can be hashed
    draw = _make_renderer(scenario)
    pictures = [draw(frame) for frame in games.list_frames(session, agent)]
    files = [imageio.v3.imwrite("<bytes>", picture, extension=".png") for picture in pictures]
    return [
        ImageContent(data=base64.b64encode(file).decode(), mime_type="image/png") for file in files
    ]


@lru_cache(16)
def _make_renderer(scenario: Playable) -> Callable[[Any], Any]:
    from gv_engine.play.ui.drawing.recording import find_views  # imports pygame

    views = find_views(scenario)
    view = "observation" if "observation" in views else "expression"
    return views[view](scenario, view, _CELL)


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve over stdin and stdout until stdin closes."""
    server.run("stdio")


def serve_http(
    server: MCPServer[Any], host: str, port: int, max_bytes: int, report: Callable[[str], object]
) -> None:
    """Serve over HTTP until a signal ends the process. `report` is called with the server's
    address.

    Args:
        server: result of `make_server`.
        host: address to listen at; other machines cannot reach a loopback address, such as
            127.0.0.1.
        port: port; 0 for a free one.
        max_bytes: size limit of a request; larger ones get the status 413.
        report: receives the URL, once it can be reached.

    Raises:
        OSError: the address cannot be used.
    """
    with listen(host, port) as listener:
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,  # the games are the only state
            max_request_body_size=max_bytes,
            host=host,
        )
        serve = partial(_serve_posts, app, max_bytes)
        limits: Any = {"limit_concurrency": _MAX_CONNECTIONS, "interface": "asgi3"}
        config = uvicorn.Config(serve, http=_TimedProtocol, log_level="error", **limits)
        report(format_url(listener, host, PATH))
        uvicorn.Server(config).run(sockets=[listener])


class _TimedProtocol(H11Protocol):
    """Connection that is closed if a whole request does not arrive in time, or if there are too
    many connections and it waits for a request longer than all others."""

    _timer: asyncio.TimerHandle | None = None  # while it waits for a request

    def connection_made(self, transport: Any) -> None:
        """Start the timeout for the first request of a new connection."""
        super().connection_made(transport)
        self._start_timer()
        if len(self.connections) >= _MAX_CONNECTIONS:
            waiting = [each for each in self.connections if getattr(each, "_timer", None)]
            min(waiting, key=lambda each: each._timer.when()).abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self._stop_timer()
        self.transport.abort()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(_REQUEST_SECONDS, self.abort)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def data_received(self, data: bytes) -> None:
        """Handle the data, and stop the timer if they complete a request."""
        super().data_received(data)
        if self.cycle and not self.cycle.more_body:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._stop_timer()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self._stop_timer()


async def _serve_posts(app: Any, max_bytes: int, scope: Any, receive: Any, send: Any) -> None:
    """ASGI middleware: pass a request to `app` when its whole body, or more than `max_bytes`, has
    arrived. Drop it if the client disconnects earlier. Refuse GET requests, which would open a
    stream."""
    messages: list[Any] = []
    if scope["type"] == "http":
        if scope["method"] == "GET":
            refusal = PlainTextResponse("only POST is served here", 405, {"Allow": "POST"})
            await refusal(scope, receive, send)
            return
        has_more_body, num_bytes = True, 0
        while has_more_body and num_bytes <= max_bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            messages.append(message)
            has_more_body = message["more_body"]
            num_bytes += len(message["body"])

    async def receive_again() -> Any:
        return messages.pop(0) if messages else await receive()

    await app(scope, receive_again, send)
