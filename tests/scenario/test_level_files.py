"""Large sets of levels from files in Boxoban's format, and the world that plays them."""

from __future__ import annotations

import pickle
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine import GridVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.play.session.catalogue import Entry, find_level_at_offset, pack_level_named
from gv_engine.scenario.levels import packs
from gv_engine.scenario.levels.level_files import LevelFiles, open_level_files
from gv_engine.scenario.levels.sokoban_files import read_sokoban
from tests.scenario.reading import assert_refused, begin, measure

SIZE = 10


def make_level(rng: np.random.Generator) -> list[str]:
    """A level of Boxoban's size with walls and four boxes anywhere, some of them on targets."""
    cells = np.full((SIZE, SIZE), "#")
    inner = cells[1:-1, 1:-1].reshape(-1)
    inner[rng.random(inner.size) > 0.2] = " "
    free = rng.permutation(inner.size)
    inner[free[:4]], inner[free[4:8]] = "$", "."
    inner[free[8]] = "@"
    for more, sign in ((free[9], "*"), (free[10], "+")):
        if rng.random() < 0.3:
            inner[more] = sign
            inner[inner == "@"] = " " if sign == "+" else "@"
    cells[1:-1, 1:-1] = inner.reshape(SIZE - 2, SIZE - 2)
    return ["".join(row) for row in cells]


def write_levels(folder: Path, counts: tuple[int, ...], seed: int = 0) -> list[list[str]]:
    """Write files of so many levels each, and return all levels."""
    rng, levels = np.random.default_rng(seed), []
    folder.mkdir(parents=True, exist_ok=True)
    for number, count in enumerate(counts):
        own = [make_level(rng) for _ in range(count)]
        text = "".join(f"; {k}\n" + "\n".join(level) + "\n\n" for k, level in enumerate(own))
        (folder / f"{number:03}.txt").write_text(text)
        levels += own
    return levels


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of more than three levels are large."""
    monkeypatch.setattr(packs, "_MAX_LEVELS", 3)


class Boxes:
    """Many worlds of Boxoban, by its rules alone: a step goes into a free cell, or pushes one box
    into a free cell."""

    def __init__(self, levels: list[list[str]]) -> None:
        signs = np.array([[[*row] for row in level] for level in levels])
        self.walls, self.targets = signs == "#", np.isin(signs, [".", "+", "*"])
        self.boxes = np.isin(signs, ["$", "*"])
        self.agents = np.argwhere(np.isin(signs, ["@", "+"]))  # (worlds, 3)

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Take up, down, left or right in each world; return the rewards, and which are solved."""
        ways = np.array([(0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)])[actions]
        before = self.count()
        to, behind = self.agents + ways, self.agents + 2 * ways
        behind[:, 1:] = behind[:, 1:].clip(0, SIZE - 1)
        full = self.walls | self.boxes
        pushes = self.boxes[tuple(to.T)] & ~full[tuple(behind.T)]
        goes = ~full[tuple(to.T)] | pushes
        self.boxes[tuple(to[pushes].T)] = False
        self.boxes[tuple(behind[pushes].T)] = True
        self.agents[goes] = to[goes]
        covered = self.count()
        solved = covered == self.targets.sum((1, 2))
        return -0.1 + (covered - before) + 10.0 * solved, solved

    def count(self) -> NDArray[np.int64]:
        """Boxes on targets in each world."""
        covered: NDArray[np.int64] = (self.boxes & self.targets).sum((1, 2))
        return covered


@pytest.mark.parametrize(
    ("world", "count", "steps"),
    [
        pytest.param("object", 12, 40),
        pytest.param("compiled", 200, 300, marks=pytest.mark.compiled),
        pytest.param("object", 200, 300, marks=pytest.mark.thorough),
    ],
)
def test_boxoban_is_played_by_its_rules(world: str, count: int, steps: int, tmp_path: Path):
    """200 levels of a set of 1,100, with random actions; worlds that have ended stay ended."""
    levels = write_levels(tmp_path / "train", (600, 500))
    scenario = Scenario.load("boxoban", files=str(tmp_path / "train")).with_(max_steps=None)
    assert isinstance(scenario.document.levels, LevelFiles)
    envs = GridVectorEnv(scenario, count, world=world, autoreset_mode="NextStep")
    envs.reset(seed=5)
    drawn = envs.snapshot()["drawn"][:, 0]
    assert len({*drawn.tolist()}) > 0.8 * count
    boxes = Boxes([levels[number] for number in drawn])
    crate, target = (scenario.types[name].index for name in ("Crate", "Target"))
    over = np.zeros(count, np.bool_)
    rng = np.random.default_rng(7)
    for step in range(steps):
        actions = rng.integers(4, size=count)
        rewards, solved = boxes.step(actions)
        _, paid, terminated, truncated, _ = envs.step(actions)
        on = ~over  # worlds that begin anew are other levels
        np.testing.assert_allclose(paid[on], rewards[on], err_msg=f"step {step}")
        assert terminated[on].tolist() == solved[on].tolist()
        over |= terminated
        assert not truncated.any()
        rows: Any = envs.snapshot()
        on = ~over
        for kind, layer, cells in ((crate, "at", boxes.boxes), (target, "ground", boxes.targets)):
            entities = rows[layer][:, :SIZE, :SIZE].reshape(count, -1)
            kinds = np.take_along_axis(rows["kind"]["value"], entities.astype(np.int64), 1)
            assert np.array_equal((kinds == kind).reshape(cells.shape)[on], cells[on])
        stands = np.stack([rows["position"]["y"][:, 1], rows["position"]["x"][:, 1]], 1)
        assert np.array_equal(stands[on], boxes.agents[on, 1:])


RAGGED = "; one\r\n ###\r\n #@.#  \r\n#####\r\n\r\n;\r\n###\n#@#\n\n\n; three\n##\n#@"


def test_rows_are_those_of_sokobans_reader(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(RAGGED.encode())
    (tmp_path / "b.txt").write_text("#@############\n")
    levels = open_level_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert levels.characters.shape == (4, 3, 14)
    expected = [*read_sokoban(RAGGED), *read_sokoban("#@############\n")]
    for level, other in zip(levels, expected, strict=True):
        width = max(map(len, other.rows))
        assert level.map.text.split("\n") == [row.ljust(width) for row in other.rows]
        assert level.map.line == other.line
    place = tmp_path.name
    titles = [f"one of {place}/a.txt", f"2 of {place}/a.txt", f"three of {place}/a.txt"]
    assert [level.title for level in levels[:3]] == titles
    assert levels[-1].title == f"4 of {place}/b.txt"
    assert pickle.loads(pickle.dumps(levels)).digest == levels.digest


@pytest.mark.usefixtures("few")
def test_a_set_is_one_scenario_and_each_of_its_levels_another(tmp_path: Path):
    write_levels(tmp_path / "train", (3, 2))
    levels = [level.map.text for level in open_level_files(sorted((tmp_path / "train").iterdir()))]
    (tmp_path / "mine.yaml").write_text("extends: boxoban\nlevels: train\n")
    scenario = Scenario.load(tmp_path / "mine.yaml")
    document = scenario.document
    assert (len(document.levels), document.variants, document.pack_level) == (5, (), None)
    assert measure(scenario) == (SIZE, SIZE)
    fourth = Scenario.load(f"{tmp_path / 'mine.yaml'}#4")
    assert fourth.document.pack_level
    assert (fourth.name, fourth.document.pack_level.map.text) == ("mine-4", levels[3])
    assert fourth.description.startswith("0 of train/001.txt.\nPush every box")
    assert fourth.identity.digest != scenario.identity.digest
    assert Entry(str(tmp_path / "mine.yaml"), "").levels == ()
    fifth, second = find_level_at_offset(fourth, 1), pack_level_named(scenario, "mine-2")
    assert fifth
    assert second
    assert (fifth.document.variant, second.document.variant) == ("5", "2")
    assert find_level_at_offset(fifth, 1) is None
    for wrong in ("mine-6", "mine-0", "mine-" + "9" * 5000, "mine-٣"):
        assert pack_level_named(scenario, wrong) is None
    assert {path.name for path in scenario.watched_files()} >= {"000.txt", "001.txt", "mine.yaml"}
    assert_refused("no level '6'; there are 1 to 5", f"{tmp_path / 'mine.yaml'}#6")
    write_levels(tmp_path / "train", (3, 2), seed=1)
    assert scenario.reload().identity.digest != scenario.identity.digest
    write_levels(tmp_path / "other" / "train", (3, 2))
    (tmp_path / "other" / "mine.yaml").write_text("extends: boxoban\nlevels: train\n")
    assert Scenario.load(tmp_path / "other" / "mine.yaml").identity == scenario.identity


@pytest.mark.usefixtures("few")
def test_paths_that_are_set_start_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_levels(tmp_path / "sets" / "train", (4,))
    monkeypatch.chdir(tmp_path)
    assert len(Scenario.load("boxoban", files="sets/train").document.levels) == 4
    fourth = Scenario.load("boxoban#4", files="sets/train/000.txt")
    assert (fourth.name, len(fourth.document.levels)) == ("boxoban-4", 4)
    only = "only folders; name one of them: train"
    with pytest.raises(ValueError, match=only):
        Scenario.load("boxoban", files="sets")
    with pytest.raises(ValueError, match="expected a file of levels, named"):
        Scenario.load("boxoban", files="sets/valid")
    assert len(Scenario.load({"extends": "boxoban"}).document.levels) == 40
    own = {"extends": "boxoban", "parameters": {"files": {"default": "sets/train"}}}
    assert len(Scenario.load(own).document.levels) == 4
    assert len(Scenario.load(own, "/", files="sets/train").document.levels) == 4


def load_levels(text: str, folder: Path, **keys: Any) -> Scenario:
    """The scenario of a file of levels."""
    (folder / "000.txt").write_bytes(text.encode())
    return Scenario.load({"extends": "boxoban", "levels": "000.txt", **keys}, folder)


GOOD = "; 0\n#####\n#@$.#\n#####\n\n"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("#####\n#@x.#\n#####", "000.txt:23: level 5 of 6: row 1, column 2: no 'x' in the legend"),
        ("#####\n#\xe4@.#\n#####", "level 5 of 6: row 1, column 1: it is not ASCII"),
        ("#####\n#@@.#\n#####", "000.txt:22: level 5 of 6: 2 agents, allowed is 1"),
        ("#####\n#$$.#\n#####", "000.txt:22: level 5 of 6: no agent; put one of"),
        ("#" * 600, "000.txt:22: level 5 of the file has 600 columns, allowed are 1 to 512"),
        ("#\n" * 600, "000.txt:22: level 5 of the file has 600 rows, allowed are 1 to 512"),
    ],
)
def test_mistakes_have_their_file_line_and_level(bad: str, says: str, tmp_path: Path):
    with pytest.raises(ValueError, match=re.escape(says)):
        load_levels(GOOD * 4 + f"; 4\n{bad}\n\n" + GOOD, tmp_path)


@pytest.mark.usefixtures("few")
def test_what_a_set_cannot_have_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="'%' is of the room den; rooms are for smaller packs"):
        load_levels(GOOD.replace("$", "%") * 4, tmp_path, legend={"%": {"room": "den"}})
    gem = {"layers": ["ground", "item", "body"], "objects": {"Gem": {"layer": "item"}}}
    with pytest.raises(ValueError, match="'%' has objects `between` layers; those are for smaller"):
        load_levels(GOOD.replace("$", "%") * 4, tmp_path, legend={"%": {"between": "Gem"}}, **gem)
    space = {"objects": ["Wall", "Floor", "Crate", "Target"]}
    keys = {"legend": {"k": "Key"}, "state_space": space}
    with pytest.raises(ValueError, match="Key, not among the state space's objects"):
        load_levels(GOOD.replace("$", "k") * 4, tmp_path, **keys)
    both = ["000.txt", {"map": GOOD[4:]}]
    with pytest.raises(ValueError, match="write larger sets as text files"):
        load_levels(GOOD * 4, tmp_path, levels=both)
    monkeypatch.setattr("gv_engine.scenario.levels.level_files._MAX_CELLS", 100)
    with pytest.raises(ValueError, match="there are more than 6 levels of up to 3x5 cells"):
        load_levels(GOOD * 7, tmp_path)


@pytest.mark.usefixtures("few")
def test_levels_may_lack_agents_that_are_placed(tmp_path: Path):
    scenario = load_levels(GOOD.replace("@", " ") * 4, tmp_path, place=[{"agent": "any"}])
    world = begin(scenario).world
    assert (world.position.y[1], world.position.x[1]) in [(1, 1), (1, 3)]


@pytest.mark.usefixtures("few")
@pytest.mark.thorough
def test_commands_take_few_of_many_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_levels(tmp_path / "train", (5,))
    files = ["--set", f"files={tmp_path / 'train'}"]
    checked = ["check", "boxoban", "--quick", "--episodes", "1", *files]
    assert main([*checked, "--sample", "2", "--seed", "3"]) == 0
    assert "checking 2 of 5 levels, seed 3: boxoban#" in capsys.readouterr().out
    assert main(checked) == 0
    told = capsys.readouterr().out
    assert "5 levels, of which the episodes play a few" in told
    assert "no map has" not in told
    assert main(["export", "boxoban", "--html", str(tmp_path / "a.html"), *files]) == 2
    assert (
        "5 levels, and a page takes at most 1,000; choose some, such as" in capsys.readouterr().err
    )


def test_many_levels_take_little_memory(tmp_path: Path):
    """A byte a cell, and little else, as no level is an object."""
    write_levels(tmp_path / "train", (2000,))
    tracemalloc.start()
    scenario = Scenario.load("boxoban", files=str(tmp_path / "train"))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    levels = scenario.document.levels
    assert isinstance(levels, LevelFiles)
    assert levels.characters.nbytes == 2048 * SIZE**2
    assert kept < levels.characters.nbytes + 2**20
