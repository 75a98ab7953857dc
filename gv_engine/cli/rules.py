"""`gv-engine rules`: what authors can name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gv_engine.cli import output
from gv_engine.cli.options import Commands, UsageError, add_command, say
from gv_engine.rules.errors import describe_allowed
from gv_engine.scenario.library import list_built_in_grids

if TYPE_CHECKING:
    from gv_engine.scenario.reference_docs import Chapter, Topic

_EXAMPLES = """\
gv-engine rules
gv-engine rules keydoor
gv-engine rules --markdown > reference.md"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        run,
        "rules",
        "List rules, objects, map characters and helpers that scenarios and rules can name",
        _EXAMPLES,
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="of one of them, to tell all of it; or any word"
    )
    parser.add_argument("--markdown", action="store_true", help="all of them, as a page")


def run(options: argparse.Namespace) -> int:
    """Print them all, or all that is known of one."""
    from gv_engine.scenario.reference_docs import list_chapters

    found = list_chapters()
    if options.markdown:
        say("\n".join(page(found)))
        return 0
    if options.name is None:
        for title, entries in found:
            rows = [(entry.name, entry.summary) for entry in entries]
            output.print_table((title, ""), rows)
        return 0
    known = {_bare(entry.name): title for title, entries in found for entry in entries}
    if (name := _bare(options.name)) not in known:
        telling = [*_on(name, found)]
        if not telling:
            near, _, _ = describe_allowed(name, known).partition("(allowed")
            raise UsageError(
                f"nothing is called {options.name!r}, and nothing tells of it; {near}see "
                f"`gv-engine rules` for all"
            )
        output.print_table(("", ""), telling, f"what tells of {name}")
        return 0
    for title, entries in found:
        for entry in entries:
            if _bare(entry.name) == name:
                _tell(title, entry)
    return 0


def _on(word: str, found: list[Chapter]) -> Iterator[tuple[str, str]]:
    """What tells of something, in whatever form of the word, and the levels named after it."""
    begins = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    for _, entries in found:
        for entry in entries:
            if begins.search(f"{entry.name} {entry.docstring}"):
                yield entry.name, entry.summary
    for name, level in list_built_in_grids().items():
        if begins.search(name):
            yield name, f"a level to copy from: {level.file}"


def _bare(name: str) -> str:
    """A name without what it is called on."""
    return name.removeprefix("w.").removeprefix("view.")


def _tell(title: str, entry: Topic) -> None:
    say(f"{entry.name} ({title})\n\n{entry.docstring}\n")
    if entry.parts:
        output.print_table(("", "may be", "default"), entry.parts)
    if entry.example:
        say(f"{entry.example}\n")
    if entry.place:
        say(entry.place)


def page(found: list[Chapter]) -> Iterator[str]:
    """The lines of the page that tells of all."""
    yield "# Reference"
    yield ""
    yield "What scenarios and rules can name, as `gv-engine rules` lists it; `gv-engine rules NAME`"
    yield "tells all of one. This page is made of the sources by `gv-engine rules --markdown`."
    yield ""
    yield "[Write scenarios](scenarios.md) and [write rules](rules.md) show how things are put"
    yield "together, with a [reset](rules.md#a-level-by-chance) and a"
    yield "[visibility](rules.md#a-way-of-seeing) of one's own. The keys of scenario files are also"
    yield "a JSON schema, by `gv-engine schema`."
    for title, entries in found:
        yield f"\n## {title}\n"
        for entry in entries:
            yield from _section(entry) if entry.parts or entry.place else _line(entry)


def _line(entry: Topic) -> Iterator[str]:
    yield f"- `{entry.name}`: {entry.summary}"


def _section(entry: Topic) -> Iterator[str]:
    place = f" `{entry.place.partition(':')[0]}`" if entry.place else ""
    yield f"- `{entry.name}`: {entry.summary}{place}"
    for name, may_be, default in entry.parts:
        yield f"    - `{name}`: {may_be}" + (f", `{default}` if left out" if default else "")
