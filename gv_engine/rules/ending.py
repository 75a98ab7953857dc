"""Words for the player on how an episode has ended; they come from here alone."""

from __future__ import annotations

from collections.abc import Sequence

from gv_engine.rules.call import Call
from gv_engine.rules.component import to_snake_case


def describe_ending(success: Call | None, truncated: bool, by: Sequence[Call]) -> str:
    """A sentence without its full stop.

    Args:
        success: the scenario's success function, if it says that the episode is one.
        truncated: whether the episode was cut off.
        by: from the scenario's terminating function down to that nested one which ended the
            episode.
    """
    if success is not None:
        return success.ending_message or "Well done!"
    if truncated:
        return "Time is up"
    said = [call.ending_message or call.system.says for call in by]
    names = [f"The end: {to_snake_case(call.name).replace('_', ' ')}" for call in by[-1:]]
    return next(filter(None, [*said, *names]), "The end")
