"""The wheel holds all that is needed, and strangers called `systems` are turned away."""

import contextlib
import gzip
import os
import shutil
import subprocess
import sysconfig
import tarfile
from pathlib import Path

import pytest
from hatchling import build

from tests import ROOT
from tests.processes import run_python

pytestmark = pytest.mark.slow


def python(*arguments: str | Path, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder `path`, which it searches first, and the checkout after it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])}
    return run_python(*arguments, cwd=path, env=environment, check=False)


WORKS = """
import sys
site = sys.argv[1]
sys.path += sys.argv[1:]

import components, gv_engine, systems
from gv_engine.scenario.storage.resources import ASSETS, SCENARIOS
from importlib.metadata import distribution

main = distribution("gv-engine").entry_points["gv-engine"].load()
assert callable(main), main
for path in (gv_engine.__file__, components.__file__, systems.__file__):
    assert path.startswith(site), path
for folder in (ASSETS, SCENARIOS):
    assert folder.is_relative_to(site) and any(folder.iterdir()), folder
"""


def test_wheel_holds_packages_and_data_and_works_away_from_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel is built from the sdist."""
    # hatchling names no level, and the usual one, 9, takes half of the time
    monkeypatch.setattr(gzip.GzipFile.__init__, "__defaults__", (None, None, 0, None, None))
    with contextlib.chdir(ROOT):
        sdist = build.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # since 3.11.4
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path)
    with contextlib.chdir(tmp_path / sdist.removesuffix(".tar.gz")):
        wheel = build.build_wheel(str(tmp_path))
    site = tmp_path / "site"
    shutil.unpack_archive(tmp_path / wheel, site, "zip")
    top = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
    top.remove("gv_text_games.py")
    assert top == {"gv_engine", "components", "systems"}
    assert all((site / package / "py.typed").is_file() for package in top)
    for data in ("assets", "scenarios"):
        assert files(site / "gv_engine" / data) == files(ROOT / data) != set()
    # -S keeps out the .pth file of an editable install, and with it the checkout.
    libraries = sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
    seen = python("-I", "-S", "-c", WORKS, site, *libraries)
    assert seen.returncode == 0, seen.stderr


def files(folder: Path) -> set[Path]:
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("name", ["components", "systems"])
@pytest.mark.parametrize("file", ["{name}.py", "{name}/__init__.py"])
@pytest.mark.parametrize("first", ["", "import {name}; "], ids=["ahead on the path", "imported"])
def test_stranger_is_named_with_the_remedy(
    tmp_path: Path, name: str, file: str, first: str
) -> None:
    code = tmp_path / file.format(name=name)
    code.parent.mkdir(exist_ok=True)
    code.touch()
    stranger = code if code.parent == tmp_path else code.parent
    refused = python("-c", first.format(name=name) + "import gv_engine", path=tmp_path)
    assert refused.returncode == 1
    message = refused.stderr.splitlines()[-1]
    assert message.startswith("ImportError: ")
    for part in (repr(str(stranger)), repr(str(ROOT / name)), "Rename", "virtual environment"):
        assert part in message


def test_folder_without_code_is_no_stranger(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    welcomed = python("-c", "import gv_engine", path=tmp_path)
    assert welcomed.returncode == 0, welcomed.stderr
