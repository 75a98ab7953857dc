"""Every example runs and prints what it should."""

import os
import subprocess
import sys

import pytest

from tests import ROOT
from tests.screen import PATIENCE

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LAST_LINES = {
    "checkered_sight": "? ? F ? F",
    "chess_rook": "MOVE_BACKWARD (4, 1)",
    "choose_key_reset": "(4, 3) Key(Color.YELLOW)",
    "coins": "total 3.0",
    "creeping_walls": "26 walls",
    "imitation": "100% of levels that it has not seen",
    "mirrored_observation": "mirrored ['Floor', 'Floor', 'Wall']",
    "out_of_keys": "Floor() True",
    "random_transition": "six cells in 9 steps",
    "simplest_reset": "Agent(Position(y=1, x=1), Orientation.FORWARD) stands on Exit(Color.NONE)",
    "shortest_way": "13 steps, success: True",
    "thin_ice": "MOVE_BACKWARD (0, 3) Ice(Ice.Status.BROKEN) Ice(Ice.Status.CRACKED)",
    "unchanged_reward": "MOVE_FORWARD 0.0 1.0",
}


@pytest.fixture(scope="module")
def running():
    """All of them at once, each in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    started = {
        path.stem: subprocess.Popen(
            [sys.executable, "-W", "error", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for path in EXAMPLES
    }
    yield started
    for process in started.values():  # those that another worker has asked for
        process.kill()
        process.communicate()


@pytest.mark.parametrize("example", LAST_LINES)
def test_example(running, example):
    out, errors = running[example].communicate(timeout=10 * PATIENCE)
    told = "gv-engine: compiling"
    assert [line for line in errors.splitlines() if not line.startswith(told)] == []
    assert out.splitlines()[-1] == LAST_LINES[example]


def test_no_example_is_forgotten():
    assert {path.stem for path in EXAMPLES} == set(LAST_LINES)
    page = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert all(f"`{path.name}`" in page for path in EXAMPLES)
