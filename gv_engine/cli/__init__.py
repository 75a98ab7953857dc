"""Play, write and train on gridworlds.

examples:
  gv-engine play                      choose a level in a window and play it
  gv-engine list                      list the built-in scenarios
  gv-engine new cave                  make a folder with a level and a rule
  gv-engine edit cave                 edit its map and its rules, and play it
  gv-engine rules                     list what scenarios and rules can name
  gv-engine schema                    print the JSON schema for editors
  gv-engine check cave                find errors, and compile it
  gv-engine solve cave                find a shortest solution
  gv-engine train keydoor-5x5         train a policy (needs the extra rl)
  gv-engine view keydoor-9x9          watch a thousand worlds
  gv-engine rollout cave --episodes 1000 --out cave-episodes

SCENARIO is a name or Gymnasium id from `gv-engine list`, a YAML file, or a folder with a
scenario.yaml.

exit codes:
    0  success
    1  the command found a fault: a mistake in a scenario, no solution, a state that differs
    2  the command failed: a wrong argument, a missing or refused file, a rule that raises an error
    130, 143  Ctrl-C or SIGTERM ended the command
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from gv_engine import __version__
from gv_engine.cli.options import CommandParser, UsageError, add_command, complain, exit_code
from gv_engine.cli.streams import discard_output, flush_output
from gv_engine.late_imports import find_plugins
from gv_engine.rules import errors
from gv_engine.scenario.documents.rule_errors import find_author_line, make_rule_error

_CORE_COMMANDS = (
    *("play", "edit", "replay", "list", "new", "rules", "schema", "check", "solve", "compile"),
    *("splits", "view", "rollout", "record", "bench"),
)
COMMANDS = {name: f"gv_engine.cli.{name}" for name in _CORE_COMMANDS}
COMMANDS["list"] = "gv_engine.cli.listing"
for _plugin in find_plugins():
    COMMANDS |= _plugin.commands
"""Modules of the commands by name, in the order of the help; those of plugins are the last.

The docstring of a module is the help of its command. Its function `add_options` adds the options to
the command's parser, and `run` runs the command and returns the exit code. Slow imports are inside
of `run`.
"""

_OTHER_NAMES = {
    **dict.fromkeys(("eval", "evaluate", "test", "simulate"), "rollout"),
    **dict.fromkeys(("run", "show", "watch"), "play"),
    **dict.fromkeys(("lint", "validate", "verify"), "check"),
}
"""Commands by the names that other tools have for them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `gv-engine` and return the exit code. `arguments` are its words, such as
    ["play", "maze"]; None takes them from `sys.argv`.

    Args:
        arguments: words of the command line; `sys.argv[1:]` if None.

    Returns:
        0 if all is well; 1 if the command has found faults, as `check` may, or no solution; 2 if it
        could not do its work, because of what was typed, a file or a rule; 130 after Ctrl-C, 143
        after SIGTERM in commands that handle it.
    """
    if arguments is None:
        arguments = sys.argv[1:]
    command = arguments[0] if arguments else "--help"
    parser = create_parser([command] if command in COMMANDS else COMMANDS)
    parser.check_option(command)
    if not command.startswith("-") and command not in COMMANDS:
        meant = _OTHER_NAMES.get(command, command)
        parser.error(f"no command {command!r}{errors.describe_allowed(meant, COMMANDS)}")
    options = parser.parse_args(arguments or ["--help"])
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("default", RuntimeWarning)
        warnings.filterwarnings("ignore", "pkg_resources is deprecated")  # pygame imports it
        warnings.showwarning = _show_warning
        return _run(options)


def create_parser(names: Iterable[str] = COMMANDS) -> CommandParser:
    """Return the argument parser for the commands `names`. Their modules are imported, so that a
    single command is faster than all."""
    text, _, examples = (__doc__ or "").partition("\n\n")
    parser = CommandParser(
        "gv-engine",
        description=text,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gv-engine {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for name in names:
        add_command(commands, name, import_module(COMMANDS[name]))
    return parser


def _run(options: argparse.Namespace) -> int:
    """Run the command that was parsed into `options`, and return the exit code. If it fails, print
    an error message."""
    try:
        code: int = options.run(options)
        return code if flush_output() else 2
    except KeyboardInterrupt as interrupt:
        complain("interrupted")
        return exit_code(interrupt)
    except BrokenPipeError:  # the reader has closed the pipe
        discard_output()
    except errors.ScenarioError as error:
        print(error, file=sys.stderr)
    except errors.RuleError as error:
        complain(make_rule_error(error))
    except MemoryError as error:
        fix = "; lower --num-envs" if hasattr(options, "num_envs") else ""
        complain(f"not enough memory{fix} ({error})")
    except (UsageError, errors.GVEngineError, OSError) as error:
        if isinstance(error, OSError) and error.errno and not error.filename:
            discard_output()  # an error of stdout itself
            error = OSError(f"the output cannot be written: {error.strerror}")
        complain(error)
    except Exception as error:
        # python -X dev shows the traceback
        if sys.flags.dev_mode or not (place := find_author_line(error)):
            raise
        complain(f"{place}: {type(error).__name__}: {error}")
    return 2


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    complain(message)
