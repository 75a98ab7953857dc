"""Python that may run: every way of naming code through every door, with a canary in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import yaml

from gv_engine import GridEnv, GridVectorEnv, Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.envs.rollout import episode_folder, snapshots
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.play.session import catalogue
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import ReplayScreen
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.window.app import App
from gv_engine.rules.errors import TrustError
from gv_engine.scenario.documents.loading import load_reference, load_scenario, make_reference
from tests import ROOT
from tests.desk import Desk
from tests.processes import run_python
from tests.scenario.ways_to_code import OWN, STRANGE, Door, Place, above, module_of_a_package, own

# ---- doors that somebody goes through by naming the scenario -------------------------------------


def say(place: Place) -> Any:
    """The content of the scenario."""
    return yaml.safe_load(place.file.read_text())


def make_many(place: Place, **consent: Any) -> Any:
    source = str(place.file)
    return gymnasium.make_vec("GV-Scenario-v0", 2, scenario=source, world="object", **consent)


def mix(place: Place, name: str, member: str, **consent: Any) -> Any:
    """A mixture of one, in a folder beside the level."""
    folder = place.level.parent / name
    folder.mkdir(exist_ok=True)
    (folder / "mixed.yaml").write_text(f"mixture: [{member}]\n", "utf-8")
    return Scenario.load(folder / "mixed.yaml", **consent)


def check(place: Place, **consent: Any) -> None:
    options = ["--quick", "--episodes", "1", "--limit", "600"]
    options += ["--trust"] * consent.get("trust", False)
    options += ["--no-code"] * (not consent.get("code", True))
    for name in consent.get("allow_modules", ()):
        options += ["--allow-module", name]
    if main(["check", "level", *options]):
        raise ScenarioError(["see above"])


def open_window(place: Place, **consent: Any) -> Any:
    App(Settings(animation=False), Bindings(), **consent).play(str(place.level))


NAMING: dict[str, Door] = {
    "load": lambda place, **consent: Scenario.load(place.level, **consent),
    "load_any": lambda place, **consent: load_scenario(place.file, **consent),
    "mapping": lambda place, **consent: Scenario.load(say(place), place.level, **consent),
    "environment": lambda place, **consent: GridEnv(place.level, world="object", **consent),
    "vector": lambda place, **consent: GridVectorEnv(place.level, 2, world="object", **consent),
    "made": lambda place, **consent: gymnasium.make(
        "GV-Scenario-v0", scenario=place.level, world="object", **consent
    ),
    "made_vector": make_many,
    "member_below": lambda place, **consent: mix(place, ".", "level", **consent),
    "member_in_place": lambda place, **consent: Scenario.load(
        {"mixture": [{"scenario": say(place)}]}, place.level, **consent
    ),
    "command": check,
    "window": open_window,
}


# ---- doors that lead to a scenario that nobody has named -----------------------------------------


@contextmanager
def without_code(place: Place) -> Iterator[None]:
    """The time when the level had no code."""
    said = place.file.read_text()
    place.write({})
    yield
    place.file.write_text(said)


def load_snapshot(place: Place, **consent: Any) -> Any:
    with without_code(place):
        env = GridEnv(place.level, world="object")
        env.reset(seed=0)
        snapshots.save("worlds.npz", env.scenario, env.snapshot())
    return snapshots.load("worlds.npz", **consent)


def load_rollout(place: Place, **consent: Any) -> Any:
    with without_code(place):
        env = GridVectorEnv(place.level, 1, world="object", autoreset_mode="Disabled")
        EpisodeFolder(Path("episodes"), env, {}).close(complete=True)
    about = episode_folder.read("episodes")[1]
    return snapshots.load_reference(about["scenario"], "episodes", **consent)


def mix_linked(place: Place, **consent: Any) -> Any:
    mixtures = place.level.parent / "mixtures"
    mixtures.mkdir()
    (mixtures / "inside").symlink_to(place.level)
    return mix(place, "mixtures", "inside", **consent)


REFERRING: dict[str, Door] = {
    "snapshot": load_snapshot,
    "rollout_folder": load_rollout,
    "member_beside": lambda place, **consent: mix(place, "mixtures", "../level", **consent),
    # found where Python was started, not from the mixture on
    "member_here": lambda place, **consent: mix(place, "mixtures", "level", **consent),
    "linked_member": mix_linked,
}


@pytest.mark.parametrize("door", NAMING.values(), ids=NAMING)
class TestNaming:
    @pytest.mark.sample("-load", "above-", "module-")
    @pytest.mark.parametrize("way", STRANGE.values(), ids=STRANGE)
    def test_nothing_runs_that_is_not_in_the_folder(self, place: Place, door: Door, way: Door):
        place.name(way(place))
        with pytest.raises(ScenarioError):
            door(place)
        assert not place.ran

    @pytest.mark.sample("-load", "own-")
    @pytest.mark.parametrize("way", OWN.values(), ids=OWN)
    def test_what_is_in_the_folder_runs(self, place: Place, door: Door, way: Door):
        place.name(way(place))
        door(place)
        assert place.ran

    def test_without_code_nothing_runs(self, place: Place, door: Door):
        place.name(own(place))
        with pytest.raises(ScenarioError):
            door(place, code=False, trust=True)
        assert not place.ran
        place.write({})
        door(place, code=False)

    def test_a_module_that_was_allowed_runs(self, place: Place, door: Door):
        place.name(module_of_a_package(place))
        with pytest.raises(ScenarioError):
            door(place, allow_modules=["pack_of_test.rule"])
        assert not place.ran
        door(place, allow_modules=["pack_of_test"])
        assert place.ran


@pytest.mark.parametrize("door", REFERRING.values(), ids=REFERRING)
class TestReferring:
    @pytest.mark.sample("-snapshot", "own-", "above-", "module-")
    @pytest.mark.parametrize("way", [own, *STRANGE.values()], ids=["own", *STRANGE])
    def test_nothing_runs(self, place: Place, door: Door, way: Door):
        place.name(way(place))
        with pytest.raises(TrustError) as error:
            door(place)
        assert not place.ran
        (line,) = error.value.problems
        assert "scenario.yaml:" in line
        assert "only refers to this scenario" in line or way is not own
        assert "--trust" in line or way is not own

    def test_what_needs_no_code_is_loaded(self, place: Place, door: Door):
        door(place)

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


# ---- what lists and shows ------------------------------------------------------------------------


def cards(place: Place, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Cards of the player's own levels on the start screen by heading; none is built-in."""
    desk.app.settings.add_recent(str(place.file))
    monkeypatch.setattr("gv_engine.play.ui.screens.start.built_in_entries", list)
    start = desk.start()
    start.choose_category("Mine")
    desk.look()
    desk.settle()
    return {heading: card for heading, cards in start.sections() for card in cards}


def test_the_start_screen_runs_nothing_until_a_card_is_opened(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    place.name(own(place))
    place.file.write_text(place.file.read_text() + "description: Beware.\n")
    desk = Desk()
    card = cards(place, desk, monkeypatch)["Recent"]
    assert (card.text, card.error) == ("Beware. Its own Python runs when you open it.", "")
    assert not place.ran
    card.open(desk.app)
    assert isinstance(desk.app.top, PlayScreen)
    assert place.ran


def test_a_list_runs_nothing(place: Place):
    place.name(own(place))
    (entry,) = catalogue.folder_entries(place.level.parent)
    assert (entry.title, entry.description) == ("level", "")
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
    return Path("some.gvreplay"), desk.app.settings


def test_rules_that_come_with_the_engine_run_in_scenarios_that_are_only_referred_to(place: Place):
    reference = make_reference(load_scenario("hunt"))
    assert load_reference(reference).name == "hunt"
    with pytest.raises(TrustError, match="Python code is switched off"):
        load_reference(reference, code=False)
    folder = load_scenario("hunt").document.folder
    away = os.path.relpath(place.level / "rules.py", folder)
    strange = {**load_scenario("hunt").document.root.plain, "reward_functions": [f"./{away}:rule"]}
    with pytest.raises(TrustError, match="name a file inside the scenario's folder"):
        load_reference({**reference, "source": strange, "folder": str(folder)})
    assert not place.ran


def test_a_replay_of_a_recent_level_runs_nothing(place: Place):
    file, settings = left_in_the_middle(place)
    with (place.level / "rules.py").open("a") as rules:
        rules.write("\n# not loaded yet\n")
    app = App(settings, Bindings())
    with pytest.raises(TrustError, match=r"some\.gvreplay only refers to this scenario"):
        app.watch_replay(file)
    assert not place.ran
    assert main(["replay", str(file), "--verify"]) == 2
    assert main(["replay", str(file), "--record", "some.gif"]) == 2
    assert not place.ran


@pytest.mark.parametrize("how", ["opened", "trusted", "named"])
def test_a_replay_of_a_level_that_is_trusted_is_shown(place: Place, how: str):
    file, settings = left_in_the_middle(place)
    app = App(settings, Bindings(), trust=how == "trusted")
    if how == "opened":
        app.play(str(place.level))
    app.watch_replay(file, catalogue.load_playable(place.level) if how == "named" else None)
    assert isinstance(app.top, ReplayScreen)


@pytest.mark.thorough
def test_going_on_names_the_level_that_the_card_shows(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    left_in_the_middle(place)
    desk = Desk()
    card = cards(place, desk, monkeypatch)["Not finished"]
    assert card.text.endswith(f" in {place.file}")
    card.open(desk.app)
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.position == 1


# ---- processes -----------------------------------------------------------------------------------

WORKER = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from operator import methodcaller
from gv_engine.scenario.storage.worker_process import start_worker

if __name__ == "__main__":
    process, connection = start_worker(methodcaller("send", "sent"))
    print(connection.recv(), "PYTHONSAFEPATH" in os.environ)
    process.join()
"""


@pytest.mark.sample("plain", "isolated", "unsafe")
@pytest.mark.parametrize(
    ("flags", "told"),
    [([], "sent False"), (["-I"], "sent False"), (["-E"], "python -E lets"), (["-EP"], "sent")],
    ids=["plain", "isolated", "unsafe", "safe"],
)
def test_a_worker_process_imports_nothing_from_the_current_folder(
    tmp_path: Path, flags: list[str], told: str
):
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "own.py").write_text(WORKER)
    for name in ("multiprocessing", "pickle", "signal", "operator"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    done = run_python(*flags, tmp_path / "own.py", cwd=here, check=False)
    assert told in done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


def test_all_worker_processes_are_started_in_one_place():
    own_start = re.compile(r'get_context\("|multiprocessing import .*Process|ProcessPool')
    files = (ROOT / "gv_engine").rglob("*.py")
    starting = [file.stem for file in files if own_start.search(file.read_text("utf-8"))]
    assert starting == ["worker_process"]
