"""Reading within bounds, and files that are whole or not there."""

from __future__ import annotations

import os
import re
import signal
import stat
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.envs.rollout import snapshots
from gv_engine.envs.rollout.episode_folder import read
from gv_engine.play.session.catalogue import folder_entries
from gv_engine.play.session.replay import Replay
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.settings import Settings
from gv_engine.rules.errors import GVEngineError, ScenarioError
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.documents.rule_files import SourceFile
from gv_engine.scenario.storage.array_files import ArrayError, NpzArchive
from gv_engine.scenario.storage.files import (
    AtomicFile,
    append_line,
    atomic_write,
    exclusive_lock,
    format_bytes,
    is_file_name,
    make_file_name,
    make_folder,
    read_bytes,
    remove_stale_drafts,
)
from tests.processes import FINDS_TESTS, run_program
from tests.scenario.reading import find_problems

ENVIRONMENT = os.environ | FINDS_TESTS
posix = pytest.mark.skipif(os.name != "posix", reason="of POSIX")


def refuse(*_: object) -> None:
    """Fail as a system call that is not allowed."""
    raise PermissionError


READERS: dict[str, Callable[[Path], Any]] = {
    "scenario files are at most 512 KiB": lambda file: load_scenario(file),
    "replays are at most 4 MiB": lambda file: Replay.load(file),
    "snapshots are at most 128 MiB": lambda file: snapshots.load(file),
    "settings and keys are at most 64 KiB": lambda file: Settings.load(file),
    "keys are at most 64 KiB": lambda file: Bindings.load(file),
    "descriptions of rollouts are at most 4 MiB": lambda file: read(file.parent),
}


@pytest.mark.parametrize("limit", READERS)
def test_what_is_too_large_is_not_read_and_a_fifo_not_waited_for(tmp_path: Path, limit: str):
    def say() -> str:
        """Words about the file, by an error or instead of one."""
        try:
            return str(READERS[limit](file)[1])
        except (GVEngineError, OSError) as error:
            return str(error)

    file = tmp_path / "rollout.json"
    with file.open("wb") as sparse:
        sparse.truncate(2**37)
    said = say()
    assert f"{file} is 128 GiB; " in said
    assert limit in said
    if os.name == "posix":
        file.unlink(missing_ok=True)  # settings that are of no use are laid aside
        os.mkfifo(file)
        assert f"{file} is a FIFO, not a file" in say()


@posix
def test_lists_pass_over_what_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "a.yaml").write_text("domain: algebra")
    assert [entry.title for entry in folder_entries(tmp_path)] == ["a"]
    assert SourceFile.read(tmp_path / "fifo.yaml").digest == ""


def test_lists_look_into_some_hundred_files(tmp_path: Path):
    for number in range(201):
        (tmp_path / f"{number:03}.yaml").write_text("domain: algebra" if number == 200 else "a: 1")
    (tmp_path / "z.xsb").touch()
    assert [entry.title for entry in folder_entries(tmp_path)] == ["z"]


def test_what_is_no_file_is_said(tmp_path: Path):
    with pytest.raises(OSError, match=f"{tmp_path} is a folder, not a file"):
        read_bytes(tmp_path, 1, "files")
    with pytest.raises(FileNotFoundError, match="gone cannot be read: No such file"):
        read_bytes(tmp_path / "gone", 1, "files")
    with pytest.raises(OSError, match="null"):
        read_bytes(tmp_path / "a\0b", 1, "files")
    for path, said in (
        ("/dev/null", "is a device, not a file"),
        ("/proc/self/status", "status is larger than its size says"),  # which is 0 bytes
    ):
        if Path(path).exists():
            with pytest.raises(OSError, match=said):
                read_bytes(Path(path), 100, "files")


@posix
def test_links_that_lead_nowhere_are_said(tmp_path: Path):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "gone.yaml").symlink_to("nothing.yaml")
    for name, target in (("loop", "loop"), ("gone", "nothing")):
        said = rf"{name}\.yaml is a link to {target}\.yaml, which does not exist"
        with pytest.raises(ScenarioError, match=said):
            load_scenario(tmp_path / f"{name}.yaml")


def test_what_is_no_scenario_but_ours_is_said(tmp_path: Path):
    for name, command in (("k.npz", "play --from"), ("k.gvreplay", "gv-engine replay")):
        (tmp_path / name).write_bytes(b"PK")
        said = rf"{name} is a .*, not a scenario; .*{command} .*{name}"
        with pytest.raises(ScenarioError, match=said):
            load_scenario(tmp_path / name)


def test_sizes_for_people():
    assert [format_bytes(n) for n in (9, 2048, 6_500_000, 2**40)] == [
        *("9 bytes", "2 KiB", "6.2 MiB", "1024 GiB")
    ]


def test_the_arrays_of_an_archive_are_limited_together(tmp_path: Path):
    zeros = np.zeros(600, np.uint8)
    np.savez_compressed(tmp_path / "a.npz", a=zeros, b=zeros, c=zeros)
    with NpzArchive(tmp_path / "a.npz", 2000, "archives") as archive:
        assert archive.read_array("a").size == archive.read_array("b", max_bytes=1000).size == 600
        assert archive.read_array("a").size == 600
        with pytest.raises(ArrayError, match="c is 728 bytes, in archives at most 544 bytes"):
            archive.read_array("c")


# ---- drafts --------------------------------------------------------------------------------------


def test_a_draft_takes_its_place_or_goes(tmp_path: Path):
    file = tmp_path / "a.txt"
    with atomic_write(file) as draft:
        draft.write_text("new")
        assert draft.suffix == ".txt"
    with pytest.raises(KeyError), atomic_write(file) as draft:
        draft.write_text({"newer": "text"}["gone"])
    assert file.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_what_cannot_be_written_is_named(tmp_path: Path):
    full = pytest.raises(OSError, match=r"a\.txt cannot be written: No space")
    with full, atomic_write(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    (tmp_path / "a.txt").touch()
    for folder in ("gone", "a.txt"):
        with pytest.raises(OSError, match=rf"b\.x cannot be written: .* no folder .*{folder}$"):
            AtomicFile(tmp_path / folder / "b.x")
    with pytest.raises(OSError, match=r"b cannot be written: there is no folder .*a\.txt$"):
        make_folder(tmp_path / "a.txt" / "b")
    for name in ("a\0b", "a\0/b"):
        with pytest.raises(OSError, match="cannot be written: its path has a NUL"):
            AtomicFile(tmp_path / name)


@posix
def test_a_draft_has_the_permissions_of_the_file_before_anything_is_written(tmp_path: Path):
    (file := tmp_path / "a.txt").touch()
    for mode in (0o600, 0o755):
        file.chmod(mode)
        before = file.stat()
        with atomic_write(file) as draft:
            assert stat.S_IMODE(draft.stat().st_mode) == mode
            draft.write_text("new")
        after = file.stat()
        assert after.st_ino != before.st_ino
        assert after.st_mode == before.st_mode


@posix
def test_another_group_has_no_rights(tmp_path: Path):
    (file := tmp_path / "a.txt").touch()
    file.chmod(0o664)
    os.chown(file, -1, next(iter({*os.getgroups(), 2345} - {os.getegid()})))
    with atomic_write(file) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o604


@posix
def test_behind_a_link_the_file_itself_is_replaced(tmp_path: Path):
    (tmp_path / "kept").mkdir()
    link, file = tmp_path / "link.txt", tmp_path / "kept" / "a.txt"
    for target in (file, Path("kept/a.txt")):
        link.symlink_to(target)
        with atomic_write(link) as draft:  # the first time, the file is not there yet
            draft.write_text(str(target))
        assert link.is_symlink()
        assert file.read_text() == str(target)
        link.unlink()


@posix
def test_links_in_a_loop_are_not_replaced(tmp_path: Path):
    for name, other in ("ab", "ba"):
        (tmp_path / name).symlink_to(other)
    refused = pytest.raises(OSError, match="a is a symbolic link, not a file")
    with refused, atomic_write(tmp_path / "a"):
        pass
    assert (tmp_path / "a").is_symlink()


def write_atomically(path: Path) -> None:
    with atomic_write(path, follow_links=False) as draft:
        draft.write_text("new")


def lock(path: Path) -> None:
    with exclusive_lock(path):
        pass


@posix
@pytest.mark.parametrize("kind", [os.symlink, os.link, lambda _, path: os.mkfifo(path)])
@pytest.mark.parametrize("write", [write_atomically, lock, lambda path: append_line(path, "new")])
def test_members_of_folders_of_others_are_files_of_their_own(tmp_path: Path, write, kind):
    (tmp_path / "outside").write_text("kept")
    for target in ("outside", "nothing") if kind is os.symlink else ("outside",):
        member = tmp_path / target[0]
        kind(tmp_path / target, member)
        refused = pytest.raises(OSError, match=r"is a |No such device")
        with nullcontext() if write is write_atomically and kind is os.link else refused:
            write(member)
    assert (tmp_path / "outside").read_text() == "kept"
    assert not (tmp_path / "nothing").exists()


@posix
def test_a_line_is_appended_whole_or_not_at_all(tmp_path: Path):
    """A file may not grow beyond a limit, as on a full disk."""
    file = tmp_path / "lines"
    append_line(file, "first")
    program = (
        "import pathlib, resource, signal\n"
        "from gv_engine.scenario.storage.files import append_line\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
        "append_line(pathlib.Path('lines'), 'x' * 50)\n"
    )
    done = run_program(program, cwd=tmp_path, env=ENVIRONMENT, check=False)
    assert "lines cannot be written: File too large" in done.stderr
    assert file.read_text() == "first\n"


def test_only_a_line_of_ours_is_cut(tmp_path: Path):
    file = tmp_path / "lines"
    file.write_text('{"a": 1}\n{"a"')
    append_line(file, '{"a": 2}')
    assert file.read_text() == '{"a": 1}\n{"a": 2}\n'
    file.write_text("a text")
    with pytest.raises(OSError, match="its last line is not one of ours"):
        append_line(file, '{"a": 2}')
    assert file.read_text() == "a text"


def test_devices_of_windows_are_no_files():
    for name in ("con", "Con .txt", "nul .x", "COM1", "com\xb9", "LPT\xb2.y", "aux.tar.gz"):
        assert not is_file_name(name), name
        assert is_file_name(make_file_name(name)), name
        assert is_file_name(f"{name}s".replace(" ", "").replace(".", "")), name


@posix
def test_what_is_no_file_is_not_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "FIFO"), (Path("/dev/null"), "device")):
        with pytest.raises(OSError, match=f"is a {kind}, not a file"), atomic_write(path):
            pass
    os.mkfifo(tmp_path / ".gv-draft-0.txt")  # nor waited for
    remove_stale_drafts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", ".gv-draft-0.txt"}


@posix
def test_drafts_of_killed_processes_are_removed_by_the_next_one(tmp_path: Path):
    program = (
        "import os, pathlib, signal\n"
        "from gv_engine.scenario.storage.files import AtomicFile\n"
        "draft = AtomicFile(pathlib.Path('a.gif'))\n"
        "draft.path.with_suffix('.mkv').touch()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    at_work = AtomicFile(tmp_path / "a.gif")
    at_work.path.with_suffix(".mkv").touch()
    (tmp_path / ".mine-1.gif").touch()
    run_program(program, cwd=tmp_path, check=False)
    assert len(list(tmp_path.iterdir())) == 5
    with atomic_write(tmp_path / "b.txt") as draft:
        draft.touch()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".mine-1.gif", "b.txt", at_work.path.name, at_work.path.stem + ".mkv"}
    at_work.commit()
    remove_stale_drafts(tmp_path)
    assert (tmp_path / "a.gif").exists()


@posix
def test_where_nothing_can_be_locked_drafts_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fcntl.flock", refuse)
    draft = AtomicFile(tmp_path / "a.txt")
    remove_stale_drafts(tmp_path)
    draft.commit()
    assert (tmp_path / "a.txt").exists()


# ---- full disks and Ctrl-C -----------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
@posix
def test_a_full_disk_keeps_what_is_whole(tmp_path: Path):
    """Files may not grow beyond a limit, which is what a full disk is to who writes them."""
    program = (
        "import resource, sys\n"
        "from gv_engine.envs.rollout import episode_folder\n"
        "from gv_engine.cli import main\n"
        "episode_folder._CHUNK = 50\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))\n"
        "words = 'rollout empty-4x4 --episodes 9999 --max-steps 20 --out out'\n"
        "sys.exit(main(words.split()))\n"
    )
    done = run_program(program, cwd=tmp_path, env=os.environ | FINDS_TESTS, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    said = re.search(r"out cannot be written: .*; (\d+) episodes in it are whole", done.stderr)
    assert said, done.stderr
    arrays, about = read(tmp_path / "out")
    assert about["episodes"] == len(arrays["episode_start"]) == int(said[1]) > 0
    assert not about["complete"]
    assert not list((tmp_path / "out").glob(".*"))


@posix
@pytest.mark.parametrize("module", ["numpy", "gv_engine.cli"])
def test_ctrl_c_while_the_command_is_imported(tmp_path: Path, module: str):
    """At once and without a word, whatever Python is busy with."""
    program = (
        "import builtins, runpy, signal, sys\n"
        "real = builtins.__import__\n"
        "def imported(name, *more):\n"
        f"    if name == {module!r}:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return real(name, *more)\n"
        "builtins.__import__ = imported\n"
        "sys.argv = ['gv-engine', 'list']\n"
        "from gv_engine.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = run_program(program, env=ENVIRONMENT, check=False)
    assert done.returncode in (-signal.SIGINT, 130)
    assert done.stderr in ("", "gv-engine: interrupted\n")


@pytest.mark.slow
@posix
def test_programs_that_import_the_engine_keep_their_ctrl_c():
    program = "import signal, gv_engine; assert signal.getsignal(2) is signal.default_int_handler"
    run_program(program)


def test_messages_fit_on_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    keys = "".join(f"key{number}: 1\n" for number in range(5000))
    (tmp_path / "a.yaml").write_text(keys)
    assert main(["check", str(tmp_path / "a.yaml")]) == 1
    said = capsys.readouterr().err
    assert len(said) < 5000
    assert re.search(r"\n… and \d+ more\n$", said)
    (tmp_path / "a.yaml").write_text(f"{'a' * 50_000}: 1\n")
    assert max(map(len, find_problems(tmp_path / "a.yaml"))) < 1100


def test_a_missing_file_is_told_with_its_folder_or_the_nearest_name(tmp_path: Path):
    (tmp_path / "rates.yaml").touch()
    for name, hint in (
        ("rate.yaml", r"; did you mean 'rates\.yaml'\?"),
        ("other.yaml", "No such file or directory"),
        ("no/a.yaml", f"; there is no folder {tmp_path / 'no'}"),
    ):
        with pytest.raises(FileNotFoundError, match=f"cannot be read: .*{hint}$"):
            read_bytes(tmp_path / name, 9, "files")
