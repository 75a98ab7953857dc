"""Our games, played as PuzzleScript's own engine has played them."""

import json

import pytest

from tests import DATA
from tests.peers.puzzlescript_player import GamePlayer

FOLDER = DATA / "puzzlescript"
RECORDINGS = json.loads((FOLDER / "recordings.json").read_text("utf-8"))


def play(recording, world):
    text = (FOLDER / recording["game"]).read_text("utf-8")
    player = GamePlayer(text, recording["level"], world)
    shown = [[player.digest(), player.number]]
    for each in recording["inputs"]:
        player.play(each)
        shown.append([player.digest(), player.number])
    return shown


@pytest.mark.filterwarnings("ignore:.*after the end of the episode")
@pytest.mark.sample("object", "beams.txt#0", "store.txt#1")
@pytest.mark.parametrize("world", ["object", pytest.param("compiled", marks=pytest.mark.compiled)])
@pytest.mark.parametrize(
    "recording", RECORDINGS, ids=[f"{each['game']}#{each['level']}" for each in RECORDINGS]
)
def test_every_input_has_the_recorded_result(recording, world):
    assert play(recording, world) == recording["shown"]
