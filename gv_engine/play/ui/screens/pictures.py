"""Pictures of levels for cards, kept as files in the cache folder.

A file is a PNG picture, followed by the description of the level. Its name is a digest of
everything that the picture depends on, so that a change makes a new file.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path

from gv_engine.play.session.catalogue import Entry, read_entry
from gv_engine.play.session.game import Game
from gv_engine.play.session.sprite_paths import folders_beside
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.drawing.stage import make_stage
from gv_engine.play.ui.settings import cache_folder
from gv_engine.scenario.documents.document import list_watched_files
from gv_engine.scenario.storage.files import write_file
from gv_engine.scenario.storage.resources import ASSETS, HOME, PACKAGE, SCENARIOS, SIBLINGS

SIDE = 320  # pixels of the longer side of a picture
MAX_FILES = 2000  # number of pictures to keep
_ENGINE_FOLDERS = PACKAGE, ASSETS, SCENARIOS, *(HOME / name for name in SIBLINGS)
_SUFFIXES = ".py", ".svg", ".toml", ".yaml"  # files of the engine that pictures depend on
_END = b"IEND\xaeB`\x82"  # end of a PNG file


def draw_picture(game: Game, theme: Theme) -> pygame.Surface:
    """Return a picture of the world of `game`, at most `SIDE` pixels wide and high, without
    margins."""
    surface = pygame.Surface((SIDE, SIDE), pygame.SRCALPHA, 32)
    make_stage(game, theme).draw_thumbnail(surface, surface.get_rect())
    return surface.subsurface(surface.get_bounding_rect()).copy()


def encode_picture(picture: pygame.Surface) -> bytes:
    """Return `picture` as the content of a PNG file."""
    stream = BytesIO()
    pygame.image.save(picture, stream, "picture.png")
    return stream.getvalue()


def load_picture(entry: Entry, theme: Theme) -> tuple[pygame.Surface, str]:
    """Return a picture of the level that `entry` has for seed 0, and its description, from the
    cache folder if possible. Python code of the scenario's own does not run.

    Raises:
        TrustError: the scenario has Python code of its own.
        GVEngineError, OSError: the scenario cannot be read.
    """
    digest = sha256(f"{_digest_engine()} {entry.source} {theme}".encode())
    files = list_watched_files(read_entry(entry.source), ())
    sprites = (sprite for folder in folders_beside(files) for sprite in folder.glob("*.svg"))
    for file in (*files, *sprites):
        digest.update(f" {file} ".encode("utf-8", "surrogateescape") + file.read_bytes())

    def is_covered(file: Path) -> bool:
        return file in files or any(map(file.is_relative_to, _ENGINE_FOLDERS))

    file = cache_folder() / "pictures" / f"{digest.hexdigest()[:32]}.png"
    with suppress(OSError, ValueError, pygame.error):
        png, end, text = file.read_bytes().partition(_END)
        return pygame.image.load(BytesIO(png + end), file.name), text.decode()
    picture = draw_picture(Game(entry.scenario, seed=0), theme)
    description = " ".join(entry.scenario.description.split())
    if not all(map(is_covered, entry.scenario.watched_files())):
        return picture, description
    with suppress(OSError, pygame.error):  # a folder that cannot be written
        _prepare_folder(file.parent)
        write_file(file, encode_picture(picture) + description.encode())
    return picture, description


@cache
def _digest_engine() -> str:
    """Return a digest of the engine's code, sprites and scenarios."""
    digest = sha256()
    for folder in _ENGINE_FOLDERS:
        for file in sorted(file for file in folder.rglob("*.*") if file.suffix in _SUFFIXES):
            with suppress(OSError):  # a file that is being replaced
                digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _prepare_folder(folder: Path) -> None:
    """Create `folder`, once in a process; delete its files if there are more than `MAX_FILES`."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(islice(folder.iterdir(), MAX_FILES, None)):
        for file in folder.glob("*.png"):
            file.unlink(missing_ok=True)
