"""What an agent is shown (GridVerse specification, section 6), in both worlds."""

import numpy as np
import pytest

from components.core import HIDDEN
from gv_engine import ScenarioError
from gv_engine.rules.geometry import MOVE_BACKWARD, MOVE_FORWARD, PICK_N_DROP, TURN_RIGHT
from tests.boards import Session, scenario

# ---- partially_occluded, in a view of 4 rows and 5 columns -------------------------------------


VIEWS = {
    "nothing in the way": ("......./E.....K/.K...../...b.../...^...", "...../K..../..b../....."),
    "a wall, which hides what is behind": (
        "......./......./#######/...^...",
        "?????/?????/#####/.....",
    ),
    # left and right of a corridor sight opens up diagonally, never back towards the middle
    "round a corner": ("..K../.#.../.#.#./.#^#.", "..K../?#.../?#.#?/?#.#?"),
    "a diagonal step without a free side": ("...../...../.#.#./.#^#.", "...../...../?#.#?/?#.#?"),
    "closed in": ("...../.###./.#^#./.###.", "?????/?????/?###?/?#.#?"),
    "beyond the edge": ("^", "?????/?????/?????/??.??"),
    "from a wall": (".../.W./...", "?????/?????/?????/??#??"),
    "from a closed door": (".../.C./...", "?????/?????/?????/??d??"),
}
"""Boards, and what the agent on them sees; row by row."""


@pytest.mark.parametrize(("board", "view"), VIEWS.values(), ids=VIEWS)
def test_what_is_seen_of_a_board(play, board, view):
    within = {
        "W": {"object": "Wall", "agent": "FORWARD"},
        "C": {"object": "Door", "state": "CLOSED", "agent": "FORWARD"},
    }
    game = play(board.replace("/", "\n"), legend=within)
    assert game.view.replace("\n", "/") == view


@pytest.mark.parametrize(("things", "behind"), [("#Dd", "?"), ("_KEBTbo", ".")])
def test_what_blocks_vision_casts_a_shadow_straight_ahead(play, things, behind):
    for thing in things:
        game = play(f".....\n.....\n..{thing}..\n..^..")
        assert game.view == f"..{behind}..\n..{behind}..\n..{thing}..\n....."


def test_the_agent_must_be_in_the_bottom_row():
    sight = {"name": "partially_occluded", "area": [[-3, 1], [-2, 2]]}
    with pytest.raises(ScenarioError, match="the agent must be in the bottom row"):
        scenario("^", observation_function=sight)


# ---- orientations, edges, what the agent stands on ---------------------------------------------


@pytest.mark.parametrize(
    ("facing", "view"),
    [
        ("FORWARD", "?????/?????/..K.?/E...?"),
        ("BACKWARD", "?????/?????/?d.../?...E"),
        ("LEFT", "?????/?.E.?/?...?/?..K?"),
        ("RIGHT", "?????/?????/?..d?/?K..?"),
    ],
)
def test_the_view_turns_with_the_agent(play, facing, view):
    game = play("..K.\nE.a.\n...d", legend={"a": {"agent": facing}})
    assert game.view.replace("\n", "/") == view


@pytest.mark.parametrize("agent", "^v<>")
def test_at_the_edges_as_much_is_seen_as_there_is(play, agent):
    for y, x in [(0, 0), (0, 2), (2, 0), (2, 2)]:
        rows = [["K"] * 3 for _ in range(3)]
        rows[y][x] = agent
        seen = play("\n".join("".join(row) for row in rows)).view
        # two cells to either side, three ahead, all of a 3x3 grid that lies there
        ahead = {"^": y, "v": 2 - y, "<": x, ">": 2 - x}[agent]
        assert seen.count("K") == 3 * (ahead + 1) - 1
        assert seen[-3] == "."


def test_the_object_under_the_agent_is_seen(play):
    game = play(">K.E", MOVE_FORWARD)
    assert game.view.split("\n") == ["?????", "??E??", "??.??", "??K??"]
    game.act(MOVE_FORWARD, MOVE_FORWARD)
    assert game.view.split("\n")[-1] == "??E??"


def test_colours_states_and_the_held_object_are_shown(play):
    red, blue = {"color": "RED"}, {"color": "BLUE"}
    legend = {"R": {"object": "Key", **red}, "D": {"object": "Door", "state": "LOCKED", **blue}}
    game = play("R.\n^D", legend=legend)
    grid = game.batch.outputs.grid[1]
    assert grid[2, 2].tolist() == [6, 0, 1]
    assert grid[3, 3].tolist() == [5, 2, 3]
    assert grid[3, 2].tolist() == [2, 0, 0]
    assert grid[0, 0].tolist() == [HIDDEN, 0, 0]
    assert game.batch.outputs.item[1].tolist() == [0, 0, 0]
    game.act(PICK_N_DROP)
    assert game.batch.outputs.item[1].tolist() == [6, 0, 1]
    assert game.view.split("\n")[2] == "??..?"
    game.act(PICK_N_DROP)
    assert game.batch.outputs.item[1].tolist() == [0, 0, 0]


# ---- fully_transparent and areas ---------------------------------------------------------------

MAZE = "K#.b\n.#dE\n##a."


def transparent(area):
    """Return the changes for a view of everything, by the program of all views of this shape."""
    call = {"name": "./everything/rules.py:any_visibility", "which": 0, "area": area}
    return {"observation_function": {**call, "absolute": True, "threshold": 1.0}}


AROUND = {"observation_function": {"name": "fully_transparent", "area": [[-2, 2], [-2, 2]]}}


@pytest.mark.sample("object")
@pytest.mark.parametrize(
    ("area", "facing", "view"),
    [
        # rows above, rows below, columns left, columns right of the agent: all are 4 by 6
        ([[-3, 0], [-3, 2]], "FORWARD", "??????/?K#.b?/?.#dE?/?##..?"),
        ([[-3, 0], [-3, 2]], "RIGHT", "??????/??????/?bE.??/?.d.??"),
        ([[-1, 2], [-2, 3]], "FORWARD", ".#dE??/##..??/??????/??????"),
        ([[-1, 2], [-2, 3]], "BACKWARD", "??????/?..##?/?Ed#.?/?b.#K?"),
        ([[-1, 2], [-2, 3]], "LEFT", "??###?/??.d.?/??.Eb?/??????"),
        # the agent's own cell lies outside
        ([[-4, -1], [0, 5]], "FORWARD", "??????/??????/.b????/dE????"),
        ([[1, 4], [-5, 0]], "BACKWARD", "????Ed/????b./??????/??????"),
        ([[2, 5], [3, 8]], "FORWARD", "??????/??????/??????/??????"),
    ],
)
def test_areas(play, area, facing, view):
    legend = {"a": {"agent": facing}}
    assert play(MAZE, legend=legend, **transparent(area)).view.replace("\n", "/") == view


@pytest.mark.sample("object")
def test_everything_is_seen_from_a_blocking_cell(play):
    legend = {"a": {"object": "Wall", "agent": "FORWARD"}}
    game = play("KKK\n#a#", legend=legend, **transparent([[-3, 0], [-3, 2]]))
    assert game.view == "??????\n??????\n??KKK?\n??###?"


@pytest.mark.sample("object")
def test_an_area_may_be_larger_than_the_grid_on_all_sides(play):
    game = play("^", **AROUND)
    assert game.view == "?????\n?????\n??.??\n?????\n?????"
    uneven = scenario("^", **transparent([[-2, 1], [-3, 2]]))
    assert Session(uneven, "object").view == "??????\n??????\n???.??\n??????"


@pytest.mark.sample("object")
def test_turning_around_shows_everything_once(play):
    # a quarter turn in the middle of a square area only rotates what is seen
    game = play(".....\n.K.d.\n..^.E\n.#...\n.....", **AROUND)
    before = game.batch.outputs.grid[1].copy()
    for quarters in (1, 2, 3, 0):
        game.act(TURN_RIGHT)
        np.testing.assert_array_equal(game.batch.outputs.grid[1], np.rot90(before, quarters))


def test_the_past_is_not_seen(play):
    # every cell is written anew: nothing of an earlier look is left where one sees less
    game = play("EEE\nKKK\n.^.\n...", MOVE_FORWARD, MOVE_BACKWARD, TURN_RIGHT, TURN_RIGHT)
    assert game.view == "?????\n?????\n?...?\n?...?"
