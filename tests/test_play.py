"""Whole games, played for real: the command, a window under a virtual screen, pressed keys."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.commands.new import write_starter
from gv_engine.frontend import window
from gv_engine.frontend.drawing import draw_frame
from gv_engine.frontend.sprites import SpriteSheet, pygame
from gv_engine.game import Game
from gv_engine.geometry import ACTIONS
from tests.screen import PATIENCE, Screen, until

SOLVED = Path(__file__).parent / "data" / "conformance" / "gv_keydoor.5x5.solved200.npz"
ROOT = Path(__file__).parent.parent
NAMED = {"up": "Up", "down": "Down", "left": "Left", "right": "Right", "escape": "Escape"}

GO, HIT, TURN, ASIDE = "MOVE_FORWARD", "ACTUATE", "TURN_RIGHT", "MOVE_RIGHT"
CAVE = [GO] * 3 + [HIT, HIT, GO, GO, ASIDE, ASIDE]
CAVE += [TURN, HIT, HIT, GO, GO, GO, TURN, HIT, HIT]
CAVE += [GO, GO, "MOVE_LEFT", GO, GO]

PROCESSOR = '''
import esper
from components import Agent, Position, Solid
from gv_engine import component, object_type
from gv_engine.geometry import ACTUATE, step_x, step_y

@component
class Rubble:
    """Gone when it is hit."""

RUBBLE = object_type("Rubble", Rubble, Solid)

class HitRubble(esper.Processor):
    def process(self):
        if self.world.action != ACTUATE:
            return
        for _, (agent, place) in esper.get_components(Agent, Position):
            ahead = place.y + step_y(agent.facing), place.x + step_x(agent.facing)
            for e, (_, position) in esper.get_components(Rubble, Position):
                if (position.y, position.x) == ahead:
                    self.world.remove(e)
'''

TUNNEL = """
map: |
  ######
  #>.RE#
  ######
legend: {R: Rubble}
transition_functions: [{name: move_agent}, {name: "./rules.py:HitRubble"}]
reward_functions: [{name: reach_exit}]
observation_function: {name: fully_transparent, area: [[-2, 0], [-1, 1]]}
terminating_function: {name: reach_exit}
"""


def keys_for(actions: Iterable[str]) -> list[str]:
    """What to press, in xdotool's words."""
    pressed: dict[str, str] = {}
    for group in window.KEYS:
        for key, action in group.actions.items():
            name = pygame.key.name(key)
            shift = "shift+" if group.shift else ""
            pressed.setdefault(action, shift + NAMED.get(name, name))
    return [pressed[action] for action in actions]


class Player:
    """Somebody with a keyboard in front of a game, who plays the same game in the head."""

    def __init__(self, screen: Screen, process: subprocess.Popen[str], game: Game) -> None:
        self.screen, self.process, self.game = screen, process, game
        self.window = screen.find(process)
        screen.xdotool("windowfocus", "--sync", self.window)
        self.sheet = SpriteSheet(game.sprite_folders)

    def does(self, *actions: str) -> None:
        for action in actions:
            if action == window.RESET:
                self.game.reset()
            else:
                self.game.step(action)
        self.screen.xdotool("key", "--delay", "30", *keys_for(actions))

    def sees_the_same(self) -> bool:
        words = self.screen.xdotool("getwindowgeometry", "--shell", self.window).split()
        values = {name: int(value) for name, value in (word.split("=") for word in words)}
        x, y, width, height = (values[name] for name in ("X", "Y", "WIDTH", "HEIGHT"))
        picture = draw_frame(
            self.game.frame(),
            (width, height),
            self.sheet,
            self.game.names,
            keys=window.HELP,
            again=window.AGAIN,
        )
        expected = pygame.surfarray.array3d(picture).swapaxes(0, 1)
        return np.array_equal(self.screen.pixels()[y : y + height, x : x + width], expected)

    def leaves(self) -> str:
        """Press Escape; returns what the game says at the end."""
        self.screen.xdotool("key", *keys_for([window.LEAVE]))
        said, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return said


@contextmanager
def playing(screen: Screen, scenario: str | Path, seed: int) -> Iterator[Player]:
    """Play with the real command, started in another process."""
    environment = {**os.environ, "DISPLAY": screen.display, "PYTHONPATH": str(ROOT)}
    for name in ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "gv_engine", "play", str(scenario), "--seed", str(seed)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Player(screen, process, Game(Scenario.load(scenario), seed))
        finally:
            process.kill()


def test_key_taken_door_opened_exit_reached(screen: Screen):
    with np.load(SOLVED) as recorded:
        actions = [ACTIONS[number] for number in recorded["action"]]
        total = sum(recorded["reward"].tolist())
    assert {"PICK_N_DROP", "ACTUATE"} <= set(actions)
    with playing(screen, "keydoor-5x5", 200) as player:
        until(player.sees_the_same, "the level")
        player.does(*actions)
        until(player.sees_the_same, "the end")
        frame = player.game.frame()
        assert frame.outcome == "terminated"
        assert frame.total == total
        said = player.leaves()
    assert said == f"keydoor-5x5: seed 200, return {total:+.6g} in {len(actions)} steps\n"


def test_another_round_and_an_action_that_the_level_lacks(screen: Screen):
    with playing(screen, "empty-4x4", 0) as player:
        player.does("TURN_LEFT", "PICK_N_DROP")
        assert player.game.message == "Pick n drop: not in this level"
        until(player.sees_the_same, "the message")
        player.does(window.RESET)
        assert player.game.seed == 1
        until(player.sees_the_same, "the next level")
        assert player.leaves() == "empty-4x4: seed 0, left, return -0.05 in 1 step\n"


@pytest.mark.parametrize("kind", ["columns", "processor"])
def test_a_rule_of_ones_own(screen: Screen, tmp_path: Path, kind: str):
    folder = tmp_path / "cave"
    actions = CAVE
    if kind == "columns":
        write_starter(folder)
    else:
        folder.mkdir()
        (folder / "scenario.yaml").write_text(TUNNEL)
        (folder / "rules.py").write_text(PROCESSOR)
        actions = [GO, HIT, GO, GO]
    with playing(screen, folder, 0) as player:
        player.does(*actions)
        assert player.game.frame().outcome == "terminated"
        until(player.sees_the_same, "the exit")
        assert "left" not in player.leaves()
