"""PuzzleScript's recorded games, played in our compiled worlds: equal after every input to its own
engine, which runs in `node`."""

import functools
import json
import subprocess
from pathlib import Path

import pytest

from gv_engine.scenario.documents.foreign_files import SourceError
from tests.peers.puzzlescript_player import GamePlayer, list_uniform

HERE = Path(__file__).parent
COUNT = 470


@functools.cache
def play_in_node():
    task = json.dumps({"games": None, "uniform": list_uniform()})
    command = ["node", str(HERE / "puzzlescript.js"), "."]
    process = subprocess.run(command, input=task, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def find_difference(result, world="compiled"):
    """Return what differs from the result of PuzzleScript's engine, "" for nothing."""
    text, inputs, number = result["game"]
    if "error" in result:
        return f"PuzzleScript's engine fails: {result['error']}"
    try:
        player = GamePlayer(text, number, world)
    except SourceError as error:
        return f"refused: {error}"
    for k, (digest, reached) in enumerate(result["shown"]):
        if k:
            player.play(inputs[k - 1])
        if player.digest() != digest or player.number != reached:
            return f"different after {k} of {len(inputs)} inputs"
    return ""


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:.*after the end of the episode")
@pytest.mark.parametrize("index", range(COUNT))
def test_recorded_game(index):
    results = play_in_node()
    assert len(results) == COUNT
    assert find_difference(results[index]) == ""
