"""The environments of the peers, one each, made from the package index into `.venv-peers/`."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-peers"

SINGLE_AGENT = ("gym-gridverse",)
"""Peers that ask for packages which install no more; what they need is listed behind them."""

INSTEAD: dict[str, str] = {}
"""What is installed instead of a package: a path, say, by the package's name."""


class PeerError(Exception):
    """A contestant cannot take part; says why."""


@functools.cache
def python_for(packages: tuple[str, ...]) -> str:
    """The Python that has these packages, made if need be; ours if there are none.

    Raises:
        PeerError: they cannot be installed here.
    """
    if not packages:
        return sys.executable
    folder = FOLDER / packages[0]
    python = str(folder / "bin" / "python")
    wanted = [INSTEAD.get(package, package) for package in packages]
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text("utf-8") != repr(wanted):
        venv.create(folder, clear=True, with_pip=True)
        if wanted[0] == PUFFERLIB:
            _build_grid(python, *wanted)
        elif packages[0] in SINGLE_AGENT:
            _pip(python, "install", *wanted[1:])
            _pip(python, "install", "--no-deps", wanted[0])
        else:
            _pip(python, "install", *wanted)
        stamp.write_text(repr(wanted), "utf-8")
    return python


def _pip(python: str, command: str, *arguments: str, **variables: str) -> None:
    common = ["--quiet", "--disable-pip-version-check", "--prefer-binary"]
    _run([python, "-m", "pip", command, *common, *arguments], **variables)


def _run(command: list[str], **variables: str) -> str:
    """What a command prints.

    Raises:
        PeerError: it fails; what it says of that.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **variables},
        )
    except FileNotFoundError:
        raise PeerError(f"there is no {command[0]}") from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if "rror:" in line.lower()]
        raise PeerError(said[-1].removeprefix("ERROR: ") if said else f"{command[0]} failed")
    return done.stdout


# ---- PufferLib -------------------------------------------------------------------------------
# It cannot be installed from the package index alone: its setup downloads libraries from elsewhere.
# Its C grid needs none of them but for a header, which the source package brings along.

PUFFERLIB = "pufferlib==3.0.0"

_BACKEND = """
import pathlib, sys

def prepare_metadata_for_build_wheel(folder, settings=None):
    info = pathlib.Path(folder, "{name}-{version}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return info.name

__legacy__ = sys.modules[__name__]
"""
"""Stands in for setuptools: pip hands over no source package before it knows the metadata, and
finding out is what downloads."""


VIEWS = (11, 7)
"""Rows and columns of the views that the grid is compiled for: its own, and ours."""


def _build_grid(python: str, package: str, *others: str) -> None:
    """Compile the module `binding`, for each view in a folder of its own, as its setup would."""
    _pip(python, "install", *others)
    asked = (
        "import numpy, sysconfig as s;"
        "print(s.get_path('platlib'), s.get_path('include'), numpy.get_include(), sep='\\n')"
    )
    packages, *includes = _run([python, "-c", asked]).splitlines()
    name, version = package.split("==")
    with tempfile.TemporaryDirectory() as temporary:
        backend = Path(temporary, "setuptools")
        backend.mkdir()
        (backend / "__init__.py").touch()
        text = _BACKEND.replace("{name}", name).replace("{version}", version)
        (backend / "build_meta.py").write_text(text, "utf-8")
        how = ("--no-deps", "--no-build-isolation", f"--dest={temporary}")
        _pip(python, "download", *how, package, PYTHONPATH=temporary)
        with tarfile.open(next(Path(temporary).glob("*.tar.gz"))) as archive:
            archive.extractall(temporary, filter="data")
        grid = Path(temporary, f"{name}-{version}", "pufferlib", "ocean", "grid")
        includes += map(str, Path(temporary, f"{name}-{version}").glob("raylib-*/include"))
        header = (grid / "grid.h").read_text("utf-8")
        for across in VIEWS:
            reach = f"env->vision = {across // 2};"
            (grid / "grid.h").write_text(header.replace("env->vision = 5;", reach), "utf-8")
            folder = Path(packages, f"grid{across}")
            folder.mkdir(exist_ok=True)
            _run(
                [
                    *("cc", "-O2", "-flto", "-w", "-shared", "-fPIC", "-fwrapv"),
                    *("-DPLATFORM_DESKTOP", *(f"-I{include}" for include in includes)),
                    str(grid / "binding.c"),
                    # what draws stays undefined and is never called
                    *("-Wl,-z,lazy,-Bsymbolic-functions", "-lm"),
                    *("-o", str(folder / "binding.so")),
                ]
            )
