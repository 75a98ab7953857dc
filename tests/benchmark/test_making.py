"""Parts of entries, each made by itself."""

import json

import numpy as np
import pytest

from gv_engine import GridVectorEnv
from gv_engine.envs import level_sets
from gv_engine.envs.level_sets import LevelsError
from gv_engine.plugins.learning.benchmark import entry, runner
from gv_engine.plugins.learning.benchmark.entry import (
    TESTED,
    EntryPart,
    find_scenario,
    split_levels,
)
from gv_engine.plugins.learning.benchmark.runner import PartRunner, measure_lengths
from tests.comparing import same

pytestmark = pytest.mark.compiled

LEVEL = "keydoor-5x5"
OWN = """
class Own:
    def __init__(self, num_envs, num_actions):
        self.begun = 0

    def begin(self, worlds):
        self.begun += len(worlds)

    def act(self, observation, info, rngs):
        return info["action_mask"].argmax(1)
"""


@pytest.mark.thorough
def test_no_level_is_tested_that_was_learned():
    levels = split_levels(LEVEL)
    assert levels.apart
    assert levels.train
    assert levels.test_layout
    assert not {*levels.train.seeds} & {*levels.test.seeds, *levels.test_layout.seeds}
    rows = []
    for part in levels.train, levels.test:
        envs = GridVectorEnv(LEVEL, len(part.seeds), world="compiled")
        envs.reset(seed=[*part.seeds])
        seen = envs.snapshot()
        told = ("at", "color", "position", "agent")
        rows.append({tuple(row[name].tobytes() for name in told) for row in seen})
        assert len(rows[-1]) == len({*part.seeds})
    assert not rows[0] & rows[1]


def test_what_has_too_few_levels_says_so(monkeypatch):
    found = level_sets.level_set

    def few(scenario, levels):
        if isinstance(levels, str):
            raise LevelsError("too few")
        return found(scenario, range(3))

    monkeypatch.setattr(entry, "level_set", few)
    levels = split_levels.__wrapped__(LEVEL)
    assert not levels.apart
    assert levels.train is None
    assert levels.test.seeds[:6] == (0, 1, 2) * 2
    assert len(levels.test.seeds) == TESTED


def test_each_level_has_its_own_place_whatever_the_seed(tmp_path, monkeypatch):
    """Number k is the same level in all parts, so that they can be compared one by one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    first, other = (PartRunner("./own.py:Own").run(LEVEL, seed) for seed in (0, 7))
    assert same(first.lengths, other.lengths)
    shortest = np.array(PartRunner("solver").run(LEVEL, 0).lengths)
    random = np.array(PartRunner("random").run(LEVEL, 0).lengths)
    assert shortest.min() > 3
    won = random > 0
    assert won.any()
    assert (random >= shortest)[won].all()
    assert not same(tuple(random.tolist()), measure_lengths(LEVEL, "random", 1))


def test_a_part_repeats():
    part = PartRunner("valid").run(LEVEL, 3)
    assert part == PartRunner("valid").run(LEVEL, 3)
    assert (part.held_out, part.different, part.steps) == (True, 21, 0)
    layouts = split_levels(LEVEL).test_layout
    lengths = np.array(measure_lengths(LEVEL, "valid", 3, layouts))
    assert part.layout_success == np.mean(lengths > 0) < 1
    assert isinstance(part, EntryPart)


@pytest.mark.parametrize(
    ("levels", "learned", "held_out"),
    [
        ([0, 1], LEVEL, True),
        ([0, 5], LEVEL, True),  # of `validation`
        ([0, 4], LEVEL, False),  # of `test`
        ([0, 28], LEVEL, False),  # of `test-layout`
        (None, LEVEL, False),
        ([0, 1], "keydoor-7x7", False),
    ],
)
@pytest.mark.parametrize("name", ["run", "run:greedy"])
def test_a_run_that_may_have_learned_the_test_is_not_held_out(
    name, levels, learned, held_out, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "_run_policy", lambda *_: {"lengths": (0,) * TESTED})
    (tmp_path / "run").mkdir()
    assert not PartRunner(name).run(LEVEL, 0).held_out  # it does not tell
    digest = find_scenario(learned).identity.digest
    (tmp_path / "run/run.json").write_text(
        json.dumps({"level_seeds": levels, "scenario": {"digest": digest}})
    )
    assert PartRunner(name).run(LEVEL, 0).held_out == held_out
