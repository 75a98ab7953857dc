"""`gv-engine record`."""

from pathlib import Path

import imageio.v3
import numpy as np
import pytest

from gv_engine.cli import main

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("view", ["both", "state", "observation", "window"])
def test_picture(here: Path, view: str):
    assert main(["record", "keydoor-5x5", "a.png", "--view", view, "--cell", "16"]) == 0
    picture = imageio.v3.imread("a.png")
    sizes = {"both": (112, 200), "state": (80, 80), "observation": (112, 112)}
    assert picture.shape[:2] == sizes.get(view, (256, 400))
    assert len(np.unique(picture)) > 20


# imageio leaves the pipes open through which it reads a video
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_animation(here: Path, suffix: str):
    out = f"a.{suffix}"
    words = ["--steps", "6", "--fps", "4", "--cell", "15", "--policy", "valid", "--view", "state"]
    assert main(["record", "keydoor-5x5", out, *words]) == 0
    pictures = imageio.v3.imread(out)
    assert pictures.shape[1:3] == (76, 76)  # even, for the video
    assert len({picture.tobytes() for picture in pictures}) > 3


def test_equal_seeds_are_equal_pictures(here: Path):
    for out, seed in (("a.png", "1"), ("b.png", "1"), ("c.png", "2")):
        assert main(["record", "keydoor-7x7", out, "--seed", seed, "--steps", "9"]) == 0
    a, b, c = (Path(out).read_bytes() for out in ("a.png", "b.png", "c.png"))
    assert a == b != c


@pytest.mark.parametrize("policy", ["random", "valid", "solver"])
def test_algebra_by_every_policy(here: Path, policy: str, capsys):
    level = "mathy-poly-commute-like-terms-normal"
    for out in ("a.gvreplay", "a.png"):
        assert main(["record", level, out, "--policy", policy, "--steps", "9", "--seed", "1"]) == 0
    steps = {"solver": "2 steps"}.get(policy, "9 steps")
    assert capsys.readouterr().out.count(steps) == 2
    assert main(["replay", "a.gvreplay", "--verify"]) == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["a.avi"], "a.avi: the name must end with .gif, .mp4, .png, .gvreplay"),
        (["a.png", "--view", "stat"], "did you mean 'state'?"),
        (["missing/a.png"], "cannot be written"),
    ],
)
def test_record_refuses(here: Path, words: list[str], part: str, capsys):
    assert main(["record", "keydoor-5x5", *words]) != 0
    assert part in capsys.readouterr().err
    assert not list(here.iterdir())
