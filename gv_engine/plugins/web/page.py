"""A level, or a pack of levels, as one HTML file that needs neither Python nor a network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from gv_engine import __version__
from gv_engine.compiler.language.body import Failure
from gv_engine.compiler.language.wasm import STACK_TOP, link_texts
from gv_engine.compiler.parameters import address_record_dtype
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.play.grid.domain import list_player_views
from gv_engine.play.grid.episode import GridEpisode, list_guards
from gv_engine.play.grid.input_map import (
    Steering,
    has_relative_moves,
    is_blocking,
    list_steerings,
)
from gv_engine.play.session import sprite_paths, tones
from gv_engine.play.session.catalogue import find_goal_sentence, find_heading, is_for_agents
from gv_engine.play.ui.colors import PALETTES, THEMES
from gv_engine.play.ui.input.bindings import GROUPS
from gv_engine.play.ui.settings import ARROW_KEYS, MEDALS
from gv_engine.plugins.web.policies import describe_policy
from gv_engine.rules import errors
from gv_engine.rules.frame import VIEWS, AgentMark
from gv_engine.rules.objects import COLORS, ObjectType, ObjectTypes
from gv_engine.rules.system import TERMINATING
from gv_engine.scenario.domains import DOMAINS, KeyCommand
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.missions.missions import Missions, has_step_limit, public_field_name
from gv_engine.scenario.readers.map import describe_object
from gv_engine.scenario.readers.observed_state import WORLD, ObservedState
from gv_engine.scenario.scenario import Scenario

FORMAT = "GV Engine page 2"
"""Version of the data in a page, which `engine.js` checks."""
SCRIPTS = "engine.js", "policy.js", "wall.js", "player.js"
"""Files of a page's program, in order."""

_ALIGNMENT = 64  # bytes
_MAX_WORDS = 1000
"""Maximum number of values of a mission field that are listed as words."""
ARRAYS = (
    *("actions", "grid", "item", "mission", "state", "mask", "terms", "rewards"),
    *("terminated", "truncated", "success"),
)
"""Arrays of a batch that the page reads or writes."""
_COMMANDS = (
    *("undo", "redo", "first", "last", "again", "next_level", "previous_level", "enter_seed"),
    *("go_on", "copy", "real_time", "view", "research", "help"),
)
"""Commands of the window's screens that the page has, too, with the same keys."""
_MAP = KeyCommand("map", "map of the levels", ("M",))
_WALL = KeyCommand("wall", "256 worlds at once, or the game again", ("B",))
_WALL_COMMANDS = {
    *("batch_pause", "batch_step", "batch_faster", "batch_slower", "batch_open", "leave"),
    *("batch_left", "batch_right", "batch_up", "batch_down"),
}
_LETTERS_END = (
    '<text x="24" y="{}" font-family="sans-serif" font-size="{}" font-weight="bold" '
    'text-anchor="middle" fill="{{{{ink}}}}">{}</text></svg>'
)
"""End of a sprite that shows letters, with their baseline and height; the page puts a colour in
place of `{{ink}}`."""
_DIM = (
    '<filter id="dim" color-interpolation-filters="sRGB" x="-1" y="-1" width="3" height="3">'
    '<feColorMatrix values="{}"/></filter>'
)
"""SVG filter that darkens a sprite as the window does."""
_CHARSET = '<meta charset="utf-8">'
_SECURITY_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="'
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
    "script-src {scripts} 'wasm-unsafe-eval'; style-src {styles}\">"
)
"""Element that allows only the page's own scripts, styles, pictures and WebAssembly, no network."""


class Link(NamedTuple):
    """Link of an index to a page.

    Attributes:
        title, description: texts about the level or pack.
        file: name of the page's file.
        picture: PNG picture of the level, or of the first of a pack; empty for none.
    """

    title: str
    description: str
    file: str
    picture: bytes = b""


class PageStyle(NamedTuple):
    """Theme, palette and embedding of a page.

    Attributes:
        theme: name of its theme, a key of `THEMES`.
        palette: name of the palette of objects, a key of `PALETTES`.
        embedded: True for a page within another one, without title and texts around the level.
        index_page: name of the file beside the page that lists levels; "" for none.
    """

    theme: str = "dark"
    palette: str = "standard"
    embedded: bool = False
    index_page: str = ""


def make_page(
    title: str,
    levels: Sequence[Scenario],
    seed: int = 0,
    style: PageStyle | None = None,
    policy: str | None = None,
) -> str:
    """Return the HTML text of a page on which people play `levels`; the first episode has the seed
    `seed`, and further ones the seeds after it.

    If `policy` names a policy, see `describe_policy`, people can also watch the policy play. The
    same levels give the same bytes in every process with the same versions of the libraries.

    Raises:
        DoesNotCompileError: a rule cannot be compiled, or is arbitrary Python; the message names
            the rule.
        SpriteError: a sprite is no valid drawing.
        OSError: a sprite cannot be read.
        PolicyError, RunError: the policy does not exist, or cannot act in a level.
    """
    style = style or PageStyle()
    content = {"policy": _describe_policy(policy, levels) if policy else None}
    content |= _describe_page(title, levels, seed, style)
    data = json.dumps(content, ensure_ascii=False, allow_nan=False)
    data = data.replace("<", "\\u003c")  # no tag ends the script
    parts = {
        "TITLE": html.escape(title),
        "THEME": style.theme,
        "COLORS": "".join(map(_format_theme, THEMES)),
        "SUM": hashlib.sha256(data.encode()).hexdigest(),
        "DATA": data,
        "SCRIPTS": "".join(f"<script>\n{_read(name)}</script>\n" for name in SCRIPTS),
    }
    return _fill_template("page.html", parts)


def make_index(title: str, groups: Mapping[str, Sequence[Link]], theme: str = "dark") -> str:
    """Return the HTML text of a page with links to pages in its folder, grouped under the headings
    that are the keys of `groups`; `theme` is a key of `THEMES`."""
    sections = [
        f"<h2>{html.escape(heading)}</h2>\n<ul>\n{''.join(map(_format_link, links))}</ul>\n"
        for heading, links in groups.items()
    ]
    parts = {
        "TITLE": html.escape(title),
        "THEME": theme,
        "COLORS": _format_theme(theme),
        "SECTIONS": "".join(sections),
    }
    return _fill_template("index.html", parts)


def _format_link(link: Link) -> str:
    file, title, description = map(html.escape, (quote(link.file), link.title, link.description))
    picture = base64.b64encode(link.picture).decode()
    image = f'<img src="data:image/png;base64,{picture}" alt="" loading="lazy">' if picture else ""
    words = f"<b>{title}</b> <span>{description}</span>"
    return f'<li><a href="{file}">{image}{words}</a></li>\n'


def _format_theme(name: str) -> str:
    colors = "".join(f"--{key}: {color}; " for key, color in THEMES[name]._asdict().items())
    return f':root[data-theme="{name}"] {{ color-scheme: {name}; {colors}}}\n'


def _fill_template(file: str, replacements: Mapping[str, str]) -> str:
    """Return the template `file` with each `@NAME@` replaced by the text of that name in
    `replacements`, and `@STYLE@` by the style of all pages; its content security policy names its
    scripts and styles by their hashes."""
    all_parts = {**replacements, "STYLE": _read("page.css")}
    text = re.sub(r"@([A-Z]+)@", lambda match: all_parts[match[1]], _read(file))
    scripts, styles = (
        " ".join(_hash_source(content) for content in re.findall(f"(?s)<{tag}>(.*?)</{tag}>", text))
        for tag in ("script", "style")
    )
    policy = _SECURITY_POLICY.format(scripts=scripts, styles=styles)
    return text.replace(_CHARSET, f"{_CHARSET}\n{policy}", 1)


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


def _describe_policy(name: str, levels: Sequence[Scenario]) -> dict[str, Any]:
    """Return for JSON the data of a policy, and the commands that watch and control it on the
    page."""
    wall = [command for command in GROUPS["batch"] if command.name in _WALL_COMMANDS]
    return {
        **describe_policy(name, levels),
        "commands": [command._asdict() for command in (*GROUPS["agent"], _WALL)],
        "wallCommands": [command._asdict() for command in (*wall, _WALL)],
    }


def _describe_page(
    title: str, levels: Sequence[Scenario], seed: int, style: PageStyle
) -> dict[str, Any]:
    """Return the data of a page, for JSON."""
    batches = [CompiledBatch(level, 1) for level in levels]  # refuses rules that are any Python
    programs = [*dict.fromkeys(batch.program for batch in batches)]  # levels may share a program
    sources, failures = zip(*[program.write_for_web() for program in programs], strict=True)
    types = {each.index: each for level in levels for each in level.types}
    sprites = dict(_read_sprites(levels, [*types.values()]))
    return {
        "format": FORMAT,
        "engine": __version__,
        "title": title,
        "seed": str(seed),
        "theme": style.theme,
        "embedded": style.embedded,
        "indexPage": style.index_page,
        "wasm": _pack(link_texts(sources, ["run"])),
        "levels": [
            {
                "number": number,
                **_describe_level(batch),
                "program": programs.index(batch.program),
            }
            for number, batch in enumerate(batches, 1)
        ],
        "errors": _pack(json.dumps([*map(_describe_failures, failures)]).encode()),
        "sprites": sprites,
        "joining": [name for name, text in sprites.items() if sprite_paths.EDGE_PART.search(text)],
        "dim": _DIM.format(" ".join(f"{number:.4f}" for number in sprite_paths.dim_matrix())),
        "otherAgents": sprite_paths.OTHER_AGENTS,
        "covered": {
            "color": sprite_paths.COVERED_GROUND,
            "smallest": sprite_paths.MIN_COVERED_SIZE,
            "corners": sprite_paths.UNDER_AGENT_CORNERS,
        },
        "palette": style.palette,
        "palettes": {name: [s._asdict() for s in shades] for name, shades in PALETTES.items()},
        "themes": [*THEMES],
        "tones": tones.TONES,
        "captions": tones.CAPTIONS,
        "medals": MEDALS,
        "arrowKeys": ARROW_KEYS,
        "views": VIEWS,
        "commands": [
            command._asdict() for command in (*_list_commands(), *[_MAP] * (len(levels) > 1))
        ],
    }


# ---- memory --------------------------------------------------------------------------------------

ArrayInfo = tuple[int, str, tuple[int, ...]]
"""Array in a world's memory: address, type of its numbers such as `i4`, and shape."""


def make_memory_image(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, NDArray[Any]]:
    """Return the initial contents of a world's memory from the address `STACK_TOP` on, and the
    record of the addresses and lengths of `arrays` at its beginning. The array "arena" follows as
    empty memory."""
    record = np.zeros((), address_record_dtype(arrays))
    memory = bytearray(_pad(record.nbytes))
    for name, array in sorted(arrays.items(), key=lambda item: item[0] == "arena"):  # arena last
        record[name] = STACK_TOP + len(memory), len(array)
        if name != "arena":
            # copies only fields: the padding between them would make equal levels differ
            copied = np.zeros(array.shape, array.dtype)
            copied[...] = array
            # a spare element, as views read past the end of the last grid row
            memory += copied.tobytes().ljust(_pad(array.nbytes + array.itemsize), b"\0")
    memory[: record.nbytes] = record.tobytes()
    return bytes(memory), record


def _pad(size: int) -> int:
    return size + -size % _ALIGNMENT  # the next multiple


def _pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _describe_array(address: int, dtype: np.dtype[Any]) -> ArrayInfo:
    return address, f"{dtype.base.kind}{dtype.base.itemsize}", dtype.shape


def _describe_fields(dtype: np.dtype[Any], address: int, prefix: str = "") -> dict[str, ArrayInfo]:
    """Return where each field of a record at `address` is in memory, by names such as
    `door.status`."""
    infos: dict[str, ArrayInfo] = {}
    for name, (field_dtype, offset, *_) in (dtype.fields or {}).items():
        if field_dtype.names:
            infos |= _describe_fields(field_dtype, address + offset, f"{prefix}{name}.")
        else:
            infos[prefix + name] = _describe_array(address + offset, field_dtype)
    return infos


# ---- levels --------------------------------------------------------------------------------------


def _describe_level(batch: CompiledBatch) -> dict[str, Any]:
    """Return the data of a level, for JSON."""
    level, lane, plan = batch.scenario, batch.lane, batch.program.plan
    arrays = {name: array for name, array in lane.arrays.items() if name != "addresses"}
    memory, addresses = make_memory_image(arrays)
    row_address = int(addresses["rows"]["address"])
    area, layout, group = level.area, level.layout, level.agent_group
    episode = GridEpisode(level)
    commands = episode.commands
    marks = [AgentMark(name, *group.team_of(k), (-1, -1)) for k, name in enumerate(group.names, 1)]
    return {
        "name": level.name,
        **_describe_pack_level(level),
        "description": level.description,
        "tellsSuccess": level.tells_success,
        "identity": level.identity._asdict(),
        "settings": dict(level.document.settings),
        "variant": level.document.variant,
        "arrays": {
            name: _describe_array(
                int(addresses[name]["address"]), np.dtype((array.dtype, array.shape))
            )
            for name, array in arrays.items()
            if name in ARRAYS
        },
        "row": [row_address, arrays["rows"].itemsize],
        "fields": _describe_fields(layout.dtype, row_address),
        "rules": [[system.name for system in group.plan.marked] for group in plan.groups],
        "groups": plan.group_of,
        "types": {each.index: _describe_type(each, level.types) for each in level.types},
        "colors": [color.lower() for color in COLORS],
        "agents": list(group.names),
        "marks": [{"team": mark.team_number, "label": mark.label} for mark in marks],
        "actions": list(level.action_names),
        "actionNumbers": [int(action) for action in level.actions],
        "icons": sprite_paths.list_number_sprites(level),
        "hasPartner": level.partner is not None,
        "commands": [command._asdict() for command in commands],
        "steerings": [
            _describe_steering(steering) for steering in list_steerings(episode, level.action_names)
        ],
        "isForAgents": is_for_agents(level),
        "beat": level.beat,
        "relativeMoves": has_relative_moves(level.action_names, episode),
        "area": {"shape": area.shape, "observer": area.observer, "turns": area.turns},
        "view": level.view,
        "playerViews": list_player_views(level.view),
        "dim": [bool(level.dim), level.is_dim],
        "rewards": list(level.reward_names),
        "maxSteps": [member.max_steps for member in level.members],
        "missionLimits": has_step_limit(layout.mission),
        "members": [member.name for member in level.members],
        "endings": [*_describe_endings(level)],
        "guards": [list_guards(member) for member in level.members],
        "missions": _describe_missions(level.missions) if level.missions else None,
        "state": _describe_state(level.observed_state, layout),
        "display": _describe_state(level.displayed_state, layout),
        "image": _pack(memory),
    }


def _describe_pack_level(level: Scenario) -> dict[str, Any]:
    """Return the title of a level and its place in its pack, its number if it belongs to one, the
    text that players see while they play it, and the smallest number of steps to win, for JSON."""
    pack_level = level.document.pack_level
    title, place = find_heading(level)
    heading = {"title": title, "place": place, "goal": find_goal_sentence(level)}
    if pack_level is None:
        return {**heading, "isInPack": False, "says": "", "par": 0}
    number = int(level.document.variant)
    own = {"number": number, "says": pack_level.says, "par": pack_level.par}
    return {**heading, "isInPack": True, **own}


def _describe_steering(steering: Steering) -> dict[str, Any]:
    """Return the commands with which a player steers an agent, for JSON."""
    return {
        "commands": [command._asdict() for command in steering.commands],
        "replaces": sorted(steering.replaces),
        "isDrawnAsMoved": steering.is_drawn_as_moved,
    }


def _describe_failures(failures: Mapping[int, Failure]) -> dict[int, str]:
    """Return the messages for players by error code, with {rule} for the name of the rule and {0}
    for the first number that the program reports with the error."""
    messages = {}
    for code, failure in sorted(failures.items()):
        error_name, _, message = failure.text.partition(": ")
        location = f"{Path(failure.file).name}:{failure.line}"
        is_complete = issubclass(getattr(errors, error_name, IndexError), errors.RuleError)
        messages[code] = (
            message if is_complete else f"The rule {{rule}} failed: {message} ({location})"
        )
    return messages


def _describe_type(object_type: ObjectType, types: ObjectTypes) -> dict[str, Any]:
    """Return the data of an object type, for JSON."""
    states = range(object_type.num_states)
    return {
        "name": object_type.name,
        "state": object_type.state and ".".join(object_type.state),
        "oriented": object_type.is_oriented,
        "sprites": [object_type.sprite_of(state) for state in states],
        "blocks": [is_blocking(object_type, state) for state in states],
        "words": [describe_object(types, object_type.index, state, 0) for state in states],
    }


def _describe_endings(level: Scenario) -> Iterator[Any]:
    """Yield for each scenario of a mixture the sentences on how an episode ends, as nested lists:
    by the number in `ended_by`, then without and with success, then terminated and truncated."""
    for index, member in enumerate(level.members):
        num_rules = sum(len([*call.iter_call_paths()]) for call in member.calls(TERMINATING))

        def describe(rule: int, success: int, truncated: int, index: int = index) -> str:
            world = SimpleNamespace(member=index, ended_by=[rule], success=[success])
            world.terminated, world.truncated = not truncated, bool(truncated)
            return level.describe_ending(world, 0)

        # the page looks up both outcomes; without a definition of success, both have one sentence
        outcomes = (0, 1) if member.success else (0, 0)
        yield [
            [[describe(rule, success, truncated) for truncated in (0, 1)] for success in outcomes]
            for rule in range(num_rules + 1)
        ]


def _describe_missions(missions: Missions) -> dict[str, Any]:
    """Return for JSON the texts of missions, the words for the values of each field, and the
    phrases that fill the other placeholders of the texts."""
    names = missions.names[1:]
    fields = [public_field_name(name) for name in names]
    words = {}
    for field, low, high in zip(fields, missions.low[1:], missions.high[1:], strict=True):
        if high - low < _MAX_WORDS:
            words[field] = [int(low), missions.list_words(field)]
    phrases = {
        name: [
            {
                "field": names.index(phrase.field),
                "words": phrase.words,
                "when": phrase.when and [names.index(phrase.when[0]), phrase.when[1]],
            }
            for phrase in phrases_of_name
        ]
        for name, phrases_of_name in missions.phrases.items()
    }
    return {"texts": missions.texts, "fields": fields, "words": words, "phrases": phrases}


def _describe_state(state: ObservedState | None, layout: Layout) -> list[dict[str, Any]]:
    """Return numbers that players see, for JSON: of an array only those other than 0, or all in a
    checklist, unless they are hidden. `column`, `item`, `size`, `entity` and `kind` tell where the
    world has them: the entity is null for the agent, and `kind` is the type of the only object."""
    if state is None:
        return []
    described = []
    for number, low, high in zip(state.numbers, state.low, state.high, strict=True):
        column, is_world = layout.dtype[number.column][number.field], number.kind == WORLD
        described.append(
            {
                "name": number.name,
                "label": number.label,
                "bar": [low.item(), high.item()] if number.shown == "bar" else None,
                "checklist": number.checklist,
                "texts": number.texts,
                "isHidden": number.shown == "hidden",
                "isItem": number.item is not None,
                "column": f"{number.column}.{number.field}",
                "item": number.item or 0,
                "size": int(np.prod(column.shape[1:])),
                "entity": layout.world_entity if is_world else None,
                "kind": None if is_world else number.kind,
            }
        )
    return described


# ---- sprites and keys ----------------------------------------------------------------------------


def _read_sprites(
    levels: Sequence[Scenario], types: Sequence[ObjectType]
) -> Iterator[tuple[str, str]]:
    """Yield the (name, SVG text) of all sprites of the levels."""
    sources = [source for level in levels for source in sprite_paths.sprite_sources(level)]
    all_sources = sprite_paths.with_builtin_folders(sources)
    names = sprite_paths.list_sprite_names(types)
    combined = sprite_paths.list_combined_names(names, all_sources)
    icons = [name for level in levels for name in sprite_paths.list_icons(level)]
    for name in dict.fromkeys((*names, *combined, *icons)):
        if file := sprite_paths.find_sprite_or_word(types, name, sources):
            yield name, sprite_paths.read_svg(file)
        elif letters := sprite_paths.tile_letters(types, name):
            height = min(24, 48 // len(letters))
            text = _LETTERS_END.format(24 + height // 3, height, html.escape(letters))
            yield name, sprite_paths.TILE.replace("</svg>", text)


def _list_commands() -> Iterator[KeyCommand]:
    yield from DOMAINS["grid"].keys
    by_name = {command.name: command for group in ("play", "view") for command in GROUPS[group]}
    yield from (by_name[name] for name in _COMMANDS)
