"""What tells that code has run: files that leave a mark, and an ear for files that are run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests import ROOT

_PYTHON = (".py", ".pyc", ".so", ".pyd")
_PROGRAMS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen")
_CANARY = """\
from pathlib import Path

Path({mark!r}).touch()

from gv_engine import REWARD, TRANSITION, system


@system(TRANSITION)
def rule(w, agent):
    pass
"""


def canary(file: Path, mark: Path) -> Path:
    """A rule file that touches `mark` when it is loaded; its transition is `rule`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_CANARY.format(mark=str(mark)), "utf-8")
    return file


class Ear:
    """Hears which Python files are opened or run, and which programs are started, from now on.

    Args:
        folders: whose files may be; besides, those of Python, its libraries and this project.

    Attributes:
        strange: those of elsewhere, in order, each as often as it was heard.
    """

    def __init__(self, *folders: Path) -> None:
        self.strange: list[str] = []
        self._homes: tuple[str, ...] = ()
        self.allow((ROOT, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
        self.allow([Path(os.__file__).parent])
        self.allow(folders)
        sys.addaudithook(self._hear)

    def allow(self, folders: Iterable[str | Path]) -> None:
        """Add folders whose files may be run."""
        self._homes += tuple(os.path.realpath(folder) + os.sep for folder in folders)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        named: Any = None
        if event in _PROGRAMS:
            self.strange.append(event)
        if event == "exec":
            named = getattr(arguments[0], "co_filename", None)
        elif event in ("compile", "import"):
            named = arguments[1]
        elif event == "open" and str(arguments[0]).endswith(_PYTHON):
            named = arguments[0]
        if not isinstance(named, str | os.PathLike) or str(named).startswith("<"):
            return
        if not os.path.realpath(named).startswith(self._homes):
            self.strange.append(str(named))
