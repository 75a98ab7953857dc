"""Scores of players of text games, and their table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gv_engine.cli import main

pytestmark = pytest.mark.slow

PLAYER = '''"""A player."""


def choose(state):
    """Return an action for what is seen; the first one is refused."""
    *seen, mission = state["observation"].splitlines()
    thing = mission.removeprefix("mission: go to the ")
    place = next((sentence for sentence in seen if thing in sentence), "")
    if "error" not in state:
        return "jump"
    if "forward" in place:
        return "go forward"
    return "turn right" if "right" in place else "turn left"


def stay(state):
    """Return the same action for ever."""
    return "turn left"
'''
LEVELS = "--scenario", "BabyAI-GoToObj-v0", "--seeds", "2"


def test_a_function_gets_a_row_beside_the_solver(tmp_path: Path, capsys: Any):
    (tmp_path / "model.py").write_text(PLAYER)
    file, model = str(tmp_path / "scores.jsonl"), str(tmp_path / "model.py")
    assert main(["score", file, f"{model}:choose", "bot", *LEVELS]) == 0
    assert "–" in capsys.readouterr().out  # there is no par yet
    assert main(["score", file, f"{model}:stay", "solver", *LEVELS]) == 0
    table = capsys.readouterr().out
    assert main(["score", file]) == 0
    assert capsys.readouterr().out == table
    head, *rows = (line.split("\t") for line in table.splitlines())
    assert head == ["player", "levels", "solved", "return", "answers", "moves / par"]
    choose, bot, stay, solver = (row[1:] for row in rows)
    lines = map(json.loads, Path(file).read_text("utf-8").splitlines())
    results = {each["player"]: each["levels"] for each in lines}
    refused = results[f"{model}:choose"]["BabyAI-GoToObj-v0 1"]
    assert (refused["steps"], refused["answers"]) == (5, 6)  # `jump` was no action
    assert choose == ["2", "100%", "0.94", "5.0", "1.00"]
    assert solver == ["2", "100%", "0.94", "4.0", "1.00"]
    assert bot[:2] == ["2", "100%"]
    assert float(bot[-1]) >= 1
    assert stay == ["2", "0%", "0.00", "64.0", "–"]


def test_a_player_that_failed_goes_on(tmp_path: Path, capsys: Any):
    failing = 'def fails(state):\n    return {2: "turn left"}[state["max_steps"] // 32]\n'
    (tmp_path / "model.py").write_text(PLAYER + failing)
    file, model = tmp_path / "scores.jsonl", f"{tmp_path / 'model.py'}:fails"
    levels = *LEVELS, "--scenario", "BabyAI-GoToObjS6-v1"
    assert main(["score", str(file), model, *levels]) == 2
    assert "KeyError: 1" in capsys.readouterr().err
    kept = json.loads(file.read_text("utf-8"))["levels"]
    assert [*kept] == ["BabyAI-GoToObj-v0 0", "BabyAI-GoToObj-v0 1"]
    file.write_text(file.read_text("utf-8").replace('"answers": 64', '"answers": 5'))
    assert main(["score", str(file), model, *LEVELS, "--resume"]) == 0
    assert "5.0" in capsys.readouterr().out  # not played again
    assert main(["score", str(file), model, *LEVELS]) == 0
    assert "64.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{}/none.jsonl"], "no such file; name a player, such as solver"),
        (["{}/model.py"], "is no file of this command"),
        (["{}/s.jsonl", "nobody", *LEVELS], "no policy 'nobody'"),
        (["{}/s.jsonl", "{}/model.py:x", *LEVELS], "has no function 'x'"),
        (["{}/s.jsonl", "bot", "--scenario", "keydoor-5x5"], "--policy bot plays scenarios whose"),
    ],
)
def test_mistakes_are_told(words: list[str], message: str, tmp_path: Path, capsys: Any):
    (tmp_path / "model.py").write_text(PLAYER)
    assert main(["score", *(word.format(tmp_path) for word in words)]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "s.jsonl").exists()
