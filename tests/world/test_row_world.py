"""Rows read like worlds: they show what the world of objects shows."""

import numpy as np

from components.core import FLOOR, YELLOW
from components.objects import EXIT, KEY, WALL
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import MOVE_RIGHT, PICK_N_DROP, RIGHT, TURN_LEFT
from gv_engine.world.simulation import Simulation
from tests import boards


def frames_of(picture, *actions, **changes):
    """What is drawn at the start and after each action."""
    simulation = Simulation(boards.scenario(picture, **changes))
    simulation.reset(np.random.default_rng(0))
    frames: list[Frame] = []
    simulation.render(frames.append)
    for action in actions:
        simulation.step(action)
        simulation.render(frames.append)
    return frames


def test_a_frame_tells_what_happened():
    named = {"max_steps": 2, "name": "key-to-go"}
    start, picked, moved = frames_of("#.\n>K\nE.", PICK_N_DROP, MOVE_RIGHT, **named)
    assert (start.title, start.steps, start.max_steps) == ("key-to-go", 0, 2)
    assert (start.action, start.outcome) == ("", "")
    assert (start.agent, start.item) == ((1, 0, RIGHT), (0, 0, 0))
    assert start.grid[:, :, 0].tolist() == [[WALL, FLOOR], [FLOOR, KEY], [EXIT, FLOOR]]
    assert (picked.action, picked.item, picked.outcome) == ("PICK_N_DROP", (KEY, 0, YELLOW), "")
    paid = {"living_reward": -1.0, "reach_exit": 0.0, "actuate_door": 0.0, "pickndrop": 1.0}
    assert picked.terms == paid
    assert (picked.reward, picked.total, picked.steps) == (0.0, 0.0, 1)
    assert (moved.action, moved.outcome) == ("MOVE_RIGHT", "terminated")
    assert frames_of("^.", TURN_LEFT, max_steps=1)[1].outcome == "truncated"


def test_a_frame_is_lit_where_the_agent_sees():
    red = {"r": {"object": "Key", "color": "RED"}}
    (frame,) = frames_of("..#.\n>rd.\n..#.", legend=red)
    assert frame.seen.astype(int).tolist() == [[1, 1, 1, 0]] * 3
