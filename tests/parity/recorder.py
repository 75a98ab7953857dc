"""Known worlds as their own packages play them; a process of its own, where these are installed.

    python -m tests.parity.recorder

answers a line of its input with a pickle of recorded arrays. The line is a JSON list: the name of
a world, the arguments of a level, the first seed, the number of seeds, and the number of joint
actions of each.
"""

from __future__ import annotations

import json
import os
import pickle
import sys

from tests.parity import get_world


def main() -> None:
    """Answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever the worlds print is no answer
    world, arguments, first, count, steps = json.loads(sys.stdin.readline())
    pickle.dump(get_world(world).record(arguments, range(first, first + count), steps), answers)


if __name__ == "__main__":
    main()
