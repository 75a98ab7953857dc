"""Serve levels to language models.

examples:
  gv-engine serve --mcp
  gv-engine serve --mcp cave --port 8000
  gv-engine serve --openenv --port 8000

Without --port, an MCP client starts the command and talks to it over stdin and stdout.
See docs/language-models.md.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from gv_engine.cli import options as cli
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.text_games import Limits, TextGames
from gv_engine.play.session.watchdog import PATIENCE, Watchdog

_HOST = "127.0.0.1"


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `serve` to its parser."""
    scenarios_text = f"further scenarios, beside the built-in ones: {cli.SCENARIO_HELP}"
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help=scenarios_text)
    protocol = parser.add_mutually_exclusive_group()
    mcp_text = "speak the Model Context Protocol (needs the extra mcp)"
    parser.add_flag("--mcp", mcp_text, group=protocol)
    openenv_text = (
        "speak the protocol of OpenEnv (needs the extra openenv); a client that names no scenario "
        "plays the first SCENARIO"
    )
    parser.add_flag("--openenv", openenv_text, group=protocol)
    parse_port = partial(cli.parse_at_most, 2**16 - 1, cli.parse_natural)
    parser.add_option(
        "--port N", parse_port, "serve over HTTP on this port, or on any free one if 0"
    )
    host_text = f"address to listen on (default: {_HOST}, for programs on this machine only)"
    parser.add_option("--host ADDRESS", cli.parse_text, host_text)
    limits = Limits()
    games_text = "maximum number of games at once"
    parser.add_option("--max-games N", cli.parse_positive, games_text, limits.games)
    parser.add_option("--max-steps N", cli.parse_positive, "maximum steps of a game", limits.steps)
    idle_text = "seconds without a request after which a game ends"
    parser.add_option("--idle SECONDS", cli.parse_seconds, idle_text, limits.idle_seconds)
    bytes_text = "maximum size of an HTTP request in bytes"
    parser.add_option("--max-bytes N", cli.parse_positive, bytes_text, 2**16)
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `serve`: serve scenarios by a protocol until stdin closes, or a signal
    comes."""
    if not options.mcp and not options.openenv:
        raise cli.UsageError("no protocol is given; add --mcp or --openenv")
    if options.openenv and options.port is None:
        raise cli.UsageError("--openenv is served over HTTP; add --port N")
    if options.host and options.port is None:
        raise cli.UsageError(f"--host {options.host} is for HTTP; add --port N")
    settings = cli.scenario_options(options)
    scenarios = {source: load_playable(source, **settings) for source in options.scenarios}
    limits = Limits(options.max_games, options.max_steps, options.idle)
    serve = _serve_openenv if options.openenv else _serve_mcp
    with Watchdog(PATIENCE, lambda rule: True):  # stops a rule that does not end
        serve(TextGames(scenarios, limits), options)
    return 0


def _serve_mcp(games: TextGames, options: argparse.Namespace) -> None:
    # imported here: the library takes a second, and may be missing
    from gv_engine.plugins.adapters.mcp_server import make_server, serve_http, serve_stdio

    server = make_server(games)
    if options.port is None:
        serve_stdio(server)
    else:
        serve_http(server, options.host or _HOST, options.port, options.max_bytes, _report)


def _serve_openenv(games: TextGames, options: argparse.Namespace) -> None:
    # imported here: the library takes seconds, and may be missing
    from gv_engine.plugins.adapters import openenv

    scenario = next(iter(options.scenarios), openenv.DEFAULT_SCENARIO)
    app = openenv.make_app(games, scenario)
    openenv.serve(app, options.host or _HOST, options.port, _report)


def _report(url: str) -> None:
    cli.say(f"Serving at {url}; press Ctrl-C to stop")
    sys.stdout.flush()
