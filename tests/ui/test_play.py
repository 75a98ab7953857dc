"""The game for real: the command in its own process, keys from xdotool, a virtual screen.

A twin in this process is played with the same keys; the screen has to show what the twin draws.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli.new import write_starter_project
from gv_engine.play.session.replay import Replay
from gv_engine.play.validation.solver import Solver
from gv_engine.rules.geometry import ACTIONS
from tests import DATA
from tests.player import NO_REPEATS, Player, playing
from tests.screen import PATIENCE, Screen, until

SOLVED = DATA / "conformance" / "gv_keydoor.5x5.solved200.npz"

GO, HIT, TURN, ASIDE = "MOVE_FORWARD", "ACTUATE", "TURN_RIGHT", "MOVE_RIGHT"
CAVE = [GO] * 3 + [HIT, HIT, GO, GO, ASIDE, ASIDE]
CAVE += [TURN, HIT, HIT, GO, GO, GO, TURN, HIT, HIT]
CAVE += [GO, GO, "MOVE_LEFT", GO, GO]


_NAME_KEYS = """
import subprocess, sys, pygame
from gv_engine.play.ui.input.bindings import key_label
from gv_engine.play.ui.screens.keyboard import Keyboard
pygame.display.init()
pygame.display.set_mode((100, 100))
keyboard = Keyboard()
keyboard.open()
for layout in sys.argv[1:]:
    subprocess.run(["setxkbmap", layout], check=True)
    while (event := pygame.event.wait(9000)).type not in (pygame.KEYMAPCHANGED, pygame.NOEVENT):
        pass
    list(keyboard.keys(event))
    print(f"{layout}:", *map(key_label, ("A", "Z", "Slash")))
"""
"""Program that changes the layout of the keyboard, and prints what three keys are called."""


@pytest.fixture
def player(screen: Screen, folder: Path, request: pytest.FixtureRequest) -> Iterator[Player]:
    before = getattr(request, "param", NO_REPEATS)
    with playing(screen, folder, "keydoor-5x5", 200, before) as made:
        until(made.sees_the_same, "the level")
        yield made


def test_a_level_is_solved_and_its_replay_saved(player: Player):
    with np.load(SOLVED) as recorded:
        actions = [ACTIONS[number] for number in recorded["action"]]
        total = sum(recorded["reward"].tolist())
    assert {"PICK_N_DROP", "ACTUATE"} <= set(actions)
    player.does(*actions)
    until(player.sees_the_same, "the end")
    player.presses("Ctrl+S")
    until(lambda: bool(player.files("*.gvreplay")), "the replay")
    (file,) = player.files("*.gvreplay")
    assert [step.action for step in Replay.load(file).steps] == actions
    told = f"return {total:+.6g} in {len(actions)} steps"
    assert player.leaves() == f"keydoor-5x5: seed 200, well done, {told}\n"


@pytest.mark.thorough
def test_two_at_one_keyboard_hold_the_plates(screen: Screen, folder: Path):
    with playing(screen, folder, "hold-plates", 0) as player:
        until(player.sees_the_same, "the level")
        player.presses(*(["Up"] * 3), *(["W"] * 6), "Tab")
        until(player.sees_the_same, "the view of the other one")
        player.presses("Tab", *(["Up"] * 5), *(["W"] * 2))
        until(player.sees_the_same, "the end")
        assert "well done, return +1.7 in 16 steps" in player.leaves()


DUEL = """\
description: Be first at the exit.
max_steps: 60
agents: {names: [ann, bob], teams: {reds: [ann], blues: [bob]}, turns: fixed, ends: any}
map: |
  ###########
  #>...#....#
  #....#....#
  #.......E.#
  #....#....#
  #>...#....#
  ###########
transition_functions: [move_agent, turn_agent]
reward_functions: [reach_exit, {name: living_reward, reward: -0.01}]
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
terminating_function: reach_exit
success_function: reach_exit
"""


TELLS = """
from pathlib import Path
from gv_engine.play.session.autoplay import SolverPolicy
update_path = SolverPolicy.update_path
def tell(policy):
    changed = update_path(policy)
    if not policy.note:
        Path("found").touch()
    return changed
SolverPolicy.update_path = tell
pass"""
"""Code by which the solver tells that it has found a way."""


@pytest.mark.compiled
@pytest.mark.thorough
def test_the_solver_plays_the_opponent(screen: Screen, folder: Path):
    level = folder / "duel.yaml"
    level.write_text(DUEL)
    Solver(Scenario.load(level), agent=2).solve(0)  # compiles, which the window would mention
    with playing(screen, folder, level, 0, NO_REPEATS + TELLS) as player:
        player.desk = Mock()
        player.presses("F2", *["Down"] * 10, *["Right"] * 3)
        player.presses("Escape")
        (folder / "found").unlink(missing_ok=True)  # of the best policy, which is the solver here
        until((folder / "found").exists, "a way")
        player.presses(*["Left"] * 9, "Ctrl+S")
        until(lambda: bool(player.files("*.gvreplay")), "the replay")
        (file,) = player.files("*.gvreplay")
        replay = Replay.load(file)
        assert len(replay.steps) == 9
        assert all("bob MOVE_" in step.action for step in replay.steps)
        assert "in 9 steps" in player.leaves()


@pytest.mark.thorough
def test_a_rule_of_ones_own(screen: Screen, folder: Path):
    cave = folder / "cave"
    write_starter_project(cave)
    with playing(screen, folder, cave, 0) as player:
        player.does(*CAVE)
        until(player.sees_the_same, "the exit")
        assert "left" not in player.leaves()


@pytest.mark.thorough
@pytest.mark.parametrize("player", ["pass"], indirect=True)
def test_a_held_key_walks_on_until_it_is_let_go(player: Player):
    player.screen.xdotool("keydown", "Left")
    pictures = [player.picture().copy()]
    for _ in range(8):
        until(lambda: not np.array_equal(player.picture(), pictures[-1]), "another picture")
        pictures.append(player.picture().copy())
    player.screen.xdotool("keyup", "Left")

    def rests() -> bool:
        time.sleep(0.5)  # longer than a held key takes to repeat
        pictures.append(player.picture().copy())
        return np.array_equal(pictures[-2], pictures[-1])

    until(rests, "the last picture")
    assert int(player.leaves().split(" in ")[1].split()[0]) > 3


@pytest.mark.thorough
def test_the_window_has_any_size_and_a_menu_for_the_mouse(player: Player):
    player.presses("Up")
    for width, height in ((500, 900), (1300, 400), (320, 240), (160, 90), (800, 600)):
        player.screen.xdotool("windowsize", player.window, str(width), str(height))
        player.screen.xdotool("windowmove", player.window, "10", "20")
        until(lambda: player.area()[2:] == (width, height), "the size")  # noqa: B023 - called at once
        until(player.sees_the_same, "the picture in another size")
    before = player.picture().copy()
    player.screen.xdotool("mousemove", "770", "35", "click", "1")
    until(lambda: (player.picture() != before).mean() > 0.5, "the menu")
    player.presses("Escape")
    assert "left" in player.leaves()


@pytest.mark.thorough
def test_keys_are_named_in_the_layout_of_the_keyboard(screen: Screen):
    if shutil.which("setxkbmap") is None:
        pytest.skip("needs setxkbmap to change the layout")
    environment = {**os.environ, "DISPLAY": screen.display, "SDL_VIDEODRIVER": "x11"}
    command = [sys.executable, "-c", _NAME_KEYS, "fr", "de", "us"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout.splitlines()[-3:] == ["fr: Q W !", "de: A Y -", "us: A Z ?"]


@pytest.mark.thorough
def test_full_screen_fills_the_screen_without_a_window_manager(player: Player):
    size = player.area()[2:]
    for fills in (True, False):
        player.screen.xdotool("key", "F11")
        until(lambda: is_filled(player.screen) == fills, "another window")  # noqa: B023
        before = player.screen.pixels()
        player.screen.xdotool("key", "Left")
        until(lambda: (player.screen.pixels() != before).any(), "a step")  # noqa: B023
        time.sleep(0.7)  # the key is dead for half a second
    player.window = player.screen.find(player.process)
    assert player.area()[2:] == size


def is_filled(screen: Screen) -> bool:
    """Whether something is to be seen in all corners."""
    corners = screen.pixels()[[2, 2, -2, -2], [2, -2, 2, -2]]
    return bool(corners.any(1).all())
