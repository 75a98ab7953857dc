"""Sentence that tells the player why the episode is over."""

from __future__ import annotations

from collections.abc import Sequence

from gv_engine.rules.call import Call
from gv_engine.rules.component import to_snake_case


def describe_ending(success: Call | None, truncated: bool, by: Sequence[Call]) -> str:
    """Return a sentence, without its full stop, that tells the player why the episode is over.

    Args:
        success: call of the scenario's success function if the episode is a success, else None.
        truncated: True if the episode was cut off by the step limit.
        by: the call that ended the episode, after the calls that it is nested in.
    """
    if success is not None:
        return success.ending_message or "Well done!"
    if truncated:
        return "Time is up"
    messages = [call.ending_message or call.system.ending_message for call in by]
    names = [f"The end: {to_snake_case(call.name).replace('_', ' ')}" for call in by[-1:]]
    return next(filter(None, [*messages, *names]), "The end")
