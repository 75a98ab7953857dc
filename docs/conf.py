"""The site of all pages, by `make docs`: which there are, in which order, how they look, and which
levels can be played on them.

The pages are those of the repository, with links as they stand there. Nothing in the site is loaded
from elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

project = "GV Engine"
html_title = project
extensions = ["myst_parser", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "code"  # a name in a docstring, between single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# libraries of the extras, none of which the site needs
autodoc_mock_imports = [
    "openenv",
    "pettingzoo",
    "pydantic",
    "pufferlib",
    "sb3_contrib",
    "stable_baselines3",
    "tensordict",
    "tianshou",
    "torch",
    "torchrl",
    "uvicorn",
    "verifiers",
]
include_patterns = ["*.md", "docs/*.md", "docs/api/*.md", "examples/*.md"]
exclude_patterns = [".*", "gv_engine", "site", "tests"]
root_doc = "README"
html_theme = "furo"
html_show_sourcelink = False
html_show_search_summary = False  # it would be fetched, which files that no server serves are not
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4

CONTENTS = {
    "Tutorials": ["docs/players", "docs/authors", "docs/researchers"],
    "How-tos": [
        "docs/window",
        "docs/editor",
        "docs/scenarios",
        "docs/objects",
        "docs/missions",
        "docs/agents",
        "docs/rules",
        "docs/checking",
        "docs/environments",
        "docs/learning",
        "docs/language-models",
        "docs/benchmark",
        "docs/libraries",
        "docs/cluster",
        "docs/minigrid",
        "docs/replays",
        "docs/web",
        "docs/gridverse",
        "docs/puzzlescript",
        "docs/mathy",
        "examples/README",
        "CONTRIBUTING",
    ],
    "Reference": [
        "docs/gallery",
        "docs/keys",
        "docs/reference",
        "docs/phases",
        "docs/level-files",
        "docs/minigrid-reference",
        "docs/mathy-reference",
        "docs/worlds",
        "docs/compiling",
        "docs/security-checks",
        "docs/api/environments",
        "docs/api/scenarios",
        "docs/api/rules",
        "docs/api/geometry",
        "docs/api/queries",
        "docs/api/learning",
        "docs/api/adapters",
        "docs/glossary",
    ],
    "Explanations": ["docs/performance", "docs/results", "docs/security"],
    "Project": ["docs/roadmap", "docs/versions", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT"],
}
"""The pages, beside the README."""

PLAYABLE = {"docs/players": "tutorial", "docs/authors": "levers"}
"""Level that is played on a page."""

_TITLED = re.compile(r'^```(\w+) title="(.+?)"$', re.MULTILINE)
_FRAME = (
    '<iframe src="../play/{0}.html" title="{0}" loading="lazy" '
    'style="width: 100%; height: 28rem; border: 0"></iframe>'
)
_PLAY_NOW = """
<a class="play" href="levels/tutorial.html">Play a level now</a> in your browser, or choose one of
the [gallery](docs/gallery.md).
"""
_EVERY_LEVEL = re.compile("<!-- every level -->.*<!-- end of every level -->", re.DOTALL)
_STYLE = """<style>
.levels { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr));
  gap: 1rem; }
.levels figure { margin: 0; padding: 0.5rem; border: 1px solid var(--color-background-border);
  border-radius: 0.5rem; overflow-wrap: anywhere; font-size: 0.85rem; }
.levels img { display: block; width: 100%; height: auto; aspect-ratio: 1; border-radius: 0.3rem; }
.levels figcaption { margin: 0.4rem 0 0; text-align: left; }
.levels p { margin: 0.2rem 0 0.5rem; }
.levels code { display: block; font-size: 0.8rem; margin-bottom: 0.3rem; }
.levels summary { cursor: pointer; }
a.play { display: inline-block; padding: 0.2rem 0.8rem; margin: 0 0.5rem 0.4rem 0;
  border-radius: 0.4rem;
  background: var(--color-brand-primary); color: var(--color-background-primary) !important;
  text-decoration: none; font-weight: bold; }
</style>
"""
_INDEX = '<!doctype html><meta http-equiv="refresh" content="0; url=README.html">\n'

_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINKED = re.compile(r"(\[[^\]]*\]\([^)]*\)|^#.*$)", re.MULTILINE)  # links, and titles
_MENTION = re.compile(r"(?<!`)`((?:gv_engine\.)?(\w+)(?:\.\w+)*)`(?!`)")
_DOCUMENTED = re.compile(r"^\.\. auto\w+:: (gv_engine\S*\.(\w*[A-Z_]\w*))$", re.MULTILINE)
_PUBLIC_NAMES = {
    name: full_name
    for page in Path(__file__).parent.glob("api/*.md")
    for full_name, name in _DOCUMENTED.findall(page.read_text("utf-8"))
}
"""Public path of each class and function that the API pages list, by its name, except functions
whose name is a plain word."""


def setup(app: Any) -> None:
    """Take part in the building."""
    app.connect("source-read", _read)
    app.connect("build-finished", _finish)


def _read(app: Any, page: str, source: list[str]) -> None:
    """Show the names of files above what stands in them, link the first mention of each public name
    to the API, and give the first page the contents."""
    if not page.startswith("docs/api/") and page != "CHANGELOG":
        source[0] = _link_public_names(source[0])
    source[0] = _TITLED.sub(r"```{code-block} \1\n:caption: \2", source[0])
    if page in PLAYABLE:
        source[0] = source[0].replace("\n## ", f"\n{_FRAME.format(PLAYABLE[page])}\n\n## ", 1)
    if page == "docs/gallery":
        from tests.gallery import make_cards

        cards = make_cards()
        source[0] = _EVERY_LEVEL.sub(lambda _: _STYLE + cards, source[0])
    if page == root_doc:
        source[0] = source[0].replace("\n![", f"\n{_STYLE}{_PLAY_NOW}\n![", 1)
        for caption, pages in CONTENTS.items():
            lines = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def _link_public_names(text: str) -> str:
    """Return a page with a link at the first mention of each public name, such as `GridEnv`,
    outside of code blocks, links and titles."""
    unseen = dict(_PUBLIC_NAMES)

    def link(mention: re.Match[str]) -> str:
        full_name = unseen.pop(mention[2], None)
        return f"{{py:obj}}`{mention[1]} <{full_name}>`" if full_name else mention[0]

    blocks = _FENCED.split(text)
    for k in range(0, len(blocks), 2):
        parts = _LINKED.split(blocks[k])
        parts[::2] = [_MENTION.sub(link, part) for part in parts[::2]]
        blocks[k] = "".join(parts)
    return "".join(blocks)


def _finish(app: Any, error: Exception | None) -> None:
    """Begin with the first page, and write the levels that are played on pages."""
    if error is None:
        (Path(app.outdir) / "index.html").write_text(_INDEX, "utf-8")
        folder = Path(app.outdir) / "play"
        folder.mkdir(exist_ok=True)
        for level in PLAYABLE.values():
            page = f"--html={folder / level}.html"
            command = [sys.executable, "-P", "-m", "gv_engine", "export", level, page, "--embed"]
            subprocess.run(command, check=True)
        # those that an earlier build has made stay; `make gallery` makes all anew
        levels = [sys.executable, "-m", "tests.gallery", str(Path(app.outdir) / "levels")]
        subprocess.run([*levels, "--missing"], check=True)
