"""What the tests of rules share."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def yard(play: Any, request: pytest.FixtureRequest) -> Any:
    """Plays actions on a map under the `RULES` of the test's file, in both worlds."""
    rules: dict[str, Any] = request.module.RULES
    return lambda picture, *actions, **changes: play(picture, *actions, **{**rules, **changes})
