"""Another backend takes a class and a line: rows, each played in turn by the same object world."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.envs.backends.backend import BACKENDS, Backend
from gv_engine.world.simulation import KEEP, Simulation, resets_in_step, starts_episode
from tests.comparing import same
from tests.world.test_worlds import assert_same_rows


class RowBatch(Backend):
    """What is kept of a world between steps is its row, and its terms in the outputs."""

    world = "rows"

    def make_worlds(self, num_worlds):
        self.rows = np.repeat(self.scenario.layout.defaults()[None], num_worlds, axis=0)
        self.simulation = Simulation(self.scenario)

    def __len__(self):
        return len(self.rows)

    def step(self, actions, mode):
        for i in np.flatnonzero(actions != KEEP).tolist():
            world, out = self.enter(i).world, self.outputs
            if starts_episode(actions[i], mode, world.terminated or world.truncated):
                out.rewards[i] = out.returns[i] = out.lengths[i] = 0
                out.terminated[i] = out.truncated[i] = out.success[i] = False
                self.begin(i)
            else:
                is_step = actions[i] >= 0
                if is_step:
                    self.simulation.step(self.scenario.actions[actions[i]])
                out.terms[i] = self.simulation.terms_of() if is_step else 0.0
                out.rewards[i], out.returns[i] = world.reward[1], world.total[1]
                out.lengths[i], out.success[i] = world.steps, world.success[1]
                out.terminated[i], out.truncated[i] = world.terminated, world.truncated
                if is_step and resets_in_step(mode, world.terminated or world.truncated):
                    self.show(i, "final_")
                    self.begin(i)
            self.show(i)
            self.rows[i] = world.snapshot()

    def enter(self, i):
        self.simulation.world.restore(self.rows[i : i + 1].reshape(()))
        self.simulation.set_terms(1, self.outputs.terms[i].tolist())
        return self.simulation

    def begin(self, i):
        self.simulation.reset()
        self.outputs.terms[i] = 0.0

    def show(self, i, prefix=""):
        grid, item, mask, terms, member = (
            getattr(self.outputs, prefix + name)
            for name in ("grid", "item", "mask", "terms", "member")
        )
        self.simulation.observe(grid[i], item[i])
        if self.masks:
            self.simulation.valid_actions(mask[i])
        terms[i], member[i] = self.outputs.terms[i], self.simulation.world.member

    def snapshot(self, worlds):
        return self.rows[np.atleast_1d(worlds)].reshape(np.shape(worlds))

    def set_rows(self, worlds, rows):
        self.rows[worlds] = rows

    def set_generators(self, worlds, records):
        self.rows["rng"][worlds] = records

    def render(self, i, show):
        self.enter(i).render(show, self.outputs.grid[i])


@pytest.fixture(autouse=True)
def _named(monkeypatch):
    monkeypatch.setitem(BACKENDS, "rows", f"{__name__}:RowBatch")


LEVELS = ["keydoor-5x5", "dynamic-obstacles-7x7", "medley-7x7"]


@pytest.mark.sample("keydoor-5x5-AutoresetMode.DIS", "medley-7x7-AutoresetMode.SAME")
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("level", LEVELS)
def test_a_backend_of_rows_shows_what_objects_show(level, mode):
    played = Scenario.load(level).with_(max_steps=7)
    options = {"autoreset_mode": mode, "copy": True, "episode_statistics": True}
    options["render_mode"] = "ansi"
    toy, objects = (
        GridVectorEnv(played, 3, world=world, **options) for world in ("rows", "object")
    )
    assert toy.world == "rows"
    assert same(toy.reset(seed=5), objects.reset(seed=5))
    chance = np.random.default_rng(0)
    for turn in range(40):
        if turn == 15:
            rows = objects.snapshot([2, 0])
            assert same(toy.restore(rows, [0, 1]), objects.restore(rows, [0, 1]))
        if turn == 25:
            toy, objects = pickle.loads(pickle.dumps(toy)), objects.fork()
        if turn % 9 == 8:
            options = {"reset_mask": chance.random(3) < 0.5}
            assert same(toy.reset(options=options), objects.reset(options=options))
        actions = chance.integers(toy.single_action_space.n, size=3)  # type: ignore[attr-defined]  # a Discrete
        assert same(toy.step(actions), objects.step(actions))
        assert_same_rows(toy.snapshot(), objects.snapshot())
    assert toy.render() == objects.render()


def test_a_backend_steps_a_single_environment_too():
    toy, objects = (GridEnv("keydoor-5x5", world=world) for world in ("rows", "object"))
    assert repr(toy) == "<GridEnv keydoor-5x5, rows>"
    assert same(toy.reset(seed=3), objects.reset(seed=3))
    for action in (0, 5, 1, 0, 7):
        copy = deepcopy(toy)
        assert same(toy.step(action), objects.step(action))
        assert same(copy.step(action)[0], toy._observation())


def test_a_wrong_name_is_answered_with_those_of_all_backends():
    with pytest.raises(ValueError, match="'auto', 'compiled', 'object' and 'rows'"):
        GridEnv("keydoor-5x5", world="columns")
