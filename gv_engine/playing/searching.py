"""Search by words: what has all of them in its name or text, slips of the finger forgiven."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

_PART = re.compile(r"[^\W_]+")
_LIKE = 0.75
"""How alike a mistyped word is at least, as `difflib` has it."""
_MISTYPED = 3
"""The rank of what fits but for slips."""
_SHORTEST = 4
"""Letters of a word that may be mistyped; shorter ones are like too many."""

T = TypeVar("T")


def search(query: str, things: Iterable[T], said: Callable[[T], tuple[str, str]]) -> list[T]:
    """The things that fit, the best first, else in their order; mistyped words count where nothing
    has them as they are.

    Args:
        query: words, of which each has to be there.
        things: to search in.
        said: the name of a thing, and a text about it.

    >>> search("keydor 5", ["keydoor-5x5", "keydoor-7x7", "empty-5x5"], lambda name: (name, ""))
    ['keydoor-5x5']
    """
    words = query.lower().split()
    every = list(things)
    ranks = [_rank(words, *said(thing)) for thing in every]
    found = [(rank, thing) for rank, thing in zip(ranks, every, strict=True) if rank is not None]
    typed = [pair for pair in found if pair[0] < _MISTYPED] or found
    return [thing for _, thing in sorted(typed, key=lambda pair: pair[0])]


def _rank(words: Sequence[str], name: str, text: str) -> int | None:
    """The less the better; None if it does not fit."""
    name, text = name.lower(), f"{name} {text}".lower()
    if all(word in name for word in words):
        return 0 if name.startswith(words[0] if words else "") else 1
    if all(word in text for word in words):
        return 2
    parts = _PART.findall(text)
    return _MISTYPED if all(word in text or _is_like(word, parts) for word in words) else None


def _is_like(word: str, parts: Sequence[str]) -> bool:
    return len(word) >= _SHORTEST and bool(get_close_matches(word, parts, 1, _LIKE))
