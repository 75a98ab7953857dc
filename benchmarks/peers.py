"""Virtual environments of the peers, one each, created from the package index in `.venv-peers/`."""

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

UNMET_DEPENDENCIES = ("gym-gridverse",)
"""Peers with dependencies that no longer install; the packages that they need follow them in the
list."""

INSTEAD = {
    "minigrid-babyai-text": "git+https://github.com/BartekCupial/Minigrid@"
    "cf73dd148e51276bd675a37e3bfb0bf2b42329b2"
}
"""Sources to install instead of a package, such as a path, by package name."""


class PeerError(Exception):
    """A peer cannot be measured; the message is the reason."""


@functools.cache
def python_for(packages: tuple[str, ...]) -> str:
    """Return the Python interpreter that has these packages, created if necessary; the current one
    for none.

    Raises:
        PeerError: the packages cannot be installed here.
    """
    if not packages:
        return sys.executable
    folder = FOLDER / packages[0]
    python = str(folder / "bin" / "python")
    sources = [INSTEAD.get(package, package) for package in packages]
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text("utf-8") != repr(sources):
        print(f"installing {' '.join(sources)} into {folder} …", file=sys.stderr, flush=True)
        venv.create(folder, clear=True, with_pip=True)
        if sources[0] == PUFFERLIB:
            _build_grid(python, *sources)
        elif packages[0] in UNMET_DEPENDENCIES:
            _run_pip(python, "install", *sources[1:])
            _run_pip(python, "install", "--no-deps", sources[0])
        else:
            _run_pip(python, "install", *sources)
        stamp.write_text(repr(sources), "utf-8")
    return python


def _run_pip(python: str, command: str, *arguments: str, **variables: str) -> None:
    common = ["--quiet", "--disable-pip-version-check", "--prefer-binary"]
    _run_command([python, "-m", "pip", command, *common, *arguments], **variables)


def _run_command(command: list[str], **variables: str) -> str:
    """Return the output of a command.

    Raises:
        PeerError: the command fails; the message is its last error.
    """
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **variables}
        )
    except FileNotFoundError:
        raise PeerError(f"there is no {command[0]}") from None
    if process.returncode:
        errors = [line.strip() for line in process.stderr.splitlines() if "rror:" in line.lower()]
        raise PeerError(errors[-1].removeprefix("ERROR: ") if errors else f"{command[0]} failed")
    return process.stdout


# ---- PufferLib -------------------------------------------------------------------------------
# It cannot be installed from the package index alone: its setup downloads libraries from elsewhere.
# Its C grid only needs a header, which the source package includes.

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
"""Replacement for setuptools: pip only hands over a source package once it knows the metadata, and
computing it downloads libraries."""


VIEWS = (11, 7)
"""Sizes of the square views that the grid is compiled for: PufferLib's own, and the engine's."""


def _build_grid(python: str, package: str, *others: str) -> None:
    """Compile the module `binding` as its setup would, for each view in its own folder."""
    _run_pip(python, "install", *others)
    script = (
        "import numpy, sysconfig as s;"
        "print(s.get_path('platlib'), s.get_path('include'), numpy.get_include(), sep='\\n')"
    )
    packages, *includes = _run_command([python, "-c", script]).splitlines()
    name, version = package.split("==")
    with tempfile.TemporaryDirectory() as temporary:
        backend = Path(temporary, "setuptools")
        backend.mkdir()
        (backend / "__init__.py").touch()
        text = _BACKEND.replace("{name}", name).replace("{version}", version)
        (backend / "build_meta.py").write_text(text, "utf-8")
        options = ("--no-deps", "--no-build-isolation", f"--dest={temporary}")
        _run_pip(python, "download", *options, package, PYTHONPATH=temporary)
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
            _run_command(
                [
                    *("cc", "-O2", "-flto", "-w", "-shared", "-fPIC", "-fwrapv"),
                    *("-DPLATFORM_DESKTOP", *(f"-I{include}" for include in includes)),
                    str(grid / "binding.c"),
                    # drawing functions stay undefined and are never called
                    *("-Wl,-z,lazy,-Bsymbolic-functions", "-lm"),
                    *("-o", str(folder / "binding.so")),
                ]
            )
