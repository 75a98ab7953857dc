"""Optional dependencies, and messages that say how to install them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from typing import NamedTuple


def format_command(words: Sequence[str]) -> str:
    """Return a command line, quoted for the system's shell."""
    return (subprocess.list2cmdline if sys.platform == "win32" else shlex.join)(words)


class Extra(NamedTuple):
    """A library that an extra of this package installs.

    Attributes:
        user: the feature that needs the library, for messages.
        library: name of the library's module.
        name: name of the extra.
    """

    user: str
    library: str
    name: str

    @property
    def missing_message(self) -> str:
        """Instructions to install the library; empty if it is installed."""
        return "" if find_spec(self.library) else self.install_message

    @property
    def install_message(self) -> str:
        """Instructions to install the library into this Python, in one line; the engine itself is
        on no package index."""
        command = [sys.executable, "-m", "pip", "install", *self._list_requirements()]
        return (
            f"{self.user} needs {self.library}, which is not installed. This installs it here: "
            f"{format_command(command)}"
        )

    def _list_requirements(self) -> list[str]:
        """Return the requirements of the extra from the package metadata; the library alone without
        metadata."""
        pattern = re.compile(rf";\s*extra\s*==\s*['\"]{self.name}['\"]$")
        try:
            requirements = requires("gv-engine") or []
        except PackageNotFoundError:  # not installed
            requirements = []
        extra = [pattern.sub("", line) for line in requirements if pattern.search(line)]
        return extra or [self.library]


MATH = Extra("Algebra", "mathy_core", "math")
PARALLEL = Extra("A parallel environment", "pettingzoo", "pettingzoo")
RL = Extra("Learning", "torch", "rl")
MINIGRID_PACKAGE = Extra("A picture of MiniGrid's", "minigrid", "minigrid")
MINARI = Extra("A dataset of Minari", "minari", "minari")
RAY = Extra("Work on a cluster", "ray", "ray")
STABLE_BASELINES3 = Extra("SB3VecEnv", "stable_baselines3", "sb3")
PUFFERLIB = Extra("GridPufferEnv", "pufferlib", "pufferlib")
TORCHRL = Extra("TorchRLEnv", "torchrl", "torchrl")
TIANSHOU = Extra("TianshouVecEnv", "tianshou", "tianshou")
