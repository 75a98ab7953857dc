"""The gallery of the site: a moving picture of every built-in level, and a page to play it.

    python -m tests.gallery [FOLDER] [--missing]

writes `NAME.gif`, `NAME.png` (the first state) and `NAME.html` for each file of levels into FOLDER,
by default `site/levels/`; with `--missing` only those that are not there. A picture shows the
trained policy where one comes with a level, else the bot, a known way, or the solver.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
import numpy as np
import pygame
from PIL import Image

from gv_engine import GridVectorEnv, Scenario
from gv_engine.envs.rollout.policy import BOT, POLICIES, TRAINED
from gv_engine.play.session.autoplay import SOLVER, AutoplayError, play_steps
from gv_engine.play.session.catalogue import Entry, built_in_entries, load_playable
from gv_engine.play.session.game import Game
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.recording import find_views
from gv_engine.play.ui.drawing.stage import make_stage
from gv_engine.play.validation.solver import Solver
from gv_engine.plugins.web.page import make_page
from gv_engine.scenario.domains import list_playable_scenarios
from gv_engine.scenario.library import FOLDER_FILE, gym_id, list_multi_agent_grids
from tests import DATA, ROOT
from tests.levels import KEYS, WINS

FOLDER = ROOT / "site" / "levels"
SIDE, COLORS, STEP_MS, END_MS = 208, 48, 180, 1200
FEWEST_STEPS, MOST_EPISODES, MOST_STEPS = 20, 5, 80
"""A picture shows episodes until it has so many steps, at most so many episodes, and of a long one
its last steps."""
LARGEST = 30
"""Of grids with more rows or columns, the picture shows what the agent observes."""
SEARCHED = {"2048": (512, 20), "crafter": (1024, 16)}
"""Levels too long for the solver, whose score a search of random games raises: number of games for
a step, and their length."""
NOT_WON = *SEARCHED, "MiniGrid-Playground-v0"
"""Levels whose pictures show no win; nothing is asked in the last one."""
_ROGUE: str = json.loads((DATA / "gallery.json").read_text("utf-8"))["rogue"]["0"]
WAYS = {**WINS, "rogue": (_ROGUE.translate(str.maketrans("0123", "fblr")),)}
"""Known ways to win, also of a level too long for the solver."""
SETTINGS = {"warehouse": {"quota": 1}, "kitchen": {"goal": 20}}
"""Parameters with which the known ways win, by the beginning of a level's name."""
BY = {
    **{TRAINED: "a trained policy", BOT: "BabyAI’s bot", SOLVER: "the solver"},
    **{"way": "a known way to win", "search": "a search of random games", "": "nobody: no goal"},
}


ROOMS = "Rooms and known games"
GROUPS = ("Puzzles", ROOMS, "Gallery", "Together", "Algebra", "MiniGrid", "BabyAI")


class Family(NamedTuple):
    """The levels of one file.

    Attributes:
        name: name of its pictures and page.
        group: heading above it.
        entries: its levels: sizes, variants or ids.
    """

    name: str
    group: str
    entries: Sequence[Entry]

    @property
    def shown(self) -> Entry:
        """The level on the picture: the first one that a trained policy plays, else the first."""
        trained = (entry for entry in self.entries if (POLICIES / entry.source).is_dir())
        return next(trained, self.entries[0])

    @property
    def has_page(self) -> bool:
        """Whether the levels can be played in a browser, as all grids can."""
        return self.group != "Algebra"


def list_families() -> list[Family]:
    """Return the files of built-in levels, in the order of `GROUPS`."""
    refs = list_playable_scenarios()
    families, folders = [], {"mathy": "Algebra", "minigrid": "MiniGrid", "babyai": "BabyAI"}
    for file, found in groupby(built_in_entries(), lambda entry: refs[entry.source].file):
        entries = [*found]
        name = file.parent.name if file.name == FOLDER_FILE else file.stem
        group, folder = entries[0].group, file.relative_to(ROOT / "scenarios").parts[0]
        if folder in folders:
            name, group = f"{folder}-{name}", folders[folder]
        elif group not in GROUPS:
            group = ROOMS
        families.append(Family(name, group, entries))
    return sorted(families, key=lambda family: GROUPS.index(family.group))


# ---- playing -------------------------------------------------------------------------------------

read_level = cache(load_playable)


@cache
def choose_player(level: Entry) -> str:
    """Return the key of `BY` for what plays a level."""
    scenario = read_level(level.source)
    if (POLICIES / level.source).is_dir():
        return TRAINED
    if level.source in WAYS:
        return "way"
    if level.source in NOT_WON:
        return "search" if level.source in SEARCHED else ""
    layout = getattr(scenario, "layout", None)
    return BOT if getattr(getattr(layout, "mission", None), BOT, "") else SOLVER


def play_episodes(family: Family) -> Iterator[Game]:
    """Play the level that the picture of a family shows, with seeds from 0 on, or the first levels
    of a pack; leave out what cannot be won."""
    level, steps = family.shown, 0
    by = choose_player(level)
    settings = SETTINGS.get(level.source.partition("-")[0], {})
    scenarios = [load_playable(entry.source) for entry in level.levels]
    scenarios = scenarios or [load_playable(level.source, **settings)] * 2 * MOST_EPISODES
    count = 0
    for number, scenario in enumerate(scenarios):
        game = Game(scenario, 0 if level.levels else number)
        with suppress(AutoplayError):  # a level that cannot be won
            play(game, by, level.source)
        # `success` is that of the first agent, who does not win all games of several
        if not (game.frame().success or (by == "way" and game.outcome) or level.source in NOT_WON):
            continue
        yield game
        count, steps = count + 1, steps + game.length
        if steps >= FEWEST_STEPS or count == MOST_EPISODES or by in ("way", ""):
            return
    assert count, f"{level.source}: {BY[by]} wins no level"


def play(game: Game, by: str, source: str) -> None:
    """Let the player `by`, a key of `BY`, play a game of the level `source`."""
    if by == SOLVER and isinstance(game.scenario, Scenario):
        for indices in Solver(game.scenario, seconds=40).solve(game.seed).actions:
            game.apply_action(game.timeline.episode.format_action(indices))
    elif by == "way":
        names = [*game.actions]
        wait = names.index("NOOP" if "NOOP" in names else "ACTUATE")
        for keys in zip(*WAYS[source], strict=True):
            indices = [wait if key == "." else names.index(KEYS[key]) for key in keys]
            game.apply_action(game.timeline.episode.format_action(indices))
    elif by == "search":
        search(game, *SEARCHED[source])
    elif by:
        play_steps(game, by, 400)


def search(game: Game, count: int, length: int) -> None:
    """Take steps, each the first of those `count` random games of this length whose sums of rewards
    are best on average."""
    assert isinstance(game.scenario, Scenario)
    env = GridVectorEnv(game.scenario, count)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    firsts = np.arange(count) % len(game.actions)
    for _ in range(MOST_STEPS):
        if game.outcome:
            return
        env.restore(game.row())
        score, weight = np.zeros(count), np.ones(count)
        for step in range(length):
            actions = rng.integers(len(game.actions), size=count) if step else firsts
            _, rewards, ended, _, _ = env.step(actions)
            score += weight * rewards
            weight = np.where(ended, 0, 0.95 * weight)
            if not weight.any():
                break
        means = np.bincount(firsts, score) / np.bincount(firsts)
        game.apply_action(game.actions[int(means.argmax())])


# ---- pictures ------------------------------------------------------------------------------------


def draw_frames(game: Game) -> Iterator[Image.Image]:
    """Yield pictures of the states of a game."""
    surface = pygame.Surface((SIDE, SIDE), 0, 32)
    stage, scenario = make_stage(game, DARK), game.scenario
    observed = max(getattr(game.frame(), "grid", np.zeros((1, 1))).shape[:2]) > LARGEST
    draw = find_views(scenario)["observation"](scenario, "observation", 24) if observed else None
    for frame in [*game.frames()][-MOST_STEPS:]:
        surface.fill(DARK.background)
        if draw:
            picture = pygame.surfarray.make_surface(draw(frame).swapaxes(0, 1))
            scale = SIDE / max(picture.get_size())
            picture = pygame.transform.smoothscale_by(picture, scale)
            surface.blit(picture, picture.get_rect(center=surface.get_rect().center))
        else:
            stage.begin(None, frame)
            stage.draw_thumbnail(surface, surface.get_rect())
        yield Image.frombytes("RGB", (SIDE, SIDE), pygame.image.tobytes(surface, "RGB"))


def write_pictures(family: Family, folder: Path) -> None:
    """Write the moving picture of a family, and the picture of its first state."""
    frames: list[Image.Image] = []
    times: list[int] = []
    for game in play_episodes(family):
        drawn = [*draw_frames(game)]
        frames += drawn
        times += [STEP_MS] * (len(drawn) - 1) + [END_MS]
    sheet = Image.new("RGB", (SIDE, SIDE * len(frames)))
    for number, frame in enumerate(frames):
        sheet.paste(frame, (0, SIDE * number))
    palette = sheet.quantize(COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    first, *rest = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    first.save(folder / f"{family.name}.png", optimize=True)
    first.save(
        folder / f"{family.name}.gif", save_all=True, append_images=rest, duration=times, loop=0
    )


# ---- pages ---------------------------------------------------------------------------------------


def write_page(family: Family, folder: Path) -> None:
    """Write the page on which all levels of a family can be played."""
    packed = family.shown.levels
    levels: list[Any] = [load_playable(entry.source) for entry in packed or family.entries]
    page = make_page(family.name, levels)
    (folder / f"{family.name}.html").write_text(page, "utf-8")


def write_family(family: Family, folder: Path, only_missing: bool = False) -> None:
    """Write pictures and page of a family into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (only_missing and (folder / f"{family.name}.gif").exists()):
        write_pictures(family, folder)
    if family.has_page and not (only_missing and (folder / f"{family.name}.html").exists()):
        write_page(family, folder)


def make_cards(links: str = "../levels/") -> str:
    """Return the HTML text of all families under headings of Markdown; pictures and pages are at
    `links`."""
    parts = [
        "The pictures show a trained policy where one comes with the level, else the solver, a bot "
        "or a known way to win: point at a picture to see which.\n"
    ]
    for group, families in groupby(list_families(), lambda family: family.group):
        cards = "\n".join(make_card(family, links) for family in families)
        parts.append(f'### {group}\n\n<div class="levels">\n{cards}\n</div>\n')
    return "\n".join(parts)


def make_card(family: Family, links: str) -> str:
    """Return the HTML text of one family; its pictures and page are at `links`."""
    level, address = family.shown, f"{links}{family.name}"
    description = read_level(level.source).description
    start, dot, goal = description.rstrip(".").rpartition(". ")
    by = BY[choose_player(level)]
    count = len(level.levels) or len(family.entries)
    kind = "levels" if level.levels else "versions"
    play = f'<a class="play" href="{address}.html">Play it here</a>'
    lines = [
        f'<figure id="{family.name}">',
        f'<a href="{address}.html">' if family.has_page else "",
        f'<picture><source media="(prefers-reduced-motion: reduce)" srcset="{address}.png">',
        f'<img src="{address}.gif" alt="{family.name}, played by {by}" title="played by {by}" '
        f'width="{SIDE}" height="{SIDE}" loading="lazy"></picture>',
        "</a>" if family.has_page else "",
        f"<figcaption><b>{family.name}</b>{f' · {count} {kind}' if count > 1 else ''}",
        f"<p>{escape(start + dot)}<strong>{escape(goal)}.</strong></p>",
        play if family.has_page else f"In the window: <code>gv-engine play {level.source}</code>",
        f"<code>{escape(_make_line(level))}</code>",
        _list_others(family),
        "</figcaption></figure>",
    ]
    return "\n".join(filter(None, lines))


def _make_line(level: Entry) -> str:
    """Return the line of Python that makes a level an environment."""
    if level.source in list_multi_agent_grids():
        return f'gv_engine.parallel_env("{level.source}")'
    return f'gymnasium.make("{gym_id(level.source)}")'


def _list_others(family: Family) -> str:
    """Return a folded list of the other levels of a family; "" if there are none."""
    others = [entry.source for entry in family.entries if entry is not family.shown]
    if not others:
        return ""
    several = list_multi_agent_grids()
    names = ", ".join(name if name in several else gym_id(name) for name in others)
    return f"<details><summary>Others</summary>{names}</details>"


def main(arguments: Sequence[str]) -> None:
    """Write the gallery."""
    only_missing = "--missing" in arguments
    folder = next((Path(word) for word in arguments if not word.startswith("--")), FOLDER)
    with ProcessPoolExecutor(initializer=pygame.init) as pool:
        todo = [pool.submit(write_family, each, folder, only_missing) for each in list_families()]
        for task in todo:
            task.result()
    for suffix in ("gif", "png", "html"):
        sizes = [file.stat().st_size for file in folder.glob(f"*.{suffix}")]
        print(f"{len(sizes)} {suffix}: {sum(sizes) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main(sys.argv[1:])
