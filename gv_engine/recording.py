"""Recordings: an episode as pictures, drawn without a display."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.frame import Frame
from gv_engine.frontend.drawing import draw_frame
from gv_engine.frontend.sprites import SpriteSheet, pygame
from gv_engine.frontend.views import Views
from gv_engine.pictures import sprite_folders, sprite_name
from gv_engine.policy import Policy
from gv_engine.simulation import Simulation
from gv_engine.vector_environment import GridVectorEnv

Picture = NDArray[np.uint8]
"""(H, W, 3) red, green, blue."""


def frames(env: GridVectorEnv, policy: Policy, seed: int, steps: int) -> Iterator[Frame]:
    """What is to be seen at the beginning of an episode and after each of its steps.

    Args:
        env: of one world; its episode is number 0 of `gv_engine.rollout` with this seed.
        policy: what acts.
        seed: of the world, and of what the policy draws.
        steps: at most so many; the episode may end before.
    """
    mirror = Simulation(env.scenario)
    policy.begin(0, np.random.default_rng([seed, 0]))
    observation, info = env.reset(seed=seed)
    over = False
    for step in range(steps + 1):
        if step:
            if over:
                return
            actions = policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(actions)
            over = bool(terminated[0] or truncated[0])
        mirror.world.restore(env.snapshot(0))
        terms = info["reward_terms"]
        mirror.terms = [float(terms[name][0]) for name in env.scenario.reward_names]
        found: list[Frame] = []
        mirror.render(found.append, observation["grid"][0])
        yield found[-1]


class Artist:
    """Draws frames of one scenario as arrays.

    Args:
        env: whose scenario it is.
        view: one of `VIEWS`.
        cell: pixels of a cell's side.
    """

    def __init__(self, env: GridVectorEnv, view: str, cell: int) -> None:
        sheet = SpriteSheet(sprite_folders(env.scenario))
        self._draw = VIEWS[view](sheet, view, cell)

    def draw(self, frame: Frame) -> Picture:
        """A picture with an even number of rows and columns, as videos want them."""
        picture = self._draw(frame)
        height, width, _ = picture.shape
        return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


Draw = Callable[[Frame], Picture]


def _views(sheet: SpriteSheet, view: str, cell: int) -> Draw:
    return Views(sheet, sprite_name, view, cell).draw


def _window(sheet: SpriteSheet, view: str, cell: int) -> Draw:
    def draw(frame: Frame) -> Picture:
        surface = draw_frame(frame, (cell * 25, cell * 16), sheet, sprite_name)
        return np.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1))

    return draw


VIEWS: dict[str, Callable[[SpriteSheet, str, int], Draw]] = {
    "both": _views,
    "state": _views,
    "observation": _views,
    "window": _window,
}
"""What of a frame is drawn; a window is as large as 25 × 16 cells."""


def write_picture(path: Path, pictures: Iterator[Picture], fps: float) -> int:
    """Write the last picture as a PNG; returns how many there were."""
    import imageio.v3

    *_, (number, last) = enumerate(pictures, start=1)
    imageio.v3.imwrite(path, last)
    return number


def write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> int:
    """Write pictures as a GIF that repeats; returns how many there were."""
    return _write(path, pictures, int(fps), duration=1000 / fps, loop=0)


def write_video(path: Path, pictures: Iterator[Picture], fps: float) -> int:
    """Write pictures as an MP4; returns how many there were."""
    return _write(path, pictures, int(fps), fps=fps, macro_block_size=2)


def _write(path: Path, pictures: Iterator[Picture], held: int, **options: Any) -> int:
    import imageio.v2

    writer: Any  # the types of imageio's writers do not have append_data
    with imageio.v2.get_writer(path, **options) as writer:
        number = 0
        for picture in pictures:
            writer.append_data(picture)
            number += 1
        for _ in range(held):  # the end stands still for a second
            writer.append_data(picture)
    return number


WRITERS: dict[str, Callable[[Path, Iterator[Picture], float], int]] = {
    ".gif": write_gif,
    ".mp4": write_video,
    ".png": write_picture,
}
"""How files are written, by suffix."""
