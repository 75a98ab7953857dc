"""What all tests share."""

from __future__ import annotations

import gc
import signal
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from gv_engine.compiler import batch_program, compiled_function
from gv_engine.compiler.language.machine import MachineCode
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.play.grid.episode import GridHint
from tests.boards import Session, scenario
from tests.desk import home
from tests.screen import Screen, virtual_screen

# compiling is slow once, and no test looks at the clock
settings.register_profile("gv_engine", deadline=None, derandomize=True)
settings.load_profile("gv_engine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--at-most`, by which `make quick` selects tests."""
    text = (
        "run tests that took at most so many seconds when they last ran, and those that never ran"
    )
    parser.addoption("--at-most", type=float, metavar="SECONDS", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Register what the options ask for."""
    # shells let what runs in the background ignore Ctrl-C, and so would the processes of tests
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr:
        config.pluginmanager.register(LeftOut())
    if "not thorough" in config.option.markexpr:
        vars(batch_program)["MachineCode"] = QuickCode
        if not find_spec("torch"):  # learning would run its functions for minutes
            vars(compiled_function)["MachineCode"] = QuickCode
    if not hasattr(config, "workerinput") and config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(Durations(config))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import and collect the tests without garbage collections, which take two fifths of that time,
    and leave what stays of them out of all later ones."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(5000, 10, 20)  # most objects of tests die without the collector
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is said to be compiled by parameters, to want a screen by fixtures, and is thorough
    as no sample has it; and begin with pages of the docs, some of which take a minute, so that no
    process is left with one at last."""
    if config.option.at_most is not None:
        seconds = config.cache.get(_DURATIONS, {})
        is_slow = {item: seconds.get(item.nodeid, 0) > config.option.at_most for item in items}
        items[:] = [item for item, slow in is_slow.items() if not slow]
        config.hook.pytest_deselected(items=[item for item, slow in is_slow.items() if slow])
    items.sort(key=lambda item: item.name.partition("[")[0] != "test_snippets")
    for item in items:
        assert isinstance(item, pytest.Function)
        parameters = getattr(item, "callspec", None)
        if parameters and {"batch", "compiled"} & {*map(str, parameters.params.values())}:
            item.add_marker("compiled")
            if item.get_closest_marker("compiled_elsewhere"):
                item.add_marker("thorough")
        if "screen" in item.fixturenames:
            item.add_marker("window")
        samples = [mark.args for mark in item.iter_markers("sample")]
        if parameters and any(not any(map(parameters.id.count, names)) for names in samples):
            item.add_marker("thorough")


class QuickCode(MachineCode):
    """Machine code that LLVM does not optimize, which takes half the time to compile. Tests marked
    `optimized`, processes that tests start, and `make thorough` run the code that users run."""

    def __init__(self, ir: str, optimization_level: int = 0) -> None:
        super().__init__(ir, optimization_level=0)


_DURATIONS = "gv_engine/durations"
"""Key of the seconds that each test took when it last ran, in pytest's cache."""


class Durations:
    """Plugin that keeps in pytest's cache how long each test took when it last ran."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache = config.cache
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of set-up, call or teardown."""
        before = self._seconds.get(report.nodeid, 0.0)
        self._seconds[report.nodeid] = round(before + report.duration, 3)

    def pytest_sessionfinish(self) -> None:
        """Write the seconds; those of tests that did not run stay."""
        self._cache.set(_DURATIONS, self._cache.get(_DURATIONS, {}) | self._seconds)


class LeftOut:
    """Counts the tests that marks leave out, and tells at the end which target of `make` runs them.

    Attributes:
        tests: how many there are for each target.
    """

    def __init__(self) -> None:
        self.tests: Counter[str] = Counter()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.tests.update(
            "thorough" if item.get_closest_marker("thorough") else "test" for item in items
        )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the count to the process that tells it."""
        if output := getattr(session.config, "workeroutput", None):
            output["left out"] = dict(self.tests)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the count of a process of pytest-xdist, each of which has left out the same."""
        self.tests = Counter(getattr(node, "workeroutput", {}).get("left out", self.tests))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for target, count in self.tests.items():
            terminalreporter.write_line(f"left to `make {target}`: {count} tests")


@pytest.fixture(autouse=True)
def _optimizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("optimized"):
        monkeypatch.setattr(batch_program, "MachineCode", MachineCode)
        monkeypatch.setattr(batch_program, "_PROGRAMS", {})


@pytest.fixture(autouse=True)
def _hints_are_not_prepared(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Preparing hints compiles each level that a screen shows, in another process."""
    if not request.node.get_closest_marker("prepares_hints"):
        monkeypatch.setattr(GridHint, "prepare", lambda _: None)


@pytest.fixture(autouse=True)
def _nothing_compiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever compiles says so."""
    if not any(map(request.node.get_closest_marker, ("compiled", "window", "slow"))):
        monkeypatch.setattr(CompiledBatch, "__init__", _refuse)


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

    def start(picture: str, *actions: int, seed: int = 0, **changes: Any) -> Session:
        return Session(scenario(picture, **changes), world, seed).act(*actions)

    return start


@pytest.fixture(scope="session")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    """One virtual screen for all windows."""
    yield from virtual_screen(tmp_path_factory.mktemp("screen"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a player of the real game is; this process keeps what is the player's elsewhere."""
    (tmp_path / "twin").mkdir()
    home(tmp_path / "twin", monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path
