"""Which Python runs when: every way of naming code through every door, with a canary in it."""

from __future__ import annotations

import contextlib
import os
import pickle
import py_compile
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import yaml

import gv_engine
from gv_engine import GridEnv, GridVectorEnv, Scenario, ScenarioError
from gv_engine.commands import main
from gv_engine.frontend.controls.bindings import Bindings
from gv_engine.frontend.controls.settings import Settings
from gv_engine.frontend.window.app import App
from gv_engine.frontend.window.screens.play import PlayScreen
from gv_engine.frontend.window.screens.replay import ReplayScreen
from gv_engine.frontend.window.screens.start import StartScreen
from gv_engine.language.errors import TrustError
from gv_engine.language.system import TRANSITION
from gv_engine.playing import catalogue
from gv_engine.playing.game import Game
from gv_engine.reading.loading import load_scenario
from gv_engine.rollouts import snapshots
from tests import ROOT
from tests.canary import canary
from tests.desk import Desk

PLAIN: dict[str, Any] = {
    "map": "#>.E#",
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["living_reward"],
    "observation_function": {"name": "fully_transparent", "area": [[0, 0], [0, 0]]},
    "terminating_function": "reach_exit",
}


class Place:
    """A level, and where a canary of it would leave its mark.

    Attributes:
        level: the folder of the scenario.
        file: of the scenario.
        away: a folder beside it.
        mark: what a canary makes.
    """

    def __init__(self, folder: Path) -> None:
        self.level, self.away, self.mark = folder / "level", folder / "away", folder / "mark"
        self.file = self.level / "scenario.yaml"
        self.level.mkdir()
        self.write({})

    def write(self, changes: dict[str, Any]) -> None:
        """Let the scenario say something else."""
        content = {key: value for key, value in {**PLAIN, **changes}.items() if value is not None}
        self.file.write_text(yaml.safe_dump(content), "utf-8")

    def name(self, reference: str) -> None:
        """Let the scenario name a transition."""
        self.write({"transition_functions": ["move_agent", reference]})

    @property
    def ran(self) -> bool:
        """Whether a canary has run."""
        return self.mark.exists()


@pytest.fixture
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A level of no code, in the present folder; modules are found in `away`."""
    made = Place(folder)
    monkeypatch.syspath_prepend(made.away)
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("canary_of_test", "pack_of_test"):
            del sys.modules[name]


# ---- ways to name code ---------------------------------------------------------------------------


def absolute(place: Place) -> str:
    return f"{canary(place.away / 'rules.py', place.mark)}:rule"


def absolute_inside(place: Place) -> str:
    return f"{canary(place.level / 'rules.py', place.mark)}:rule"


def above(place: Place) -> str:
    canary(place.away / "rules.py", place.mark)
    return "../away/rules.py:rule"


def above_in_the_middle(place: Place) -> str:
    canary(place.away / "rules.py", place.mark)
    (place.level / "sub").mkdir()
    return "./sub/../../away/rules.py:rule"


def linked_file(place: Place) -> str:
    (place.level / "link.py").symlink_to(canary(place.away / "rules.py", place.mark))
    return "./link.py:rule"


def linked_folder(place: Place) -> str:
    (place.level / "links").symlink_to(canary(place.away / "rules.py", place.mark).parent)
    return "./links/rules.py:rule"


def linked_helper(place: Place) -> str:
    linked_file(place)
    (place.level / "rules.py").write_text("from .link import rule\n", "utf-8")
    return "./rules.py:rule"


def linked_helpers_folder(place: Place) -> str:
    linked_folder(place)
    (place.level / "rules.py").write_text("from .links.rules import rule\n", "utf-8")
    return "./rules.py:rule"


def linked_helpers_package(place: Place) -> str:
    canary(place.away / "__init__.py", place.mark)
    (place.level / "links").symlink_to(place.away)
    (place.level / "rules.py").write_text("from . import links\nrule = links.rule\n", "utf-8")
    return "./rules.py:rule"


def linked_helpers_bytecode(place: Place) -> str:
    source = canary(place.away / "helper.py", place.mark)
    name = Path(cache_from_source(str(source))).name
    py_compile.compile(
        str(source),
        str(place.away / name),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    sub = place.level / "sub"
    sub.mkdir()
    (sub / "helper.py").write_text("rule = None\n", "utf-8")
    (sub / "__pycache__").symlink_to(place.away)
    (place.level / "rules.py").write_text("from .sub.helper import rule\n", "utf-8")
    return "./rules.py:rule"


def helper_above(place: Place) -> str:
    canary(place.level.parent / "away" / "rules.py", place.mark)
    (place.level / "rules.py").write_text("from ..away.rules import rule\n", "utf-8")
    return "./rules.py:rule"


def module(place: Place) -> str:
    canary(place.away / "canary_of_test.py", place.mark)
    return "canary_of_test:rule"


def module_of_a_package(place: Place) -> str:
    canary(place.away / "pack_of_test" / "rules.py", place.mark)
    return "pack_of_test.rules:rule"


def package(place: Place) -> str:
    canary(place.away / "pack_of_test" / "__init__.py", place.mark)
    (place.away / "pack_of_test" / "rules.py").touch()
    return "pack_of_test.rules:rule"


STRANGE = [
    absolute,
    absolute_inside,
    above,
    above_in_the_middle,
    linked_file,
    linked_folder,
    linked_helper,
    linked_helpers_folder,
    linked_helpers_package,
    linked_helpers_bytecode,
    helper_above,
    module,
    module_of_a_package,
    package,
]


def own(place: Place) -> str:
    canary(place.level / "rules.py", place.mark)
    return "./rules.py:rule"


def own_below(place: Place) -> str:
    canary(place.level / "sub" / "rules.py", place.mark)
    return "sub/rules.py:rule"


def own_helper(place: Place) -> str:
    canary(place.level / "helper.py", place.mark)
    (place.level / "rules.py").write_text("from .helper import rule\n", "utf-8")
    return "./rules.py:rule"


def own_helper_below(place: Place) -> str:
    canary(place.level / "sub" / "helper.py", place.mark)
    (place.level / "rules.py").write_text("from .sub.helper import rule\n", "utf-8")
    return "./rules.py:rule"


OWN = [own, own_below, own_helper, own_helper_below]


# ---- doors that somebody goes through by naming the scenario -------------------------------------

Door = Callable[..., Any]


def load(place: Place, **consent: Any) -> Any:
    return Scenario.load(place.level, **consent)


def load_any(place: Place, **consent: Any) -> Any:
    return load_scenario(place.file, **consent)


def mapping(place: Place, **consent: Any) -> Any:
    return Scenario.load(yaml.safe_load(place.file.read_text()), folder=place.level, **consent)


def environment(place: Place, **consent: Any) -> Any:
    return GridEnv(place.level, world="object", **consent)


def vector_environment(place: Place, **consent: Any) -> Any:
    return GridVectorEnv(place.level, 2, world="object", **consent)


def made(place: Place, **consent: Any) -> Any:
    return gymnasium.make("GV-Scenario-v0", scenario=place.level, world="object", **consent)


def made_vector(place: Place, **consent: Any) -> Any:
    return gymnasium.make_vec(
        "GV-Scenario-v0", num_envs=2, scenario=str(place.file), world="object", **consent
    )


def member_below(place: Place, **consent: Any) -> Any:
    mixture = place.level.parent / "mixed.yaml"
    mixture.write_text("mixture: [level]\n", "utf-8")
    return Scenario.load(mixture, **consent)


def member_in_place(place: Place, **consent: Any) -> Any:
    whole = {"mixture": [{"scenario": yaml.safe_load(place.file.read_text())}]}
    return Scenario.load(whole, folder=place.level, **consent)


def command(place: Place, **consent: Any) -> None:
    options = ["--trust"] * consent.get("trust", False)
    options += ["--no-code"] * (not consent.get("code", True))
    for name in consent.get("allow_modules", ()):
        options += ["--allow-module", name]
    if main(["check", "level", "--episodes", "1", *options]):
        raise ScenarioError(["see above"])


def window(place: Place, **consent: Any) -> Any:
    app = App(Settings(animation=False), Bindings(), **consent)
    app.play(str(place.level))
    return app


NAMING = [
    load,
    load_any,
    mapping,
    environment,
    vector_environment,
    made,
    made_vector,
    member_below,
    member_in_place,
    command,
    window,
]


# ---- doors that lead to a scenario that nobody has named -----------------------------------------


def snapshot(place: Place, **consent: Any) -> Any:
    save(place)
    return snapshots.load("worlds.npz", **consent)


def save(place: Place) -> None:
    """A snapshot of the level while it had no code."""
    said = place.file.read_text()
    place.write({})
    env = GridEnv(place.level, world="object")
    env.reset(seed=0)
    snapshots.save("worlds.npz", env.scenario, env.snapshot())
    place.file.write_text(said)


def rollout_folder(place: Place, **consent: Any) -> Any:
    said = place.file.read_text()
    place.write({})
    words = "rollout level --episodes 1 --max-steps 3 --out episodes"
    assert main(words.split()) == 0
    place.file.write_text(said)
    about = gv_engine.rollouts.episode_folder.read("episodes")[1]
    return snapshots.found_again(about["scenario"], "episodes", **consent)


def member_beside(place: Place, **consent: Any) -> Any:
    (place.level.parent / "mixtures").mkdir()
    mixture = place.level.parent / "mixtures" / "mixed.yaml"
    mixture.write_text("mixture: [../level]\n", "utf-8")
    return Scenario.load(mixture, **consent)


def member_here(place: Place, **consent: Any) -> Any:
    """Found where Python was started, not from the mixture on."""
    (place.level.parent / "mixtures").mkdir()
    mixture = place.level.parent / "mixtures" / "mixed.yaml"
    mixture.write_text("mixture: [level]\n", "utf-8")
    return Scenario.load(mixture, **consent)


def linked_member(place: Place, **consent: Any) -> Any:
    (place.level.parent / "mixtures").mkdir()
    (place.level.parent / "mixtures" / "inside").symlink_to(place.level)
    mixture = place.level.parent / "mixtures" / "mixed.yaml"
    mixture.write_text("mixture: [inside]\n", "utf-8")
    return Scenario.load(mixture, **consent)


REFERRING = [snapshot, rollout_folder, member_beside, member_here, linked_member]


@pytest.mark.parametrize("door", NAMING, ids=lambda door: door.__name__)
class TestNaming:
    @pytest.mark.parametrize("way", STRANGE, ids=lambda way: way.__name__)
    def test_nothing_runs_that_is_not_in_the_folder(self, place: Place, door: Door, way: Door):
        place.name(way(place))
        with pytest.raises(ScenarioError):
            door(place)
        assert not place.ran

    @pytest.mark.compiled
    @pytest.mark.parametrize("way", OWN, ids=lambda way: way.__name__)
    def test_what_is_in_the_folder_runs(self, place: Place, door: Door, way: Door):
        place.name(way(place))
        door(place)
        assert place.ran

    @pytest.mark.compiled
    def test_without_code_nothing_runs(self, place: Place, door: Door):
        place.name(own(place))
        with pytest.raises(ScenarioError):
            door(place, code=False, trust=True)
        assert not place.ran
        place.write({})
        door(place, code=False)

    @pytest.mark.compiled
    def test_a_module_that_was_allowed_runs(self, place: Place, door: Door):
        place.name(module_of_a_package(place))
        for name in ("pack_of", "pack_of_test.rule", "rules"):
            with pytest.raises(ScenarioError):
                door(place, allow_modules=[name])
        assert not place.ran
        door(place, allow_modules=["pack_of_test"])
        assert place.ran


@pytest.mark.parametrize("door", REFERRING, ids=lambda door: door.__name__)
class TestReferring:
    @pytest.mark.compiled
    @pytest.mark.parametrize("way", [own, *STRANGE], ids=lambda way: way.__name__)
    def test_nothing_runs(self, place: Place, door: Door, way: Door):
        place.name(way(place))
        with pytest.raises(TrustError) as error:
            door(place)
        assert not place.ran
        (line,) = error.value.problems
        assert "scenario.yaml:" in line
        assert "only refers to this scenario" in line or way is not own
        assert "--trust" in line or way is not own

    @pytest.mark.compiled
    def test_what_needs_no_code_is_loaded(self, place: Place, door: Door):
        door(place)

    @pytest.mark.compiled
    @pytest.mark.filterwarnings("ignore:level is no longer what it was")
    def test_with_trust_its_folder_runs_and_no_other(self, place: Place, door: Door):
        place.name(above(place))
        with pytest.raises(TrustError):
            door(place, trust=True)
        assert not place.ran
        for made in ("mixtures", "episodes"):
            shutil.rmtree(made, ignore_errors=True)
        place.name(own(place))
        door(place, trust=True)
        assert place.ran


# ---- places in a scenario where code is named ----------------------------------------------------

NAMED = "./rules.py:rule"
PLACES: dict[str, dict[str, Any]] = {
    "transition": {"transition_functions": [NAMED]},
    "reward": {"reward_functions": [{"name": NAMED}]},
    "terminating": {"terminating_function": NAMED},
    "reset": {"map": None, "reset_function": {"name": NAMED, "shape": [3, 3]}},
    "observation": {"observation_function": {"name": NAMED, "area": [[0, 0], [0, 0]]}},
    "visibility": {
        "observation_function": {
            "name": "from_visibility",
            "visibility_function": NAMED,
            "area": [[0, 0], [0, 0]],
        }
    },
    "nested": {"reward_functions": [{"name": "reduce_sum", "reward_functions": [NAMED]}]},
    "reduction": {
        "reward_functions": [
            {"name": "reduce", "reduction": NAMED, "reward_functions": ["living_reward"]}
        ]
    },
    "distance": {
        "reward_functions": [
            {"name": "getting_closer", "object_type": "Exit", "distance_function": NAMED}
        ]
    },
    "object_type": {"reward_functions": [{"name": "overlap", "object_type": NAMED}]},
    "space": {"state_space": {"objects": ["Floor", "Wall", "Exit", NAMED]}},
    "legend": {"legend": {"x": {"object": NAMED}}},
    "environment": {"family": "mathy", "environment": NAMED},
    "problem": {"family": "mathy", "environment": "PolySimplify", "problem_function": NAMED},
    "rule": {"family": "mathy", "environment": "PolySimplify", "rules": [NAMED]},
}


@pytest.mark.parametrize("changes", PLACES.values(), ids=PLACES)
def test_every_place_asks(place: Place, changes: dict[str, Any]):
    if "family" in changes:
        place.file.write_text(yaml.safe_dump(changes), "utf-8")
    else:
        place.write(changes)
    own(place)
    with pytest.raises(TrustError, match=r"\./rules\.py:rule: not loaded, no Python is"):
        load_scenario(place.level, code=False)
    with pytest.raises(TrustError, match="a list only refers to this scenario"):
        _ = catalogue.Entry(str(place.file), "").scenario
    assert not place.ran
    with contextlib.suppress(ScenarioError):  # a transition is nothing of the other kinds
        load_scenario(place.level)
    assert place.ran


def test_without_code_all_refused_names_are_told(place: Place):
    place.write(
        {
            "transition_functions": ["./rules.py:one", "sub/more.py:two", "move_agent"],
            "reward_functions": ["pack_of_test:three"],
        }
    )
    with pytest.raises(TrustError) as error:
        Scenario.load(place.level, code=False)
    (line,) = error.value.problems
    assert all(name in line for name in ("./rules.py:one", "sub/more.py:two", "pack_of_test:three"))


# ---- what a name leads to ------------------------------------------------------------------------

IMPORTS = """\
import functools
from os import _exit
from shutil import rmtree

from esper import Processor

from gv_engine import REWARD, TRANSITION, system
from gv_engine.families.algebra import MathyEnv

rebound = functools.partial(_exit, 3)


class Idle(Processor):
    pass


class Sound(Processor):
    def process(self):
        pass


def largest(numbers):
    return max(numbers)


def stay(state, action):
    pass
"""
ENDS = {"map": None, "reset_function": {"name": "os:_exit", "status": 3}, "max_shape": [3, 3]}


def reduced(reduction: str, *functions: str) -> dict[str, Any]:
    reward = {"name": "reduce", "reduction": reduction, "reward_functions": list(functions)}
    return {"reward_functions": [reward]}


def transition(name: str) -> dict[str, Any]:
    return {"transition_functions": [name]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (ENDS, "os:_exit: not loaded, scenarios may name files of their folder; .*allow-module os"),
        ({**ENDS, "reset_function": {"name": "./rules.py:_exit", "status": 3}}, "comes from posix"),
        ({**ENDS, "reset_function": "./rules.py:rebound"}, "comes from posix|nt"),
        (transition("./rules.py:rmtree"), "rmtree comes from shutil; name something that is a"),
        (transition("esper:Processor"), "esper:Processor: not loaded"),
        (transition("./rules.py:Processor"), "./rules.py:Processor comes from esper"),
        (transition("./rules.py:Idle"), "Idle has no method process"),
        (transition("this:d"), "this:d: not loaded"),
        (transition("./a\0b.py:rule"), "cannot be found: embedded null"),
        (transition(f"./{'x' * 5000}.py:rule"), "File name too long"),
        (reduced("builtins:print", "living_reward"), r"no reduction 'builtins:print'.*allowed: bu"),
        (reduced("math:hypot", "living_reward"), "no reduction 'math:hypot'"),
        (reduced("./rules.py:rmtree", "living_reward"), "rmtree comes from shutil"),
        (reduced("./rules.py:stay", "living_reward"), "stay does not take one argument"),
        (reduced("builtins:max"), "there is no max of no reward_functions"),
        (
            {
                "terminating_function": {
                    "name": "reduce",
                    "reduction": "builtins:min",
                    "terminating_functions": [],
                }
            },
            "there is no min of no terminating_functions",
        ),
    ],
)
def test_what_is_nothing_of_a_scenario_is_not_called(
    place: Place, changes: dict[str, Any], says: str
):
    (place.level / "rules.py").write_text(IMPORTS, "utf-8")
    place.write(changes)
    with pytest.raises(ScenarioError, match=says) as error:
        Scenario.load(place.level)
    assert len(error.value.problems) == 1
    assert str(place.file) in str(error.value)
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "changes",
    [
        transition("./rules.py:Sound"),
        transition("./rules.py:stay"),
        reduced("./rules.py:largest", "living_reward"),
        *(
            reduced(f"builtins:{name}", "living_reward", "reach_exit")
            for name in ("all", "any", "max", "min", "sum")
        ),
    ],
)
def test_what_a_scenario_may_name_plays(place: Place, changes: dict[str, Any]):
    (place.level / "rules.py").write_text(IMPORTS, "utf-8")
    place.write(changes)
    env = GridEnv(place.level, world="object")
    env.reset(seed=0)
    env.step(0)


def test_packages_that_declare_themselves_may_be_named(place: Place):
    reference = module_of_a_package(place)
    (place.away / "pack_of_test" / "other.py").write_text("raise SystemExit\n", "utf-8")
    place.name(reference)
    with pytest.raises(TrustError):
        Scenario.load(place.level)
    about = place.away / "pack_of_test-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: pack_of_test\nVersion: 1\n", "utf-8")
    said = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
    (group,) = re.findall(r'entry-points\."(.*)"', said)
    (about / "entry_points.txt").write_text(f"[{group}]\nr = pack_of_test.rules\n", "utf-8")
    assert Scenario.load(place.level).calls(TRANSITION)[1].name == "rule"
    assert place.ran
    place.name("pack_of_test.other:rule")
    with pytest.raises(TrustError):
        Scenario.load(place.level)


def test_letters_are_no_modules():
    with pytest.raises(ValueError, match="expected a list of names"):
        Scenario.load("keydoor-5x5", allow_modules="numpy")
    for name in ("", "a/b", "a..b"):
        with pytest.raises(ValueError, match=f"{name!r} is no name of a module"):
            Scenario.load("keydoor-5x5", allow_modules=[name])


# ---- consent stays with the scenario -------------------------------------------------------------


def test_copies_and_reloads_keep_the_consent(place: Place):
    place.name(module_of_a_package(place))
    scenario = Scenario.load(place.level, allow_modules=["pack_of_test"])
    assert len(pickle.loads(pickle.dumps(scenario)).calls(TRANSITION)) == 2
    game = Game(scenario, 0)
    (place.level / "rules.py").write_text(IMPORTS, "utf-8")
    place.write({"transition_functions": ["pack_of_test.rules:rule", "./rules.py:stay"]})
    assert game.reload() == "Reloaded"
    place.write(ENDS)
    assert "os:_exit: not loaded" in game.reload()
    bare = Scenario.load(PLAIN, code=False)
    assert not bare.with_(max_steps=3).loaded_again().document.trust.code


def test_reloading_a_mixture_asks_again(place: Place):
    mixture = place.level.parent / "mixed.yaml"
    mixture.write_text("mixture: [level]\n", "utf-8")
    game = Game(Scenario.load(mixture), 0)
    canary(place.away / "rules.py", place.mark)
    place.name("../away/rules.py:rule")
    assert "not loaded" in game.reload()
    assert not place.ran


# ---- what lists and shows ------------------------------------------------------------------------


def cards(desk: Desk) -> dict[str, Any]:
    start = StartScreen(desk.app)
    desk.app.push(start)
    desk.look()
    while start.tick(0) is not None:
        pass
    return {card.title: card for _, cards in start.sections() for card in cards}


def test_the_start_screen_runs_nothing_until_a_card_is_opened(place: Place):
    place.name(own(place))
    place.file.write_text(place.file.read_text() + "description: Beware.\n")
    desk = Desk()
    desk.app.settings.played(str(place.file))
    card = cards(desk)["level"]
    assert (card.text, card.wrong) == ("Beware. Its own Python runs when you open it.", "")
    assert not place.ran
    card.open(desk.app)
    assert isinstance(desk.app.top, PlayScreen)
    assert place.ran


def test_a_list_runs_nothing(place: Place, capsys: pytest.CaptureFixture[str]):
    place.name(own(place))
    (entry,) = catalogue.in_folder(place.level.parent)
    assert (entry.title, entry.description) == ("level", "")
    assert main(["list"]) == 0
    assert not place.ran


def left_in_the_middle(place: Place) -> tuple[Path, Settings]:
    """A replay of a level with code, as somebody has played it in another process."""
    place.name(own(place))
    desk = Desk()
    desk.app.play(str(place.level))
    desk.press("Left")
    screen = desk.app.top
    assert isinstance(screen, PlayScreen)
    screen.game.replay().save(Path("some.gvreplay"))
    desk.app.pop()
    place.mark.unlink()
    rules = place.level / "rules.py"
    said = rules.read_text()
    rules.write_text(f"{said}\n# not loaded yet\n")
    return Path("some.gvreplay"), desk.app.settings


def test_a_replay_of_a_recent_level_runs_nothing(place: Place):
    file, settings = left_in_the_middle(place)
    app = App(settings, Bindings())
    with pytest.raises(TrustError, match=r"some\.gvreplay only refers to this scenario"):
        app.watch(file)
    assert not place.ran
    assert main(["replay", str(file), "--verify"]) == 1
    assert main(["record", str(file), "some.gif"]) == 1
    assert not place.ran


@pytest.mark.parametrize("how", ["opened", "trusted", "named"])
def test_a_replay_of_a_level_that_is_trusted_is_shown(place: Place, how: str):
    file, settings = left_in_the_middle(place)
    rules = place.level / "rules.py"
    rules.write_text(rules.read_text().removesuffix("\n# not loaded yet\n"))
    app = App(settings, Bindings(), trust=how == "trusted")
    if how == "opened":
        app.play(str(place.level))
    app.watch(file, catalogue.load_playable(place.level) if how == "named" else None)
    assert isinstance(app.top, ReplayScreen)


def test_going_on_names_the_level_that_the_card_shows(place: Place):
    left_in_the_middle(place)
    rules = place.level / "rules.py"
    rules.write_text(rules.read_text().removesuffix("\n# not loaded yet\n"))
    desk = Desk()
    desk.app.settings.played(str(place.file))
    card = cards(desk)["Go on playing"]
    assert card.text.endswith(f" in {place.file}")
    card.open(desk.app)
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.position == 1


# ---- an ear for all files ------------------------------------------------------------------------

LISTENING = """
import sys
from pathlib import Path
from gv_engine import ScenarioError
from gv_engine.reading.loading import load_scenario
from tests.canary import Ear

folder = Path(sys.argv[1])
ear = Ear(folder)
try:
    load_scenario(folder)
except ScenarioError:
    pass
print(len(ear.strange), *ear.strange)
"""


def strange(place: Place) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTENING, str(place.level)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{place.away}"},
    )
    return done.stdout.split()


@pytest.mark.parametrize("where", ["./", ".", "./."])
def test_the_folder_is_no_file_of_it(place: Place, where: str):
    canary(place.level.parent / "beside.py", place.mark)
    place.name(f"{where}:x")
    with pytest.raises(TrustError, match="it is the scenario's folder") as error:
        Scenario.load(place.level)
    assert "beside" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("way", [own, linked_helper, module, above], ids=lambda way: way.__name__)
def test_no_file_of_elsewhere_is_opened(place: Place, way: Door):
    place.name(way(place))
    assert strange(place) == ["0"]
    assert place.ran == (way is own)


@pytest.mark.slow
def test_the_ear_hears(place: Place):
    rules = canary(place.away / "rules.py", place.mark)
    runs = f"file = {str(rules)!r}\nexec(compile(open(file).read(), file, 'exec'))\n"
    (place.level / "rules.py").write_text(runs, "utf-8")
    place.name("./rules.py:rule")
    number, *heard = strange(place)
    assert int(number) == 3  # opened, compiled, run
    assert set(heard) == {str(rules)}
