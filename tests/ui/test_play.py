"""The game for real: the command in its own process, keys from xdotool, a virtual screen.

A twin in this process is played with the same keys; the screen has to show what the twin draws.
"""

import time
from pathlib import Path

import imageio.v3
import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.cli.new import write_starter
from gv_engine.rules.geometry import ACTIONS
from gv_engine.session.replay import SUFFIX, Replay
from gv_engine.session.session import Session
from gv_engine.ui.screens.start import StartScreen
from tests import DATA
from tests.player import playing, started
from tests.screen import Screen, until

SOLVED = DATA / "conformance" / "gv_keydoor.5x5.solved200.npz"

GO, HIT, TURN, ASIDE = "MOVE_FORWARD", "ACTUATE", "TURN_RIGHT", "MOVE_RIGHT"
CAVE = [GO] * 3 + [HIT, HIT, GO, GO, ASIDE, ASIDE]
CAVE += [TURN, HIT, HIT, GO, GO, GO, TURN, HIT, HIT]
CAVE += [GO, GO, "MOVE_LEFT", GO, GO]

PROCESSOR = '''
import esper
from components import Agent, Position, Solid
from gv_engine import component, object_type
from gv_engine.rules.geometry import ACTUATE, step_x, step_y

@component
class Rubble:
    """Gone when it is hit."""

RUBBLE = object_type("Rubble", Rubble, Solid)

class HitRubble(esper.Processor):
    def process(self):
        if self.world.action[1] != ACTUATE:
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


@pytest.mark.thorough  # at a desk, the tests of the screens do each part of it
# imageio leaves the pipes open through which it reads a video
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_from_the_start_screen_to_a_video(screen: Screen, folder: Path):
    """Search, play, undo three steps, finish, save the replay, check it, watch it, export it."""
    with started(screen, folder, "play") as player:
        player.desk.app.push(StartScreen(player.desk.app))
        until(lambda: len(np.unique(player.picture())) > 50, "the start screen")
        player.types("empty 4")
        player.presses("Return")
        game: Session = player.desk.app.top.game  # type: ignore[attr-defined]
        player.presses("G")
        player.types("3")
        player.presses("Return")
        assert game.seed == 3
        until(player.sees_the_same, "the level of that seed")
        player.presses("Left", "Left", "Up")
        player.presses("Z", "Z", "Z")
        assert (game.position, game.length) == (0, 3)
        until(player.sees_the_same, "the beginning once more")
        player.presses("Right", "Up")
        assert game.frame().outcome == "terminated"
        until(player.sees_the_same, "the end")
        player.presses("Ctrl+S")
        until(lambda: len(player.files(f"replays/*{SUFFIX}")) == 1, "the replay")
        (file,) = player.files(f"replays/*{SUFFIX}")
        replay = Replay.load(file)
        assert [taken.action for taken in replay.steps] == ["TURN_RIGHT", "MOVE_FORWARD"]
        assert main(["replay", str(file), "--verify"]) == 0
        player.presses("Escape")
        menu = player.desk.app.top
        leave = next(n for n, row in enumerate(menu.rows()) if row.label == "Leave this level")  # type: ignore[attr-defined]
        player.presses(*["Down"] * leave, "Return")
        player.types("seed3")  # the replay is named after it
        player.presses("Return", "Space")
        time.sleep(0.2)
        player.presses("End", "E", "Return")
        until(lambda: len(player.files("recordings/[!.]*.mp4")) == 1, "the video")
        (video,) = player.files("recordings/[!.]*.mp4")
        assert player.leaves().startswith("empty-4x4: seed 3, well done, return +5.1 in 2 steps")
    pictures = imageio.v3.imread(video)
    assert len(pictures) >= len(replay.steps) + 1
    assert (pictures[0] != pictures[-1]).any()


@pytest.mark.thorough  # at a desk, test_played.py does it
def test_algebra_hint_by_hint(screen: Screen, folder: Path):
    """Search, take hints to the goal, undo, save the replay, check it."""
    with started(screen, folder, "play") as player:
        player.desk.app.push(StartScreen(player.desk.app))
        until(lambda: len(np.unique(player.picture())) > 50, "the start screen")
        player.types("poly-simplify-easy")
        player.presses("Return", "G")
        player.types("1")
        player.presses("Return")
        game: Session = player.desk.app.top.game  # type: ignore[attr-defined]
        assert (game.title, game.seed) == ("mathy-poly-simplify-easy", 1)
        until(player.sees_the_same, "the problem")
        while not game.frame().outcome:
            player.presses("F")
            until(player.sees_the_same, "the hint")
            player.presses("Space")
        assert game.frame().outcome == "win"
        until(player.sees_the_same, "the goal")
        player.presses("Z", "Ctrl+S")
        until(lambda: len(player.files(f"replays/*{SUFFIX}")) == 1, "the replay")
        (file,) = player.files(f"replays/*{SUFFIX}")
        assert main(["replay", str(file), "--verify"]) == 0
        assert player.leaves().startswith("mathy-poly-simplify-easy: seed 1, ")


def test_another_round_and_an_action_that_the_level_lacks(screen: Screen, folder: Path):
    with playing(screen, folder, "empty-4x4", 0) as player:
        player.does("TURN_LEFT", "PICK_N_DROP")
        game: Session = player.desk.app.top.game  # type: ignore[attr-defined]
        assert game.message == "Pick n drop: not in this level"
        until(player.sees_the_same, "the message")
        player.presses("N")
        assert game.seed == 1
        until(player.sees_the_same, "the next level")
        assert player.leaves() == "empty-4x4: seed 0, left, return -0.05 in 1 step\n"


@pytest.mark.sample("columns")
@pytest.mark.parametrize("kind", ["columns", "processor"])
def test_a_rule_of_ones_own(screen: Screen, folder: Path, kind: str):
    cave = folder / "cave"
    actions = CAVE
    if kind == "columns":
        write_starter(cave)
    else:
        cave.mkdir()
        (cave / "scenario.yaml").write_text(TUNNEL)
        (cave / "rules.py").write_text(PROCESSOR)
        actions = [GO, HIT, GO, GO]
    with playing(screen, folder, cave, 0) as player:
        player.does(*actions)
        until(player.sees_the_same, "the exit")
        assert "left" not in player.leaves()


def test_a_level_is_changed_while_it_is_played(screen: Screen, folder: Path):
    cave = folder / "cave"
    write_starter(cave)
    file = cave / "scenario.yaml"
    with playing(screen, folder, cave, 0) as player:
        player.does(GO, TURN)
        until(player.sees_the_same, "the level")
        before = player.picture().copy()
        text = file.read_text("utf-8")
        file.write_text(text.replace("#...#...#\n  #####", "#..##...#\n  #####"), "utf-8")
        until(lambda: not np.array_equal(player.picture(), before), "the change")
        before = player.picture().copy()
        file.write_text("map: [\n", "utf-8")
        until(lambda: not np.array_equal(player.picture(), before), "the error")
        player.does(TURN)
        assert "left, return" in player.leaves()
