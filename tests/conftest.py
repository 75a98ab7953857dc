"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.boards import Game, scenario

# compiling is slow once, and no test looks at the clock
settings.register_profile("gv_engine", deadline=None, derandomize=True)
settings.load_profile("gv_engine")


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs with pytest's own cache, out of the user's."""
    folder = Path(config.rootpath, ".pytest_cache", "gv_engine")
    os.environ.setdefault("GV_ENGINE_CACHE_DIR", str(folder))


@pytest.fixture(params=["object", "batch"])
def world(request: pytest.FixtureRequest) -> str:
    """Both worlds."""
    name: str = request.param
    return name


@pytest.fixture
def play(world: str) -> Any:
    """Plays actions on a map, in both worlds."""

    def start(picture: str, *actions: int, seed: int = 0, **changes: Any) -> Game:
        return Game(scenario(picture, **changes), world, seed).act(*actions)

    return start
