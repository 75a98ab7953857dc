"""Worlds that are objects at first, and move over to their program in the middle of episodes."""

import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.compiler import programs
from gv_engine.rules.errors import BuiltInDoesNotCompileError
from gv_engine.vector import background_compile
from gv_engine.vector.compiled_backend import CompiledBatch
from gv_engine.vector.object_backend import DeferredBackend
from tests.caches import own_cache
from tests.comparing import STEPS_ON, same
from tests.screen import until
from tests.vector.test_programs import BASE
from tests.vector.test_worlds_protocol import LEVELS
from tests.world.test_worlds import assert_same_rows

pytestmark = pytest.mark.compiled

AWAITED = DeferredBackend._start_compilation


@pytest.fixture(autouse=True)
def _nobody_waits(_programs_are_waited_for, monkeypatch):
    monkeypatch.setattr(DeferredBackend, "_start_compilation", AWAITED)


class Over:
    """A compilation that is over after so many looks at it."""

    def __init__(self, looks, failures):
        self.looks, self.failures, self.told = looks, failures, 0

    def is_over(self):
        self.looks -= 1
        return self.looks < 0

    def announce(self):
        self.told += 1


@pytest.fixture
def compiled_after(monkeypatch):
    """Nothing is kept, and programs are there after so many steps and resets."""

    def after(looks, failures=()):
        monkeypatch.setattr(CompiledBatch, "load", lambda worlds: False)
        monkeypatch.setattr(
            background_compile,
            "get_compilation",
            lambda worlds: Over(
                looks, dict.fromkeys(background_compile.get_program_keys(worlds), *failures or [""])
            ),
        )

    return after


def test_without_an_executable_nothing_compiles_in_the_background(monkeypatch):
    for name, value in (("executable", ""), ("frozen", True)):
        with monkeypatch.context() as changed:
            changed.setattr(sys, name, value, raising=False)
            with pytest.raises(OSError, match="there is no Python executable to start"):
                background_compile.get_compilation(cast(CompiledBatch, None))


@pytest.mark.sample("17-medley", "4-keydoor-5x5-AutoresetMode.NEXT")
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("looks", [4, 17, 27])
def test_many_worlds_go_on_where_they_were(level, mode, looks, compiled_after):
    compiled_after(looks)
    played = Scenario.load(level).with_(max_steps=7)
    options = {"autoreset_mode": mode, "copy": True, "episode_statistics": True}
    options |= {"render_mode": "ansi", "observation_representation": "compact"}
    envs, *others = all_three = [
        GridVectorEnv(played, 3, world=world, **options) for world in ("auto", "object", "compiled")
    ]
    assert envs.world == "object"
    chance = np.random.default_rng(looks)

    def all_agree(do):
        found, *expected = map(do, all_three)
        assert all(same(found, other) for other in expected)

    all_agree(lambda env: env.reset(seed=5))
    for turn in range(32):
        if turn == 15:
            rows = others[0].snapshot([2, 0])
            all_agree(lambda env, rows=rows: env.restore(rows, [0, 1]))
        if turn == 20:
            all_three = [envs.fork(), pickle.loads(pickle.dumps(others[0])), others[1]]
        if turn % 9 == 8:
            mask = {"reset_mask": chance.random(3) < 0.5}
            all_agree(lambda env, mask=mask: env.reset(options=mask))
        actions = chance.integers(envs.num_actions, size=3)
        all_agree(lambda env, actions=actions: env.step(actions))
        assert_same_rows(all_three[0].snapshot(), all_three[1].snapshot())
        if turn % 5 == 4:
            all_agree(lambda env: env.render())
    assert {env.world for env in (envs, *others)} == {"object", "compiled"}
    assert looks > 20 or envs.world == "compiled"


@STEPS_ON
@pytest.mark.parametrize("looks", [1, 8])
def test_one_world_goes_on_where_it_was(looks, compiled_after):
    compiled_after(looks)
    played = Scenario.load("medley-7x7").with_(max_steps=6)
    envs = [GridEnv(played, world=world) for world in ("auto", "object", "compiled")]
    assert repr(envs[0]) == "<GridEnv medley-7x7, object>"
    spaces = envs[0].observation_space, envs[0].action_space
    chance = np.random.default_rng(0)
    for turn in range(30):
        again = turn % 8 == 0
        seed, action = int(chance.integers(99)), int(chance.integers(envs[0].num_actions))
        found, *expected = (env.reset(seed=seed) if again else env.step(action) for env in envs)
        assert all(same(found, other) for other in expected)
        assert_same_rows(envs[0].snapshot(), envs[1].snapshot())
    assert repr(envs[0]) == "<GridEnv medley-7x7, compiled>"
    assert spaces == (envs[0].observation_space, envs[0].action_space)


def test_a_restored_world_moves_over_while_it_is_shown(compiled_after):
    played = Scenario.load("medley-7x7")
    source, expected = (GridVectorEnv(played, 2, world="object") for _ in range(2))
    source.reset(seed=3)
    expected.reset(seed=8)
    compiled_after(1)
    env = GridVectorEnv(played, 2)
    env.reset(seed=8)
    assert same(env.restore(source.snapshot(1), [0]), expected.restore(source.snapshot(1), [0]))
    assert env.world == "compiled"
    for _ in range(5):
        assert same(env.step([0, 1]), expected.step([0, 1]))
    assert_same_rows(env.snapshot(), expected.snapshot())


FAULTY = """
from gv_engine import TRANSITION, system

@system(TRANSITION)
def any_python(w, agent):
    sorted({w.action[agent]: {}})
"""
LEVEL = {
    **BASE,
    "map": "#####\n#>.E#\n#####",
    "transition_functions": ["move_agent", "./rules.py:any_python"],
}


@STEPS_ON
def test_what_does_not_compile_stays_objects_and_says_so_once(
    tmp_path, compiled_after, monkeypatch
):
    (tmp_path / "rules.py").write_text(FAULTY)
    played = Scenario.load(LEVEL, folder=tmp_path)
    compiled_after(2, ["rules.py, line 6: this is any Python"])
    env = GridEnv(played)
    env.reset(seed=0)
    env.step(0)
    with pytest.warns(RuntimeWarning, match=r"any Python.*; stepping object worlds instead"):
        env.step(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        env.step(0)
    assert env.world == "object"
    monkeypatch.undo()
    with pytest.warns(RuntimeWarning, match="any Python"):  # known by now
        assert GridEnv(played).world == "object"


@pytest.fixture
def nothing_kept(monkeypatch):
    """Programs seem to be missing, as if the cache were empty."""
    monkeypatch.setattr(CompiledBatch, "load", lambda worlds: False)
    monkeypatch.setattr(background_compile, "_COMPILATIONS", {})
    yield
    for each in background_compile._COMPILATIONS.values():
        each.stop()


def processes():
    return [each._process for each in background_compile._COMPILATIONS.values() if each._process]


@pytest.mark.thorough
def test_the_other_process_tells_why_a_rule_does_not_compile(tmp_path, nothing_kept):
    (tmp_path / "rules.py").write_text(FAULTY)
    env = GridEnv(Scenario.load({**LEVEL, "name": "cell"}, folder=tmp_path))
    env.reset(seed=0)
    (compiling,) = processes()
    compiling.wait()
    says = r"^cell: a rule cannot be compiled \(any_python in .*rules\.py, line 6\): .* instead$"
    with pytest.warns(RuntimeWarning, match=says):
        env.step(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        env.step(0)
    assert env.world == "object"


def test_a_built_in_rule_that_does_not_compile_is_told_once(compiled_after, monkeypatch):
    monkeypatch.setattr(programs, "_PROGRAMS", {})  # or other tests would find this one broken
    compiled_after(1, ["broken"])
    env = GridEnv("empty-8x8")
    env.reset(seed=0)
    with pytest.raises(BuiltInDoesNotCompileError, match="broken; all rules here are built-in"):
        env.step(0)
    assert env.step(0)[4]["action_mask"].any()


# ---- the other process ---------------------------------------------------------------------------

SLEEPS = "import time; time.sleep(100)"


def test_two_environments_wait_for_one_process_and_others_for_their_turn(
    nothing_kept, monkeypatch, capsys
):
    monkeypatch.setattr(background_compile, "_CODE", SLEEPS)
    envs = [GridEnv("keydoor-5x5") for _ in range(2)] + [GridEnv("empty-8x8")]
    for env in envs:
        env.reset(seed=0)
        assert env.world == "object"
    (process,) = processes()
    assert len(background_compile._COMPILATIONS) == 2
    assert capsys.readouterr().err.count("in the background") == 2
    process.kill()  # as a system without memory does: then this process compiles
    process.wait()
    envs[2].step(0)
    (following,) = processes()
    assert following is not process
    for env in envs[:2]:
        env.step(0)
        assert env.world == "compiled"
    assert envs[2].world == "object"
    assert capsys.readouterr().err.count("goes on compiled") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_asks_for_itself(nothing_kept, monkeypatch):
    monkeypatch.setattr(background_compile, "_CODE", SLEEPS)
    env = GridEnv("keydoor-5x5")
    env.reset(seed=0)
    (ours,) = processes()
    read, write = os.pipe()
    forked = os.fork()
    if not forked:
        env.step(0)
        (own,) = processes()
        told = {"world": env.world, "pid": own.pid}
        own.kill()
        os.write(write, json.dumps(told).encode())
        os._exit(0)
    os.waitpid(forked, 0)
    told = json.loads(os.read(read, 1000))
    assert told["world"] == "object"
    assert told["pid"] != ours.pid
    assert ours.poll() is None
    assert env.step(0)[4]["action_mask"].any()


def test_a_scenario_that_cannot_be_told_is_compiled_here(nothing_kept):
    played = Scenario.load("keydoor-5x5").with_(description=lambda: "nobody pickles this")
    env = GridEnv(played)
    assert env.world == "compiled"
    assert not background_compile._COMPILATIONS


PLAY = """
import sys
from gv_engine import GridEnv, Scenario
env = GridEnv(Scenario.load(sys.argv[1]))
env.reset(seed=0)
for turn in range(10**9):
    told = env.step(turn % 2 + 2)
    if env.world != "object":
        break
    if told[2] or told[3]:
        env.reset()
    if turn == 5:
        print("stepping", flush=True)
print(env.world)
"""


def start(tmp_path, source, **variables):
    return subprocess.Popen(
        [sys.executable, "-c", PLAY, str(source)],
        env={**own_cache(tmp_path / "cache"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


RULE = """
from gv_engine import TRANSITION, system

print("what rules print is no answer")

@system(TRANSITION)
def any_python(w, agent):
    w.agent.facing[agent] = 0
"""


@pytest.mark.thorough
def test_a_program_with_a_rule_of_ones_own_is_compiled_in_another_process(tmp_path):
    (tmp_path / "rules.py").write_text(RULE)
    (tmp_path / "scenario.yaml").write_text(json.dumps({**LEVEL, "name": "cell"}))
    for number in range(2):
        said, told = start(tmp_path, tmp_path / "scenario.yaml").communicate()
        assert said.split()[-1] == "compiled", told
        if not number:
            first, last = told.splitlines()
            assert first.startswith("gv-engine: compiling cell in the background, once")
            assert last.startswith("gv-engine: cell is compiled after ")
        else:
            assert told == ""  # it was kept


def running(parent=None, process=""):
    """Numbers of the processes that run, by what Linux tells: children, or one."""
    found = []
    for file in Path("/proc").glob(f"{process or '[0-9]*'}/stat"):
        with suppress(OSError):
            state, own_parent = file.read_text().rpartition(")")[2].split()[:2]
            if state != "Z" and parent in (None, int(own_parent)):
                found.append(int(file.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_process_ends_with_the_one_that_it_belongs_to(tmp_path, how):
    playing = start(tmp_path, "keydoor-5x5")
    playing.stdout.readline()
    (compiling,) = running(parent=playing.pid)
    playing.send_signal(how)
    playing.communicate()
    until(lambda: not running(process=compiling), "the end of the process that compiles")


def test_requested_levels_move_over(compiled_after):
    """Worlds that were asked for a level before their program was there start with it after."""
    first = GridVectorEnv("keydoor-5x5", 3, levels=range(20), world="object")
    first.reset(seed=[4, 4, 4])
    compiled_after(1)
    env = GridVectorEnv("keydoor-5x5", 3, levels=range(20))
    env.reset(seed=0)
    env.batch.requested_levels[:] = 4
    observation, _ = env.reset()
    assert env.world == "compiled"
    assert same(observation, first._observation())
