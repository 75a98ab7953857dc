"""Score players of text games, such as language models, in one table.

examples:
  gv-engine score scores.jsonl solver bot random
  gv-engine score scores.jsonl ./model.py:choose
  gv-engine score scores.jsonl

PLAYER is solver (a shortest solution), bot, random, valid, the folder of a run, or a function in a
Python file. The function gets the state of a game, as the tool `act` of `gv-engine serve --mcp`
returns it, with `description`, and `error` if its last answer was refused. It returns an action as
text, such as `go forward`.

Answers are the actions that a player was asked for, also refused ones; a game ends after its step
limit of answers. Efficiency is moves / par over solved levels; par are the moves of `solver` in
FILE. FILE keeps one line for each player, written after each level; without PLAYER, its table is
printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gv_engine.cli import options as cli
from gv_engine.envs.rollout.policy import load_function
from gv_engine.play.session.autoplay import SOLVER, play_steps
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.text_games import TextGames
from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.geometry import add_up
from gv_engine.scenario.storage.files import atomic_write

DEFAULT_SCENARIOS = (
    "BabyAI-GoToObj-v0",
    "BabyAI-GoToLocal-v0",
    "BabyAI-PickupLoc-v0",
    "BabyAI-UnlockLocal-v0",
    "BabyAI-PutNextLocalS5N3-v0",
)
_MAX_STEPS = 1000


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `score` to its parser."""
    parser.add_argument("file", metavar="FILE", type=Path, help="file of results (JSON lines)")
    parser.add_argument("players", metavar="PLAYER", nargs="*", help="player to add")
    scenario_text = f"scenario to play (repeatable; default: {', '.join(DEFAULT_SCENARIOS)})"
    parser.add_option("--scenario NAME", str, scenario_text, dest="scenarios", action="append")
    parser.add_option("--seeds N", cli.parse_positive, "play the seeds 0 to N - 1", 10)
    text = "play only the levels that the players lack in FILE"
    parser.add_argument("--resume", action="store_true", help=text)


def run(options: argparse.Namespace) -> int:
    """Run the command `score`: play all levels with each player, add the results to the file, and
    print its table."""
    results: dict[str, dict[str, Any]] = {}
    if options.file.exists():
        lines = options.file.read_text("utf-8").splitlines()
        try:
            results = {each["player"]: each["levels"] for each in map(json.loads, lines)}
        except (ValueError, KeyError, TypeError):
            raise cli.UsageError(f"{options.file} is no file of this command") from None
    elif not options.players:
        raise cli.UsageError(f"{options.file}: no such file; name a player, such as {SOLVER}")
    levels = [
        (name, k) for name in options.scenarios or DEFAULT_SCENARIOS for k in range(options.seeds)
    ]
    for player in options.players:
        play = _make_player(player)
        with cli.progress(player, len(levels)) as advance:
            if not options.resume:
                results[player] = {}
            played = results.setdefault(player, {})
            for scenario, seed in levels:
                if (level := f"{scenario} {seed}") not in played:
                    played[level] = play(scenario, seed)
                    _write(options.file, results)
                advance()
    columns = "player", "levels>", "solved>", "return>", "answers>", "moves / par>"
    cli.print_table(columns, _make_rows(results))
    return 0


ScoredLevel = dict[str, Any]


def _write(file: Path, results: dict[str, dict[str, ScoredLevel]]) -> None:
    lines = (json.dumps({"player": name, "levels": each}) for name, each in results.items())
    with atomic_write(file) as draft:
        draft.write_text("\n".join(lines) + "\n", "utf-8")


def _make_player(name: str) -> Callable[[str, int], ScoredLevel]:
    """Return a function that plays the level of a scenario and seed, and returns its `success`,
    `return`, `steps` and `answers`."""
    path, _, attribute = name.rpartition(":")
    if path.endswith(".py"):
        choose = load_function(path, attribute)
        return lambda scenario, seed: _play_by_text(choose, scenario, seed)
    return lambda scenario, seed: _play_policy(name, scenario, seed)


def _play_policy(name: str, scenario: str, seed: int) -> ScoredLevel:
    game = Game(load_playable(scenario), seed)
    play_steps(game, name, game.frame().max_steps or _MAX_STEPS)
    total = add_up(step.reward for step in game.past_steps)
    success = bool(game.frame().success)
    return {"success": success, "return": total, "steps": game.length, "answers": game.length}


def _play_by_text(choose: Callable[[ScoredLevel], str], scenario: str, seed: int) -> ScoredLevel:
    """Play one level of a scenario. `choose` returns the name of an action for each answer of the
    text game."""
    games = TextGames({scenario: load_playable(scenario)})
    state = games.start(scenario, seed)
    answers, limit = 0, state["max_steps"] or _MAX_STEPS
    while not state["done"] and answers < limit:
        answers += 1
        try:
            state |= {**games.act(state["session"], str(choose(dict(state)))), "error": ""}
        except GVEngineError as error:
            state["error"] = str(error)
    names = "return", "steps"
    result = {name: state[name] for name in names}
    return {"success": bool(state["success"]), **result, "answers": answers}


def _make_rows(results: dict[str, dict[str, ScoredLevel]]) -> Iterable[tuple[str, ...]]:
    """Yield the row of each player."""
    pars = results.get(SOLVER, {})
    for player, levels in results.items():
        number = len(levels)
        means = [sum(each[k] for each in levels.values()) / number for k in _MEANS]
        solved = [name for name, each in levels.items() if each["success"] and name in pars]
        moves = sum(levels[name]["steps"] for name in solved)
        par = sum(pars[name]["steps"] for name in solved)
        success, total, answers = means
        ratio = f"{moves / par:.2f}" if par else "–"
        yield player, str(number), f"{success:.0%}", f"{total:.2f}", f"{answers:.1f}", ratio


_MEANS = "success", "return", "answers"
