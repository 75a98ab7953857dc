"""Token ids of mission texts, for networks that read words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from string import Formatter

import numpy as np
from numpy.typing import NDArray

MAX_VALUES = 10_000
"""Maximum number of values that a placeholder in a template may have."""
_MAX_CACHED = 10_000
"""Maximum number of missions whose ids are cached."""


def split_words(text: str) -> list[str]:
    """Return the words of a text; a comma is a word of its own."""
    return text.replace(",", " ,").split()


class MissionTokens:
    """Converter of a scenario's missions to token ids and back.

    The vocabulary has the words that the scenario's templates can produce, in their order.

    Args:
        templates: mission texts of the scenario, with placeholders.
        list_words: function that returns the texts that a placeholder may have.
        to_text: function that returns the text of a mission, given its numbers.

    Attributes:
        vocabulary: word of each id; id 0, "", is the padding.
        low, high: (length,) int32 least and greatest id in each place; `length` is an upper bound
            of the number of words of a mission.

    Raises:
        ValueError: a template has numbers that may have too many values.
    """

    def __init__(
        self,
        templates: Sequence[str],
        list_words: Callable[[str], list[str]],
        to_text: Callable[[NDArray[np.int32]], str],
    ) -> None:
        """Build the vocabulary from the scenario's text templates. The class docstring explains the
        arguments."""
        self._to_text = to_text
        words, length = dict.fromkeys([""]), 0
        for template in templates:
            count = 0
            for part in split_words(template):
                names = [name for _, name, _, _ in Formatter().parse(part) if name]
                values = [list_words(name) for name in names]
                if prod(map(len, values)) > MAX_VALUES:
                    raise ValueError(f"mission: {part} has too many values for token ids")
                texts = [part.format(**dict(zip(names, each))) for each in product(*values)]
                words |= dict.fromkeys(word for text in texts for word in split_words(text))
                count += max(len(split_words(text)) for text in texts)
            length = max(length, count)
        self.vocabulary = tuple(words)
        self._ids = {word: number for number, word in enumerate(words)}
        self.low = np.zeros(length, np.int32)
        self.high = np.full(length, len(words) - 1, np.int32)
        self._cached_ids: dict[bytes, NDArray[np.int32]] = {}

    def encode(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the token ids, (…, length) int32, of the missions with these (…, k) numbers."""
        rows = [self._find_ids(row) for row in numbers.reshape(-1, numbers.shape[-1])]
        return np.reshape(rows, (*numbers.shape[:-1], len(self.low)))

    def _find_ids(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the token ids of a mission, padded with zeros. `numbers` are the mission's encoded
        fields. The array is cached, so callers must not change it."""
        key = numbers.tobytes()
        if key not in self._cached_ids:
            if len(self._cached_ids) >= _MAX_CACHED:
                self._cached_ids.clear()
            words = split_words(self._to_text(numbers))
            self._cached_ids[key] = ids = np.zeros_like(self.low)
            ids[: len(words)] = [self._ids[word] for word in words]
        return self._cached_ids[key]

    def to_text(self, ids: NDArray[np.int32]) -> str:
        """Return the mission text that has these token ids."""
        return " ".join(self.vocabulary[i] for i in ids.tolist() if i).replace(" ,", ",")
