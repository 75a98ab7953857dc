"""The game for real: the command in its own process, keys from xdotool, a virtual screen.

A twin in this process is played with the same keys; the screen has to show what the twin draws.
"""

from pathlib import Path

import numpy as np

from gv_engine.cli.new import write_starter
from gv_engine.rules.geometry import ACTIONS
from tests import DATA
from tests.player import playing
from tests.screen import Screen, until

SOLVED = DATA / "conformance" / "gv_keydoor.5x5.solved200.npz"

GO, HIT, TURN, ASIDE = "MOVE_FORWARD", "ACTUATE", "TURN_RIGHT", "MOVE_RIGHT"
CAVE = [GO] * 3 + [HIT, HIT, GO, GO, ASIDE, ASIDE]
CAVE += [TURN, HIT, HIT, GO, GO, GO, TURN, HIT, HIT]
CAVE += [GO, GO, "MOVE_LEFT", GO, GO]


def test_key_taken_door_opened_exit_reached(screen: Screen, folder: Path):
    with np.load(SOLVED) as recorded:
        actions = [ACTIONS[number] for number in recorded["action"]]
        total = sum(recorded["reward"].tolist())
    assert {"PICK_N_DROP", "ACTUATE"} <= set(actions)
    with playing(screen, folder, "keydoor-5x5", 200) as player:
        until(player.sees_the_same, "the level")
        player.does(*actions)
        until(player.sees_the_same, "the end")
        said = player.leaves()
    told = f"return {total:+.6g} in {len(actions)} steps"
    assert said == f"keydoor-5x5: seed 200, well done, {told}\n"


def test_a_rule_of_ones_own(screen: Screen, folder: Path):
    cave = folder / "cave"
    write_starter(cave)
    with playing(screen, folder, cave, 0) as player:
        player.does(*CAVE)
        until(player.sees_the_same, "the exit")
        assert "left" not in player.leaves()
