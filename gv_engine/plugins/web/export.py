"""Write levels as web pages that play without Python, or a policy as a network.

examples:
  gv-engine export keydoor-9x9 --html keydoor.html
  gv-engine export sokoban --html sokoban.html --levels 1:10
  gv-engine export keydoor-9x9 --html door.html --seed 7 --embed --theme light
  gv-engine export keydoor-9x9 --html watch.html --policy keydoor-9x9-run
  gv-engine export keydoor-9x9 tutorial sokoban --site levels
  gv-engine export --policy keydoor-9x9-run --net keydoor.onnx

The page is one file, which works offline in any current browser, with keys, touch and gamepads. It
plays by the same rules as the window, which opens games that you copy from a page as a line of
text, and the other way round. See docs/web.md, and docs/learning.md for networks.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gv_engine.cli import options as cli
from gv_engine.cli.check import find_levels, find_pack
from gv_engine.envs.rollout.policy import GREEDY, TRAINED, find_run
from gv_engine.late_imports import load_plugin_object
from gv_engine.play.session.catalogue import (
    Entry,
    built_in_entries,
    find_heading,
    format_title,
)
from gv_engine.play.session.game import Game
from gv_engine.play.ui.colors import PALETTES, THEMES
from gv_engine.rules.errors import GVEngineError
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.levels.level_files import LevelFiles
from gv_engine.scenario.library import list_built_in_grids, list_multi_agent_grids
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import format_bytes, make_folder, write_file

_PAGE_BEGINS = b"<!doctype html>"
_MAX_LEVELS = 1000


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `export` to its parser."""
    scenarios_text = f"{cli.SCENARIO_HELP}; a pack of levels is one page"
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help=scenarios_text)
    parser.add_trust_options()
    parser.add_option("--html FILE", Path, "write one scenario as this page")
    site_text = "write an index and a page of each scenario (default: all built-in grids)"
    parser.add_option("--site FOLDER", Path, site_text)
    net_text = (
        "write the network of the run in --policy to this file: .onnx (needs the extra onnx), or "
        ".pt for TorchScript (needs the extra rl)"
    )
    parser.add_option("--net FILE", Path, net_text)
    parser.add_seed("seed of the first game")
    levels_text = "only these levels of a pack: a number, or FIRST:LAST (default: all)"
    parser.add_option("--levels RANGE", _parse_range, levels_text)
    policy_text = (
        "show how a policy plays, in one world and in 256 at once: random, valid, trained, or the "
        "folder of a run of `gv-engine train`; trained:greedy and RUN:greedy take the most likely "
        "action"
    )
    parser.add_option("--policy P", cli.parse_text, policy_text)
    parser.add_flag("--embed", "leave out title and footer, for an iframe in another page")
    parser.add_option("--theme NAME", str, "theme of the pages", "dark", choices=[*THEMES])
    palette_text = "colours of the objects"
    parser.add_option("--palette NAME", str, palette_text, "standard", choices=[*PALETTES])


def run(options: argparse.Namespace) -> int:
    """Run the command `export`: write the page, the site or the network that the options
    describe."""
    outputs = [f"--{name}" for name in ("html", "site", "net") if getattr(options, name)]
    if len(outputs) != 1:
        found = " and ".join(outputs) or "none"
        raise cli.UsageError(
            f"expected one of --html FILE, --site FOLDER and --net FILE, found {found}"
        )
    if options.net:
        return _write_net(options)
    if options.site:
        return _write_site(options)
    return _write_single_page(options)


def _write_single_page(options: argparse.Namespace) -> int:
    """Write a page of the only scenario that the options name, print its size, and return 0."""
    if len(options.scenarios) != 1:
        count = len(options.scenarios)
        raise cli.UsageError(f"--html writes one scenario, found {count}; use --site for several")
    title, levels = _load_levels(options.scenarios[0], options)
    size = _write_page(options.html, title, levels, options)
    extent = "" if len(levels) == 1 else f", {len(levels)} levels"
    cli.say(f"{options.html}: {title}{extent}, {format_bytes(size)}")
    return 0


def _write_site(options: argparse.Namespace) -> int:
    """Write a page for each scenario that the options name, and an index of them; return 1 if a
    scenario cannot be exported."""
    from gv_engine.plugins.web.page import Link, make_index

    entries = [Entry(source, "Levels") for source in options.scenarios]
    if not entries:
        grids = {*list_built_in_grids(), *list_multi_agent_grids()}
        entries = [entry for entry in built_in_entries() if entry.source in grids]
    links_by_group: dict[str, list[Link]] = {}
    exit_status = 0
    make_folder(options.site)
    taken_names = {"index"}
    for entry in entries:
        name = next(each for each in _iter_names(entry.title) if each not in taken_names)
        taken_names.add(name)
        file = options.site / f"{name}.html"
        try:
            title, levels = _load_levels(entry.source, options)
            _write_page(file, title, levels, options, "index.html")
        except (GVEngineError, cli.UsageError) as error:
            cli.complain(f"{entry.source}: no page: {error}")
            exit_status = 1
            continue
        description = "" if levels[0].document.pack_level else levels[0].description
        description = description.split("\n")[0] if len(levels) == 1 else f"{len(levels)} levels"
        link = Link(title, description, file.name, _draw_picture(levels[0], options))
        links_by_group.setdefault(entry.group, []).append(link)
    index = make_index("GV Engine", links_by_group, options.theme)
    write_file(options.site / "index.html", index, follow_links=False)
    cli.say(f"{options.site / 'index.html'}: {sum(map(len, links_by_group.values()))} pages")
    return exit_status


def _write_net(options: argparse.Namespace) -> int:
    """Write the network of the run that the options name, print its inputs and outputs, and return
    0."""
    policy, sources = options.policy or "", options.scenarios
    is_trained = policy.removesuffix(f":{GREEDY}") == TRAINED
    if policy and len(sources) != is_trained:
        expected = f"of --policy {TRAINED} names the" if is_trained else "of a run needs no"
        raise cli.UsageError(f"--net {expected} scenario: found {' and '.join(sources) or 'none'}")
    scenario = load_scenario(sources[0], **cli.scenario_options(options)) if sources else None
    run = find_run(policy, scenario) if policy else None
    if run is None:
        raise cli.UsageError(
            f"--net writes the network of a run: found {policy or 'no'} --policy, expected "
            f"{TRAINED} or the folder of a run of gv-engine train"
        )
    try:
        description = load_plugin_object("policy_writer")(run, options.net)
    except ValueError as error:
        raise cli.UsageError(str(error)) from None
    size = format_bytes(options.net.stat().st_size)
    cli.say(f"{options.net}: policy of {description['scenario']}, {size}")
    rows = [
        (name, f"({', '.join(map(str, array['shape']))})", array["dtype"])
        for name, array in description["inputs"].items()
    ]
    cli.print_table(("input", "shape", "dtype"), rows)
    outputs, actions = ", ".join(description["outputs"]), ", ".join(description["actions"])
    cli.say(f"outputs: {outputs}; actions: {actions}")
    return 0


def _iter_names(title: str) -> Iterator[str]:
    yield title
    yield from (f"{title}-{number}" for number in itertools.count(2))


def _load_levels(source: str, options: argparse.Namespace) -> tuple[str, list[Scenario]]:
    """Return the title of the page for the scenario `source`, and the levels on it: for a pack, all
    levels or those that the option --levels selects."""
    settings = cli.scenario_options(options)
    levels = find_pack(source, settings)
    if options.levels:
        names = _select_levels(len(levels), options.levels, source)
    elif isinstance(levels, LevelFiles):
        raise cli.UsageError(
            f"{source} has {len(levels):,} levels, and a page takes at most {_MAX_LEVELS:,}; "
            f"choose some, such as --levels 1:100"
        )
    else:
        names = find_levels(source, settings)
    loaded = [load_scenario(name, **settings) for name in names]
    grids = [cli.require_grid(scenario, "export takes only grids") for scenario in loaded]
    title = find_heading(grids[0])[0] if len(grids) == 1 else format_title(Path(source).stem)
    return title, grids


def _draw_picture(level: Scenario, options: argparse.Namespace) -> bytes:
    """Return a PNG picture of the first state of a level; b"" without pygame."""
    if find_spec("pygame") is None:
        return b""
    from gv_engine.play.ui.screens.pictures import draw_picture, encode_picture

    theme = THEMES[options.theme]._replace(palette=options.palette)
    return encode_picture(draw_picture(Game(level, options.seed), theme))


def _write_page(
    file: Path, title: str, levels: list[Scenario], options: argparse.Namespace, index: str = ""
) -> int:
    """Write a web page with `levels` into `file`, with a link to the page `index` if there is one,
    and return the page's size in bytes; raise UsageError if `file` exists and is no web page."""
    from gv_engine.plugins.web.page import PageStyle, make_page

    if file.is_file() and not file.read_bytes().startswith(_PAGE_BEGINS):
        raise cli.UsageError(f"{file} exists and is not a web page; choose another name")
    style = PageStyle(options.theme, options.palette, options.embed, index)
    page = make_page(title, levels, options.seed, style, options.policy).encode()
    write_file(file, page, follow_links=False)
    return len(page)


def _parse_range(text: str) -> tuple[int, int]:
    """Return (first, last) of a range of level numbers such as `3` or `1:10`; raise an argparse
    error for another text."""
    first, colon, last = text.partition(":")
    if not (first.isdecimal() and (last if colon else first).isdecimal()):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number, or FIRST:LAST")
    return int(first), int(last or first)


def _select_levels(count: int, level_range: tuple[int, int], source: str) -> list[str]:
    """Return the names of the levels in `level_range`, (first, last) inclusive, of the pack
    `source` with `count` levels, 0 for no pack; raise UsageError if there are no such levels, or
    too many for a page."""
    first, last = level_range
    if not 1 <= first <= last <= max(count, 1):
        found = first if first == last else f"{first}:{last}"
        if count < 2:
            raise cli.UsageError(
                f"--levels {found}: {source} is a single level; leave out --levels"
            )
        raise cli.UsageError(
            f"--levels {found}: {source} has the levels 1 to {count}; expected a number, or "
            f"FIRST:LAST with the lower number first"
        )
    if last - first >= _MAX_LEVELS:
        raise cli.UsageError(f"--levels {first}:{last}: a page takes at most {_MAX_LEVELS} levels")
    return [f"{source}#{number}" for number in range(first, last + 1)] if count else [source]
