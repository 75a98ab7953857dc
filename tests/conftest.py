"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from gv_engine.batches.at_once import WorldsAtOnce
from gv_engine.batches.compiled.batch import CompiledBatch
from tests.boards import Game, scenario
from tests.desk import home
from tests.screen import Screen, virtual_screen

# compiling is slow once, and no test looks at the clock
settings.register_profile("gv_engine", deadline=None, derandomize=True)
settings.load_profile("gv_engine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only what needs no compiler, no window")


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs with pytest's own cache, out of the user's."""
    folder = Path(config.rootpath, ".pytest_cache", "gv_engine")
    os.environ.setdefault("GV_ENGINE_CACHE_DIR", str(folder))
    # shells let what runs in the background ignore Ctrl-C, and so would the processes of tests
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is said to be compiled by parameters, to want a screen by fixtures."""
    for item in items:
        assert isinstance(item, pytest.Function)
        parameters = getattr(item, "callspec", None)
        if parameters and {"batch", "compiled"} & {*map(str, parameters.params.values())}:
            item.add_marker("compiled")
        if "screen" in item.fixturenames:
            item.add_marker("window")
    if config.getoption("quick"):
        left_out = ("compiled", "window", "slow")
        items[:] = [i for i in items if not any(map(i.get_closest_marker, left_out))]


@pytest.fixture(autouse=True)
def _nothing_compiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under --quick, whoever compiles is told to say so."""
    if request.config.getoption("quick"):
        monkeypatch.setattr(CompiledBatch, "__init__", _refuse)


@pytest.fixture(autouse=True)
def _programs_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what a test sees does not depend on what is kept; test_at_once.py takes it back."""
    monkeypatch.setattr(WorldsAtOnce, "_awaited", lambda worlds, compiled: None)


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_not_looked_through() -> Iterator[None]:
    """Compiled programs leave millions of objects, through which every collection would go."""
    yield
    gc.collect()
    gc.freeze()


def _refuse(*_: Any) -> None:
    raise AssertionError("this compiles: mark the test `compiled`")


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


@pytest.fixture(scope="session")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    """One virtual screen for all windows."""
    yield from virtual_screen(tmp_path_factory.mktemp("screen"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a player of the real game is; this process keeps what is the player's elsewhere."""
    (tmp_path / "twin").mkdir()
    home(tmp_path / "twin", monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path
