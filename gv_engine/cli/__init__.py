"""The command line: one module per command, imported at once; what they need, only when they run.

A command module has `add`, which describes its arguments, and `run`, which returns an exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from gv_engine import __version__
from gv_engine.cli import (
    bench,
    benchmark,
    check,
    compile,
    edit,
    listing,
    minari,
    new,
    play,
    record,
    replay,
    rollout,
    rules,
    schema,
    solve,
    splits,
    train,
    view,
)
from gv_engine.cli.options import UsageError, complain
from gv_engine.cli.output import code_after
from gv_engine.rollout.policy import PolicyError
from gv_engine.rules.errors import GVEngineError, RuleError, ScenarioError
from gv_engine.scenario.fields import suggestion
from gv_engine.scenario.rule_modules import find_author_line, make_rule_error

COMMANDS = (
    play,
    edit,
    replay,
    listing,
    new,
    rules,
    schema,
    check,
    solve,
    compile,
    splits,
    train,
    view,
    rollout,
    minari,
    record,
    bench,
    benchmark,
)

_EXAMPLES = """\
examples:
  gv-engine play                      choose a level in a window, and play
  gv-engine list                      what else there is
  gv-engine new cave                  a folder with a level and a rule of your own
  gv-engine edit cave                 paint it, order its rules, and play it
  gv-engine rules                     what its file and its rules can name
  gv-engine schema                    the same, for editors
  gv-engine check cave                is it sound, and does it compile?
  gv-engine solve cave                can it be won, and how?
  gv-engine train keydoor-5x5         learn it, by the extra rl
  gv-engine view keydoor-9x9         a wall of a thousand worlds
  gv-engine rollout cave --episodes 1000 --out cave-episodes

SCENARIO is a name or a Gymnasium id out of `gv-engine list`, a YAML file, or a folder with a
scenario.yaml.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: those of the process if None.

    Returns:
        The exit code: 0, 1 where something is wrong with what was asked for, 2 where with the
        asking, 130 after Ctrl-C, 143 after SIGTERM where that is heeded.
    """
    given = sys.argv[1:] if arguments is None else arguments
    made, names = parser()
    if given and not given[0].startswith("-") and given[0] not in names:
        made.error(f"no command {given[0]!r}{suggestion(given[0], names)}")
    options = made.parse_args(given)
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("default", RuntimeWarning)
        warnings.filterwarnings("ignore", "pkg_resources is deprecated")  # pygame imports it
        warnings.showwarning = _show_warning
        return _run(options)


def parser() -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the whole command line, and the names of all commands."""
    made = argparse.ArgumentParser(
        "gv-engine",
        description="Gridworlds to play, to write and to train on.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"gv-engine {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return made, list(commands.choices)


def _run(options: argparse.Namespace) -> int:
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as interrupt:
        complain("interrupted")
        return code_after(interrupt)
    except BrokenPipeError:
        # whoever read the output has enough; the interpreter must not flush into the void either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    except (UsageError, PolicyError) as error:
        complain(error)
        return 2
    except RuleError as error:
        complain(make_rule_error(error))
        return 1
    except MemoryError as error:
        less = "fewer worlds, by --num-envs" if hasattr(options, "num_envs") else "less"
        complain(f"there is not enough memory; ask for {less} ({error})")
        return 1
    except (GVEngineError, OSError) as error:
        if isinstance(error, OSError) and error.errno and not error.filename:
            # of no file but the output; the interpreter must not flush into it once more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            error = OSError(f"the output cannot be written: {error.strerror}")
        complain(error)
        return 1
    except Exception as error:
        # python -X dev shows it all
        if sys.flags.dev_mode or not (place := find_author_line(error)):
            raise
        complain(f"{place}: {type(error).__name__}: {error}")
        return 1


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    complain(message)
