"""What is imported when: a step over objects needs no compiler, and no step needs a window."""

import ast
import os
import re
import subprocess
import sys
import tomllib

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow

OBJECT = """
import gv_engine
env = gv_engine.GridEnv(gv_engine.Scenario.load("keydoor-5x5"), world="object")
env.reset(seed=0)
env.step(0)
"""
NUMBERS = """
import gv_engine
for name in ("compact", "cells", "onehot", "text"):
    options = {"world": "object", "observation_representation": name}
    env = gv_engine.GridEnv("keydoor-5x5", **options)
    env.reset(seed=0)
    env.step(0)
    envs = gv_engine.GridVectorEnv("keydoor-5x5", 2, **options)
    envs.reset(seed=0)
    envs.step([0, 1])
"""
COMPILED = """
import gymnasium, gv_engine
env = gymnasium.make("GV-Keydoor-5x5-v0")
env.reset(seed=0)
env.step(0)
vector = gymnasium.make_vec("GV-Keydoor-5x5-v0", num_envs=2)
vector.reset(seed=0)
vector.step([0, 1])
"""
TEXT = """
import gv_engine
env = gv_engine.GridEnv("keydoor-5x5", world="object", render_mode="ansi")
env.reset(seed=0)
assert env.render()
"""
PICTURE = """
import gymnasium, gv_engine
env = gymnasium.make("{name}", render_mode="rgb_array", **{options})
env.reset(seed=0)
assert env.render().shape[2] == 3
env.close()
import pygame
assert not pygame.display.get_init()
"""
GAME = """
import gv_engine
from gv_engine.session.session import Session
from gv_engine.session.replay import Replay
game = Session(gv_engine.Scenario.load("keydoor-5x5"), 0)
game.step("TURN_LEFT")
game.undo()
replay = Replay.from_bytes(game.replay().to_bytes())
assert not Session.from_replay(replay, replay.find()).difference
assert not game.has_file_changes()
"""
TERMINAL = """
import gv_engine.ui.terminal.play
from gv_engine.cli import main
assert main(["play", "--terminal"]) == 1
"""
ROLLOUT = """
from gv_engine.cli import main
assert main(["rollout", "empty-4x4", "--episodes", "2", "--max-steps", "9"]) == 0
assert main(["train"]) in (1, 2)  # neither does what is wrong with the asking
"""
LOADING = """
import gv_engine
from gv_engine.scenario.library import list_grid_names
for name in list_grid_names():
    gv_engine.Scenario.load(name)
"""


def modules_after(program):
    """Top-level modules that a fresh process has imported after a program."""
    # neither a screen nor a word to SDL about having none
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    listing = "\nimport sys\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", program + listing],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("\n")[-2].split())


@pytest.mark.parametrize(
    "program",
    [OBJECT, NUMBERS, TEXT, LOADING, GAME],
    ids=["object", "numbers", "ansi", "load", "game"],
)
def test_objects_need_neither_a_compiler_nor_a_window(program):
    assert not modules_after(program) & {"numba", "llvmlite", "pygame", "imageio", "rich", "torch"}


def test_a_terminal_needs_neither_a_compiler_nor_a_window():
    assert not modules_after(TERMINAL) & {"numba", "llvmlite", "pygame", "imageio", "torch"}


def test_compiled_worlds_need_no_window():
    assert not modules_after(COMPILED) & {"pygame", "imageio", "rich", "torch"}


def test_only_learning_needs_torch():
    assert "torch" not in modules_after(ROLLOUT)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GV-Keydoor-5x5-v0", {"world": "object"}),
        ("GV-Keydoor-5x5-v0", {"world": "object", "observation_representation": "pixels"}),
        ("GV-MathyPolySimplify-easy-v0", {}),
    ],
    ids=["grid", "pixels", "algebra"],
)
def test_pictures_open_no_display_and_need_no_compiler(name, options):
    modules = modules_after(PICTURE.format(name=name, options=options))
    assert "pygame" in modules
    assert "numba" not in modules


ALLOWED = {"esper", "gymnasium", "lazy_loader", "numpy", "yaml"}
"""What the package itself imports beyond Python's own library, and what that brings along."""


def test_the_package_imports_what_is_on_the_list():
    own = {"gv_engine", "components", "systems", "__main__"}
    brought = modules_after("import gymnasium, numpy, esper, yaml")
    found = modules_after(OBJECT) - brought - own - set(sys.stdlib_module_names)
    assert {name for name in found if not name.startswith("_")} <= ALLOWED


def test_either_package_can_be_imported_first():
    for name in ("components", "systems", "gv_engine", "components.objects", "systems.reset"):
        assert "gv_engine" in modules_after(f"import {name}")


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
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = PATH.fullmatch(node.value)
            there = layer_of(match[1], layers) if match else None
            if here is not None and there is not None and there < here:
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
    assert found.pop("late_imports.py")  # the test sees those
    assert not any(found.values()), found


EXTRAS = sorted(
    {
        *("mathy_core", "minari", "pettingzoo", "pufferlib", "ray", "sb3_contrib"),
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
for command in COMMANDS:
    name = command.__name__.rpartition(".")[2].replace("listing", "list")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            main([name, "--help"])
        except SystemExit as end:
            assert end.code == 0, name
    assert f"usage: gv-engine {name}" in out.getvalue(), out.getvalue()
import gv_engine.ui.window.app, gv_engine.ui.window.viewer
"""


@pytest.mark.parametrize("program", [COMMANDS_WITHOUT_EXTRAS, OBJECT, TERMINAL])
def test_playing_needs_no_extra(program):
    modules_after(WITHOUT.format(names=EXTRAS) + program)


def test_playing_algebra_needs_mathy_core_alone():
    extras = [name for name in EXTRAS if name != "mathy_core"]
    options = {"name": "GV-MathyPolySimplify-easy-v0", "options": {}}
    modules_after(WITHOUT.format(names=extras) + PICTURE.format(**options))
