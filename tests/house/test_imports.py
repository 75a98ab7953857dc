"""What is imported when: a step over objects needs no compiler, and no step needs a window."""

import ast
import os
import re
import sys
import tomllib

import pytest

from tests import ROOT
from tests.processes import run_program

pytestmark = pytest.mark.slow

OBJECT = """
import gv_engine
env = gv_engine.GridEnv(gv_engine.Scenario.load("keydoor-5x5"), world="object")
env.reset(seed=0)
env.step(0)
"""
OBJECTS = """
for name in ("compact", "cells", "onehot", "text"):
    options = {"world": "object", "observation_representation": name}
    one = gv_engine.GridEnv("keydoor-5x5", **options)
    for env in one, gv_engine.GridVectorEnv("keydoor-5x5", 2, **options):
        env.reset(seed=0)
        env.step(env.action_space.sample())
env = gv_engine.GridEnv("keydoor-5x5", world="object", render_mode="ansi")
env.reset(seed=0)
assert env.render()

from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.session import Session
from gv_engine.play.session.replay import Replay
game = Session(gv_engine.Scenario.load("keydoor-5x5"), 0)
game.step("TURN_LEFT")
game.undo()
replay = Replay.from_bytes(game.replay().to_bytes())
assert not Session.from_replay(replay, replay.find()).difference
assert not HotReload(game).has_file_changes()

from tests.levels import GRID_NAMES
for name in GRID_NAMES:
    gv_engine.Scenario.load(name)
"""
TERMINAL = """
import gv_engine.play.ui.terminal.play
from gv_engine.cli import main
assert main(["play", "--terminal"]) == 2
"""
PICTURE = """
import gymnasium, gv_engine
env = gymnasium.make({}, render_mode="rgb_array")
env.reset(seed=0)
assert env.render().shape[2] == 3
env.close()
import pygame
assert not pygame.display.get_init()
"""
GRID = PICTURE.format("'GV-Keydoor-5x5-v0', world='object'")
PIXELS = PICTURE.format("'GV-Keydoor-5x5-v0', world='object', observation_representation='pixels'")
ALGEBRA = PICTURE.format("'GV-MathyPolySimplify-easy-v0'")
COMPILED = """
import gymnasium, gv_engine
env = gymnasium.make("GV-Empty-4x4-v0")
env.reset(seed=0)
env.step(0)
vector = gymnasium.make_vec("GV-Empty-4x4-v0", num_envs=2)
vector.reset(seed=0)
vector.step([0, 1])
"""
ROLLOUT = """
from gv_engine.cli import main
assert main(["rollout", "empty-4x4", "--episodes", "2", "--max-steps", "9"]) == 0
assert main(["train"]) == 2
"""
FIRST = """
import importlib, sys
for name in ("components", "systems", "gv_engine", "components.objects", "systems.reset"):
    importlib.import_module(name)
    packages = "gv_engine", "components", "systems"
    own = [each for each in sys.modules if each.partition(".")[0] in packages]
    assert "gv_engine" in own, name
    for each in own:
        del sys.modules[each]
"""
"""Import of each of these as the first one of the engine."""


def modules_after(*programs):
    """Top-level modules that a fresh process has imported after each of several programs."""
    # neither a screen nor a word to SDL about having none
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    listing = "\nimport sys\nprint('modules', *{name.partition('.')[0] for name in sys.modules})\n"
    whole = "".join(program + listing for program in programs)
    done = run_program(whole, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    listed = [line.split() for line in done.stdout.splitlines() if line.startswith("modules ")]
    return [set(names) for _, *names in listed]


ALLOWED = {"esper", "gymnasium", "lazy_loader", "numpy", "yaml"}
"""What the package itself imports beyond Python's own library, and what that brings along."""
COMPILER = {"llvmlite"}
WINDOW = {"pygame", "imageio"}


def test_neither_objects_nor_terminals_nor_pictures_need_a_compiler():
    programs = OBJECT, OBJECTS, TERMINAL, GRID, PIXELS, ALGEBRA
    brought, step, objects, terminal, *pictures = modules_after(
        "import gymnasium, numpy, esper, yaml", *programs
    )
    own = {"gv_engine", "components", "systems", "__main__"}
    found = step - brought - own - set(sys.stdlib_module_names)
    assert {name for name in found if not name.startswith("_")} <= ALLOWED
    assert not objects & (COMPILER | WINDOW | {"rich", "torch"})
    assert not terminal & (COMPILER | WINDOW | {"torch"})
    for modules in pictures:
        assert "pygame" in modules
        assert not modules & COMPILER


def test_compiled_worlds_need_no_window_and_only_learning_needs_torch():
    compiled, rollout = modules_after(COMPILED, ROLLOUT)
    assert not compiled & (WINDOW | {"rich", "torch"})
    assert "torch" not in rollout


def test_importing_and_loading_a_scenario_changes_nothing_global():
    program = """
import signal, sys, warnings
numbers = signal.valid_signals()
def state():
    handlers = [signal.getsignal(number) for number in numbers]
    hooks = sys.excepthook, sys.displayhook, warnings.showwarning, sys.gettrace(), sys.path[:]
    return [*sys.meta_path], [*sys.path_hooks], handlers, hooks, sys.getrecursionlimit()
before = state()
import gv_engine, gv_engine.gridverse, gv_engine.mathy
gv_engine.Scenario.load("keydoor-9x9")
assert state() == before
"""
    run_program(program)


def test_either_package_can_be_imported_first():
    modules_after(FIRST)


PATH = re.compile(r"(gv_engine(?:\.\w+)+)(?::[\w.]+)?")
"""A module, or `module:name`, as text."""


def layer_of(module, layers):
    """Number of the layer of a module, 0 for the highest; None if it has none."""
    return next(
        (i for i, names in enumerate(layers) if f"{module}.".startswith(tuple(names))), None
    )


def strings_upwards(file, layers):
    """Texts in a file of the engine that name a module of a higher layer."""
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    here = layer_of(module, layers)
    text = file.read_text("utf-8")
    if here is None or not re.search(rf"[\"']{PATH.pattern}[\"']", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = PATH.fullmatch(node.value)
            there = layer_of(match[1], layers) if match else None
            if there is not None and there < here:
                yield f"{file.name}:{node.lineno}: {node.value}"


def test_only_the_list_of_late_imports_names_modules_of_higher_layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = [
        [f"{name.strip()}." for name in layer.split(":")]
        for layer in contracts["contracts"][0]["layers"]
    ]
    found = {
        file.name: [*strings_upwards(file, layers)] for file in (ROOT / "gv_engine").rglob("*.py")
    }
    late = found.pop("late_imports.py")
    assert late  # the test sees those
    assert not [place for place in late if "gv_engine.plugins" in place]  # it finds them itself
    assert not any(found.values()), found


EXTRAS = sorted(
    {
        *("mathy_core", "minari", "openenv", "optuna", "pettingzoo", "pufferlib", "ray"),
        *("sb3_contrib", "verifiers"),
        *("stable_baselines3", "tensordict", "tensorboard", "tianshou", "torch", "torchrl"),
        *("hypothesis", "jsonschema", "mypy", "pytest", "ruff", "xdist"),
    }
)
"""Packages that extras install, also those of tests."""

WITHOUT = """
import sys
class Missing:
    "Finder before all others: the packages are not installed."
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""
COMMANDS_WITHOUT_EXTRAS = """
import contextlib, io
from gv_engine.cli import COMMANDS, main
for name in COMMANDS:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            main([name, "--help"])
        except SystemExit as end:
            assert end.code == 0, name
    assert f"usage: gv-engine {name}" in out.getvalue(), out.getvalue()
import gv_engine.play.ui.window.app, gv_engine.play.ui.window.viewer
"""


ONE_COMMAND = """
import sys
from gv_engine.cli import COMMANDS, main
assert main(["rules", "push"]) == 0
commands = {*COMMANDS.values()}
assert commands & {*sys.modules} == {"gv_engine.cli.rules"}, commands & {*sys.modules}
"""


def test_a_command_imports_no_other_one():
    modules_after(ONE_COMMAND)


def test_playing_needs_no_extra():
    modules_after(WITHOUT.format(names=EXTRAS) + COMMANDS_WITHOUT_EXTRAS, OBJECT, TERMINAL)


def test_playing_algebra_needs_mathy_core_alone():
    extras = [name for name in EXTRAS if name != "mathy_core"]
    modules_after(WITHOUT.format(names=extras) + ALGEBRA)
