"""Identity of a scenario: every file that keeps it notices every Python file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import yaml

from gv_engine import GridVectorEnv, Scenario, load_scenario
from gv_engine.envs.rollout import episode_folder, snapshots
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.play.session.replay import ReplayError
from gv_engine.play.session.session import Session
from gv_engine.scenario.documents.loading import load_reference, make_reference
from tests.scenario.reading import RULES as WALK

LEVEL = yaml.safe_dump({**WALK, "map": "#>.E#", "transition_functions": ["./rules.py:wait"]})
RULES = """
from gv_engine import TRANSITION, system
from .beside import ONE

@system(TRANSITION)
def wait(w, agent):
    "Nothing happens."
    from .late import TWO
"""
FILES = {
    "scenario.yaml": LEVEL,
    "rules.py": RULES,
    "beside.py": "from .further import THREE as ONE\n",
    "further.py": "THREE = 3\n",
    "late.py": "TWO = 2\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "level"
    home.mkdir()
    for name, text in FILES.items():
        (home / name).write_text(text)
    return home


Open = Callable[[], Any]


def replay(folder: Path) -> Open:
    kept = Session(Scenario.load(folder), 0).replay()
    return lambda: kept.check(Scenario.load(folder))


def snapshot(folder: Path) -> Open:
    envs = GridVectorEnv(folder, 1, world="object")
    envs.reset(seed=0)
    file = folder.parent / "worlds.npz"
    snapshots.save(file, envs.scenario, envs.snapshot())
    return lambda: snapshots.load(file, trust=True)


def rollout(folder: Path) -> Open:
    env = GridVectorEnv(folder, 1, world="object", autoreset_mode="Disabled")
    EpisodeFolder(folder.parent / "episodes", env, {}).close(complete=True)
    about = episode_folder.read(folder.parent / "episodes")[1]
    return lambda: snapshots.load_reference(about["scenario"], trust=True)


def told(door: Callable[[Path], Open]) -> AbstractContextManager[Any]:
    if door is replay:
        return pytest.raises(ReplayError, match="'level', which has changed since")
    return pytest.warns(UserWarning, match="level is no longer what it was")


@pytest.mark.sample("replay", "late.py")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("door", [replay, snapshot, rollout])
def test_every_file_counts_at_every_door(folder: Path, door: Callable[[Path], Open], name: str):
    opened = door(folder)
    opened()
    with (folder / name).open("a") as file:
        file.write("\n# changed\n" if name.endswith(".py") else "\nmax_steps: 9\n")
    with told(door):
        opened()


def test_so_it_does_in_algebra(tmp_path: Path):
    level = {"domain": "algebra", "environment": "PolySimplify"}
    level["problem_function"] = "./own.py:draw"
    rules = "from .beside import TEXT\n\ndef draw(params, rng):\n    return TEXT, 2\n"
    (tmp_path / "own.py").write_text(rules)
    (tmp_path / "beside.py").write_text("TEXT = '4x + 2x'\n")
    known = make_reference(load_scenario(level, tmp_path))
    assert load_reference(known, trust=True).name == known["name"]
    (tmp_path / "beside.py").write_text("TEXT = '4x + 3x'\n")
    with pytest.warns(UserWarning, match="is no longer what it was"):
        load_reference(known, trust=True)


@pytest.mark.parametrize("name", ["keydoor-5x5", "medley-7x7", "mathy-poly-simplify-normal"])
def test_built_in_scenarios_are_known_by_name(name: str):
    known = make_reference(load_scenario(name))
    assert known["source"] == known["name"] == name
    assert load_reference(known).identity == load_scenario(name).identity
    shorter = make_reference(load_scenario(name).with_(max_steps=7))
    assert shorter["source"] == name
    assert load_reference(shorter).identity.digest == shorter["digest"] != known["digest"]
