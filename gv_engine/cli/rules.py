"""`gv-engine rules`: reference of the rules, objects and helpers that scenarios can name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gv_engine.cli.options import Commands, UsageError, add_command, print_table, say
from gv_engine.rules.errors import describe_allowed
from gv_engine.scenario.library import list_built_in_grids

if TYPE_CHECKING:
    from gv_engine.scenario.reference_docs import Chapter, Topic

_EXAMPLES = """\
gv-engine rules
gv-engine rules keydoor
gv-engine rules --markdown > reference.md"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands,
        run,
        "rules",
        "List rules, objects, map characters and helpers that scenarios and rules can name",
        _EXAMPLES,
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="name of a topic, or any word to search for"
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print all topics as a Markdown page"
    )


def run(options: argparse.Namespace) -> int:
    """Print the names of all topics, all about one topic, or the topics that mention a word."""
    from gv_engine.scenario.reference_docs import list_chapters

    all_chapters = list_chapters()
    if options.markdown:
        say("\n".join(format_reference_page(all_chapters)))
        return 0
    if options.name is None:
        for title, entries in all_chapters:
            rows = [(entry.name, entry.summary) for entry in entries]
            print_table((title, ""), rows)
        return 0
    chapter_by_name = {
        _strip_prefix(entry.name): title for title, entries in all_chapters for entry in entries
    }
    if (name := _strip_prefix(options.name)) not in chapter_by_name:
        mentions = [*_find_mentions(name, all_chapters)]
        if not mentions:
            suggestion_text, _, _ = describe_allowed(name, chapter_by_name).partition("(allowed")
            raise UsageError(
                f"nothing is called {options.name!r}, and no topic mentions it; {suggestion_text}"
                f"see `gv-engine rules` for all"
            )
        print_table(("", ""), mentions, f"topics that mention {name}")
        return 0
    for title, entries in all_chapters:
        for entry in entries:
            if _strip_prefix(entry.name) == name:
                _print_topic(title, entry)
    return 0


def _find_mentions(word: str, all_chapters: list[Chapter]) -> Iterator[tuple[str, str]]:
    """Yield (name, sentence) of the topics that mention a word, and of levels whose name contains
    it."""
    pattern = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    for _, entries in all_chapters:
        for entry in entries:
            if pattern.search(f"{entry.name} {entry.docstring}"):
                yield entry.name, entry.summary
    for name, level in list_built_in_grids().items():
        if pattern.search(name):
            yield name, f"a level to copy from: {level.file}"


def _strip_prefix(name: str) -> str:
    """Return a name without `w.` or `view.`."""
    return name.removeprefix("w.").removeprefix("view.")


def _print_topic(title: str, entry: Topic) -> None:
    """Print a topic with its parameters, example and place."""
    say(f"{entry.name} ({title})\n\n{entry.docstring}\n")
    if entry.parts:
        print_table(("", "may be", "default"), entry.parts)
    if entry.example:
        say(f"{entry.example}\n")
    if entry.place:
        say(entry.place)


def format_reference_page(all_chapters: list[Chapter]) -> Iterator[str]:
    """Yield the lines of the reference page."""
    yield "# Reference"
    yield ""
    yield "What scenarios and rules can name, as `gv-engine rules` lists it; `gv-engine rules NAME`"
    yield "tells all of one. This page is made of the sources by `gv-engine rules --markdown`."
    yield ""
    yield "[Write scenarios](scenarios.md) and [write rules](rules.md) show how things are put"
    yield "together, with a [reset](rules.md#a-level-by-chance) and a"
    yield "[visibility](rules.md#a-way-of-seeing) of one's own. The keys of scenario files are also"
    yield "a JSON schema, by `gv-engine schema`."
    for title, entries in all_chapters:
        yield f"\n## {title}\n"
        for entry in entries:
            yield from _format_section(entry) if entry.parts or entry.place else _format_line(entry)


def _format_line(entry: Topic) -> Iterator[str]:
    """Yield the line of a topic without parameters."""
    yield f"- `{entry.name}`: {entry.summary}"


def _format_section(entry: Topic) -> Iterator[str]:
    """Yield the lines of a topic with its parameters."""
    place = f" `{entry.place.partition(':')[0]}`" if entry.place else ""
    yield f"- `{entry.name}`: {entry.summary}{place}"
    for name, may_be, default in entry.parts:
        yield f"    - `{name}`: {may_be}" + (f", `{default}` if left out" if default else "")
