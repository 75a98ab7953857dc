"""The moving picture of the README: a game, what its agent observes, and a wall of worlds.

    python -m tests.front_picture [FILE]

writes `docs/images/front.gif`, or another file, in some ten seconds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
import imageio.v3 as imageio
import numpy as np
import pygame
from numpy.typing import NDArray

from gv_engine import Scenario
from gv_engine.play.session.autoplay import play_steps
from gv_engine.play.session.batch_viewer import BatchViewer
from gv_engine.play.session.game import Game
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.batch_view import BatchView
from gv_engine.play.ui.drawing.recording import stage_renderer
from gv_engine.play.ui.drawing.sprites import LineFont, SpriteSheet, cached_font
from tests import ROOT

LEVEL, POLICY, SEEDS = "keydoor-9x9", "trained", (1, 2)
CELL, WALL_SIDE, GAP, LINE = 26, 370, 14, 15
NUM_WORLDS, FRAME_MS = 100, 150


def draw_games(scenario: Scenario) -> list[NDArray[np.uint8]]:
    """The frames of one game after the other, each with the observation at its right."""
    draw, frames = stage_renderer(scenario, "both", CELL), []
    for seed in SEEDS:
        game = Game(scenario, seed)
        play_steps(game, POLICY, scenario.max_steps or 100)
        frames += [draw(frame) for frame in game.frames()]
        frames += frames[-1:] * 4
    return frames


def draw_walls(scenario: Scenario, count: int) -> list[NDArray[np.uint8]]:
    """Frames of `count` steps of many worlds in one batch."""
    viewer = BatchViewer(scenario, NUM_WORLDS, POLICY)
    view = BatchView(SpriteSheet(types=scenario.types), DARK)
    surface = pygame.Surface((WALL_SIDE, WALL_SIDE), 0, 32)
    frames = []
    for _ in range(count):
        surface.fill(DARK.background)
        view.draw(surface, surface.get_rect(), viewer._make_snapshot().codes)
        frames.append(pygame.surfarray.array3d(surface).swapaxes(0, 1))
        viewer.step()
    viewer.close()
    return frames


def compose(game: NDArray[np.uint8], wall: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A game beside the wall of worlds, with captions below."""
    height = max(len(game), len(wall)) + 2 * GAP + LINE
    canvas = pygame.Surface((game.shape[1] + wall.shape[1] + 3 * GAP, height), 0, 32)
    canvas.fill(DARK.background)
    font = cached_font(LineFont, LINE)
    left = GAP
    captions = (
        "play: the whole state, and what the agent sees",
        f"train: {NUM_WORLDS} worlds at once",
    )
    for picture, caption in zip((game, wall), captions, strict=True):
        shown = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
        canvas.blit(shown, (left, GAP + (height - 2 * GAP - LINE - len(picture)) // 2))
        label = font.render(caption, DARK.text)
        canvas.blit(label, label.get_rect(midbottom=(left + picture.shape[1] // 2, height - 4)))
        left += picture.shape[1] + GAP
    pixels: NDArray[np.uint8] = pygame.surfarray.array3d(canvas).swapaxes(0, 1)
    return pixels


def main(file: Path) -> None:
    """Write the picture."""
    pygame.init()
    scenario = Scenario.load(LEVEL)
    games = draw_games(scenario)
    frames = map(compose, games, draw_walls(scenario, len(games)))
    imageio.imwrite(file, [*frames], duration=FRAME_MS, loop=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "front.gif")
