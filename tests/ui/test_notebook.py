"""What notebooks show: the HTML that environments, sessions, replays and rollouts give of
themselves."""

import base64
import html
import re
import subprocess
import sys
from pathlib import Path

import imageio.v3
import numpy as np
import pytest

from gv_engine import GridEnv, GridVectorEnv, Scenario, parallel_env
from gv_engine.cli import main
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.rollout_games import RolloutSessions
from gv_engine.play.session.session import Session
from gv_engine.play.ui.drawing.notebook import CELL, FPS, MAX_FRAMES
from gv_engine.play.ui.drawing.recording import find_views
from gv_engine.plugins.algebra import gym_env
from gv_engine.plugins.web.notebook import PlayableLevel

LEVEL = "keydoor-5x5"


def pictures(text: str) -> list[np.ndarray]:
    """Return the (frames, H, W, 3) pictures of the images in an HTML text."""
    images = re.findall(r'src="data:image/(png|gif);base64,([^"]+)"', text)
    decoded = [
        imageio.v3.imread(base64.b64decode(data), extension=f".{kind}") for kind, data in images
    ]
    return [image if image.ndim == 4 else image[None] for image in decoded]


def test_an_environment_shows_its_world():
    env = GridEnv(LEVEL, world="object")
    assert "Call reset() to begin." in env._repr_html_()
    assert not pictures(env._repr_html_())
    env.reset(seed=3)
    env.step(4)
    text = env._repr_html_()
    ((picture,),) = pictures(text)
    renderer = find_views(env.scenario)["both"](env.scenario, "both", CELL)
    drawn = renderer(env._new_renderer("ansi").frame(0))
    assert np.array_equal(picture[: drawn.shape[0], : drawn.shape[1]], drawn)
    assert "1 step · return -0.05" in text
    assert html.escape(repr(env)) in text
    assert "</div><figure" in text
    assert text.endswith("</figure>")


def test_a_batch_shows_its_first_worlds():
    envs = GridVectorEnv(LEVEL, 15, world="object")
    envs.reset(seed=3)
    text = envs._repr_html_()
    assert len(pictures(text)) == 12
    assert text.count("</figure><figure") == 11  # nothing is between the pictures
    assert "Worlds 12 to 14 are not shown." in text
    one, two = (shown[0] for shown in pictures(text)[:2])
    assert not np.array_equal(one, two)


def test_several_agents_and_expressions_show_themselves():
    world = parallel_env("hold-plates", world="object")
    world.reset(seed=0)
    assert len(pictures(world._repr_html_())) == 1
    expression = gym_env.ExpressionEnv("mathy-poly-simplify-easy")
    expression.reset(seed=0)
    assert len(pictures(expression._repr_html_())) == 1


def test_a_session_and_its_replay_are_animations(here: Path):
    session = Session(Scenario.load(LEVEL), 3)
    assert [len(shown) for shown in pictures(session._repr_html_())] == [1]
    for action in ("TURN_LEFT", "TURN_LEFT", "TURN_LEFT"):
        session.step(action)
    session.seek(1)
    session.message = "untouched"
    (moving,) = pictures(session._repr_html_())
    assert (session.position, session.message) == (1, "untouched")
    assert len(moving) == 4 + FPS  # the last one stays for a second
    assert len({frame.tobytes() for frame in moving}) == 4
    session.replay().save(Path("a.gvreplay"))
    (again,) = pictures(Replay.load(Path("a.gvreplay"))._repr_html_())
    assert np.array_equal(again, moving)


def test_long_episodes_leave_out_steps():
    session = Session(Scenario.load(LEVEL).with_(max_steps=700), 3)
    for _ in range(MAX_FRAMES + 10):
        session.step("TURN_LEFT")
    text = session._repr_html_()
    assert len(pictures(text)[0]) <= MAX_FRAMES // 2 + 10 + FPS
    assert f"{MAX_FRAMES + 10} steps, every 2 steps" in text


def test_what_cannot_be_drawn_says_why():
    level = {
        "name": "<mine>",
        "map": "#####\n#>.E#\n#####",
        "transition_functions": ["move_agent"],
        "reward_functions": ["reach_exit"],
        "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
        "terminating_function": "reach_exit",
    }
    replay = Session(Scenario.load(level), 0).replay()
    text = replay._repr_html_()
    assert not pictures(text)
    assert "no built-in scenario" in text
    assert "&lt;mine&gt;" in text


@pytest.mark.compiled
def test_a_rollout_shows_its_episodes(here: Path):
    words = ["--episodes", "3", "--policy", "valid", "--out", "seen"]
    assert main(["rollout", LEVEL, "--max-steps", "12", *words]) == 0
    text = RolloutSessions(Path("seen"))._repr_html_()
    assert len(pictures(text)) == 3
    assert "Episode 2" in text


@pytest.mark.compiled
def test_a_level_is_played_in_its_frame():
    session = Session(Scenario.load(LEVEL), 7)
    level = PlayableLevel(session)
    text = level._repr_html_()
    assert text.startswith('<iframe width="800" height="600"')
    (page,) = re.findall(r'srcdoc="([^"]*)"', text)
    assert html.unescape(page) == level.page
    assert '"seed":"7"' in level.page.replace(" ", "")
    assert PlayableLevel(LEVEL, 7).page == level.page


def test_pygame_is_imported_to_draw_alone():
    code = (
        "import sys; from gv_engine import GridEnv;"
        "from gv_engine.play.session.session import Session;"
        f"env = GridEnv('{LEVEL}', world='object'); env.reset(seed=0);"
        "print('pygame' in sys.modules); env._repr_html_(); print('pygame' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[-2:] == ["False", "True"], done.stderr
