"""Options of commands that draw, and the drawing itself."""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gv_engine.rules.errors import TrustError, nearest, printable, shortened
from gv_engine.rules.errors import complain as complain
from gv_engine.scenario.fields import value_of
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.scenario.trust import Consent, is_dotted
from gv_engine.session.episode import Playable
from gv_engine.session.video_writer import FORMATS

# ---- arguments -----------------------------------------------------------------------------------

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = object


INTERRUPTED = 130
"""Exit code after Ctrl-C."""
TERMINATED = 143
"""Exit code after SIGTERM."""


class UsageError(Exception):
    """The command cannot do what was asked for; the message says why."""


def add_command(commands: Commands, run: Any, name: str, text: str, examples: str) -> Any:
    """A parser for one command.

    Args:
        commands: what `ArgumentParser.add_subparsers` returned.
        run: takes the options and returns an exit code.
        name: of the command.
        text: one sentence, without a full stop, for the list of commands.
        examples: lines that can be typed as they are.
    """
    parser = commands.add_parser(
        name,
        help=text[0].lower() + text[1:],
        description=f"{text}.",
        epilog="examples:\n" + "".join(f"  {line}\n" for line in examples.splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_scenario(parser: Any, default: str | None = None) -> None:
    """The argument SCENARIO."""
    says = "a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml"
    if default is None:
        parser.add_argument("scenario", metavar="SCENARIO", help=says)
    else:
        parser.add_argument(
            "scenario",
            metavar="SCENARIO",
            nargs="?",
            default=default,
            help=f"{says} (default: {default})",
        )
    add_consent(parser)


def add_consent(parser: Any) -> None:
    """The options that say which Python scenarios may run."""
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=_setting,
        action="append",
        default=[],
        help="the value of a parameter of the scenario, as --set size=9; may be repeated",
    )
    group = parser.add_argument_group(
        "Python", "A scenario that you name runs the Python inside its folder, and no other."
    )
    group.add_argument(
        "--trust",
        action="store_true",
        help="so do scenarios that a file only refers to: a snapshot, a replay, a mixture",
    )
    group.add_argument(
        "--allow-module",
        dest="allow_modules",
        metavar="NAME",
        type=_module,
        action="append",
        default=[],
        help="let scenarios name this module, and what is below it; may be repeated",
    )
    group.add_argument(
        "--no-code", dest="code", action="store_false", help="run no Python, load YAML alone"
    )


def _module(text: str) -> str:
    if not is_dotted(text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected the name of a module, as caves.rules"
        )
    return text


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()) or name in Consent.__annotations__:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected NAME=VALUE, as size=9")
    try:
        return name, value_of(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error}") from None


def scenario_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options about a scenario, as `load_scenario` takes them."""
    settings = dict(options.settings)
    return {**consent(options), **settings}


def consent(options: argparse.Namespace) -> Consent:
    """The options about Python."""
    return Consent(trust=options.trust, allow_modules=options.allow_modules, code=options.code)


def scenario_words(known: Mapping[str, Any]) -> list[str]:
    """The words that name a scenario of a file in a command, as `reference_to` tells of it."""
    words = [known["source"]]
    for name, value in known["settings"].items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    limit = known["changes"].get("max_steps")
    return [*words, "--max-steps", str(limit)] if limit else words


def consent_words(options: argparse.Namespace, load: Callable[..., object]) -> list[str]:
    """The options about Python that were given, as words; --trust only where it is needed.

    Args:
        load: a scenario, with such a consent.
    """
    words = [word for name in options.allow_modules for word in ("--allow-module", name)]
    words += [] if options.code else ["--no-code"]
    try:
        with warnings.catch_warnings(action="ignore"):  # of its files, which are no matter here
            load(allow_modules=options.allow_modules, code=options.code)
    except TrustError:
        words.append("--trust")
    return words


def add_policy(parser: Any, default: str | None = "random", more: str = "") -> None:
    """The option --policy, which may take more; None for a default is the player."""
    parser.add_argument(
        "--policy",
        metavar="P",
        default=default,
        help="random: all actions alike; valid: those alike that would do something now; the "
        "folder of a run of `gv-engine train`, with :greedy behind it for the likeliest action; or "
        f"./file.py:function{more}; of several agents NAME=P,TEAM=P (default: {default or 'you'})",
    )


def add_levels(parser: Any, says: str) -> None:
    """The option --levels."""
    parser.add_argument(
        "--levels",
        metavar="SET",
        help=f"{says}: train, test, larger, the seeds 0:100, or a file of `gv-engine splits`",
    )


def add_ray(parser: Any, says: str) -> None:
    """The option --ray."""
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="local",
        help=f"{says} on the machines of a Ray cluster, auto for the one that this machine belongs "
        "to; without ADDRESS on the cores of this machine (needs the extra ray)",
    )


def seeds(text: str) -> range:
    """The seeds of `0:3`."""
    ends = text.split(":")
    if len(ends) == 2 and all(each.isdecimal() for each in ends):
        found = range(*map(int, ends))
        if found and found.stop <= 2**31:
            return found
    found_text = shortened(text, 40)
    raise argparse.ArgumentTypeError(f"found {found_text!r}, expected seeds from 0 on, as 0:3")


def natural(text: str) -> int:
    """A whole number from 0 on."""
    return _at_least(0, text)


def positive(text: str) -> int:
    """A whole number from 1 on."""
    return _at_least(1, text)


def duration(text: str) -> float:
    """A number of seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected seconds, more than 0")
    return seconds


def share(text: str) -> float:
    """A share of episodes."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a share, as 0.98")
    return found


def seed_of_many(text: str) -> int:
    """The seed of the first of many episodes, whose seeds are kept as int64."""
    return at_most(2**62, natural(text))


def at_most(most: int, number: int) -> int:
    """A number that has been read, unless it is too large."""
    if number > most:
        found = shortened(str(number), 40)
        raise argparse.ArgumentTypeError(f"found {found}, allowed are at most {most}")
    return number


def _at_least(least: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        found = shortened(text, 40)
        raise argparse.ArgumentTypeError(
            f"found {found!r}, expected a whole number from {least} on"
        )
    return number


def say(message: str) -> None:
    """Say what came of it."""
    print(printable(message))


# ---- pictures ------------------------------------------------------------------------------------


def add_pictures(parser: Any) -> None:
    """The options --view, --fps and --cell."""
    parser.add_argument(
        "--view",
        metavar="V",
        help=f"{_views()}; or window: what a player sees (default: the first of its domain)",
    )
    parser.add_argument(
        "--fps", metavar="F", type=positive, default=8, help="steps a second (default: 8)"
    )
    parser.add_argument(
        "--cell", metavar="PX", type=_cell, default=48, help="a cell's side (default: 48)"
    )


def _views() -> str:
    """The views of each domain."""
    return "; ".join(f"{domain.title}: {', '.join(domain.views)}" for domain in DOMAINS.values())


def _cell(text: str) -> int:
    """Pixels of a cell's side, so few that a picture of a player's view goes into memory."""
    return at_most(256, positive(text))


def check_name(out: Path) -> None:
    """Make sure that pictures can go into a file of this name.

    Raises:
        UsageError: there is no such kind of file.
    """
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"{out}: the name must end with {', '.join(FORMATS)}")


def draw(frames: Iterable[Any], scenario: Playable, out: Path, options: argparse.Namespace) -> int:
    """Draw frames into a file.

    Returns:
        How many there were.

    Raises:
        UsageError: there is no such view.
        OSError: the file cannot be written.
    """
    # here, so that no other command imports pygame
    from gv_engine.ui.drawing import recording

    views = recording.find_views(scenario)
    view = options.view or next(iter(views))
    if view not in views:
        raise UsageError(f"--view {view}: {nearest(view, views)}")
    with recording.Recorder(out, scenario, view, options.cell, options.fps) as recorder:
        for frame in frames:
            recorder.add(frame)
    return recorder.shown
