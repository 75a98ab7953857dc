"""`gv-engine play`: the start screen, or a scenario in a window or a terminal."""

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
    natural,
    say,
    scenario_options,
)
from gv_engine.cli.replay import watch
from gv_engine.rollout import snapshots
from gv_engine.rollout.policy import load_policy, policies_by_agent
from gv_engine.rules.errors import Stopped, StoppedError
from gv_engine.scenario.map import signed
from gv_engine.scenario.plugin import hooks_of
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.autoplay import Autoplayer, Opponent, make_autoplayer
from gv_engine.session.catalogue import load_playable
from gv_engine.session.episode import Playable
from gv_engine.session.rollout_games import is_rollout
from gv_engine.session.session import Session
from gv_engine.session.timeline import EpisodeSummary
from gv_engine.session.watchdog import PATIENCE, StuckRule, Watchdog

_FIRST = "keydoor-9x9"
_NAP = 0.01  # s between two looks at what an agent has found out
_PARTNERS = re.compile("[^/]+=").match
"""Whether a policy is one for agents that it names."""
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
    """Describe the command."""
    parser = add_command(commands, run, "play", "Play in a window", _EXAMPLES)
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml; or the folder "
        "of a rollout, to watch (default: that of --from, else choose from all)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=natural,
        help="of the first level, each further one has the next (default: by chance)",
    )
    parser.add_argument(
        "--from",
        dest="snapshot",
        metavar="FILE",
        help="begin with a world that gv_engine.snapshots.save has written",
    )
    parser.add_argument(
        "--row", metavar="N", type=natural, help="which world of FILE (default: 0, the first)"
    )
    add_policy(parser, default=None, more="; solver: a shortest way")
    parser.add_argument(
        "--race",
        metavar="P",
        help="play beside somebody else, step by step: a policy, as for --policy, or the file of a "
        "replay of the same seed",
    )
    parser.add_argument(
        "--terminal", action="store_true", help="in this terminal, over ssh for instance"
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Open the window; when it is closed, say how it went."""
    if options.terminal:
        return _in_terminal(options)
    if options.scenario and is_rollout(Path(options.scenario)):
        return watch(Path(options.scenario), options)
    # what is wrong with it is said before a window opens, which then asks about endless rules
    acts = options.policy or options.race
    asked = options.scenario or options.snapshot or acts or options.row is not None
    with _named():
        make = _read(options) if asked else None
    game: Session | None = None
    actor: Autoplayer | None = None
    rival: Opponent | None = None
    with suppress(Stopped, StoppedError), Watchdog(PATIENCE, lambda runaway: True):
        game = make and make()
        actor = make_autoplayer(game, named) if game and (named := _of_all(options)) else None
        rival = Opponent.load(options.race, game) if game and options.race else None
    # here, so that no other command imports pygame
    from gv_engine.ui.screens.start import StartScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    def first(app: App) -> None:
        app.push(StartScreen(app))
        if make is None:
            return
        if actor is not None and game is not None:
            app.let_act(game, actor)
        elif rival is not None:
            app.race(rival)
        else:
            app.begin(make() if game is None else game)

    app = App.load(**consent(options))
    try:
        app.run(first)
    except NoDisplay as error:
        complain(error)
        return 1
    _say(app.told)
    return 0


def _in_terminal(options: argparse.Namespace) -> int:
    asked = options.scenario or options.snapshot or options.row is not None
    games = [begin(options)] if asked else []

    def chosen(source: str) -> Session:
        games.append(Session(load_playable(source, **consent(options)), options.seed))
        return games[-1]

    # here, as rich takes a tenth of a second
    from gv_engine.ui.input.bindings import Bindings
    from gv_engine.ui.settings import Settings
    from gv_engine.ui.terminal.play import play
    from gv_engine.ui.terminal.tty import NoTerminal

    settings, wrong = Settings.load()
    bindings, broken = Bindings.load()
    for trouble in filter(None, (wrong, broken)):
        complain(trouble)
    try:
        play(games[0] if games else None, settings, bindings, chosen)
    except NoTerminal as error:
        complain(error)
        return 1
    finally:
        _say(games)
    return 0


def begin(options: argparse.Namespace) -> Session:
    """The game that was asked for, at its beginning; played to its end if a policy was asked for. A
    rule that takes its time to begin it is named.

    Raises:
        UsageError: FILE has no such row, or there are options that do not go together.
    """
    with _named():
        game = _read(options)()
    named = _of_all(options)
    return _acted(game, named) if named else game


def _of_all(options: argparse.Namespace) -> str:
    """The policy that acts in the whole game; "" if there is none, or only for some agents."""
    return "" if options.policy is None or _PARTNERS(options.policy) else str(options.policy)


def _named() -> Watchdog:
    """Names a rule that takes its time, and lets it."""
    named: list[StuckRule] = []

    def name(runaway: StuckRule) -> bool:
        if not named:
            complain(f"{runaway} has been running for {runaway.seconds:.0f} s. Ctrl-C: stop it")
        named.append(runaway)
        return False

    return Watchdog(PATIENCE, name)


def _read(options: argparse.Namespace) -> Callable[[], Session]:
    """The function that begins the play, once its files are read."""
    if options.snapshot is None and options.row is not None:
        raise UsageError(f"--row {options.row} is a world of a file; give it by --from FILE")
    if options.snapshot is not None and options.policy:
        raise UsageError(
            f"--policy {options.policy} plays a level from its beginning: leave --from"
        )
    if options.snapshot is None:
        named = load_playable(options.scenario or _FIRST, **scenario_options(options))
        if options.policy and _PARTNERS(options.policy):
            return partial(_partnered, named, options.policy, options.seed)
        return partial(Session, named, options.seed)
    if options.seed is not None:
        raise UsageError(
            f"--seed {options.seed}: the world of --from is drawn already; leave it out"
        )
    named = options.scenario and Scenario.load(options.scenario, **scenario_options(options))
    scenario, rows = snapshots.load(options.snapshot, named or None, **consent(options))
    row = options.row or 0
    if row >= len(rows):
        raise UsageError(
            f"--row {row}: {options.snapshot} has {len(rows)} worlds, numbered from 0 on"
        )
    return partial(_restored, scenario, rows[row : row + 1].reshape(()))


def _acted(game: Session, named: str) -> Session:
    """The game, at its beginning, after somebody has played it to its end.

    Raises:
        UsageError: the scenario's episodes may go on for ever.
        PolicyError: there is no such policy.
    """
    try:
        hooks_of(game.scenario).limited(game.scenario, None)
    except ValueError as error:
        raise UsageError(f"{error}; give it one") from None
    rival = Opponent(named, game, make_autoplayer(game, named))
    while not rival.is_over:
        if not rival.go_to(game.length + 1):
            time.sleep(_NAP)
    game.seek(0)
    return game


def _partnered(scenario: Playable, named: str, seed: int | None) -> Session:
    """A game in which policies act for some agents, and players for the others."""
    game = Session(scenario, seed)
    for name, policy in policies_by_agent(named, scenario.sharing).items():
        game.assign_policy(name, load_policy(policy, 1, len(game.actions), scenario=scenario))
    return game


def _restored(scenario: Scenario, row: NDArray[Any]) -> Session:
    game = Session(scenario)
    game.restore(row)
    return game


def _say(games: Iterable[Session]) -> None:
    for game in games:
        for title, titled in groupby(game.titled_summaries, key=itemgetter(0)):
            say(f"{title}: {'; '.join(told(played) for _, played in titled)}")


def told(played: EpisodeSummary) -> str:
    """One episode in words."""
    steps = "1 step" if played.steps == 1 else f"{played.steps} steps"
    ending = played.ending.rstrip("!.") or "left"
    ending = ending[0].lower() + ending[1:]
    return f"seed {played.seed}, {ending}, return {signed(played.total)} in {steps}"
