"""Options and output that commands share: checks of values, tables, progress bars, handling of
Ctrl-C."""

from __future__ import annotations

import argparse
import math
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn, TypeAlias

from gv_engine.cli.streams import flush_output
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.video_writer import FORMATS
from gv_engine.rules.errors import complain as complain
from gv_engine.rules.errors import (
    describe_allowed,
    escape_unprintable,
    shorten,
    suggest_similar,
)
from gv_engine.scenario.documents.trust import Consent, is_module_name
from gv_engine.scenario.domains import DOMAINS, AnyScenario, get_plugin
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.syntax.yaml_parser import parse_value

# ---- arguments -----------------------------------------------------------------------------------

_POWER = re.compile(r"\d{1,6}e\d{1,2}")
"""Whole number such as 1e6."""
_OPTION = re.compile(r"--?[^\W\d_][\w-]*")

Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"


INTERRUPTED = 130
"""Exit code after Ctrl-C."""
TERMINATED = 143
"""Exit code after SIGTERM."""


class UsageError(Exception):
    """The user gave a command wrong arguments. The message says what is wrong."""


SCENARIO_HELP = "a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml"


class CommandParser(argparse.ArgumentParser):
    """Argument parser of a command. Its methods add options that several commands share.

    An error is one line: the mistake, with the most similar name, and where to read more.
    """

    def error(self, message: str) -> NoReturn:
        """Print argparse's error `message` in plainer words, and exit with code 2."""
        message = message.removeprefix("argument ")
        name, _, problem = message.partition(": ")
        if message.startswith("the following arguments are required"):
            lines = (line.strip() for line in (self.epilog or "").splitlines())
            examples = [f", for example `{line}`" for line in lines if line.startswith(self.prog)]
            message = f"{problem} is missing{''.join(examples[:1])}"
        elif problem == "expected one argument":
            action = self._option_string_actions[name.split("/")[0]]
            message = f"{name} needs a value {action.metavar}: {action.help}"
        self.exit(2, escape_unprintable(f"{self.prog}: {message} (see {self.prog} --help)\n"))

    def check_option(self, argument: str) -> None:
        """Exit with an error if `argument` has the form of an option, and no option begins like
        it."""
        name, options = argument.partition("=")[0], self._option_string_actions
        if _OPTION.fullmatch(name) and not any(option.startswith(name) for option in options):
            self.error(f"no option {name!r}{suggest_similar(name, options, 0.7)}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return (parsed arguments, []). Unlike argparse, exit with an error if an argument is
        unknown."""
        if not self._subparsers:  # which check their own arguments
            for argument in takewhile("--".__ne__, args or ()):
                self.check_option(argument)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unexpected argument {unknown[0]!r}")
        return parsed, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write argparse's `message` to `file`. Exit with code 2 if `file` is stdout and cannot be
        written, which argparse would ignore."""
        if file is not sys.stdout:
            super()._print_message(message, file)
        elif not flush_output(message):
            raise SystemExit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an argparse error unless `value` is one of the choices of `action`, argparse's
        description of an argument."""
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar
            text = f"no {name} {value!r}{describe_allowed(value, action.choices)}"
            raise argparse.ArgumentError(None, text)

    def add_option(
        self,
        usage: str,
        parse: Callable[[str], Any],
        text: str,
        default: Any = None,
        group: argparse._ActionsContainer | None = None,
        **more: Any,
    ) -> None:
        """Add an option with a value, such as "--seed N", to the parser, or to `group`, a group of
        its options.

        Args:
            usage: option and name of the value, as `--seed S`.
            parse: function from the text to the value.
            text: help text; a default that is a number is added to it.
            default: value without the option.
            group: group of options that the option belongs to.
            more: further arguments of `add_argument`.
        """
        name, metavar = usage.split()
        if isinstance(default, int | float):
            text += f" (default: {default:,})"
        (group or self).add_argument(
            name, metavar=metavar, type=parse, default=default, help=text, **more
        )

    def add_flag(
        self,
        name: str,
        text: str,
        group: argparse._ActionsContainer | None = None,
        action: str = "store_true",
        **more: Any,
    ) -> None:
        """Add the option `name` without a value, which is True if given, to the parser or its
        `group` of options; `text` is the help, and `action` and `more` go to argparse's
        `add_argument`."""
        (group or self).add_argument(name, help=text, action=action, **more)

    def add_scenario(self, default: str | None = None) -> None:
        """Add the argument SCENARIO, and the options for its parameters and its Python code.
        SCENARIO is required if `default` is None."""
        more: dict[str, Any] = {"nargs": "?", "default": default} if default else {}
        shown = f" (default: {default})" if default else ""
        self.add_argument("scenario", metavar="SCENARIO", help=SCENARIO_HELP + shown, **more)
        self.add_trust_options()

    def add_seed(self, text: str, parse: Callable[[str], int] | None = None) -> None:
        """Add the option --seed with the default 0; `text` is the help, and `parse` turns text into
        a number, by default a whole number from 0."""
        self.add_option("--seed S", parse or parse_natural, text, 0)

    def add_trust_options(self) -> None:
        """Add --set for parameters of the scenario, and --trust, --allow-module and --no-code,
        which say what Python code it may run."""
        text = "set a parameter of the scenario, such as --set size=9 (repeatable)"
        self.add_option("--set NAME=VALUE", parse_pair, text, [], dest="settings", action="append")
        text = "A scenario that you name may run the Python files inside its folder, and no others."
        group = self.add_argument_group("Python", text)
        text = "allow this also to scenarios that a snapshot, a replay or a mixture names"
        self.add_flag("--trust", text, group)
        text = "allow scenarios to use this module and its submodules (repeatable)"
        more: dict[str, Any] = {"dest": "allow_modules", "action": "append"}
        self.add_option("--allow-module NAME", _parse_module_name, text, [], group, **more)
        text = "run no Python, load only YAML"
        self.add_flag("--no-code", text, group, dest="code", action="store_false")

    def add_policy(self, default: str | None = "random", extra_help: str = "") -> None:
        """Add the option --policy. `extra_help` lists further policies in its help. If `default` is
        None, the help says that the user plays without it."""
        text = (
            "random (any action), valid (any action that has an effect), bot (follows BabyAI's "
            f"missions), {extra_help}trained (comes with some scenarios), the folder of a run of "
            "`gv-engine train`, or ./file.py:function; trained:greedy and RUN:greedy take the most "
            f"likely action; for several agents NAME=P,TEAM=P (default: {default or 'you play'})"
        )
        self.add_option("--policy P", parse_text, text, default)

    def add_levels(self, text: str) -> None:
        """Add the option --levels; `text` says what the levels are for."""
        sets = "train, validation, test, test-layout, larger, seeds such as 0:100"
        self.add_option("--levels SET", str, f"{text}: {sets}, or a file of `gv-engine splits`")

    def add_ray_option(self, text: str) -> None:
        """Add the option --ray, which runs work on a Ray cluster. `text` begins its help."""
        places = (
            "on the Ray cluster at ADDRESS, or auto for this machine's cluster; without ADDRESS on "
            "this machine's cores (needs the extra ray)"
        )
        self.add_option("--ray ADDRESS", str, f"{text} {places}", nargs="?", const="local")

    def add_picture_options(self) -> None:
        """Add the options --view, --fps and --cell: the view, steps per second and cell size of
        pictures."""
        views = "; ".join(f"{each.title}: {', '.join(each.views)}" for each in DOMAINS.values())
        text = f"{views}; any: window, the whole window (default: the first of the domain)"
        self.add_option("--view V", str, text)
        self.add_option("--fps F", parse_positive, "steps per second", 8)
        # at most 256, so that pictures fit into memory
        parse_cell_size = partial(parse_at_most, 256, parse_positive)
        self.add_option("--cell PX", parse_cell_size, "side of a cell in pixels", 48)


def add_command(commands: Commands, name: str, module: ModuleType) -> None:
    """Add a command to the command line, from a module such as `gv_engine.cli.play`.

    Its help is the docstring of the module: one sentence for the list of commands, then examples
    and further text.
    """
    text, _, more = (module.__doc__ or "").partition("\n\n")
    parser = commands.add_parser(
        name,
        help=text[:1].lower() + text[1:].rstrip("."),
        description=text,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=module.run)
    module.add_options(parser)


def _parse_module_name(text: str) -> str:
    """Return `text` if it is a dotted module name such as `caves.rules`; else raise an argparse
    error."""
    if not is_module_name(text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected the name of a module, such as caves.rules"
        )
    return text


def parse_pair(text: str, example: str = "size=9") -> tuple[str, Any]:
    """Return (name, parsed value) of a setting: "size=9" gives ("size", 9). For another text, raise
    an argparse error that shows `example`."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()) or name in Consent.__annotations__:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected NAME=VALUE, such as {example}")
    try:
        return name, parse_value(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error}") from None


def scenario_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `load_scenario` that the options set."""
    return {**consent(options), **dict(options.settings)}


def get_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the values of the options with the attribute names `names`, by option name as on the
    command line, such as `--max-steps` for `max_steps`."""
    return {f"--{name.replace('_', '-')}": getattr(options, name) for name in names}


def consent(options: argparse.Namespace) -> Consent:
    """Return the `Consent` that the options give: which Python code scenarios may run."""
    return Consent(trust=options.trust, allow_modules=options.allow_modules, code=options.code)


def require_grid(scenario: AnyScenario, message: str) -> Scenario:
    """Return `scenario` if it is a grid; else raise an error whose message ends with `message`.

    Args:
        scenario: scenario of any domain.
        message: end of the error message, such as `train takes only grids`.

    Raises:
        UsageError: the scenario is of another domain.
    """
    if not isinstance(scenario, Scenario):
        raise UsageError(f"{scenario.name} is of the domain {scenario.domain}; {message}")
    return scenario


def require_step_limit(scenario: AnyScenario, max_steps: int | None, fix: str) -> Any:
    """Return the scenario with the step limit `max_steps`, or unchanged if that is None. Raise an
    error if the scenario has no limit; `fix` ends its message.

    Raises:
        UsageError: the scenario has no step limit; the message ends with `fix`.
    """
    try:
        return get_plugin(scenario).with_step_limit(scenario, max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; {fix}") from None


def parse_text(text: str) -> str:
    """Return `text`; raise an argparse error if it is empty or blank."""
    if not text.strip():
        raise argparse.ArgumentTypeError(
            "found an empty text; give a name, or leave out the option"
        )
    return text


def parse_at_most(maximum: int, parse: Callable[[str], int], text: str) -> int:
    """Return `parse(text)`, an integer. Raise an argparse error if it is greater than `maximum`."""
    number = parse(text)
    if number > maximum:
        shown = shorten(str(number), 40)
        raise argparse.ArgumentTypeError(f"found {shown}, expected at most {maximum}")
    return number


def _parse_at_least(minimum: int, text: str) -> int:
    """Return `text` as an integer. Raise an argparse error for another text, or if the number is
    less than `minimum`."""
    with suppress(ValueError):  # the same message
        number = int(Decimal(text)) if _POWER.fullmatch(text) else int(text)
        if number >= minimum:
            return number
    raise argparse.ArgumentTypeError(
        f"found {shorten(text, 40)!r}, expected a whole number of at least {minimum}"
    )


def _parse_positive_float(maximum: float, allowed_text: str, text: str) -> float:
    """Return `text` as a number greater than 0 and at most `maximum`. For another text, raise an
    argparse error that contains `allowed_text`, which describes the allowed numbers."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= maximum:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected {allowed_text}")
    return value


parse_natural = partial(_parse_at_least, 0)
"""Return a whole number from 0, or raise an argparse error."""
parse_positive = partial(_parse_at_least, 1)
"""Return a whole number from 1, or raise an argparse error."""
parse_seconds = partial(_parse_positive_float, sys.float_info.max, "a number of seconds above 0")
"""Return a number of seconds greater than 0, or raise an argparse error."""
parse_share = partial(_parse_positive_float, 1, "a number above 0 and at most 1, such as 0.98")
"""Return a share greater than 0 and at most 1, or raise an argparse error."""
parse_episode_seed = partial(parse_at_most, 2**62, parse_natural)
"""Return the seed of the first of many episodes; all seeds must fit into int64."""


def say(message: str) -> None:
    """Print `message` to the terminal, with control characters escaped."""
    print(escape_unprintable(message))


# ---- pictures ------------------------------------------------------------------------------------


def check_picture_name(out: Path, *other_suffixes: str) -> None:
    """Raise an error if the suffix of the file name `out` is no picture or video format that can be
    written, and none of `other_suffixes`.

    Raises:
        UsageError: the suffix is unknown.
    """
    allowed = *FORMATS, *other_suffixes
    if out.suffix.lower() not in allowed:
        raise UsageError(f"{out}: the name must end with {', '.join(allowed)}")


def draw_frames(
    frames: Iterable[Any], scenario: Playable, out: Path, options: argparse.Namespace
) -> None:
    """Draw an episode of `scenario`, given as `frames`, into the picture or video file `out`.
    `options` say the view, the speed and the size of a cell.

    Args:
        frames: frames to draw.
        scenario: scenario of the frames.
        out: file to write.
        options: the options of `add_picture_options`.

    Raises:
        UsageError: the view is unknown.
        OSError: the file cannot be written.
    """
    # imported here: other commands do not need pygame
    from gv_engine.play.ui.drawing import recording

    views = recording.find_views(scenario)
    view = options.view or next(iter(views))
    if view not in views:
        raise UsageError(f"--view {view}{describe_allowed(view, views)}")
    with recording.Recorder(out, scenario, view, options.cell, options.fps) as recorder:
        for frame in frames:
            recorder.add(frame)


# ---- progress ------------------------------------------------------------------------------------


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[..., None]]:
    """Context manager that shows a progress bar on the terminal. It yields a function that moves
    the bar. `total` is the number of steps to do. Without a terminal nothing is shown.

    Args:
        label: label of the bar.
        total: number of steps.

    Yields:
        Function (number of steps = 1, text beside the bar = "") that advances the bar.
    """
    if not sys.stderr.isatty():
        yield lambda number=1, says="": None
        return
    from rich import progress as bars
    from rich.console import Console

    label_column = bars.TextColumn("{task.description}", markup=False)
    text_column = bars.TextColumn("{task.fields[says]}", markup=False)
    middle_columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn()
    columns = label_column, *middle_columns, text_column
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as progress_bar:
        task = progress_bar.add_task(escape_unprintable(label), total=total, says="")
        yield lambda number=1, says="": progress_bar.update(
            task, advance=number, says=escape_unprintable(says)
        )


class Terminated(KeyboardInterrupt):
    """Raised when the process gets the signal SIGTERM. It is handled like Ctrl-C."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code after an interrupt: 130 for Ctrl-C, 143 for SIGTERM."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


@contextmanager
def handling_sigterm() -> Iterator[None]:
    """Context manager: if the signal SIGTERM arrives during the `with` block, raise `Terminated`,
    which is handled like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return

    signals: list[int] = []

    def terminate(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise Terminated

    old_handler = signal.signal(signal.SIGTERM, terminate)
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
    """Context manager: Ctrl-C and SIGTERM have their effect only at the end of the `with` block. It
    yields a list to which the numbers of such signals are added."""
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals  # signals go to the main thread
        return
    old_handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in old_handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number, handler in handlers.items():
        if number in signals:
            handler(number, None)


# ---- tables --------------------------------------------------------------------------------------


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table with a title and these column titles; print tab-separated lines if the output
    is no terminal. `rows` has the cells of each row. A column whose title ends with `>` is aligned
    to the right.

    Args:
        columns: titles of the columns; a title that ends with `>` aligns its column to the right.
        rows: one value for each column.
        title: title above the table.
    """
    titles = [escape_unprintable(column.removesuffix(">")) for column in columns]
    texts = [[escape_unprintable(str(value)) for value in row] for row in rows]
    has_titles = any(titles)
    if not sys.stdout.isatty():
        for row in [titles, *texts] if has_titles else texts:
            print(*row, sep="\t")
        return
    # imported here: rich takes a tenth of a second to import
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # a `Text`, because names may contain rich's markup
    title_text = Text(escape_unprintable(title), "table.title") if title else None
    table = Table(
        title=title_text, title_justify="left", box=box.SIMPLE_HEAD, show_header=has_titles
    )
    for column, column_title in zip(columns, titles, strict=True):
        table.add_column(Text(column_title), justify="right" if column.endswith(">") else "left")
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)
