"""`gv-engine rules`: reference of the rules, objects and helpers that scenarios can name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gv_engine.cli import options as cli
from gv_engine.rules.errors import describe_allowed
from gv_engine.scenario.library import list_built_in_grids

if TYPE_CHECKING:
    from gv_engine.scenario.reference_docs import Chapter, Topic

_EXAMPLES = """\
gv-engine rules
gv-engine rules keydoor
gv-engine rules --markdown > reference.md"""


def add(commands: cli.Commands) -> None:
    """Add the command `rules` with its options to the command line."""
    text = "List rules, objects, map characters and helpers that scenarios and rules can name"
    parser = cli.add_command(commands, run, "rules", text, _EXAMPLES)
    name_text = "name of a topic, or any word to search for"
    parser.add_argument("name", metavar="NAME", nargs="?", help=name_text)
    parser.add_flag("--markdown", "print all topics as a Markdown page")


def run(options: argparse.Namespace) -> int:
    """Run the command `rules`: print the list of all rules and helpers, or the reference of one, or
    those that mention a word."""
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
        cli.print_table(("", ""), mentions, f"topics that mention {name}")
    else:
        suggestion_text, _, _ = describe_allowed(name, names).partition("(allowed")
        raise cli.UsageError(
            f"nothing is called {options.name!r}, and no topic mentions it; {suggestion_text}"
            f"see `gv-engine rules` for all"
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
    """Return a name without `w.` or `view.`."""
    return name.removeprefix("w.").removeprefix("view.")


def _print_topic(title: str, entry: Topic) -> None:
    """Print one entry of the reference with its parameters, example and source place; `title` is
    its chapter."""
    cli.say(f"{entry.name} ({title})\n\n{entry.docstring}\n")
    if entry.parts:
        cli.print_table(("", "may be", "default"), entry.parts)
    if entry.example:
        cli.say(f"{entry.example}\n")
    if entry.place:
        cli.say(entry.place)


def format_reference_page(all_chapters: list[Chapter]) -> Iterator[str]:
    """Yield the lines of the Markdown page with the whole reference, given as `all_chapters`."""
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
            place = f" `{entry.place.partition(':')[0]}`" if entry.place else ""
            yield f"- `{entry.name}`: {entry.summary}{place}"
            for name, may_be, default in entry.parts:
                default_text = f", `{default}` if left out" if default else ""
                yield f"    - `{name}`: {may_be}{default_text}"
