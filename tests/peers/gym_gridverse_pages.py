"""What gym-gridverse has beside its tests: examples, scripts, pages, levels and public names.

Runs in a checkout of gym-gridverse by `make peers`, with modules of ours under its names.
"""

import ast
import importlib
import importlib.util
import operator
import re
import runpy
import sys
import textwrap
import time
from contextlib import nullcontext
from functools import partial
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
import yaml

from gv_engine import Scenario
from gv_engine.gridverse import Action, Agent, Grid, Orientation, Position, Shape, State
from gv_engine.plugins.gridverse.envs.yaml.factory import factory_env_from_yaml
from gv_engine.plugins.gridverse.grid_object import Color, Exit, Floor, GridObject, Wall
from gv_engine.plugins.gridverse.registry import FUNCTION_REGISTRIES
from gv_engine.plugins.gridverse.spaces import ObservationSpace

EXAMPLES = sorted(Path("examples").glob("*.py"))
SCRIPTS = sorted(Path("scripts").glob("*.py"))
LEVELS = sorted(Path("yaml").glob("*.yaml"))
PAGES = sorted([*Path("docs").glob("tutorial.rst"), *Path("docs/tutorial").rglob("*.rst")])
PACKAGE = Path("gym_gridverse")


@pytest.fixture(autouse=True)
def at_home(monkeypatch):
    """Import modules from the folders of examples and levels, as the pages tell."""
    for folder in ("examples", "yaml"):
        monkeypatch.syspath_prepend(str(Path(folder).resolve()))


def run(path, *words):
    """Run a file with these words on the command line; return its names."""
    before = sys.argv
    sys.argv = [str(path), *map(str, words)]
    try:
        return runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before


# ---- examples ------------------------------------------------------------------------------------


def corridor():
    cells: list[Any] = [Wall(), Floor(), Floor(), Exit(), Wall()]
    return State(Grid([[Wall()] * 5, cells, [Wall()] * 5]), Agent(Position(1, 1), Orientation.F))


BEFORE, AFTER = corridor(), corridor()
AFTER.agent.orientation = Orientation.R
STEP = BEFORE, Action.TURN_RIGHT, AFTER
TURNS = {"reward_clockwise": 3.0, "reward_counterclockwise": -3.0}
SPACE = ObservationSpace(Shape(3, 3), [Wall, Floor, Exit], [])


def changed(transition, action=Action.MOVE_RIGHT, **parameters):
    """The state after a transition in the corridor, and how many of its cells differ."""
    state = corridor()
    transition(state, action, rng=np.random.default_rng(1), **parameters)
    cells = state.grid.to_array() != BEFORE.grid.to_array()
    return state.agent.position, int(cells.any(-1).sum())


def move_agent(state, action, *, rng=None):
    FUNCTION_REGISTRIES_BY_NAME["transition"]["move_agent"](state, action, rng=rng)


FUNCTION_REGISTRIES_BY_NAME = {
    phase.name.lower(): registry for phase, registry in FUNCTION_REGISTRIES.items()
}
USES = {
    "actual_rotation_reward": lambda m: m["actual_rotation"](*STEP, **TURNS) == 3.0,
    "intended_rotation_reward": lambda m: m["intended_rotation"](*STEP, **TURNS) == 3.0,
    "static_reward": lambda m: m["static"](*STEP) == 0 and m["static"](BEFORE, 0, BEFORE) == -1,
    "generalized_static_reward": lambda m: m["stronger_static"](*STEP) == 1.0,
    "static_agent_terminating": lambda m: m["static_agent"](BEFORE, 0, BEFORE),
    "concealed_terminating": lambda m: m["concealed_terminating"](
        *STEP,
        object_type=Wall,
        observation_function=FUNCTION_REGISTRIES_BY_NAME["observation"].factory(
            "fully_transparent", area=SPACE.area
        ),
    ),
    "chessrook_movement_transition": lambda m: (
        changed(m["chessrook_movement"]) == (Position(1, 3), 0)
    ),
    "creeping_walls_transition": lambda m: changed(m["creeping_walls"])[1] == 1,
    "random_transition": lambda m: (
        changed(m["random_transition"], transition_function=move_agent, p_success=1.0)
        == (Position(1, 2), 0)
    ),
    "choose_key_reset": lambda m: m["choose_key"]().grid.shape == Shape(6, 5),
    "simplest_reset": lambda m: isinstance(m["simplest"]().grid[1, 1], Exit),
    "coin_env": lambda m: m["coin_maze"]().grid.shape == Shape(7, 9),
    "coinflip_visibility": lambda m: m["coinflip"](BEFORE.grid, Position(1, 1))[1, 1],
    "conic_visibility": lambda m: m["conic"](BEFORE.grid, Position(2, 2)).sum() == 9,
    "frontal_line_of_sight_observation": lambda m: (
        m["frontal_line_of_sight"](BEFORE, observation_space=SPACE).grid.shape == Shape(3, 3)
    ),
    "satellite_observation": lambda m: (
        m["satellite"](BEFORE, shape=Shape(4, 5)).grid.shape == Shape(4, 5)
    ),
    "ice_cleats_grid_object": lambda m: m["IceCleats"]().color is Color.NONE,
    "ice_grid_object": lambda m: m["Ice"](m["Ice"].Status.SMOOTH).blocks_movement,
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    names = vars(importlib.import_module(path.stem))
    assert USES[path.stem](names)


def test_the_level_of_an_example():
    env = factory_env_from_yaml("examples/coin_env.yaml")
    env.set_seed(3)
    env.reset()
    rewards = [env.step(action)[0] for action in env.action_space.actions * 5]
    assert {round(reward, 1) for reward in rewards} == {-0.1, 0.9}
    level = yaml.safe_load(Path("examples/coin_env.yaml").read_text("utf-8"))
    level["max_shape"] = [7, 9]
    inner = Scenario.load(level, allow_modules=["coin_env"]).inner_env()
    inner.reset()
    assert inner.state.grid.shape == Shape(7, 9)


# ---- levels --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")  # parameters that a function does not take
@pytest.mark.parametrize("path", LEVELS, ids=lambda path: path.stem)
def test_level(path):
    own, scenario = factory_env_from_yaml(path), Scenario.load(path).inner_env()
    for env in (own, scenario):
        env.set_seed(5)
        env.reset()
    for action in own.action_space.actions * 4:
        assert own.state == scenario.state
        assert own.observation == scenario.observation
        step = own.step(action)
        assert step == scenario.step(action)
        if step[1]:
            break


# ---- scripts -------------------------------------------------------------------------------------

LEVEL = "yaml/gv_keydoor.5x5.yaml"


class Enough(Exception):
    """Ends an endless script."""


def press_keys(count):
    """Press a key at each call, at last Q."""
    import pygame

    keys = (pygame.K_UP, pygame.K_SPACE, pygame.K_u, pygame.K_o, pygame.K_h, pygame.K_r)
    key = keys[count] if count < len(keys) else pygame.K_q
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, mod=0))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gv_control_loop_gym", ["GV-Keydoor-5x5-v0"]),
        ("gv_control_loop_gym", [LEVEL]),
        ("gv_control_loop_inner", [LEVEL]),
        ("gv_control_loop_outer", [LEVEL]),
        ("gv_profile", [LEVEL, "--timesteps=20"]),
        ("gv_profile", ["GV-Empty-4x4-v0", "--timesteps=20"]),
        ("gv_record", ["gif", LEVEL, "--seed=1", "--max-steps=4", "--state=FOLDER/new/a.gif"]),
        ("gv_record", ["mp4", LEVEL, "--max-steps=4", "--observation=FOLDER/a.mp4"]),
        ("gv_record", ["images", LEVEL, "--max-steps=4", "--state=FOLDER/{}.png"]),
        ("gv_viewer", [LEVEL]),
        ("gv_yaml", [LEVEL]),
        ("gv_yaml_schema", []),
    ],
    ids=lambda part: part if isinstance(part, str) else "-".join(part[:1]).replace("/", "."),
)
def test_script(name, words, tmp_path, monkeypatch, capsys):
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if name == "gv_viewer":
            press_keys(len(slept) - 1)
        if "loop" in name and len(slept) > 20:
            raise Enough

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setenv("PYGLET_SHADOW_WINDOW", "0")
    words = [word.replace("FOLDER", str(tmp_path)) for word in words]
    with pytest.raises(Enough) if "loop" in name else nullcontext():
        run(f"scripts/{name}.py", *words)
    if name == "gv_record":
        assert any(path.stat().st_size > 100 for path in tmp_path.rglob("*.*"))
    else:
        assert capsys.readouterr().out or name == "gv_profile"
    assert {path.stem for path in SCRIPTS} >= {name}


# ---- pages ---------------------------------------------------------------------------------------


def blocks_of(page):
    """The code of a page: literal blocks that are no shell commands, and included files."""
    text = page.read_text("utf-8")
    for block in re.findall(r"::\n\n((?:(?:[ ]+.*)?\n)+)", text):
        code = textwrap.dedent(block)
        if re.search(r"^(import|from|class|def) ", code, re.MULTILINE):
            yield code
    yield from re.findall(r"literalinclude:: /../(\S+)", text)


BLOCKS = [(page, block) for page in PAGES for block in blocks_of(page)]


@pytest.mark.parametrize(
    ("page", "block"),
    BLOCKS,
    ids=[f"{page.stem}-{i}" for i, (page, _) in enumerate(BLOCKS)],
)
def test_page(page, block):
    if block.endswith((".py", ".yaml")):
        assert Path(block) in {*EXAMPLES, *SCRIPTS, Path("examples/coin_env.yaml")}
        return
    from gv_engine.gridverse import OuterEnv
    from gv_engine.plugins.gridverse.representations.observation_representations import (
        make_observation_representation,
    )
    from gv_engine.plugins.gridverse.representations.state_representations import (
        make_state_representation,
    )

    # names and files that the page takes for granted
    names: dict[str, Any] = {
        "OuterEnv": OuterEnv,
        "make_observation_representation": make_observation_representation,
        "make_state_representation": make_state_representation,
        "GridObject": GridObject,
        "Color": Color,
    }
    exec(block.replace("path/to/env.yaml", LEVEL), names)
    if "SomeColoredGridObject" in names:
        assert names["SomeColoredGridObject"](Color.RED).color is Color.RED
    else:
        assert type(names["env"]).__name__ == "GymEnvironment"
        assert names["env"].reset()


# ---- geometry ------------------------------------------------------------------------------------

OPERATORS = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "eq", "ne"),
    *("and_", "or_", "xor", "lshift", "rshift"),
)


def theirs():
    spec: Any = importlib.util.spec_from_file_location("their_geometry", PACKAGE / "geometry.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["their_geometry"] = module
    spec.loader.exec_module(module)
    return module


def operands(m):
    at, turned = m.Position(1, 2), m.Transform(m.Position(2, -1), m.Orientation.R)
    other = m.Transform(m.Position(0, 3), m.Orientation.L)
    return [m.Shape(2, 3), m.Area((0, 2), (-1, 3)), at, *m.Orientation, turned, other]


def plain(value):
    """A result in a form that does not depend on the module."""
    for names in (("position", "orientation"), ("ys", "xs"), ("height", "width"), ("y", "x")):
        if all(hasattr(value, name) for name in names):
            return names, [plain(getattr(value, name)) for name in names]
    return getattr(value, "name", value)


def outcome(operate, pair):
    try:
        return plain(operate(*pair))
    except TypeError:
        return TypeError


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    ours = importlib.import_module("gym_gridverse.geometry")
    operate = partial(outcome, getattr(operator, name))
    pairs = [product(operands(m), repeat=2) for m in (ours, theirs())]
    for own, other in zip(*pairs, strict=True):
        assert operate(own) == operate(other), own


# ---- names ---------------------------------------------------------------------------------------


def public_names():
    """The names that modules of the package define, and those that its classes do."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text("utf-8")).body:
            targets = getattr(node, "targets", [getattr(node, "target", node)])
            for name in (getattr(each, "name", getattr(each, "id", "_")) for each in targets):
                if name.startswith("_"):
                    continue
                yield module, name
                for part in node.body if isinstance(node, ast.ClassDef) else ():
                    own = getattr(part, "name", "_")
                    if not own.startswith("_"):
                        yield module, f"{name}.{own}"


def linked_names():
    """The names that the pages link."""
    for page in [*Path("docs").rglob("*.rst"), Path("README.rst")]:
        text = page.read_text("utf-8")
        yield from re.findall(r":py:[a-z]+:`~?(gym_gridverse[.\w]*)`", text)
        yield from re.findall(r"\.\. auto[a-z]+:: (gym_gridverse[.\w]*)", text)


@pytest.mark.parametrize("name", sorted(set(linked_names())))
def test_link(name):
    assert resolve_name(name)


@pytest.mark.parametrize(("module", "name"), sorted(set(public_names())))
def test_name(module, name):
    found = importlib.import_module(module)
    for part in name.split("."):
        fields = getattr(found, "__dataclass_fields__", {})
        found = fields.get(part) or getattr(found, part)
