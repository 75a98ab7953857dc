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
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
    """Run the command `rules`: print the reference of rules as a list or as Markdown, or the entry
    that the user names, and return 0. For a word that is no name, print the entries that mention it
    and return 1."""
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
        cli.print_table(("", ""), mentions, f"no topic is named {name!r}; these mention it")
        return 1
    else:
        raise cli.UsageError(
            f"no topic is named {options.name!r}, and none mentions it"
            f"{suggest_similar(name, names) or ';'} `gv-engine rules` shows all"
        )
    return 0


def _find_mentions(word: str, all_chapters: list[Chapter]) -> Iterator[tuple[str, str]]:
    """Yield (name, summary) for each entry in the chapters of the reference that mentions `word`,
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
    """Print one entry of the reference: text, parameters, example, and where its source is. `title`
    is the title of its chapter."""
    cli.say(f"{entry.name} ({title})\n\n{entry.docstring}\n")
    if entry.parts:
        cli.print_table(("", "may be", "default"), entry.parts)
    if entry.example:
        cli.say(f"{entry.example}\n")
    if entry.place:
        cli.say(entry.place)


_INTRODUCTION = """# Reference

Use this page to look up all names that scenario files and rules can use: keys, built-in rules,
objects, components and functions. `gv-engine rules NAME` prints one entry with an example, and
`gv-engine schema` prints a JSON schema of scenario files. To learn how to use them, read [how to
write scenarios](scenarios.md) and [how to write rules](rules.md). An entry such as
`name(parameter=default)` lists parameters or fields, and [the end of this page](#values) lists
the values that they can have."""


def format_reference_page(all_chapters: list[Chapter]) -> Iterator[str]:
    """Yield the lines of a Markdown page with all chapters of the reference. A parameter that
    occurs in several places is described once."""
    yield _INTRODUCTION
    described_in: dict[tuple[str, str], str] = {}
    # names of the parameters and fields with each description of their values, as an ordered set
    names_by_values: dict[str, dict[str, None]] = {}
    for title, topics in all_chapters:
        yield f"\n## {title}"
        for file, group in groupby(topics, _get_source_file):
            yield f"\nIn `{file}`:\n" if file else ""
            entries = []
            for topic in group:
                entry = _make_entry(topic)
                if topic.parts and {"systems", "components"} & {*Path(file).parts}:
                    entry = entry._replace(name=_format_signature(topic), parts=())
                    for part, values, _ in topic.parts:
                        names_by_values.setdefault(values, {})[f"`{part}`"] = None
                entries.append(entry)
            yield from _format_entries(entries, f"*{title}*", described_in)
    yield "\n## Values\n"
    for values, names in names_by_values.items():
        yield f"- {', '.join(names)}: {values}"


class _Entry(NamedTuple):
    """Entry of a list on the reference page: name, description, and (name, values, default) of its
    parameters."""

    name: str
    text: str
    parts: Iterable[tuple[str, str, str]] = ()


def _make_entry(topic: Topic) -> _Entry:
    """Return the entry of the reference page for a topic, such as a rule."""
    has_arguments = topic.example.startswith(f"{topic.name}(")
    text = topic.summary.removeprefix("Return ")
    name = topic.example if has_arguments else topic.name
    return _Entry(name, text[:1].upper() + text[1:], topic.parts)


def _format_signature(topic: Topic) -> str:
    fields = [f"{part}={default}" if default else part for part, _, default in topic.parts]
    return f"{topic.name}({', '.join(fields)})"


def _get_source_file(topic: Topic) -> str:
    file = topic.place.partition(":")[0]
    return "components/" if file.startswith("components/") else file


def _format_entries(
    entries: Iterable[_Entry],
    heading: str,
    described_in: dict[tuple[str, str], str],
    indent: str = "",
) -> Iterator[str]:
    """Yield the lines of a Markdown list of `entries` under `heading`, indented by `indent`.
    `described_in` maps each (name, text) to the heading where it was listed first; a repeated entry
    only refers to that heading. New entries are added to it."""
    names_by_heading: dict[str, list[str]] = {}
    for name, text, parts in entries:
        first_heading = described_in.setdefault((name, text), heading)
        if first_heading == heading:
            yield f"{indent}- `{name}`: {text}"
            inner = [_Entry(part, values) for part, values, _ in parts]
            yield from _format_entries(inner, f"`{name}`", described_in, f"{indent}    ")
        else:
            names_by_heading.setdefault(first_heading, []).append(f"`{name}`")
    for first_heading, names in names_by_heading.items():
        yield f"{indent}- {', '.join(names)}: as in {first_heading}."
