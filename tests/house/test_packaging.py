"""The wheel holds all that is needed, and strangers called `systems` are turned away."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow


def python(*arguments: str | Path, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder `path`, which it searches first, and the checkout after it."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel, which was built from the sdist."""
    dist = tmp_path_factory.mktemp("dist")
    built = python("-m", "build", "--no-isolation", "--outdir", dist, ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = dist.glob("*.whl")
    site = tmp_path_factory.mktemp("site")
    with ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_wheel_holds_packages_and_data_and_nothing_else(site: Path) -> None:
    top = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
    assert top == {"gv_engine", "components", "systems"}
    assert all((site / package / "py.typed").is_file() for package in top)
    for data in ("assets", "scenarios"):
        assert files(site / "gv_engine" / data) == files(ROOT / data) != set()


def files(folder: Path) -> set[Path]:
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_works_away_from_the_checkout(site: Path) -> None:
    # -S keeps out the .pth file of an editable install, and with it the checkout.
    seen = python(
        "-I",
        "-S",
        "-c",
        """if True:
            import sys
            site = sys.argv[1]
            sys.path += sys.argv[1:]

            import components, gv_engine, systems
            from gv_engine.scenario.resources import ASSETS, SCENARIOS
            from importlib.metadata import distribution

            main = distribution("gv-engine").entry_points["gv-engine"].load()
            assert callable(main), main
            for path in (gv_engine.__file__, components.__file__, systems.__file__):
                assert path.startswith(site), path
            for folder in (ASSETS, SCENARIOS):
                assert folder.is_relative_to(site) and any(folder.iterdir()), folder
        """,
        site,
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    )
    assert seen.returncode == 0, seen.stderr


@pytest.mark.parametrize("name", ["components", "systems"])
@pytest.mark.parametrize("kind", ["package", "module"])
@pytest.mark.parametrize("first", ["", "import {name}; "], ids=["ahead on the path", "imported"])
def test_stranger_is_named_with_the_remedy(
    tmp_path: Path, name: str, kind: str, first: str
) -> None:
    stranger = tmp_path / name if kind == "package" else tmp_path / f"{name}.py"
    if kind == "package":
        stranger.mkdir()
        (stranger / "__init__.py").touch()
    else:
        stranger.touch()
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
