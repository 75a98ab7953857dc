"""The site of all pages, by `make docs`: which there are, in which order, and how they look.

The pages are those of the repository, with links as they stand there. Nothing in the site is loaded
from elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

project = "GV Engine"
html_title = project
extensions = ["myst_parser", "sphinx_copybutton"]
include_patterns = ["*.md", "docs/*.md", "examples/*.md"]
exclude_patterns = [".*", "gv_engine", "site", "tests"]
root_doc = "README"
html_theme = "furo"
html_show_sourcelink = False
html_show_search_summary = False  # it would be fetched, which files that no server serves are not
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4

CONTENTS = {
    "Tutorials": ["docs/authors"],
    "How-tos": [
        "docs/players",
        "docs/scenarios",
        "docs/agents",
        "docs/gallery",
        "docs/rules",
        "docs/checking",
        "docs/researchers",
        "docs/learning",
        "docs/benchmark",
        "docs/libraries",
        "docs/cluster",
        "docs/minigrid",
        "docs/worlds",
        "docs/replays",
        "docs/web",
        "docs/gridverse",
        "docs/mathy",
        "examples/README",
        "CONTRIBUTING",
    ],
    "Reference": ["docs/reference", "docs/glossary", "CHANGELOG"],
    "Explanations": ["docs/compiling", "docs/performance", "docs/security"],
}
"""The pages, beside the README."""

_TITLED = re.compile(r'^```(\w+) title="(.+?)"$', re.MULTILINE)
_INDEX = '<!doctype html><meta http-equiv="refresh" content="0; url=README.html">\n'


def setup(app: Any) -> None:
    """Take part in the building."""
    app.connect("source-read", _read)
    app.connect("build-finished", _finish)


def _read(app: Any, page: str, source: list[str]) -> None:
    """Show the names of files above what stands in them, and give the first page the contents."""
    source[0] = _TITLED.sub(r"```{code-block} \1\n:caption: \2", source[0])
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            lines = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def _finish(app: Any, error: Exception | None) -> None:
    """Begin with the first page."""
    if error is None:
        (Path(app.outdir) / "index.html").write_text(_INDEX, "utf-8")
