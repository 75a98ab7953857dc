"""`python -m gv_engine`, and the `gv-engine` that an installation makes of it."""

import sys

from gv_engine.commands import main

if __name__ == "__main__":
    sys.exit(main())
