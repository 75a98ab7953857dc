"""Server of the Model Context Protocol, by which language models play: the methods of `TextGames`
as tools, over stdin and stdout or HTTP.

https://modelcontextprotocol.io
"""

from __future__ import annotations

import io
import json
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from inspect import Parameter, getdoc, signature
from typing import Any, NamedTuple

from gv_engine import __version__
from gv_engine.rules.errors import GVEngineError, MissingExtraError, Stopped, shorten
from gv_engine.scenario.fields import suggestion
from gv_engine.scenario.plugin import MCP
from gv_engine.session.text_games import GameError, TextGames

if MCP.missing_message:
    raise MissingExtraError(MCP.missing_message)
import anyio
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

MAX_BYTES = 2**16
"""Default of the size of a request in bytes."""
PATH = "/mcp"
"""Path of the HTTP address."""
_MAX_CONNECTIONS = 256
_INSTRUCTIONS = """\
Play gridworlds by text. `list_scenarios` has their names, `start` begins a game and names it, `act`
takes an action, `end` ends the game. You see only what the agent sees. `success` says whether the
goal was reached."""


class _Argument(NamedTuple):
    """Argument of tools."""

    type: type
    description: str


_ARGUMENTS = {
    "query": _Argument(str, "Words that names of scenarios must have; all if left out."),
    "scenario": _Argument(str, "A name from list_scenarios, as keydoor-9x9; of a pack tutorial#3."),
    "seed": _Argument(int, "Number of the level, from 0; a random one if left out."),
    "session": _Argument(str, "Name of the game, from start."),
    "action": _Argument(str, "Words of an action; of several agents: ann go forward | bob toggle."),
    "style": _Argument(str, "sentences, or map for a map in characters, too."),
}
_JSON_TYPES = {str: "string", int: "integer"}
TOOL_NAMES = "list_scenarios", "start", "act", "look", "legal_actions", "end"
"""Methods of `TextGames` that are tools."""


def make_server(games: TextGames) -> Server[Any]:
    """Return a server whose tools are those methods of `games` that `TOOL_NAMES` names. Errors are
    results with a message, after which the server goes on."""

    async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
        """Return all tools."""
        return types.ListToolsResult(
            tools=[_describe_tool(getattr(games, name)) for name in TOOL_NAMES]
        )

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        """Return the result of a tool, or an error message."""
        try:
            if call.name not in TOOL_NAMES:
                name = shorten(repr(call.name[:1000]), 60)
                raise GameError(f"no tool {name}{suggestion(call.name, TOOL_NAMES)}")
            method = getattr(games, call.name)
            result = method(**_check_arguments(method, call.arguments or {}))
        except (GVEngineError, OSError, Stopped) as error:
            return _make_error(str(error))
        except Exception as error:  # a mistake of ours must not end the games of others
            traceback.print_exc()
            return _make_error(f"the server failed: {type(error).__name__}")
        return types.CallToolResult(
            content=[types.TextContent(text=_format_result(result))], structured_content=result
        )

    return Server(
        "gv-engine",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _format_result(result: Mapping[str, Any]) -> str:
    """Return the result of a tool as text: the observation in lines, and all else as JSON."""
    rest = {name: value for name, value in result.items() if name != "observation"}
    lines = [*filter(None, [result.get("observation")]), json.dumps(rest, ensure_ascii=False)]
    return "\n".join(lines)


def _make_error(message: str) -> types.CallToolResult:
    """Return an error as the result of a tool."""
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def _describe_tool(method: Callable[..., Any]) -> types.Tool:
    """Return the name, description and arguments of a method as those of a tool."""
    parameters = signature(method).parameters
    properties = {
        name: {
            "type": _JSON_TYPES[_ARGUMENTS[name].type],
            "description": _ARGUMENTS[name].description,
        }
        for name in parameters
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": [n for n, each in parameters.items() if each.default is Parameter.empty],
        "additionalProperties": False,
    }
    summary, _, _ = (getdoc(method) or "").partition("\n\nRaises:")
    return types.Tool(name=method.__name__, description=summary, input_schema=schema)


def _check_arguments(method: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool, those that are null left out.

    Raises:
        GameError: the method has no such argument, one is missing, or one has another type.
    """
    parameters, given = signature(method).parameters, {}
    for name, value in arguments.items():
        if name not in parameters:
            shown = shorten(repr(name[:1000]), 60)
            raise GameError(f"no argument {shown}{suggestion(name, parameters)}")
        expected = _ARGUMENTS[name].type
        if value is not None and type(value) is not expected:
            raise GameError(
                f"{name}: found {type(value).__name__}, expected "
                f"{'a text' if expected is str else 'a whole number'}"
            )
        if value is not None:
            given[name] = value
    for name, each in parameters.items():
        if each.default is Parameter.empty and name not in given:
            raise GameError(f"{name} is missing: {_ARGUMENTS[name].description}")
    return given


# ---- transports ----------------------------------------------------------------------------------


def serve_http(
    server: Server[Any], host: str, port: int, max_bytes: int, report: Callable[[str], object]
) -> None:
    """Serve over HTTP until a signal ends the process.

    Args:
        server: result of `make_server`.
        host: address to listen at; other machines reach only those that are not of this machine
            alone.
        port: port; 0 for a free one.
        max_bytes: size limit of a request; larger ones get the status 413.
        report: receives the URL, once it can be reached.

    Raises:
        OSError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        text = f"port {port} of {host} cannot be used: {error.strerror}; port 0 is a free one"
        raise OSError(text) from None
    with listener:
        # else an answer waits 40 ms; asyncio sets it only for sockets that name their protocol
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,  # the games are the only state
            max_request_body_size=max_bytes,
            host=host,
        )
        config = uvicorn.Config(app, log_level="error", limit_concurrency=_MAX_CONNECTIONS)
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        report(f"http://{shown}:{listener.getsockname()[1]}{PATH}")
        uvicorn.Server(config).run(sockets=[listener])


def serve_stdio(server: Server[Any], max_bytes: int) -> None:
    """Serve over stdin and stdout until stdin closes.

    Args:
        server: result of `make_server`.
        max_bytes: size limit of a request, which is a line; longer ones get an error.
    """
    anyio.run(_serve_lines, server, max_bytes)


async def _serve_lines(server: Server[Any], max_bytes: int) -> None:
    """Serve over stdin and stdout, see `serve_stdio`."""
    source = io.BufferedReader(LineLimiter(sys.stdin.buffer, max_bytes))
    lines = io.TextIOWrapper(source, "utf-8", errors="replace")
    async with stdio_server(anyio.wrap_file(lines)) as (reader, writer):
        answering = _AnsweringReader(reader, writer, max_bytes)
        await server.run(answering, writer, server.create_initialization_options())


class LineLimiter(io.RawIOBase):
    """Stream of bytes that cuts long lines, so that no line fills the memory.

    Args:
        source: binary stream to read from.
        max_bytes: bytes of a line that are kept.
    """

    def __init__(self, source: Any, max_bytes: int) -> None:
        self._source, self._max_bytes, self._length = source, max_bytes, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes into a buffer, and return their number; 0 at the end."""
        kept = b""
        while not kept and (data := self._source.read1(len(buffer))):
            for line in io.BytesIO(data):
                kept += line.rstrip(b"\n")[: max(0, self._max_bytes - self._length)]
                is_whole = line.endswith(b"\n")
                kept += b"\n" * is_whole
                self._length = 0 if is_whole else self._length + len(line)
        buffer[: len(kept)] = kept
        return len(kept)


class _AnsweringReader:
    """Stream of messages that answers what is no message with an error, where the library would
    leave the client waiting."""

    def __init__(self, reader: Any, writer: Any, max_bytes: int) -> None:
        self._reader, self._writer = reader, writer
        text = f"a line is no message of JSON-RPC 2.0, or is longer than {max_bytes:,} bytes"
        error = types.ErrorData(code=types.PARSE_ERROR, message=text)
        self._answer = SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error))

    async def receive(self) -> SessionMessage:
        """Return the next message."""
        while isinstance(item := await self._reader.receive(), Exception):
            await self._writer.send(self._answer)
        message: SessionMessage = item
        return message

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    def __aiter__(self) -> _AnsweringReader:
        return self

    async def aclose(self) -> None:
        """Close the stream."""
        await self._reader.aclose()

    async def __aenter__(self) -> _AnsweringReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
