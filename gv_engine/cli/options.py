"""Options and output that commands share: checks of values, tables, progress bars, Ctrl-C."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from gv_engine.rules.errors import TrustError, describe_allowed, escape_unprintable, shorten
from gv_engine.rules.errors import complain as complain
from gv_engine.scenario.fields import parse_value
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.scenario.trust import Consent, is_module_name
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
    """Wrong use of a command; the message says why."""


def add_command(commands: Commands, run: Any, name: str, text: str, examples: str) -> Any:
    """Add and return the parser of a command.

    Args:
        commands: result of `ArgumentParser.add_subparsers`.
        run: function from the options to an exit code.
        name: name of the command.
        text: one sentence without a full stop, for the list of commands.
        examples: command lines that work as they are.
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
    """Add the argument SCENARIO, with a default or required, and the options about Python."""
    text = "a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml"
    if default is None:
        parser.add_argument("scenario", metavar="SCENARIO", help=text)
    else:
        parser.add_argument(
            "scenario",
            metavar="SCENARIO",
            nargs="?",
            default=default,
            help=f"{text} (default: {default})",
        )
    add_consent(parser)


def add_consent(parser: Any) -> None:
    """Add --set, and the options that allow scenarios to run Python."""
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=_setting,
        action="append",
        default=[],
        help="set a parameter of the scenario, as --set size=9; may be repeated",
    )
    group = parser.add_argument_group(
        "Python",
        "A scenario that you name may run the Python files inside its folder, and no others.",
    )
    group.add_argument(
        "--trust",
        action="store_true",
        help="allow the same for scenarios that a snapshot, a replay or a mixture refers to",
    )
    group.add_argument(
        "--allow-module",
        dest="allow_modules",
        metavar="NAME",
        type=_module_name,
        action="append",
        default=[],
        help="allow scenarios to use this module and its submodules; may be repeated",
    )
    group.add_argument(
        "--no-code", dest="code", action="store_false", help="run no Python, load only YAML"
    )


def _module_name(text: str) -> str:
    """Return the dotted name of a module, or raise an argparse error."""
    if not is_module_name(text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected the name of a module, as caves.rules"
        )
    return text


def _setting(text: str) -> tuple[str, Any]:
    """Return (name, value) of `NAME=VALUE`, or raise an argparse error."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()) or name in Consent.__annotations__:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected NAME=VALUE, as size=9")
    try:
        return name, parse_value(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error}") from None


def scenario_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `load_scenario` that the options set."""
    settings = dict(options.settings)
    return {**consent(options), **settings}


def consent(options: argparse.Namespace) -> Consent:
    """Return which Python scenarios may run, by the options."""
    return Consent(trust=options.trust, allow_modules=options.allow_modules, code=options.code)


def scenario_words(reference: Mapping[str, Any]) -> list[str]:
    """Return the command-line words that name a scenario, from the result of `make_reference`."""
    words = [reference["source"]]
    for name, value in reference["settings"].items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    limit = reference["changes"].get("max_steps")
    return [*words, "--max-steps", str(limit)] if limit else words


def consent_words(options: argparse.Namespace, load: Callable[..., object]) -> list[str]:
    """Return the options about Python as command-line words, with --trust only if needed.

    Args:
        options: options of the command.
        load: function that loads the scenario with the keyword arguments of `Consent`.
    """
    words = [word for name in options.allow_modules for word in ("--allow-module", name)]
    words += [] if options.code else ["--no-code"]
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # warnings about its files do not matter here
            load(allow_modules=options.allow_modules, code=options.code)
    except TrustError:
        words.append("--trust")
    return words


def add_policy(parser: Any, default: str | None = "random", more: str = "") -> None:
    """Add the option --policy; `more` is appended to the help, and a default of None stands for the
    player."""
    parser.add_argument(
        "--policy",
        metavar="P",
        type=parse_text,
        default=default,
        help="random: uniform over all actions; valid: uniform over actions that have an effect; "
        "the folder of a run of `gv-engine train`, with :greedy for its most likely action; or "
        f"./file.py:function{more}; for several agents NAME=P,TEAM=P (default: {default or 'you'})",
    )


def add_levels(parser: Any, text: str) -> None:
    """Add the option --levels."""
    parser.add_argument(
        "--levels",
        metavar="SET",
        help=f"{text}: train, test, larger, the seeds 0:100, or a file of `gv-engine splits`",
    )


def add_ray(parser: Any, text: str) -> None:
    """Add the option --ray."""
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="local",
        help=f"{text} on the machines of a Ray cluster; auto: the cluster of this machine; without "
        "ADDRESS: the cores of this machine (needs the extra ray)",
    )


def parse_seeds(text: str) -> range:
    """Return the range of `0:3`, or raise an argparse error."""
    ends = text.split(":")
    if len(ends) == 2 and all(end.isdecimal() for end in ends):
        seed_range = range(*map(int, ends))
        if seed_range and seed_range.stop <= 2**31:
            return seed_range
    found_text = shorten(text, 40)
    raise argparse.ArgumentTypeError(f"found {found_text!r}, expected seeds from 0 on, as 0:3")


def parse_text(text: str) -> str:
    """Return a text of the command line that may not be empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("found an empty text; give a name, or leave it out")
    return text


def parse_natural(text: str) -> int:
    """Return a whole number from 0, or raise an argparse error."""
    return _parse_at_least(0, text)


def parse_positive(text: str) -> int:
    """Return a whole number from 1, or raise an argparse error."""
    return _parse_at_least(1, text)


def parse_seconds(text: str) -> float:
    """Return a number of seconds greater than 0, or raise an argparse error."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected seconds, more than 0")
    return seconds


def parse_share(text: str) -> float:
    """Return a share greater than 0 and at most 1, or raise an argparse error."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a share, as 0.98")
    return value


def parse_episode_seed(text: str) -> int:
    """Return the seed of the first of many episodes; all seeds must fit into int64."""
    return check_at_most(2**62, parse_natural(text))


def check_at_most(most: int, number: int) -> int:
    """Return a number, or raise an argparse error if it is greater than `most`."""
    if number > most:
        text = shorten(str(number), 40)
        raise argparse.ArgumentTypeError(f"found {text}, allowed are at most {most}")
    return number


def _parse_at_least(least: int, text: str) -> int:
    """Return the whole number of a text, or raise an argparse error if it is less than `least`."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        shortened_text = shorten(text, 40)
        raise argparse.ArgumentTypeError(
            f"found {shortened_text!r}, expected a whole number from {least} on"
        )
    return number


def say(message: str) -> None:
    """Print a message, with control characters escaped."""
    print(escape_unprintable(message))


# ---- pictures ------------------------------------------------------------------------------------


def add_pictures(parser: Any) -> None:
    """Add the options --view, --fps and --cell."""
    parser.add_argument(
        "--view",
        metavar="V",
        help=f"{_describe_views()}; or window: a player's view (default: the domain's first view)",
    )
    parser.add_argument(
        "--fps", metavar="F", type=parse_positive, default=8, help="steps per second (default: 8)"
    )
    parser.add_argument(
        "--cell",
        metavar="PX",
        type=_cell_size,
        default=48,
        help="side of a cell in pixels (default: 48)",
    )


def _describe_views() -> str:
    """Return a text with the views of each domain."""
    return "; ".join(f"{domain.title}: {', '.join(domain.views)}" for domain in DOMAINS.values())


def _cell_size(text: str) -> int:
    """Return the side of a cell in pixels, at most 256 so that pictures fit into memory."""
    return check_at_most(256, parse_positive(text))


def check_picture_name(out: Path) -> None:
    """Raise an error if pictures cannot be written to a file of this name.

    Raises:
        UsageError: the suffix is unknown.
    """
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"{out}: the name must end with {', '.join(FORMATS)}")


def draw_frames(
    frames: Iterable[Any], scenario: Playable, out: Path, options: argparse.Namespace
) -> int:
    """Draw frames into a picture or video file, and return the number of frames.

    Args:
        frames: frames to draw.
        scenario: scenario of the frames.
        out: file to write.
        options: the options of `add_pictures`.

    Raises:
        UsageError: the view is unknown.
        OSError: the file cannot be written.
    """
    # imported here: other commands do not need pygame
    from gv_engine.ui.drawing import recording

    views = recording.find_views(scenario)
    view = options.view or next(iter(views))
    if view not in views:
        raise UsageError(f"--view {view}: {describe_allowed(view, views)}")
    with recording.Recorder(out, scenario, view, options.cell, options.fps) as recorder:
        for frame in frames:
            recorder.add(frame)
    return recorder.shown


# ---- progress ------------------------------------------------------------------------------------


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Show a progress bar in the block, if stderr is a terminal.

    Args:
        what: label of the bar.
        total: number of steps.

    Yields:
        Function (number of steps = 1, text beside the bar = "") that advances the bar.
    """
    if not sys.stderr.isatty():
        yield lambda number=1, says="": None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    label_column = TextColumn("{task.description}", markup=False)
    text_column = TextColumn("{task.fields[says]}", markup=False)
    columns = label_column, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), text_column
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress_bar:
        task = progress_bar.add_task(escape_unprintable(what), total=total, says="")
        yield lambda number=1, says="": progress_bar.update(
            task, advance=number, says=escape_unprintable(says)
        )


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code after an interrupt: 130 for Ctrl-C, 143 for SIGTERM."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


@contextmanager
def handling_sigterm() -> Iterator[None]:
    """In the block, SIGTERM raises `Terminated`, which is handled like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return

    signals: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise Terminated

    old_handler = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if signals:  # Ray turns it into a KeyboardInterrupt
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, old_handler)


@contextmanager
def delaying_signals() -> Iterator[list[int]]:
    """Delay Ctrl-C, and SIGTERM if it is handled, until the end of the block; yield the list of
    signals that have arrived.

    What is yielded has the numbers of those that have come.
    """
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals  # signals go to the main thread
        return
    old_handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    python_handlers = {
        number: handler for number, handler in old_handlers.items() if callable(handler)
    }
    for number in python_handlers:
        signal.signal(number, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        for number, handler in python_handlers.items():
            signal.signal(number, handler)
    for number, handler in python_handlers.items():
        if number in signals:
            handler(number, None)


# ---- tables --------------------------------------------------------------------------------------


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table; if the output is no terminal, print lines of values separated by tabs.

    Args:
        columns: titles of the columns; a title that ends with `>` aligns its column to the right.
        rows: one value for each column.
        title: title above the table.
    """
    titles = [escape_unprintable(column.removesuffix(">")) for column in columns]
    texts = [[escape_unprintable(str(value)) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [titles, *texts] if any(titles) else texts:
            print(*row, sep="\t")
        return
    # imported here: rich takes a tenth of a second to import
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # a `Text`, because names may contain rich's markup
    title_text = Text(escape_unprintable(title), "table.title") if title else None
    table = Table(title=title_text, title_justify="left", box=box.SIMPLE_HEAD)
    table.show_header = any(titles)
    for column, head in zip(columns, titles, strict=True):
        table.add_column(Text(head), justify="right" if column.endswith(">") else "left")
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)
