"""MiniGrid's bot as it plays; a process of its own, where MiniGrid is installed and we are not.

    python -m tests.minigrid_bot_recorder

answers each line of its input, a JSON list of an id, the first seed and the number of seeds, with a
JSON list of the steps of each episode, 0 for a failure, and the seconds that it took.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

import gymnasium

_SECONDS = 10.0
"""CPU time of an episode; the bot does not end in some of them."""
_TIMEOUTS = 3
"""Episodes without an end after which the others of an id count as failures."""


def play(env: Any, seed: int) -> int:
    """Return the steps of an episode that MiniGrid's bot plays, 0 if it fails.

    Raises:
        TimeoutError: the bot takes too long.
    """
    from minigrid.utils.baby_ai_bot import BabyAIBot

    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        env.reset(seed=seed)
        bot, steps, action = BabyAIBot(env), 0, None
        while True:
            action = bot.replan(action)
            _, reward, terminated, truncated, _ = env.step(action)
            steps += 1
            if terminated or truncated:
                return steps if reward > 0 else 0
    except TimeoutError:
        raise
    except Exception:  # the bot raises various ones where it knows no way
        return 0
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    """Answer all lines."""
    import minigrid  # noqa: F401  # registers its ids

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    for line in sys.stdin:
        name, first, count = json.loads(line)
        env = gymnasium.make(name, disable_env_checker=True)
        steps, timeouts = [0] * count, 0
        began, counted = time.perf_counter(), 0
        for k in range(count):
            try:
                if timeouts < _TIMEOUTS:
                    counted += 1
                    steps[k] = play(env, first + k)
            except TimeoutError:
                timeouts += 1
        seconds = (time.perf_counter() - began) * count / counted
        print(json.dumps([steps, seconds]), flush=True)


if __name__ == "__main__":
    main()
