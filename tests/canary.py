"""Signs that code has run or files have changed: rule files that leave a mark, and audit hooks."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterable
from functools import cache
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


_CHANGES = {
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod"), (0,)),
    **dict.fromkeys(("os.chown", "os.utime", "shutil.rmtree", "tempfile.mkstemp"), (0,)),
    **dict.fromkeys(("tempfile.mkdtemp", "shutil.unpack_archive"), (0,)),
    **dict.fromkeys(("os.rename", "os.link", "shutil.move"), (0, 1)),
    **dict.fromkeys(("os.symlink", "shutil.copyfile", "shutil.copytree"), (1,)),
}
"""Audit events that change files, and which of their arguments are paths."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REACHING_OUT = "pickle.find_class", "socket.connect", "socket.getaddrinfo", "urllib.Request"


_listeners: list[weakref.WeakMethod[Callable[[str, tuple[Any, ...]], None]]] = []
"""Methods that are called with each audit event while their objects live. Python cannot remove an
audit hook, so a permanent one calls them."""


def _dispatch(event: str, arguments: tuple[Any, ...]) -> None:
    for reference in tuple(_listeners):
        if listener := reference():
            listener(event, arguments)


@cache  # once
def _install_hook() -> None:
    sys.addaudithook(_dispatch)


def _add_listener(listener: Callable[[str, tuple[Any, ...]], None]) -> None:
    _install_hook()
    _listeners.append(weakref.WeakMethod(listener, _listeners.remove))


class Sandbox:
    """Records, while it lives, paths that are changed outside of folders, pickles and connections.

    Args:
        folders: in which files may be written, renamed and removed.

    Attributes:
        broken: what was done outside, in order.
    """

    def __init__(self, *folders: Path) -> None:
        self.broken: list[str] = []
        self._folders = tuple(os.path.realpath(folder) for folder in folders)
        _add_listener(self._watch)

    def _watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REACHING_OUT:
            self.broken.append(f"{event} {arguments!r}")
        paths = [arguments[k] for k in _CHANGES.get(event, ())]
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            paths.append(arguments[0])
        for path in paths:
            if not isinstance(path, int) and self._is_outside(path, arguments[-1]):
                self.broken.append(f"{event} {path!r}")

    def _is_outside(self, path: Any, folder: Any) -> bool:
        found, opened = Path(os.fsdecode(path)), Path(f"/proc/self/fd/{folder}")
        if folder.__class__ is int and opened.is_symlink():  # of which the path is below
            found = opened.readlink() / found
        real = os.path.realpath(found)
        return real != os.devnull and not any(
            real == each or real.startswith(each + os.sep) for each in self._folders
        )


class Ear:
    """Hears which Python files are opened or run, and which programs are started, while it lives.

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
        _add_listener(self._hear)

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
