"""`gv-engine play`: play in a window or a terminal."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_consent,
    add_policy,
    complain,
    consent,
    parse_natural,
    parse_text,
    say,
    scenario_options,
)
from gv_engine.cli.replay import watch_file
from gv_engine.rollout import snapshots
from gv_engine.rollout.policy import load_policy, policies_by_agent
from gv_engine.rules.errors import Stopped, StoppedError
from gv_engine.scenario.map import format_reward
from gv_engine.scenario.plugin import get_plugin
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.autoplay import Autoplayer, Opponent, make_autoplayer
from gv_engine.session.catalogue import load_playable
from gv_engine.session.episode import Playable
from gv_engine.session.rollout_games import is_rollout
from gv_engine.session.session import Session
from gv_engine.session.timeline import EpisodeSummary
from gv_engine.session.watchdog import PATIENCE, StuckRule, Watchdog

_DEFAULT = "keydoor-9x9"
_POLL_SECONDS = 0.01  # s between checks whether an agent has chosen
_NAMES_AGENTS = re.compile("[^/]+=").match
"""Match of a policy argument that names agents, as `bob=random`."""
_EXAMPLES = """\
gv-engine play
gv-engine play empty-8x8 --seed 7
gv-engine play caves/first.yaml
gv-engine play --from worlds.npz --row 5
gv-engine play keydoor-9x9 --policy valid --seed 3
gv-engine play keydoor-9x9 --policy solver
gv-engine play keydoor-9x9 --race solver
gv-engine play hold-plates --policy bob=random
gv-engine play keydoor-9x9 --terminal"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(commands, run, "play", "Play in a window", _EXAMPLES)
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        type=parse_text,
        nargs="?",
        help="a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml; or the folder "
        "of a rollout to watch (default: the scenario of --from, else the start screen)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=parse_natural,
        help="seed of the first level; later levels have the following seeds (default: random)",
    )
    parser.add_argument(
        "--from",
        dest="snapshot",
        metavar="FILE",
        type=parse_text,
        help="begin with a world from a file of gv_engine.snapshots.save",
    )
    parser.add_argument(
        "--row", metavar="N", type=parse_natural, help="number of the world in FILE (default: 0)"
    )
    add_policy(parser, default=None, more="; solver: a shortest solution")
    parser.add_argument(
        "--race",
        metavar="P",
        help="race against an opponent: a policy as for --policy, or the file of a replay with the "
        "same seed",
    )
    parser.add_argument(
        "--terminal", action="store_true", help="play in this terminal instead of a window"
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Open the window or play in the terminal, and print a summary of the games at the end."""
    if options.terminal:
        return _play_in_terminal(options)
    if options.scenario and is_rollout(Path(options.scenario)):
        return watch_file(Path(options.scenario), options)
    # errors are printed before the window opens; the window asks whether to stop slow rules
    acts = options.policy or options.race
    has_source = options.scenario or options.snapshot or acts or options.row is not None
    with _naming_slow_rules():
        make = _session_factory(options) if has_source else None
    game: Session | None = None
    autoplayer: Autoplayer | None = None
    opponent: Opponent | None = None
    with suppress(Stopped, StoppedError), Watchdog(PATIENCE, lambda rule: True):
        game = make and make()
        autoplayer = (
            make_autoplayer(game, policy)
            if game and (policy := _policy_of_all_agents(options))
            else None
        )
        opponent = Opponent.load(options.race, game) if game and options.race else None
    # imported here: other commands do not need pygame
    from gv_engine.ui.screens.start import StartScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    def open_first_screens(app: App) -> None:
        app.push(StartScreen(app))
        if make is None:
            return
        if autoplayer is not None and game is not None:
            app.watch_agent(game, autoplayer)
        elif opponent is not None:
            app.start_race(opponent)
        else:
            app.play_session(make() if game is None else game)

    app = App.load(**consent(options))
    try:
        app.run(open_first_screens)
    except NoDisplay as error:
        complain(error)
        return 1
    _print_summaries(app.sessions)
    return 0


def _play_in_terminal(options: argparse.Namespace) -> int:
    """Play in the terminal, and print a summary at the end."""
    has_source = options.scenario or options.snapshot or options.row is not None
    sessions = [begin_session(options)] if has_source else []

    def begin_scenario(source: str) -> Session:
        sessions.append(Session(load_playable(source, **consent(options)), options.seed))
        return sessions[-1]

    # imported here: rich takes a tenth of a second to import
    from gv_engine.ui.input.bindings import Bindings
    from gv_engine.ui.settings import Settings
    from gv_engine.ui.terminal.play import play
    from gv_engine.ui.terminal.tty import NoTerminal

    settings, settings_error = Settings.load()
    bindings, keys_error = Bindings.load()
    for message in filter(None, (settings_error, keys_error)):
        complain(message)
    try:
        play(sessions[0] if sessions else None, settings, bindings, begin_scenario)
    except NoTerminal as error:
        complain(error)
        return 1
    finally:
        _print_summaries(sessions)
    return 0


def begin_session(options: argparse.Namespace) -> Session:
    """Return the session that the options ask for, played to its end if a policy acts for all
    agents.

    Raises:
        UsageError: options do not go together, or the file has no such row.
    """
    with _naming_slow_rules():
        session = _session_factory(options)()
    policy = _policy_of_all_agents(options)
    return _play_to_end(session, policy) if policy else session


def _policy_of_all_agents(options: argparse.Namespace) -> str:
    """Return the policy that acts for all agents; "" if there is none, or only for some agents."""
    return "" if options.policy is None or _NAMES_AGENTS(options.policy) else str(options.policy)


def _naming_slow_rules() -> Watchdog:
    """Return a watchdog that prints the name of a slow rule and lets it run."""
    named_rules: list[StuckRule] = []

    def print_name(rule: StuckRule) -> bool:
        if not named_rules:
            complain(f"{rule} has been running for {rule.seconds:.0f} s. Ctrl-C: stop it")
        named_rules.append(rule)
        return False

    return Watchdog(PATIENCE, print_name)


def _session_factory(options: argparse.Namespace) -> Callable[[], Session]:
    """Load the files of the options; return a function that begins the session."""
    if options.snapshot is None and options.row is not None:
        raise UsageError(f"--row {options.row} selects a world of a file: add --from FILE")
    if options.snapshot is not None and options.policy:
        raise UsageError(
            f"--policy {options.policy} plays a level from its beginning: leave out --from"
        )
    if options.snapshot is None:
        scenario_or_name = load_playable(options.scenario or _DEFAULT, **scenario_options(options))
        if options.policy and _NAMES_AGENTS(options.policy):
            return partial(_begin_with_partners, scenario_or_name, options.policy, options.seed)
        return partial(Session, scenario_or_name, options.seed)
    if options.seed is not None:
        raise UsageError(
            f"--seed {options.seed}: the world of --from has its seed already; leave --seed out"
        )
    scenario_or_name = options.scenario and Scenario.load(
        options.scenario, **scenario_options(options)
    )
    scenario, rows = snapshots.load(options.snapshot, scenario_or_name or None, **consent(options))
    row = options.row or 0
    if row >= len(rows):
        raise UsageError(f"--row {row}: {options.snapshot} has {len(rows)} worlds, numbered from 0")
    return partial(_begin_from_row, scenario, rows[row : row + 1].reshape(()))


def _play_to_end(session: Session, policy: str) -> Session:
    """Play a session to its end by a policy, and return it at its first step.

    Raises:
        UsageError: the scenario has no step limit.
        PolicyError: the policy does not exist.
    """
    try:
        get_plugin(session.scenario).with_step_limit(session.scenario, None)
    except ValueError as error:
        raise UsageError(f"{error}; set max_steps") from None
    opponent = Opponent(policy, session, make_autoplayer(session, policy))
    while not opponent.is_over:
        if not opponent.go_to(session.length + 1):
            time.sleep(_POLL_SECONDS)
    session.seek(0)
    return session


def _begin_with_partners(scenario: Playable, policies: str, seed: int | None) -> Session:
    """Return a session in which policies act for some agents, and players for the others."""
    game = Session(scenario, seed)
    for name, policy in policies_by_agent(policies, scenario.sharing).items():
        game.assign_policy(name, load_policy(policy, 1, len(game.actions), scenario=scenario))
    return game


def _begin_from_row(scenario: Scenario, row: NDArray[Any]) -> Session:
    """Return a session that begins with a row of a snapshot."""
    game = Session(scenario)
    game.restore(row)
    return game


def _print_summaries(games: Iterable[Session]) -> None:
    """Print a summary of each session."""
    for game in games:
        for title, titled in groupby(game.titled_summaries, key=itemgetter(0)):
            say(f"{title}: {'; '.join(summarize_episode(played) for _, played in titled)}")


def summarize_episode(played: EpisodeSummary) -> str:
    """Return a summary of an episode: seed, result, return and steps."""
    steps = "1 step" if played.steps == 1 else f"{played.steps} steps"
    ending = played.ending.rstrip("!.") or "left"
    ending = ending[0].lower() + ending[1:]
    return f"seed {played.seed}, {ending}, return {format_reward(played.total)} in {steps}"
