"""Every snippet of the README and of docs/ runs, in order, and prints what the page says.

`make test` runs the snippets of a few pages and reads those of all; `make thorough` runs all.
A block with a title is written to that file, or added to it if the title ends in ", at the end",
after two empty lines. A block `text` is what the block before it prints, or after a first line "…"
how that ends.
Columns of a table may be aligned by spaces, as in a terminal.
A block after `<!-- not run: why -->` is left out. A page with `<!-- with the files of other.md -->`
finds those there.
"""

import contextlib
import io
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

import gv_engine
from gv_engine import Action, Scenario
from gv_engine.cli import create_parser, main
from gv_engine.envs.backends import backend
from gv_engine.play.ui.input.bindings import GROUPS, Bindings
from gv_engine.plugins.minigrid.ids import list_babyai_grids, list_minigrid_grids
from gv_engine.rules import geometry
from gv_engine.rules.errors import MissingExtraError
from gv_engine.rules.world import World
from tests import ROOT

pytestmark = pytest.mark.slow

PAGES_OF_ROOT = "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"
API_PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in PAGES_OF_ROOT)]
BLOCK = re.compile(
    r'(?P<skip><!-- not run: .+? -->\n)?^```(?P<kind>\w+)(?: title="(?P<title>.+?)")?\n'
    r"(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
FILES_OF = re.compile(r"<!-- with the files of (.+?) -->")
PROGRAMS = ("gv-engine", "python", "sed")
LINK = re.compile(r"\]\((?!https?://)([^)#]*)#?([^)]*)\)")
NAME_IN_FILE = re.compile(r"((?:`[\w.]+` and )?`[\w.]+`) in\s+`([\w/]+\.py)`")
COLUMN_GAP = re.compile(r"(?<=\S)(?:\t| {2,})")
TITLE = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(NamedTuple):
    kind: str
    title: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    assert text.count("\n```") % 2 == 0
    for found in BLOCK.finditer(text):
        if not found["skip"]:
            line = text.count("\n", 0, found.start("text"))
            yield Block(found["kind"], found["title"] or "", found["text"], line)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and `gv-engine` and `python` on the path. Environments are objects unless a
    snippet asks for more, as they are for readers at first."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("python", ""), ("gv-engine", "-m gv_engine")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setitem(backend.BACKENDS, "compiled", backend.BACKENDS["object"])
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def pages_with_code() -> list[Path]:
    """Return the pages with a block that is run."""
    return [page for page in PAGES if any(not block.title for block in blocks(page))]


@pytest.mark.skipif(sys.platform == "win32", reason="the snippets are for a POSIX shell")
@pytest.mark.sample("agents", "gridverse", "security")
@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.stem)
def test_snippets(page: Path, shell: Path):
    names: dict[str, Any] = {"__name__": "snippet"}
    printed = ""
    for other in FILES_OF.findall(page.read_text("utf-8")):
        for block in blocks(page.parent / other):
            if block.title:
                write(block)
    for block in blocks(page):
        where = f"{page}:{block.line}"
        if block.title:
            write(block)
        elif block.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
            printed = out.getvalue()
        elif block.kind == "sh":
            printed = "".join(map(run, block.text.splitlines()))
        else:
            assert block.kind == "text", f"{where}: nothing is done with {block.kind!r}"
            expected, lines = stripped(block.text), stripped(printed)
            if expected[0] == "…":
                expected, lines = expected[1:], lines[1 - len(expected) :]
            assert lines == expected, where


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_are_python_and_commands_that_there_are(page: Path):
    before = ""
    for block in blocks(page):
        where = f"{page}:{block.line}"
        if block.kind == "python":
            compile(block.text, where, "exec")
        elif block.kind == "yaml":
            yaml.safe_load(block.text)
        elif block.kind == "sh" and not block.title:
            for line in block.text.splitlines():
                parse_command(line, where)
        elif block.kind == "text" and not block.title:
            assert before in ("python", "sh"), f"{where}: no block before it prints anything"
        before = before if block.title else block.kind


def parse_command(line: str, where: str) -> None:
    """Raise AssertionError if a line of a shell is no valid command of ours or of few others."""
    program, *words = shlex.split(line, comments=True)
    assert program in PROGRAMS, f"{where}: {line}"
    if program == "gv-engine":
        end = min((words.index(sign) for sign in ("|", ">", "&&") if sign in words), default=None)
        try:
            create_parser().parse_args(words[:end])
        except SystemExit:
            pytest.fail(f"{where}: {line}")


def run(line: str) -> str:
    """What a line of a shell prints. Commands of ours run in this process: what they load, and what
    they compile with, is there already."""
    program, *words = shlex.split(line, comments=True)
    if program == "gv-engine" and not {"|", ">"} & {*words}:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(words) == 0, line
        return out.getvalue()
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def write(block: Block) -> None:
    name, at_end, _ = block.title.partition(", at the end")
    file = Path(name)
    file.parent.mkdir(exist_ok=True)
    before = f"{file.read_text('utf-8')}\n\n" if at_end else ""
    file.write_text(before + block.text, "utf-8")


def stripped(text: str) -> list[str]:
    return [COLUMN_GAP.sub("  ", line.rstrip()) for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path):
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_functions_and_classes_are_in_the_files_that_pages_name(page: Path):
    for names, file in NAME_IN_FILE.findall(page.read_text("utf-8")):
        source, *_ = (ROOT / path for path in (file, f"gv_engine/{file}") if (ROOT / path).exists())
        for name in re.findall(r"(\w+)`", names):
            defined = rf"^\s*(?:(?:def|class) {name}\b|{name}\b.* = )"
            assert re.search(defined, source.read_text("utf-8"), re.MULTILINE), (name, file)


def test_the_site_has_all_pages():
    contents = runpy.run_path(str(ROOT / "docs" / "conf.py"))["CONTENTS"]
    listed = {f"{name}.md" for names in contents.values() for name in names}
    others = {*PAGES_OF_ROOT, "examples/README.md"}
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES} - {"README.md"}
    interface = {page.relative_to(ROOT).as_posix() for page in API_PAGES}
    assert listed == pages | others | interface


@pytest.mark.parametrize("page", API_PAGES, ids=lambda page: page.stem)
def test_the_api_lists_what_there_is(page: Path):
    names = re.findall(r"^\.\. auto\w+:: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    assert names
    for name in names:
        if not name.startswith("gv_engine.adapters."):  # they need their libraries
            with contextlib.suppress(MissingExtraError):
                assert pkgutil.resolve_name(name).__doc__, name


def test_the_api_has_every_public_name():
    text = "\n".join(page.read_text("utf-8") for page in API_PAGES)
    of_gridverse = {name for name in gv_engine.__all__ if name.endswith("_registry")}
    names = {*gv_engine.__all__} - of_gridverse - {"State", "debugging"}
    assert not [name for name in names if not re.search(rf"\b{name}\b", text)]
    for action in Action:
        assert f"| {action.value} | `{action.name}` |" in text
    for name, thing in vars(geometry).items():
        if getattr(thing, "__module__", "") == geometry.__name__ and not name.startswith("_"):
            assert f":: gv_engine.geometry.{name}\n" in text


def anchors(page: Path) -> list[str]:
    """What links to the titles of a page end in."""
    titles = TITLE.findall(BLOCK.sub("", page.read_text("utf-8")))
    return [re.sub(r"[^\w\s-]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.parametrize(
    ("mark", "grids"), [("ids", list_minigrid_grids), ("babyai ids", list_babyai_grids)]
)
def test_minigrids_ids_are_those_of_its_files(mark, grids):
    rows = ["| file | ids | parameters |", "|---|---|---|"]
    for file, found in groupby(grids().values(), lambda level: level.file):
        variants = ", ".join(f"`{level.variant}`" for level in found)
        settings = Scenario.load(file).document.parameters
        names = ", ".join(f"`{parameter.name}`" for parameter in settings)
        rows.append(f"| `{file.name}` | {variants} | {names} |")
    text = (ROOT / "docs" / "minigrid-reference.md").read_text("utf-8")
    _, _, rest = text.partition(f"<!-- {mark} -->\n")
    assert rest.partition(f"\n<!-- end of {mark} -->")[0].splitlines() == rows


def test_keys_are_those_of_the_bindings():
    row = re.compile(r"^\| (?!key )(.+?) \| (.+?) \|$", re.MULTILINE)
    rows, algebra = (
        row.findall((ROOT / "docs" / name).read_text("utf-8")) for name in ("keys.md", "mathy.md")
    )
    keys = Bindings()
    for pair in keys.describe_keys(("algebra",)):
        assert pair in algebra or re.fullmatch(r"apply rule \d", pair[1])
    games = "grid", "play", "view", "inspector", "agent", "replay", "batch", "start"
    groups = (*games, "edit", "trial", "list", "menu", "text", "window")
    assert {*groups} == {*GROUPS} - {"algebra"}
    assert rows == [pair for group in groups for pair in keys.describe_keys((group,))]


def test_what_the_engine_sets_is_told():
    text = (ROOT / "docs" / "phases.md").read_text("utf-8")
    for name, thing in vars(World).items():
        if isinstance(thing, property):
            assert f"`w.{name}`" in text or f"`w.{name}[agent]`" in text
