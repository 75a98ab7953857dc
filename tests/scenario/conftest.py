"""Fixtures of the tests of reading."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenario.ways_to_code import Place


@pytest.fixture
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A level of no code, in the present folder; modules are found in `away`."""
    made = Place(folder)
    monkeypatch.syspath_prepend(made.away)
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("canary_of_test", "pack_of_test"):
            del sys.modules[name]
