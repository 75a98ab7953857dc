"""Sprite files of objects: names, the folders of a scenario, and checks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from gv_engine.play.session.episode import Playable
from gv_engine.play.session.tones import TONES
from gv_engine.rules.errors import GVEngineError, describe_allowed, suggest_similar
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import INLINE_TYPES_PREFIX, ObjectType, is_engine_module
from gv_engine.scenario.library import FOLDER_FILE
from gv_engine.scenario.readers.appearance import LEVEL_THEMES, SPRITES
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import parse_xml, read_bytes
from gv_engine.scenario.storage.resources import ASSETS
from gv_engine.scenario.syntax.fields import format_message, mapping

_MAX_BYTES = 2**16  # of a sprite; SDL takes seconds for larger ones
_MAX_NUMBER, _MAX_STROKE = 2000, 200  # in pixels of a 48 x 48 sprite; SDL takes GBs for more
_MAX_SIDE = 10_000  # of the viewBox
_NON_LENGTHS = ("id", "display", "fill", "fill-rule", "stroke", "stop-color", "preserveAspectRatio")
"""SVG attributes whose values contain no lengths or coordinates."""
_STYLE_ATTRIBUTES = re.compile(
    "display|fill|fill-opacity|fill-rule|font-size|opacity|stop-color|stop-opacity|stroke"
    "|stroke-(dasharray|linecap|linejoin|miterlimit|opacity|width)"
)
_SHAPE_ATTRIBUTES = re.compile(
    "id|d|points|x|y|x1|y1|x2|y2|cx|cy|r|rx|ry|fx|fy|width|height|viewBox|offset|transform"
    "|preserveAspectRatio|gradientUnits|gradientTransform|spreadMethod"
)
"""Attributes that SDL reads: style attributes may stand in a `style`, too."""
_PICTURES = ".svg", ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"
_SOUNDS = ".wav", ".ogg", ".mp3", ".flac", ".opus"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_LENGTH = re.compile(f"({_NUMBER.pattern})(px|pt|pc|mm|cm|in|em|ex|%)?")
_TRANSFORM = re.compile(r"[\s,]*(.*?)\s*\(([^()]*)\)")

STACKED = "+"
"""Sign between the names of sprites that are drawn on top of each other, in the name of all."""
OTHER_AGENTS = {f"agent_{way.lower()}": turn for turn, way in enumerate(ORIENTATIONS)}
"""Quarter turn by sprite name of other agents; one sprite is rotated for all four."""
THEME_FOLDERS = {theme: ASSETS / "themes" / theme for theme in LEVEL_THEMES}
"""Folder with the walls and the floor of each theme."""
DIM_LIGHT, DIM_SATURATION = 0.66, 1.35
"""Brightness and saturation of cells out of sight, as a share of those in sight."""
MIN_COVERED_SIZE = 9
"""Smallest side in pixels of the small sprite of a covered object; smaller ones are not drawn."""
COVERED_GROUND = "#211d25"
"""Background colour of the small sprite of a covered object."""
UNDER_AGENT_CORNERS = ((0, 0), (0, 1), (0, 1), (1, 1))
"""Corner of a cell (x, y) that an agent leaves free, by the direction that the agent faces."""
TILE = """\
<svg viewBox="0 0 48 48">
  <rect x="3" y="3" width="42" height="42" rx="8" fill="{{dark}}"/>
  <rect x="5.5" y="5.5" width="37" height="37" rx="6" fill="{{fill}}"/>
</svg>"""  # for objects that are declared in a scenario file and have no sprite


SpriteSource = Path | Mapping[str, Path | str]
"""Folder with sprites, or files or SVG texts by name of the sprite."""

EDGE_PART = re.compile(
    r'<(\w+)\b[^>]*?\bid="((?:up|down)-(?:left|right)|up|down|left|right)"[^>]*?(?:/>|>.*?</\1>)',
    re.DOTALL,
)
"""Part of a sprite, in the text of `read_svg`, that is drawn only along an edge or at a corner at
which the neighbouring cell has an object of another type."""
EDGES = "up", "down", "left", "right", "up-left", "up-right", "down-left", "down-right"
"""Names of these parts; those of corners are drawn where both edges beside it are joined."""


class SpriteError(GVEngineError, ValueError):
    """Error of a file that is no valid sprite."""


def tile_letters(types: Iterable[ObjectType], name: str) -> str:
    """Return the text on the plain tile that stands in for the missing sprite called `name`: the
    word that its type declares, or one or two letters, one of its object type, one of its state.
    Return "" for types without words that are not declared in a scenario file.

    Args:
        types: object types of the scenario.
        name: name of the missing sprite.
    """
    types = tuple(types)
    if word := find_glyph(types, name):
        return word
    inline_types = [kind for kind in types if kind.module.startswith(INLINE_TYPES_PREFIX)]
    type_letters = _distinct_letters([kind.name for kind in inline_types])
    for letter, kind in zip(type_letters, inline_types, strict=True):
        for state in range(kind.num_states):
            if kind.sprite_of(state) == name:
                state_letters = _distinct_letters(kind.states)
                return letter.upper() + (state_letters[state] if state_letters else "")
    return ""


def find_glyph(types: Iterable[ObjectType], name: str) -> str:
    """Return the word that one of `types` declares for the sprite called `name`, "" for none."""
    states = ((kind, state) for kind in types for state in range(len(kind.glyphs)))
    return next((kind.glyph_of(k) for kind, k in states if kind.sprite_of(k) == name), "")


def find_sprite_or_word(
    types: Iterable[ObjectType],
    name: str,
    own_sources: Iterable[SpriteSource],
    small: bool = False,
) -> Path | str | None:
    """Return the SVG file of the sprite called `name` as `find_sprite` does; None also if there is
    a word in place of a sprite, and the author's `own_sources` have no file."""
    is_word = find_glyph(types, name)
    return find_sprite(name, own_sources if is_word else with_builtin_folders(own_sources), small)


def _distinct_letters(names: Sequence[str]) -> list[str]:
    """Return a letter for each name: the first letter in it that no earlier name uses, or the index
    of the name if there is none."""
    letters: list[str] = []
    for index, name in enumerate(names):
        free = (letter for letter in name.lower() if letter.isalnum() and letter not in letters)
        letters.append(next(free, str(index)))
    return letters


def cut_edges(text: str, joins: int) -> str:
    """Return the SVG `text` of a sprite without its parts for edges at which it joins a neighbour.
    Bit k of `joins` is 1 if `EDGES[k]` is left out."""
    return EDGE_PART.sub(lambda part: "" if joins >> EDGES.index(part[2]) & 1 else part[0], text)


def sprite_sources(scenario: Playable) -> tuple[SpriteSource, ...]:
    """Return where a scenario has sprites of its own: the files under its key `sprites`, the folder
    of each of its scenario files with the subfolder `sprites/`, and the folder of its theme."""
    members: Sequence[Playable] = getattr(scenario, "members", (scenario,))  # those of a mixture
    named = [getattr(member, "sprites", {}) for member in members]
    themes = filter(None, (getattr(member, "theme", "") for member in members))
    return *filter(None, named), *own_folders(scenario), *(THEME_FOLDERS[theme] for theme in themes)


def own_folders(scenario: Playable) -> tuple[Path, ...]:
    """Return the folder of each file of a scenario, and its subfolder `sprites/`."""
    members: Sequence[Playable] = getattr(scenario, "members", (scenario,))
    files = [(member.source, *(base.file for base in member.document.bases)) for member in members]
    return folders_beside(filter(None, chain.from_iterable(files)))


def folders_beside(files: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folder of each of `files`, scenarios, and its subfolder `sprites/`."""
    sources = dict.fromkeys(files)
    return tuple(path for file in sources for path in (file.parent, file.parent / "sprites"))


def with_builtin_folders(sources: Iterable[SpriteSource]) -> tuple[SpriteSource, ...]:
    """Return all places in which sprites are searched, in order: `sources`, the engine's sprites,
    and those for objects that many authors declare."""
    return *sources, ASSETS / "sprites", ASSETS / "things"


def find_sprite(
    name: str, sources: Iterable[SpriteSource], small: bool = False
) -> Path | str | None:
    """Return the SVG file or text of the sprite called `name` from the first of `sources` that has
    it; None if there is none.

    Args:
        name: name of the sprite, or of a file without `.svg`.
        sources: folders to search, and files by name.
        small: whether to prefer a simpler sprite in `small/` of a folder.
    """
    parts = ("small", ".") if small else (".",)
    for source in sources:
        if isinstance(source, Mapping):
            if name in source:
                return source[name]
            continue
        for file in (source / part / f"{name}.svg" for part in parts):
            if file.is_file():
                return file
    return None


def read_svg(file: Path | str) -> str:
    """Return the content of an SVG file, or an SVG text, reduced to what the library SDL can draw
    safely; it begins with `<svg viewBox=`, and has no width and height.

    Raises:
        SpriteError: the file is no SVG, incomplete, or something in it can take SDL for ever.
        OSError: the file cannot be read.
    """
    label = "a drawing of the scenario" if isinstance(file, str) else str(file)
    data = file.encode() if isinstance(file, str) else read_bytes(file, _MAX_BYTES, "drawings")
    try:
        data.decode("utf-8")
        root = parse_xml(data)
    except ValueError as error:
        raise SpriteError(f"{label}: no SVG drawing, or a part of one ({error})") from None
    if root.tag != "svg":
        raise SpriteError(f"{label}: no SVG drawing: found <{root.tag}>, expected <svg>")
    width, height = (root.attrib.pop(side, "48") for side in ("width", "height"))
    root.attrib = {"viewBox": f"0 0 {width} {height}"} | root.attrib
    box = [float(number) for number in _NUMBER.findall(root.attrib["viewBox"])]
    sides = box[2:]
    try:
        if len(box) != 4 or not 0 < min(sides) <= max(sides) <= _MAX_SIDE:
            raise ValueError(f"a viewBox needs 4 numbers, and sides of at most {_MAX_SIDE}")
        if any(element.tag == "svg" for element in root.iterfind(".//")):
            raise ValueError("an <svg> within another; leave out the inner one")
        is_own = isinstance(file, Path) and file.is_relative_to(ASSETS)
        _clean_element(root, 48 / min(sides), max(sides), is_own)
    except ValueError as error:
        raise SpriteError(f"{label}: {error}") from None
    return tostring(root, "unicode")


def _clean_element(element: Element, scale: float, side: float, allows_dashes: bool) -> None:
    """Remove from an SVG element and its children all that the library SDL cannot read.

    Args:
        element: changed in place.
        scale: pixels of a 48 x 48 sprite per unit.
        side: longer side of the `viewBox`.
        allows_dashes: whether `stroke-dasharray` is allowed.

    Raises:
        ValueError: SDL may need hours or gigabytes for the element.
    """
    if element.tag.endswith("Gradient") and any("href" in name for name in element.attrib):
        raise ValueError("a gradient with href, which may be a circle; copy the stops into it")
    style = [rule.partition(":") for rule in element.attrib.get("style", "").split(";")]
    attributes = [*element.attrib.items(), *((name.strip(), value) for name, _, value in style)]
    for name, value in attributes:
        if "dasharray" in name and value.strip() != "none" and not allows_dashes:
            raise ValueError("it has a stroke-dasharray, over which SDL may take hours; remove it")
    kept = {
        name: element.attrib[name] for name in element.attrib if _SHAPE_ATTRIBUTES.fullmatch(name)
    }
    kept |= {name: value for name, value in attributes if _STYLE_ATTRIBUTES.fullmatch(name)}
    element.attrib = {name: re.sub(r"[\s&<>\"]+", " ", value) for name, value in kept.items()}
    scale *= _max_scale(element.attrib.get("transform", ""))
    _check_lengths(element.attrib, scale, side)
    element.text = element.tail = None
    for child in element:
        _clean_element(child, scale, side, allows_dashes)


def _check_lengths(attributes: Mapping[str, str], scale: float, side: float) -> None:
    """Raise ValueError if an attribute of an SVG element is a length of too many pixels. `scale` is
    pixels of a 48 x 48 sprite per SVG unit, `side` the longer side of the `viewBox`."""
    units = {"": 1, "px": 1, "%": side / 100, "em": _MAX_SIDE, "ex": _MAX_SIDE}
    for name in sorted(attributes.keys() - {*_NON_LENGTHS}):
        max_pixels = _MAX_STROKE if name == "stroke-width" else _MAX_NUMBER
        zoom = 1 if name == "transform" else scale  # a transform has angles, too
        for number, unit in _LENGTH.findall(attributes[name]):
            if abs(float(number)) * units.get(unit, 100) * zoom > max_pixels:
                length = f"{name} has {number}{unit}"
                raise ValueError(f"{length}: more than {max_pixels} pixels in a sprite of 48 x 48")


def _max_scale(transform: str) -> float:
    """Return the largest factor, at least 1, by which an SVG `transform` may stretch lengths; raise
    `ValueError` for an unsupported transform."""
    scale = 1.0
    for name, arguments in _TRANSFORM.findall(transform):
        numbers = [float(number) for number in _NUMBER.findall(arguments)]
        if name in ("scale", "matrix"):
            scale *= max(1, math.hypot(*numbers[:4]))
        elif name in ("skewX", "skewY"):
            scale *= 1 + abs(math.tan(math.radians(sum(numbers))))
        elif name not in ("translate", "rotate"):
            raise ValueError(f"a transform {name!r}; allowed are translate, rotate, scale, …")
    return scale


def dim_matrix() -> Iterator[float]:
    """Yield the 4 × 5 matrix, row by row, that turns red, green, blue, opacity and 1 of a lit cell
    into those of a cell out of sight: darker, with its colour, which alone would fade."""
    for row in range(3):
        grays = [DIM_LIGHT * (1 - DIM_SATURATION) * part for part in (0.299, 0.587, 0.114)]
        grays[row] += DIM_LIGHT * DIM_SATURATION
        yield from (*grays, 0.0, 0.0)
    yield from (0.0, 0.0, 0.0, 1.0, 0.0)


def find_missing_sprites(scenario: Scenario) -> Iterator[str]:
    """Yield a message for each custom object type of `scenario` without a sprite, or without one
    for some of its states, and for each icon of an action that is missing."""
    sources = sprite_sources(scenario)
    folders = own_folders(scenario)
    existing = sorted({file.name for folder in folders for file in folder.glob("*.svg")})
    declared = mapping(scenario.document.root).get("objects")
    custom_types = [kind for kind in scenario.layout.types if not is_engine_module(kind.module)]
    for kind in custom_types:
        names = dict.fromkeys(kind.sprite_of(state) for state in range(kind.num_states))
        missing = [n for n in names if find_sprite(n, with_builtin_folders(sources)) is None]
        missing = [n for n in missing if not find_glyph([kind], n)]
        files = [f"{name}.svg" for name in missing]
        if missing and declared and kind.module.startswith(INLINE_TYPES_PREFIX):
            letters = ", ".join(tile_letters(custom_types, name) for name in missing)
            message = f"no {', '.join(files)} beside the scenario, so it is a tile with {letters}"
            yield format_message(scenario.document.label, mapping(declared)[kind.name], message)
            continue
        for file in files:
            hint = describe_allowed(file, existing, "there are")
            yield f"no {file} beside the scenario, so it looks like ?{hint}"
    for icon in dict.fromkeys(action.icon for action in scenario.own_actions if action.icon):
        if find_sprite(icon, with_builtin_folders(sources)) is None:
            hint = describe_allowed(f"{icon}.svg", existing, "there are")
            yield f"no {icon}.svg beside the scenario, so an action's icon looks like ?{hint}"


def find_unused_files(scenario: Scenario) -> Iterator[str]:
    """Yield a message for each picture or sound beside `scenario` that seems to be its own but is
    not used, because of its name or its format. In a folder that is not the scenario's alone,
    drawings with a name unlike all that the scenario uses may belong to others."""
    if scenario.source is None:
        return
    names = list_sprite_names(scenario.types)
    names += list_combined_names(names, own_folders(scenario))
    names += list_icons(scenario)
    is_shared = scenario.source.name != FOLDER_FILE
    folders = (folder / part for folder in own_folders(scenario)[:2] for part in (".", "small"))
    for file in sorted(file for folder in folders for file in folder.glob("*.*")):
        suffix, name = file.suffix.lower(), file.stem.lower()
        if suffix in _SOUNDS and name in (*TONES, *names):
            yield f"{file}: not used; levels have no sounds of their own"
        elif file in scenario.sprites.values():
            continue
        elif suffix in _PICTURES and name in names:
            if file.name != f"{name}.svg":
                yield f"{file}: not used; the drawing has to be the SVG file {name}.svg"
        elif suffix == ".svg":
            near = suggest_similar(name, names, 0.75)
            if near or not is_shared:
                yield f"{file}: not used, as nothing has this name{near}"


def find_broken_sprites(scenario: Scenario) -> Iterator[str]:
    """Yield an error message for each sprite file of `scenario` that cannot be used."""
    sources = sprite_sources(scenario)
    names = list_sprite_names(scenario.types)
    names += list_combined_names(names, sources) + list_icons(scenario)
    files = (find_sprite(name, sources, small) for name in names for small in (False, True))
    for file in dict.fromkeys(file for file in files if file):
        try:
            read_svg(file)
        except (SpriteError, OSError) as error:
            yield str(error)


def list_combined_names(names: Iterable[str], sources: Sequence[SpriteSource]) -> list[str]:
    """Return the names of those sprites for an object on another one, both in `names`, for which
    `sources` have a file."""
    known = set(names)
    found = {
        file.stem
        for source in sources
        for file in (
            (Path(name) for name in source)
            if isinstance(source, Mapping)
            else source.glob("*_on_*.svg")
        )
    }
    pairs = ((stem, stem.partition("_on_")) for stem in sorted(found))
    return [stem for stem, (upper, _, lower) in pairs if {upper, lower} <= known]


def list_sprite_names(types: Iterable[ObjectType]) -> list[str]:
    """Return the names of all sprites that a level with these object types can show."""
    states = (kind.sprite_of(state) for kind in types for state in range(kind.num_states))
    return [name for name in dict.fromkeys((*SPRITES, *states)) if name not in OTHER_AGENTS]


def list_icons(scenario: Scenario) -> list[str]:
    """Return the names of the sprites that stand for actions and for what they cost."""
    actions = [action for action in scenario.own_actions if action.icon]
    sprites = list_number_sprites(scenario)
    costs = (sprites[name] for action in actions for name, _ in action.cost)
    return [*dict.fromkeys((*(action.icon for action in actions), *costs))]


def list_number_sprites(scenario: Scenario) -> dict[str, str]:
    """Return the names of the sprites that stand for observed and displayed numbers, by name of the
    number."""
    numbers = (*scenario.state_numbers, *scenario.display_numbers)
    return {number.name: number.label.replace(" ", "_") for number in numbers}
