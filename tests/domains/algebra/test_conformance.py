"""Every recorded algebra episode, rule application, expression, problem and win signal."""

from functools import cache
from itertools import chain

import pytest

from tests import mathy_conformance as recorded
from tests.mathy_conformance import FREE, FRESH

KINDS = [
    recorded.episodes,
    recorded.applications,
    recorded.expressions,
    recorded.observations,
    recorded.problems,
    recorded.signals,
]


@cache
def checked(kind):
    return list(kind())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_ours_equals_what_was_recorded_but_for_what_differs_on_purpose(kind):
    checks = checked(kind)
    assert checks
    differing = [check for check in checks if check.ours != check.recorded]
    assert not [check for check in differing if not check.reason]
    assert {check.reason for check in differing} <= {FREE, FRESH}


def test_what_differs_on_purpose_is_better():
    checks = chain.from_iterable(map(checked, KINDS))
    differing = [check for check in checks if check.ours != check.recorded]
    # the reference pays for a move that nobody made
    fresh = {(check.ours, check.recorded) for check in differing if check.reason == FRESH}
    assert fresh == {(-0.01, 0.01)}
    free = {check.where.partition(",")[0] for check in differing if check.reason == FREE}
    assert free == recorded.ON_PURPOSE[FREE]


def test_the_command_prints_the_counts(monkeypatch):
    monkeypatch.setattr(recorded, "checks", lambda: chain.from_iterable(map(checked, KINDS)))
    lines: list[str] = []
    assert recorded.main(lines.append) == 0
    assert lines[-1].endswith(", 0 different")
