"""Play in a window.

examples:
  gv-engine play
  gv-engine play empty-8x8 --seed 7
  gv-engine play caves/first.yaml
  gv-engine play --from worlds.npz --row 5
  gv-engine play keydoor-9x9 --policy valid --seed 3
  gv-engine play keydoor-9x9 --policy solver
  gv-engine play keydoor-9x9 --race solver
  gv-engine play hold-plates --policy bob=random
  gv-engine play keydoor-9x9 --terminal
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gv_engine.cli import options as cli
from gv_engine.cli.replay import watch_file
from gv_engine.envs.rollout import snapshots
from gv_engine.envs.rollout.policy import load_policy, policies_by_agent
from gv_engine.play.session.autoplay import Autoplayer, Opponent, make_autoplayer, play_steps
from gv_engine.play.session.catalogue import Entry, load_playable
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.rollout_games import is_rollout
from gv_engine.play.session.session import Session
from gv_engine.play.session.timeline import EpisodeSummary
from gv_engine.play.session.watchdog import PATIENCE, StuckRule, Watchdog
from gv_engine.rules.errors import Stopped, StoppedError, format_count
from gv_engine.scenario.readers.map import format_reward
from gv_engine.scenario.scenario import Scenario

_DEFAULT = "keydoor-9x9"
_NAMES_AGENTS = re.compile("[^/]+=")
"""Beginning of a policy argument that names agents, such as `bob=random`."""


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `play` to its parser."""
    scenario_text = (
        f"{cli.SCENARIO_HELP}; or the folder of a rollout to watch (default: the scenario of "
        "--from, or the start screen)"
    )
    parser.add_argument(
        "scenario", metavar="SCENARIO", type=cli.parse_text, nargs="?", help=scenario_text
    )
    seed_text = "seed of the first level, which counts up for later levels (default: random)"
    parser.add_option("--seed N", cli.parse_natural, seed_text)
    from_text = "start from a world in a file written by gv_engine.snapshots.save"
    parser.add_option("--from FILE", cli.parse_text, from_text, dest="snapshot")
    parser.add_option("--row N", cli.parse_natural, "number of the world in FILE (default: 0)")
    parser.add_policy(default=None, extra_help="solver (a shortest solution), ")
    race_text = (
        "race against an opponent: a policy, as for --policy, or a replay file with the same seed"
    )
    parser.add_option("--race P", cli.parse_text, race_text)
    parser.add_flag("--terminal", "play in this terminal instead of a window")
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `play`: let the user play in a window or the terminal, print a summary of the
    games, and return the exit code."""
    if options.terminal:
        return _play_in_terminal(options)
    if options.scenario and is_rollout(Path(options.scenario)):
        return watch_file(Path(options.scenario), options)
    # errors are printed before the window opens; the window asks whether to stop slow rules
    has_source = _has_source(options) or options.policy or options.race
    with _make_slow_rule_watchdog():
        make_session = _make_session_factory(options) if has_source else None
    pack = _find_pack(options)
    session: Session | None = None
    autoplayer: Autoplayer | None = None
    opponent: Opponent | None = None
    with suppress(Stopped, StoppedError), Watchdog(PATIENCE, lambda rule: True):
        session = make_session and make_session()
        if session and (policy := _get_policy_of_all_agents(options)):
            autoplayer = make_autoplayer(session, policy)
        if session and options.race:
            opponent = Opponent.load(options.race, session)
    # imported here: other commands do not need pygame
    from gv_engine.play.ui.screens.packs import make_card
    from gv_engine.play.ui.screens.start import StartScreen
    from gv_engine.play.ui.window.app import App

    def open_first_screens(app: App) -> None:
        app.push(StartScreen(app))
        if pack:
            make_card(pack).open(app)
        elif autoplayer and session:
            app.watch_agent(session, autoplayer)
        elif opponent:
            app.start_race(opponent)
        elif make_session:
            app.play_session(session or make_session())

    app = App.load(**cli.consent(options))
    app.run(open_first_screens)
    _print_summaries(app.sessions)
    return 0


def _play_in_terminal(options: argparse.Namespace) -> int:
    """Let the user play in the terminal, print a summary of the games at the end, and return the
    exit code."""
    if _find_pack(options):
        options.scenario += "#1"
    sessions = [begin_session(options)] if _has_source(options) else []

    def begin_scenario(source: str) -> Session:
        sessions.append(Session(load_playable(source, **cli.consent(options)), options.seed))
        return sessions[-1]

    # imported here: rich takes a tenth of a second to import
    from gv_engine.play.ui.input.bindings import Bindings
    from gv_engine.play.ui.settings import Settings
    from gv_engine.play.ui.terminal.play import play

    settings, settings_error = Settings.load()
    bindings, keys_error = Bindings.load()
    for message in filter(None, (settings_error, keys_error)):
        cli.complain(message)
    try:
        play(sessions[0] if sessions else None, settings, bindings, begin_scenario)
    finally:
        _print_summaries(sessions)
    return 0


def _find_pack(options: argparse.Namespace) -> Entry | None:
    """Return the pack of levels from which the player chooses a level first. Return None to start
    at once: the options name a single level, or set a seed, policy, race or parameter."""
    starts_at_once = options.seed is not None or options.policy or options.race or options.settings
    if starts_at_once or not options.scenario or options.snapshot:
        return None
    entry = Entry(options.scenario, "")
    return entry if entry.levels else None


def _has_source(options: argparse.Namespace) -> bool:
    return bool(options.scenario or options.snapshot or options.row is not None)


def begin_session(options: argparse.Namespace) -> Session:
    """Return a session with the scenario or saved world that the options name. If policies act for
    all agents, the episode is played to its end first, and the session goes back to its beginning,
    to be watched.

    Raises:
        UsageError: options do not go together, or the file has no such row.
    """
    with _make_slow_rule_watchdog():
        session = _make_session_factory(options)()
    policy = _get_policy_of_all_agents(options)
    return _play_to_end(session, policy) if policy else session


def _get_policy_of_all_agents(options: argparse.Namespace) -> str:
    policy: str = options.policy or ""
    return "" if _NAMES_AGENTS.match(policy) else policy


def _make_slow_rule_watchdog() -> Watchdog:
    """Return a watchdog that prints a message when a rule runs for more than two seconds, but only
    once. It never stops a rule."""
    slow_rules: list[StuckRule] = []

    def report_first_rule(rule: StuckRule) -> bool:
        if not slow_rules:
            cli.complain(
                f"{rule} has been running for {rule.seconds:.0f} s; press Ctrl-C to stop it"
            )
        slow_rules.append(rule)
        return False

    return Watchdog(PATIENCE, report_first_rule)


def _make_session_factory(options: argparse.Namespace) -> Callable[[], Session]:
    """Load the scenario or saved world that the options name. Return a function that begins a new
    session with it."""
    settings = cli.scenario_options(options)
    if options.snapshot is None:
        if options.row is not None:
            raise cli.UsageError(f"--row {options.row} selects a world in a file; add --from FILE")
        playable = load_playable(options.scenario or _DEFAULT, **settings)
        if options.policy and _NAMES_AGENTS.match(options.policy):
            return partial(_begin_with_partners, playable, options.policy, options.seed)
        return partial(Session, playable, options.seed)
    if options.policy:
        raise cli.UsageError(
            f"--policy {options.policy} plays a level from its beginning; leave out --from"
        )
    if options.seed is not None:
        raise cli.UsageError(
            f"--seed {options.seed}: the world of --from already has a seed; leave out --seed"
        )
    if is_rollout(Path(options.snapshot)):
        raise cli.UsageError(
            f"--from takes a file of snapshots, and {options.snapshot} is a rollout; watch it with "
            f"`gv-engine replay {options.snapshot}`"
        )
    given = Scenario.load(options.scenario, **settings) if options.scenario else None
    scenario, rows = snapshots.load(options.snapshot, given, **cli.consent(options))
    row = options.row or 0
    if row >= len(rows):
        raise cli.UsageError(
            f"--row {row}: {options.snapshot} has {len(rows)} worlds, numbered from 0"
        )
    return partial(_begin_from_row, scenario, rows[row : row + 1].reshape(()))


def _play_to_end(session: Session, policy: str) -> Session:
    """Let `policy` play the session to its end, then go back to its beginning, to be watched.
    Return the session.

    Raises:
        UsageError: the scenario has no step limit.
        PolicyError: the policy does not exist.
    """
    cli.require_step_limit(session.scenario, None, "set max_steps")
    play_steps(session, policy)
    session.seek(0)
    return session


def _begin_with_partners(scenario: Playable, policies: str, seed: int | None) -> Session:
    """Return a session in which people play together with policies. `policies`, such as
    `ann=random`, says for which agents policies act; people play all others. The level is random if
    `seed` is None."""
    session = Session(scenario, seed)
    for name, policy in policies_by_agent(policies, scenario.agent_group).items():
        session.assign_policy(name, load_policy(policy, 1, len(session.actions), scenario=scenario))
    return session


def _begin_from_row(scenario: Scenario, row: NDArray[Any]) -> Session:
    session = Session(scenario)
    session.restore(row)
    return session


def _print_summaries(sessions: Iterable[Session]) -> None:
    for session in sessions:
        for title, pairs in groupby(session.titled_summaries, key=itemgetter(0)):
            cli.say(f"{title}: {'; '.join(summarize_episode(summary) for _, summary in pairs)}")


def summarize_episode(episode: EpisodeSummary) -> str:
    """Return a short text about an episode: its seed, how it ended, return, and number of steps."""
    steps = format_count(episode.steps, "step")
    ending = episode.ending.rstrip("!.") or "left"
    ending = ending[0].lower() + ending[1:]
    return f"seed {episode.seed}, {ending}, return {format_reward(episode.total)} in {steps}"
