"""List rules, objects, map characters and helpers that scenarios and rules can name.

examples:
  gv-engine rules
  gv-engine rules keydoor
  gv-engine rules --markdown > reference.md
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from gv_engine.cli import options as cli
from gv_engine.rules.errors import suggest_similar
from gv_engine.scenario.library import list_built_in_grids

if TYPE_CHECKING:
    from gv_engine.scenario.reference_docs import Chapter, Topic


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `rules` to its parser."""
    name_text = "name of a topic, or any word to search for"
    parser.add_argument("name", metavar="NAME", nargs="?", help=name_text)
    parser.add_flag("--markdown", "print all topics as a Markdown page")


def run(options: argparse.Namespace) -> int:
    """Run the command `rules`: print all entries of the reference as a list or as Markdown, or one
    entry, and return 0; or the entries that mention a word which is no name, and return 1."""
    from gv_engine.scenario.reference_docs import list_chapters

    all_chapters = list_chapters()
    if options.markdown:
        cli.say("\n".join(format_reference_page(all_chapters)))
        return 0
    if options.name is None:
        for title, entries in all_chapters:
            rows = [(entry.name, entry.summary) for entry in entries]
            cli.print_table((title, ""), rows)
        return 0
    name = _strip_prefix(options.name)
    topics = [(title, entry) for title, entries in all_chapters for entry in entries]
    names = dict.fromkeys(_strip_prefix(entry.name) for _, entry in topics)
    if name in names:
        for title, entry in topics:
            if _strip_prefix(entry.name) == name:
                _print_topic(title, entry)
    elif mentions := [*_find_mentions(name, all_chapters)]:
        cli.print_table(("", ""), mentions, f"nothing is called {name!r}; these mention it")
        return 1
    else:
        raise cli.UsageError(
            f"nothing is called {options.name!r}, and no topic mentions it"
            f"{suggest_similar(name, names) or ';'} `gv-engine rules` shows all"
        )
    return 0


def _find_mentions(word: str, all_chapters: list[Chapter]) -> Iterator[tuple[str, str]]:
    """Yield (name, summary) for each entry of the reference, `all_chapters`, that mentions `word`,
    and for each built-in level whose name contains it."""
    pattern = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    for _, entries in all_chapters:
        for entry in entries:
            if pattern.search(f"{entry.name} {entry.docstring}"):
                yield entry.name, entry.summary
    for name, level in list_built_in_grids().items():
        if pattern.search(name):
            yield name, f"a level to copy from: {level.file}"


def _strip_prefix(name: str) -> str:
    return name.removeprefix("w.").removeprefix("view.")


def _print_topic(title: str, entry: Topic) -> None:
    """Print one entry of the reference with its parameters, example and source location; `title` is
    the title of its chapter."""
    cli.say(f"{entry.name} ({title})\n\n{entry.docstring}\n")
    if entry.parts:
        cli.print_table(("", "may be", "default"), entry.parts)
    if entry.example:
        cli.say(f"{entry.example}\n")
    if entry.place:
        cli.say(entry.place)


_INTRODUCTION = """# Reference

For authors who look for a name. `gv-engine rules NAME` prints an entry with an example, and
`gv-engine schema` a JSON schema of scenario files. The guides are [scenarios](scenarios.md) and
[rules](rules.md). In `name(parameter=default)`, the values of a parameter or field are those
[at the end](#values)."""


def format_reference_page(all_chapters: list[Chapter]) -> Iterator[str]:
    """Yield the lines of the Markdown page with the whole reference, given as `all_chapters`. A key
    that is in several places is described once, and so are the values of a parameter."""
    yield _INTRODUCTION
    homes: dict[tuple[str, str], str] = {}
    values: dict[str, dict[str, None]] = {}
    for title, topics in all_chapters:
        yield f"\n## {title}"
        for place, group in groupby(topics, _find_place):
            yield f"\nIn `{place}`:\n" if place else ""
            entries = []
            for topic in group:
                name, parts = topic.name, topic.parts
                if place.startswith(("systems/", "components/")) and parts:
                    fields = [f"{part}={value}" if value else part for part, _, value in parts]
                    name = f"{name}({', '.join(fields)})"
                    for part, words, _ in parts:
                        values.setdefault(words, {})[f"`{part}`"] = None
                    parts = ()
                elif topic.example.startswith(f"{name}("):
                    name = topic.example
                text = topic.summary.removeprefix("Return ")
                entries.append((name, text[:1].upper() + text[1:], parts))
            yield from _format_entries(entries, f"*{title}*", homes)
    yield "\n## Values\n"
    yield from (f"- {', '.join(names)}: {words}" for words, names in values.items())


def _find_place(topic: Topic) -> str:
    file = topic.place.partition(":")[0]
    return "components/" if file.startswith("components/") else file


def _format_entries(
    entries: Iterable[tuple[str, str, Iterable[tuple[str, str, str]]]],
    home: str,
    homes: dict[tuple[str, str], str],
    indent: str = "",
) -> Iterator[str]:
    """Yield the lines of a Markdown list of the keys or functions in `entries`. An entry that an
    earlier list has described, see `homes`, only refers to that list.

    Args:
        entries: (name, text, parts) of each entry.
        home: name of the place where this list is.
        homes: name of the place of each (name, text) that is listed already; is extended.
        indent: beginning of each line.
    """
    elsewhere: dict[str, list[str]] = {}
    for name, text, parts in entries:
        first = homes.setdefault((name, text), home)
        if first == home:
            yield f"{indent}- `{name}`: {text}"
            inner = [(part, words, ()) for part, words, _ in parts]
            yield from _format_entries(inner, f"`{name}`", homes, f"{indent}    ")
        else:
            elsewhere.setdefault(first, []).append(f"`{name}`")
    for first, names in elsewhere.items():
        yield f"{indent}- {', '.join(names)}: as in {first}."
