"""Count of code lines, and the limit that `make check` holds.

    python -m tests.code_lines [FOLDER...]

A code line holds code: no blank line, comment or docstring. The limit for all folders of the
engine together is `code_lines` under `[tool.gv-engine]` in pyproject.toml. A feature makes room for
itself, or the commit that raises the limit says why.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from pathlib import Path

from tests import ROOT

ENGINE = "gv_engine", "systems", "components"
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def count_code_lines(source: str) -> int:
    """Return the number of lines of Python source that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = [(each.start[0], each.end[0]) for each in tokens if each.type not in _NO_CODE]
    lines = {line for first, last in spans for line in range(first, last + 1)}
    for node in ast.walk(ast.parse(source)):
        documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines -= {*range(docstring.lineno, (docstring.end_lineno or 0) + 1)}
    return len(lines)


def count_folder(folder: Path) -> int:
    """Return the number of code lines of all Python files below a folder."""
    return sum(count_code_lines(file.read_text("utf-8")) for file in folder.rglob("*.py"))


def main(folders: list[str]) -> int:
    """Print code lines by folder; return 1 if those of the engine are over their limit."""
    counts = {name: count_folder(ROOT / name) for name in folders or ENGINE}
    for name, count in counts.items():
        print(f"{count:7,} {name}")
    if folders:
        return 0
    total = sum(counts.values())
    limit = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["gv-engine"]
    print(f"{total:7,} code lines, at most {limit['code_lines']:,} by pyproject.toml")
    return int(total > limit["code_lines"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
