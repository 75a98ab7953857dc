"""Entry point of `python -m gv_engine` and of the installed command `gv-engine`."""

import signal
import sys

from gv_engine.cli import main as run
from gv_engine.cli.options import INTERRUPTED, complain
from gv_engine.cli.streams import flush_output, open_streams
from gv_engine.scenario.storage.resources import is_cli_process


def main() -> int:
    """Run the process's command line and return the exit status; INTERRUPTED after Ctrl-C."""
    if is_cli_process() and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    open_streams()
    try:
        return run()
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except SystemExit:  # argparse has printed help or an error
        if not flush_output():
            return 2
        raise


if __name__ == "__main__":
    sys.exit(main())
