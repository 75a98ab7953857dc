"""Colours that are alike, and worlds seen in other ones; needs the extra rl, see `make learn`."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.envs.representations import Representation
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning.color_augmentation import (  # noqa: E402
    ColorAugmentation,
    interchangeable_colors,
)

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

MEMORY = "memory-9x9"


@pytest.mark.parametrize(
    ("level", "alike"),
    [
        (MEMORY, (1, 2, 3, 4)),
        ({"mixture": [MEMORY, "memory-four-rooms-7x7"]}, (1, 2, 3, 4)),
        ({"mixture": [MEMORY, "crossing-5x5"]}, ()),
        ("keydoor-9x9", ()),  # all yellow
        ("teleport-7x7", ()),  # its reset names red
        ("doors", ()),  # asks for a colour
        ("empty-4x4", ()),
        ("MiniGrid-MemoryS7-v0", ()),
    ],
)
def test_colors_are_alike_if_no_rule_tells_them_apart(level, alike):
    assert interchangeable_colors(Scenario.load(level)) == alike


def test_a_rule_that_looks_at_colors_tells_them_apart(tmp_path):
    (tmp_path / "rules.py").write_text(
        "from gv_engine.rules.system import REWARD, system\n\n"
        "@system(REWARD)\n"
        "def red(w, agent):\n"
        '    """Red is worth something."""\n'
        "    return float(w.color.value[w.at[1, 1]] == 1)\n"
    )
    (tmp_path / "scenario.yaml").write_text(
        f"extends: {MEMORY}\nreward_functions: [{{name: ./rules.py:red}}]\n"
    )
    assert interchangeable_colors(Scenario.load(tmp_path)) == ()


def test_a_world_in_other_colors_is_one_of_the_same_game():
    """What happens, and what is seen, in levels that differ in colours alone."""
    scenario = Scenario.load(MEMORY)
    env = GridVectorEnv(scenario, 40, observation_representation="cells", autoreset_mode="Disabled")
    seen, _ = env.reset(seed=0)
    listed = Representation.of_observation(scenario, "cells").listed
    seeing = ColorAugmentation(
        interchangeable_colors(scenario), listed, 40, torch.Generator().manual_seed(0)
    )
    numbers = {each: k for k, each in enumerate(permutations((1, 2, 3, 4)))}
    colors = env.snapshot()["color"]["value"]
    pairs = []
    for i, j in permutations(range(40), 2):
        order = dict(zip(colors[i].tolist(), colors[j].tolist(), strict=True))
        if {order.get(c, 0) for c in colors[i].tolist()} == {*colors[j].tolist()} and all(
            order[a] == b for a, b in zip(colors[i].tolist(), colors[j].tolist(), strict=True)
        ):
            left = [c for c in (1, 2, 3, 4) if c not in order.values()]
            whole = tuple(order.get(c) or left.pop() for c in (1, 2, 3, 4))
            pairs.append((i, j, numbers[whole]))
    assert len(pairs) > 200
    first, second, orders = np.array(pairs).T
    rng = np.random.default_rng(0)
    for _ in range(60):
        for order in np.unique(orders):
            seeing.permutation[:] = int(order)
            found = seeing.apply(seen)["grid"].reshape(seen["grid"].shape)
            now = orders == order
            assert np.array_equal(found[first[now]], seen["grid"][second[now]])
        seen, rewards, terminated, _, _ = env.step(np.full(40, rng.integers(6)))
        assert np.array_equal(rewards[first], rewards[second])
        assert np.array_equal(terminated[first], terminated[second])


def test_an_episode_keeps_its_colors_and_the_next_has_others():
    level = {"extends": MEMORY, "max_steps": 10}
    learner = make_learner(level, num_envs=64, num_steps=16, recurrent=True)
    orders = [learner.colors.permutation.clone()]
    learner.on_step = lambda: orders.append(learner.colors.permutation.clone())
    learner.update()
    assert len({*orders[0].tolist()}) > 10
    assert all(torch.equal(each, orders[0]) for each in orders[:10])
    assert 0 < (orders[-1] == orders[0]).sum() < 20


def test_who_does_not_want_it_sees_what_is_there():
    learner = make_learner(MEMORY, num_envs=8, augment_colors=False)
    assert learner.colors.apply(learner._buffer.arrays) is learner._buffer.arrays
