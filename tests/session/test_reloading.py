"""Hot reload: a scenario is edited while it is played."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from components.objects import EXIT
from gv_engine import Scenario
from gv_engine.cli.new import write_starter
from gv_engine.rules.objects import ObjectType, ObjectTypes
from gv_engine.session.session import Session
from gv_engine.session.timeline import Watch
from tests.games import FORWARD, LEFT, take

LEVEL = """\
name: growing
map: |
  >.....
  ......
transition_functions: [move_agent, turn_agent]
reward_functions: [{name: "./rules.py:pay"}]
observation_function: {name: fully_transparent, area: [[-1, 0], [0, 0]]}
terminating_function: reach_exit
"""
RULES = """\
from gv_engine import REWARD, system
from .money import COIN

@system(REWARD)
def pay(w, agent):
    return COIN
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario with two Python files."""
    (tmp_path / "scenario.yaml").write_text(LEVEL)
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "money.py").write_text("COIN = 1\n")
    return tmp_path


@pytest.fixture
def played(folder: Path) -> Session:
    game = take(Session(Scenario.load(folder), 0), FORWARD, LEFT, "MOVE_LEFT", FORWARD)
    game.undo()
    return game


def rubble_of(game: Session) -> ObjectType:
    types: ObjectTypes = game.scenario.types  # type: ignore[attr-defined]
    return types["Rubble"]


def edit(file: Path, old: str, new: str) -> None:
    """Change a file so that neither its time nor, if the texts are as long, its size tells."""
    stat = file.stat()
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_nothing_has_changed(played: Session, folder: Path):
    assert not played.has_file_changes()
    (folder / "rules.py").touch()
    assert not played.has_file_changes()
    assert played.reload() == "Reloaded"
    assert (played.position, played.length, played.frame().total) == (3, 4, 3)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("money.py", "1", "2"),
        ("rules.py", "return COIN", "return 2   "),
        ("scenario.yaml", ">.....", ">..E.."),
    ],
)
def test_each_file_counts_at_once(played: Session, folder: Path, file: str, old: str, new: str):
    edit(folder / file, old, new)
    for _ in range(2):
        assert played.has_file_changes()
    assert played.reload().startswith("Reloaded: from ")
    assert not played.has_file_changes()
    assert (played.position, played.length) == (3, 4)
    level = file == "scenario.yaml"
    assert played.frame().total == (3 if level else 6)
    assert (played.frame().grid[..., 0] == EXIT).any() == level
    played.undo()
    assert played.frame().steps == 2


def test_an_error_is_told_and_play_goes_on(played: Session, folder: Path):
    edit(folder / "money.py", "COIN = 1", "COIN = ?")
    assert played.has_file_changes()
    said = played.reload()
    assert f"{folder / 'money.py'}:1: SyntaxError" in said
    assert not played.has_file_changes()
    played.step(LEFT)
    assert played.frame().total == 4
    edit(folder / "scenario.yaml", "terminating", "termnating")
    assert played.has_file_changes()
    assert f"{folder / 'scenario.yaml'}:" in played.reload()
    assert played.frame().total == 4
    (folder / "money.py").unlink()
    assert played.has_file_changes()
    assert "money" in played.reload()
    (folder / "money.py").write_text("COIN = 5\n")
    edit(folder / "scenario.yaml", "termnating", "terminating")
    assert played.has_file_changes()
    assert played.reload() == "Reloaded: from step 1 on: reward +5, was +1 (pay)"
    assert played.frame().total == 20


def test_a_rule_that_fails_at_once_is_an_error(played: Session, folder: Path):
    (folder / "rules.py").write_text(
        "from gv_engine import RESET, system\n@system(RESET)\ndef pay(w, agent):\n    1 / 0\n"
    )
    edit(folder / "scenario.yaml", '[{name: "./rules.py:pay"}]', "[]\nmax_shape: [3, 3]")
    edit(folder / "scenario.yaml", "map: |\n  >.....\n  ......", 'reset_function: "./rules.py:pay"')
    assert played.reload() == f"{folder / 'rules.py'}:4: ZeroDivisionError: division by zero"
    played.step(LEFT)
    assert (played.title, played.frame().total) == ("growing", 4)


def test_types_in_play_stay_as_they_are(tmp_path: Path):
    write_starter(tmp_path / "cave")
    rules = tmp_path / "cave" / "rules.py"
    game = Session(Scenario.load(tmp_path / "cave"), 0)
    rubble = rubble_of(game)
    assert len(rubble.states) == 2
    edit(rules, '"CRACKED"', '"CRACKED", "GONE"')
    rules.write_text(rules.read_text() + "\nraise OSError('not yet')\n")
    said = game.reload()
    assert "not yet" in said
    assert "no object type" not in said
    assert rubble_of(game) == rubble
    edit(rules, "raise", "# raise")
    assert game.reload() == "Reloaded"
    now = rubble_of(game)
    assert (len(now.states), now.index) == (3, rubble.index)


def test_modules_of_the_path_are_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "wages_of_test.py"
    module.write_text(RULES.replace("from .money import COIN", "COIN = 1"))
    file = tmp_path / "level.yaml"
    file.write_text(LEVEL.replace("./rules.py", "wages_of_test"))
    game = Session(Scenario.load(file, allow_modules=["wages_of_test"]), 0)
    game.step(LEFT)
    assert game.frame().total == 1
    edit(module, "COIN = 1", "COIN = 2")
    assert game.has_file_changes()
    assert game.reload().startswith("Reloaded")
    assert game.frame().total == 2
    edit(module, "COIN = 2", "COIN = ?")
    assert "SyntaxError" in game.reload()
    game.step(LEFT)
    assert game.frame().total == 4
    del sys.modules["wages_of_test"]


def test_old_files_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old, young = tmp_path / "old.py", tmp_path / "young.py"
    for file in (old, young):
        file.write_text("1")
    os.utime(old, (1_000_000, 1_000_000))
    os.utime(young, (later := time.time() + 3600, later))  # young for as long as the test runs
    watch = Watch([old, young])
    opened: list[Path] = []

    def read_file(path: Path, *_: object) -> bytes:
        opened.append(path)
        return b"1"

    monkeypatch.setattr("gv_engine.scenario.rule_modules.read_bytes", read_file)
    assert not watch.differs([old, young])
    assert opened == [young]
    assert watch.differs([old])
    assert watch.differs([old, young, tmp_path / "new.py"])
