"""Every example runs and prints what it should."""

import json
import os
from importlib.util import find_spec

import pytest

from tests import ROOT
from tests.processes import FINDS_TESTS, run_python

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LAST_LINES = {
    "checkered_sight": "? ? F ? F",
    "chess_rook": "MOVE_BACKWARD (4, 1)",
    "choose_key_reset": "(4, 3) Key(Color.YELLOW)",
    "coins": "total 7.0",
    "creeping_walls": "26 walls",
    "imitation": "100% of levels that it has not seen",
    "language_model": "success True in 5 steps",
    "mirrored_observation": "mirrored ['Floor', 'Floor', 'Wall']",
    "out_of_keys": "Floor() True",
    "random_transition": "six cells in 9 steps",
    "simplest_reset": "Agent(Position(y=1, x=1), Orientation.FORWARD) stands on Exit(Color.NONE)",
    "shortest_way": "13 steps, success: True",
    "small_ppo": "95% of 100 episodes won",
    "thin_ice": "MOVE_BACKWARD (0, 3) Ice(Ice.Status.BROKEN) Ice(Ice.Status.CRACKED)",
    "unchanged_reward": "MOVE_FORWARD 0.0 1.0",
}
RUN = """
import contextlib, io, json, runpy, sys
last_lines = {}
for name in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(f"examples/{name}.py", run_name="__main__")
    last_lines[name] = out.getvalue().splitlines()[-1]
print(json.dumps(last_lines))
"""


OF_THEIR_OWN = "imitation", "language_model", "small_ppo"
NO_MCP = pytest.mark.skipif(not find_spec("mcp"), reason="the extra mcp is not installed")
NO_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="the extra rl is not installed")


@pytest.mark.sample("small")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(sorted(LAST_LINES.keys() - {*OF_THEIR_OWN}), id="small"),
        pytest.param(["imitation"], id="imitation"),
        pytest.param(["language_model"], id="language_model", marks=NO_MCP),
        pytest.param(["small_ppo"], id="small_ppo", marks=[NO_TORCH, pytest.mark.thorough]),
    ],
)
def test_examples_print_their_results(names: list[str]):
    environment = os.environ | FINDS_TESTS
    done = run_python("-W", "error", "-c", RUN, *names, cwd=ROOT, env=environment)
    told = "gv-engine: compiling"
    assert [line for line in done.stderr.splitlines() if not line.startswith(told)] == []
    assert json.loads(done.stdout) == {name: LAST_LINES[name] for name in names}


def test_no_example_is_forgotten():
    assert {path.stem for path in EXAMPLES} == set(LAST_LINES)
    page = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert all(f"`{path.name}`" in page for path in EXAMPLES)
