"""Hot reload: a scenario is edited while it is played, and its steps are taken again."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gv_engine import Scenario
from gv_engine.cli.new import write_starter_project
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.replay import Difference
from gv_engine.play.session.session import Session
from gv_engine.play.session.timeline import Watch, _scene_differences
from tests.games import FORWARD, LEFT, RIGHT, take

LEVEL = """\
name: flowing
map: |
  #########
  #>......#
  #..B...E#
  #########
state_space: {objects: [Wall, Floor, Exit, Key], colors: [NONE, YELLOW]}
legend: {B: {object: Key, color: YELLOW}}
transition_functions: [move_agent, turn_agent, "./rules.py:age"]
reward_functions: [{name: living_reward, reward: -0.5}, {name: "./rules.py:pay"}]
observation_function: {name: fully_transparent, area: [[-2, 0], [-1, 1]]}
terminating_function: reach_exit
"""
RULES = '''\
from gv_engine import REWARD, TRANSITION, Int8, World, component, system


@component
class Age:
    steps: Int8 = 0


@system(TRANSITION)
def age(w: World, agent: int) -> None:
    """Time passes."""


@system(REWARD)
def pay(w: World, agent: int) -> float:
    """Pay for the third column."""
    return 1.0 if w.position.x[agent] == 3 else 0.0
'''
ALGEBRA = """\
domain: algebra
environment: PolySimplify
max_moves: 9
"""
TOLD = "from step 2 on: reward 0, was +1 (pay)"
BEGINS = "from the beginning on"
END = "terminating_function: reach_exit"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario with two Python files."""
    (tmp_path / "scenario.yaml").write_text(LEVEL)
    rules = RULES.replace("1.0", "COIN").replace("\n\n\n", "\nfrom .money import COIN\n\n\n", 1)
    (tmp_path / "rules.py").write_text(rules)
    (tmp_path / "money.py").write_text("COIN = 1.0\n")
    return tmp_path


@pytest.fixture
def game(folder: Path) -> Session:
    """Four steps to the right, and one turn."""
    return take(Session(Scenario.load(folder), 0), *[FORWARD] * 4, RIGHT)


def edit(file: Path, old: str, new: str) -> None:
    """Save a file with another text; neither its time nor, if the texts are as long, its size
    tells."""
    stat = file.stat()
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def saved(game: Session, file: Path, old: str, new: str) -> str:
    """What a player is told after a file was saved."""
    edit(file, old, new)
    assert HotReload(game).has_file_changes()
    said = HotReload(game).reload()
    assert not HotReload(game).has_file_changes()
    return said


def compared(game: Session) -> tuple[bool, bool, bool]:
    return bool(game.comparison), bool(game.difference), bool(HotReload(game).game_before())


def test_nothing_has_changed(game: Session, folder: Path):
    assert not HotReload(game).has_file_changes()
    (folder / "rules.py").touch()
    assert not HotReload(game).has_file_changes()
    assert HotReload(game).reload() == "Reloaded"
    assert (game.position, game.length, game.frame().total) == (5, 5, -1.5)


def test_the_first_step_that_differs_is_told_and_can_be_undone(game: Session, folder: Path):
    rules = folder / "rules.py"
    assert saved(game, rules, "== 3", "== 4") == f"Reloaded: {TOLD}"
    assert game.difference == Difference(2, TOLD)
    assert game.comparison is not None
    assert (game.position, game.length, game.comparison.num_steps) == (5, 5, 5)
    game.seek_first_difference()
    assert game.position == 2
    was = HotReload(game).game_before()
    assert was
    assert (game.frame().reward, was.frame().reward) == (-0.5, 0.5)
    assert HotReload(game).differences() == ["reward 0, was +1 (pay)"]
    game.redo()
    assert HotReload(game).differences() == ["reward +1, was 0 (pay)"]
    game.redo()
    assert HotReload(game).differences() == []
    assert saved(game, rules, "== 4", "== 3") == "Reloaded"
    assert compared(game) == (False, False, False)
    assert HotReload(game).differences() == []
    assert (game.position, game.length) == (4, 5)


def test_it_is_compared_with_the_game_as_it_was_played_last(game: Session, folder: Path):
    rules = folder / "rules.py"
    saved(game, rules, "== 3", "== 4")
    assert saved(game, rules, "== 4", "== 5") == f"Reloaded: {TOLD}"
    game.step(LEFT)
    assert game.difference == Difference(2, TOLD)
    said = saved(game, folder / "money.py", "1.0", "2.0")
    assert said == "Reloaded: from step 4 on: reward +2, was +1 (pay)"


def test_another_way_is_compared_as_far_as_it_is_the_same(game: Session, folder: Path):
    saved(game, folder / "rules.py", "== 3", "== 4")
    game.seek(3)
    game.step(LEFT)
    assert game.comparison is not None
    assert (game.comparison.num_steps, game.difference is not None) == (3, True)
    game.step(LEFT)
    was = HotReload(game).game_before()
    assert was
    assert was.position == 3
    assert HotReload(game).differences() == []
    game.seek(1)
    game.step(LEFT)
    assert compared(game) == (False, False, False)
    game.previous_timeline()
    assert game.comparison is not None
    assert (game.comparison.num_steps, game.length) == (3, 5)


@pytest.mark.parametrize(
    ("old", "new", "told", "steps"),
    [
        (">......", ".>.....", f"{BEGINS}: agent at row 1, column 2, was at row 1, column 1", 5),
        ("#>.", "#>E", f"{BEGINS}: exit at row 1, column 2, was floor; no step 2: the ep", 1),
        ("#>.....", "#>.#...", f"{BEGINS}: wall at row 1, column 3, was floor", 5),
        ("B...E", "..B.E", f"{BEGINS}: yellow key at row 2, column 5, was at row 2, colu", 5),
        ("[move_agent, ", "[", "from step 1 on: agent at row 1, column 1, was at row 1, colum", 5),
        (", turn_agent", "", "from step 5 on: agent looks right, looked backward", 5),
        ("-0.5", "-1", "from step 1 on: reward -1, was -0.5 (living reward)", 5),
        ("fully_transparent", "raytracing", "", 5),
        ("[-2, 0]", "[-1, 0]", f"{BEGINS}: the view has 2 × 3 cells, had 3 × 3", 5),
        ("name: flowing", "name: flowed", "", 5),
        (
            END,
            f"{END}\nmax_steps: 4",
            "from step 4 on: over: Time is up, went on; no step 5: the episode is over",
            4,
        ),
        (
            END,
            f"{END}\naction_space: [MOVE_FORWARD]",
            "from step 5 on: Turn right: not in this level",
            4,
        ),
    ],
)
def test_what_differs_is_told_in_words_and_steps_go_as_far_as_they_can(
    game: Session, folder: Path, old: str, new: str, told: str, steps: int
):
    said = saved(game, folder / "scenario.yaml", old, new)
    assert said.startswith(f"Reloaded: {told}" if told else "Reloaded")
    assert bool(told) == (game.difference is not None)
    assert game.position == game.length == steps
    (folder / "scenario.yaml").write_text(LEVEL)
    assert HotReload(game).reload() == "Reloaded"
    assert (game.difference, game.position, game.length) == (None, 5, 5)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("w.rng.integers(5)", "from step 1 on: random draws: more or fewer of them"),
        ("w.add(agent, 'age')", "from step 1 on: agent has Age, lacked it"),
        ("w.set_state(agent, 0)", ""),
    ],
)
def test_what_a_rule_does_is_told_in_words(game: Session, folder: Path, line: str, told: str):
    said = saved(game, folder / "rules.py", 'passes."""', f'passes."""\n    {line}')
    assert said == (f"Reloaded: {told}" if told else "Reloaded")


def test_fields_of_components_are_told(game: Session, folder: Path):
    rules = folder / "rules.py"
    age = 'passes."""\n    w.add(agent, "age")\n    w.age.steps[agent] += w.steps > 2'
    saved(game, rules, 'passes."""', age)
    game.step(LEFT)
    said = saved(game, rules, "> 2", "> 1")
    assert said == "Reloaded: from step 3 on: agent: Age.steps 1, was 0"


def test_a_rule_that_fails_on_the_way_leaves_the_old_game(game: Session, folder: Path):
    rules = folder / "rules.py"
    saved(game, rules, "== 3", "== 4")
    game.seek(3)
    fails = 'passes."""\n    if w.steps == 3:\n        1 / 0'
    said = saved(game, rules, 'passes."""', fails)
    assert said.startswith(f"step 4: {rules}:")
    assert said.endswith("ZeroDivisionError: division by zero")
    assert (game.position, game.length) == (3, 5)
    assert game.difference == Difference(2, TOLD)
    game.redo()
    assert game.frame().steps == 4
    edit(rules, "== 4", "== 3")
    assert saved(game, rules, fails, 'passes."""') == "Reloaded"
    assert game.difference is None


def test_an_error_is_told_and_play_goes_on(game: Session, folder: Path):
    money, level = folder / "money.py", folder / "scenario.yaml"
    assert f"{money}:1: SyntaxError" in saved(game, money, "1.0", "???")
    game.step(LEFT)
    assert game.frame().total == -2
    assert f"{level}:" in saved(game, level, "terminating", "termnating")
    money.unlink()
    assert HotReload(game).has_file_changes()
    assert "money" in HotReload(game).reload()
    money.write_text("COIN = 5.0\n")
    said = saved(game, level, "termnating", "terminating")
    assert said == "Reloaded: from step 2 on: reward +5, was +1 (pay)"
    assert game.frame().total == 2


def test_a_rule_that_fails_at_once_is_an_error(game: Session, folder: Path):
    (folder / "rules.py").write_text(
        "from gv_engine import RESET, system\n@system(RESET)\ndef pay(w, agent):\n    1 / 0\n"
    )
    (folder / "scenario.yaml").write_text(
        "extends: empty-4x4\nmax_shape: [3, 3]\nreset_function: ./rules.py:pay\n"
    )
    failed = HotReload(game).reload()
    assert failed == f"{folder / 'rules.py'}:4: ZeroDivisionError: division by zero"
    game.step(LEFT)
    assert (game.title, game.frame().total) == ("flowing", -2)


def test_types_in_play_stay_as_they_are(tmp_path: Path):
    write_starter_project(tmp_path / "cave")
    rules = tmp_path / "cave" / "rules.py"
    game = Session(Scenario.load(tmp_path / "cave"), 0)
    rubble = game.scenario.types["Rubble"]  # type: ignore[attr-defined]
    assert len(rubble.states) == 2
    edit(rules, '"CRACKED"', '"CRACKED", "GONE"')
    rules.write_text(rules.read_text() + "\nraise OSError('not yet')\n")
    said = HotReload(game).reload()
    assert "not yet" in said
    assert "no object type" not in said
    assert game.scenario.types["Rubble"] == rubble  # type: ignore[attr-defined]
    assert saved(game, rules, "raise", "# raise") == "Reloaded"
    now = game.scenario.types["Rubble"]  # type: ignore[attr-defined]
    assert (len(now.states), now.index) == (3, rubble.index)


def test_modules_of_the_path_are_loaded_again(tmp_path: Path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    module, file = tmp_path / "wages_of_test.py", tmp_path / "level.yaml"
    module.write_text(RULES)
    file.write_text(LEVEL.replace("./rules.py", "wages_of_test"))
    game = Session(Scenario.load(file, allow_modules=["wages_of_test"]), 0)
    take(game, FORWARD, FORWARD)
    assert game.frame().total == 0
    assert saved(game, module, "1.0", "2.0").startswith("Reloaded")
    assert game.frame().total == 1
    assert "SyntaxError" in saved(game, module, "2.0", "???")
    game.step(LEFT)
    assert game.frame().total == 2.5
    del sys.modules["wages_of_test"]


def test_old_files_are_not_opened(tmp_path: Path, monkeypatch):
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

    monkeypatch.setattr("gv_engine.scenario.documents.rule_files.read_bytes", read_file)
    assert not watch.differs([old, young])
    assert opened == [young]
    assert watch.differs([old])
    assert watch.differs([old, young, tmp_path / "new.py"])


def test_play_goes_on_while_steps_are_taken_again(game: Session, folder: Path):
    take(game, *[LEFT] * 40)
    edit(folder / "rules.py", "== 3", "== 4")
    flow, said = HotReload(game).reload_incrementally(), ""
    for _ in range(10):
        next(flow)
    assert game.difference is None
    game.step(RIGHT)
    assert game.frame().total == 1 - 0.5 * 46
    while not said:
        try:
            next(flow)
        except StopIteration as end:
            said = end.value
    assert said == f"Reloaded: {TOLD}"
    assert (game.position, game.length) == (46, 46)


def test_who_goes_on_to_another_level_meanwhile_comes_back_to_the_new_rules(game, folder):
    edit(folder / "rules.py", "== 3", "== 4")
    flow = HotReload(game).reload_incrementally()
    next(flow)
    game.reset(7)
    take(game, FORWARD, FORWARD, FORWARD)
    assert set(flow) == {None}
    assert (game.seed, game.difference, game.frame().total) == (7, None, -0.5)
    for leave in (lambda: None, game.previous_timeline):
        leave()
        assert HotReload(game).has_file_changes()
        assert HotReload(game).reload() == f"Reloaded: {TOLD}"


def test_a_game_that_began_with_a_snapshot_flows_from_there(game: Session, folder: Path):
    game.seek(2)
    row = game.row()
    game.restore(row)
    take(game, FORWARD, FORWARD)
    said = saved(game, folder / "rules.py", "== 3", "== 4")
    assert said == "Reloaded: from step 1 on: reward +1, was 0 (pay)"
    assert game.row()["steps"] == 4


@pytest.mark.parametrize("number", [2, 3])
def test_who_is_controlled_and_who_acts_for_others_stays(folder: Path, number: int):
    names = ["ann", "bob", "cat"][:number]
    level = LEVEL.replace("#>......#", f"#{'>' * number}{'.' * (7 - number)}#")
    (folder / "scenario.yaml").write_text(f"{level}agents: {{names: {names}}}\n")
    game = Session(Scenario.load(folder), 0)
    game.assign_policy("ann", load_policy("random", 1, len(game.actions)))
    assert game.controlled == "bob"
    game.step(RIGHT)
    saved(game, folder / "rules.py", "== 3", "== 2")
    assert game.controlled == "bob"
    game.step(RIGHT)
    (does,) = {part for part in game.past_steps[-1].action.split(" | ") if part.startswith("bob")}
    assert does == "bob TURN_RIGHT"
    assert game.past_steps[-1].action.startswith("ann ")


def test_algebra_flows_too(tmp_path: Path):
    file = tmp_path / "level.yaml"
    file.write_text(ALGEBRA)
    game = Session(load_playable(str(file)), 0)
    moves = [name for name, valid in game.mask().items() if valid]
    game.step(moves[0])
    said = saved(game, file, "max_moves: 9", "max_moves: 8")
    assert said == "Reloaded: from the beginning on: moves left 8, was 9"
    assert saved(game, file, "max_moves: 8", "max_moves: 9") == "Reloaded"
    said = saved(game, file, "max_moves: 9", "max_moves: 9\nrewards: {time: -3}")
    assert said == "Reloaded: from step 1 on: reward -3, was -0.01 (spend time)"


@pytest.mark.parametrize(("ending", "told"), [("Time is up", "Time is up"), ("", "lost")])
def test_an_episode_that_was_over_before_says_how(ending: str, told: str):
    after: Any = SimpleNamespace(reward=0.0, terms={}, outcome="", ending="", mission="")
    before: Any = SimpleNamespace(**vars(after) | {"outcome": "lost", "ending": ending})
    assert _scene_differences(before, after) == [f"goes on, ended before: {told}"]
    assert _scene_differences(after, before) == [f"over: {told}, went on"]
