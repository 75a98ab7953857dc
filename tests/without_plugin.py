"""Tests of the engine without one of its plugins.

    python -m tests.without_plugin NAME [PYTEST ARGUMENT...]

copies the checkout to a temporary folder, deletes `gv_engine/plugins/NAME` there, and runs the
tests whose files do not name the plugin: its folder, its public path or a name that
`gv_engine` takes from it, its domains or one of its levels.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory

from tests import ROOT

PLUGINS = sorted(file.parent.name for file in ROOT.glob("gv_engine/plugins/*/plugin.py"))
ENGINE = "gv_engine", "components", "systems"


def copy_without(plugin: str, folder: Path, *more: str) -> None:
    """Copy the engine without a plugin into a new `folder`, and link its data and the files and
    folders `more` of the checkout."""
    for name in ENGINE:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(folder / "gv_engine" / "plugins" / plugin)
    for name in ("assets", "scenarios", *more):
        (folder / name).symlink_to(ROOT / name)


def run_without(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with `words` as its arguments on the engine in `folder`."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, text=True, check=False
    )


def list_names(plugin: str) -> Iterator[str]:
    """Yield regular expressions of texts that name a plugin."""
    yield rf"plugins[./]{plugin}\b"
    additions = import_module(f"gv_engine.plugins.{plugin}.plugin").PLUGIN
    for domain in map(resolve_name, additions.domains):
        yield f"(?i:{domain.name})"
        yield from {rf"\b{name.partition('-')[0]}-" for name in domain.built_in()}
    for group, folder in additions.levels.items():
        yield rf"\b{group}-|scenarios[/\" ]+{folder}\b"
    for file in (ROOT / "gv_engine").iterdir():
        module = file / "__init__.py" if file.is_dir() else file
        if module.is_file() and f"gv_engine.plugins.{plugin}" in module.read_text("utf-8"):
            yield rf"gv_engine\.{file.stem}\b|from gv_engine import {file.stem}\b"
    taken = (ROOT / "gv_engine" / "__init__.pyi").read_text("utf-8")
    for names in re.findall(rf"from \.plugins\.{plugin}\S* import ([^(\n]+|\([^)]+\))", taken):
        for name in re.findall(r"\w+", names):
            yield rf"gv_engine\.{name}\b|from gv_engine import (\([^)]*|[^(\n]*)\b{name}\b"


def list_tests(plugin: str) -> list[str]:
    """Return the files of tests that do not name the plugin, nor import a module that does."""
    pattern = re.compile("|".join(list_names(plugin)))
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    texts = {file: file.read_text("utf-8") for file in files}
    excluded: set[Path] = set()
    while found := {file for file in texts.keys() - excluded if pattern.search(texts[file])}:
        excluded |= found
        modules = (file.relative_to(ROOT).with_suffix("").parts for file in found)
        names = (
            rf"{'.'.join(parts)}\b|from {'.'.join(parts[:-1])} import [^(\n]*\b{parts[-1]}\b"
            for parts in modules
        )
        pattern = re.compile("|".join(names))
    return sorted(str(file) for file in texts.keys() - excluded if file.name.startswith("test_"))


def main(plugin: str, *arguments: str) -> int:
    """Run the tests without `plugin`, and return the exit code of pytest."""
    with TemporaryDirectory() as name:
        folder = Path(name, "checkout")
        linked = {path.name for path in ROOT.iterdir() if not path.name.startswith(".venv")}
        tests = [file.replace(str(ROOT), str(folder), 1) for file in list_tests(plugin)]
        copy_without(plugin, folder, *linked - {*ENGINE, "assets", "scenarios", "tests"})
        shutil.copytree(ROOT / "tests", folder / "tests")
        return run_without(folder, "-m", "pytest", *(arguments or ()), *tests).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PLUGINS:
        sys.exit(f"name one of {', '.join(PLUGINS)}")
    sys.exit(main(*sys.argv[1:]))
