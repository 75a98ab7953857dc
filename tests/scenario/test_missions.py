"""Missions: what files say of them, what agents see and people read, the same in both worlds."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pygame
import pytest
from gymnasium.spaces.utils import flatdim

from components.core import Phrase, join_phrases, list_longest_phrases
from components.objects import BEACON, KEY
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.envs.observations import REPRESENTATION_NAMES
from gv_engine.gridverse import Action
from gv_engine.play.grid.terminal import GridTerminalView
from gv_engine.play.session.inspection import Inspection
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.recording import FrameRenderer
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.component import AGENT
from tests import DATA
from tests.scenario import reading
from tests.scenario.reading import assert_refused, begin, keep_rollout

FOLDER = DATA / "missions"
KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])
ENDS = ["fetch_mission", "fetch_other"]
RULES: dict[str, Any] = {
    **reading.RULES,
    "transition_functions": ["move_agent", "turn_agent", "pickndrop"],
    "reward_functions": ["fetch_mission", "reach_mission"],
    "terminating_function": {"name": "reduce_any", "terminating_functions": ENDS},
    "max_steps": 20,
}
FETCH: dict[str, Any] = {
    **RULES,
    "room": [6, 7],
    "draw": {"color": ["RED", "GREEN", "BLUE"], "what": ["Key", "Beacon"], "n": [0, 1]},
    "place": [
        {"object": "$what", "color": "$color"},
        {"object": "Key", "color": "YELLOW"},
        {"object": "Beacon", "color": "BLUE"},
        {"agent": "any"},
    ],
    "mission": {"text": "fetch the {color} {object}", "object": "$what", "color": "$color"},
}
SEVERAL = {"text": ["get a {color} {object}", "go get a {color} {object}"], "wording": "any"}
PUT = {
    **FETCH,
    "mission": {
        **SEVERAL,
        "component": "./rules.py:Mission",
        "object": "$what",
        "color": "$color",
        "target_object": "Beacon",
        "target_color": "BLUE",
        "count": 5,
    },
}
PLAIN = {**reading.RULES, "map": "#####\n#>.E#\n#####", "name": "plain"}


def asking(mission: dict[str, Any], **more: Any) -> Scenario:
    return Scenario.load({**FETCH, "mission": mission, **more}, folder=FOLDER)


def asked(scenario: Scenario, seed: int = 0) -> str:
    return scenario.mission(begin(scenario, seed).world)


# ---- what files say ----------------------------------------------------------------------------


def test_a_mission_names_what_the_level_has_drawn():
    scenario = Scenario.load(FETCH)
    found = set()
    for seed in range(30):
        world = begin(scenario, seed).world
        color, kind = world.drawn[:2]
        assert (world.mission.kind[AGENT], world.mission.color[AGENT]) == (kind, color)
        found.add(scenario.mission(world))
    shades = ("red", "green", "blue")
    assert found == {f"fetch the {shade} {what}" for shade in shades for what in ("key", "beacon")}


def test_values_that_are_left_out_are_any():
    assert asked(asking({"text": "bring the {color} {object} home"})) == "bring the object home"
    mission = {"text": "bring a {color} {object}", "object": "MovingObstacle"}
    assert asked(asking(mission)) == "bring a moving obstacle"


@pytest.mark.thorough
def test_one_of_the_objects_on_the_grid_is_drawn_each_as_likely():
    scenario = asking({"text": "{color} {object}", "among": ["Key", "Beacon"]})
    many = [begin(scenario, seed).world for seed in range(300)]
    told = [scenario.mission(world) for world in many]
    assert {"yellow key", "blue beacon"} < set(told)
    for world in many:
        kind, color = world.mission.kind[AGENT], world.mission.color[AGENT]
        assert [kind, color] in world.cells()[..., [0, 2]].reshape(-1, 2).tolist()
    # three objects, of which it is one
    for text in ("yellow key", "blue beacon"):
        assert 70 < told.count(text) < 170
    keys = asking({"text": "{object}", "among": "Key"})
    assert {asked(keys, seed) for seed in range(30)} == {"key"}


def test_what_there_is_none_of_is_an_error_of_the_reset():
    scenario = asking({"text": "{object}", "among": "Telepod"})
    with pytest.raises(RuntimeError, match="mission: none of its objects is on the grid"):
        begin(scenario)


def test_one_of_several_texts():
    for wording, expected in (("any", {0, 1}), (1, {1}), ("$n", {0, 1}), ("by_rule", {0})):
        scenario = asking({"text": ["a {color}", "b {color}"], "wording": wording, "color": "RED"})
        worlds = [begin(scenario, seed).world for seed in range(9)]
        assert {world.mission.wording[AGENT] for world in worlds} == expected
        assert {scenario.mission(world) for world in worlds} == {f"{'ab'[k]} red" for k in expected}


def test_own_fields_stand_in_files_and_texts():
    text = "put the {object} near {count} {target_color} {target_object}s, {{}}"
    own = {**PUT["mission"], "text": text, "object": "Key", "target_color": "$color"}
    scenario = asking({key: own[key] for key in own if key not in ("color", "wording")})
    # entities, rows and columns are for rules alone
    names = "wording kind color target_kind target_color count"
    assert scenario.missions
    assert scenario.missions.names == tuple(names.split())
    world = begin(scenario).world
    color = ("red", "green", "blue")[world.drawn[0] - 1]
    assert scenario.mission(world) == f"put the key near 5 {color} beacons, {{}}"
    assert world.mission.thing[AGENT] == 0


@pytest.mark.sample("object")
@KINDS
def test_rules_say_what_is_asked(kind):
    level = {"name": "./rules.py:asked_by_rule", "kinds": [KEY, BEACON]}
    ruled = {**RULES, "max_shape": [4, 7], "reset_function": level}
    mission = {"component": "./rules.py:Mission", "text": ["x", "{count} {color} {object}s"]}
    scenario = Scenario.load({**ruled, "mission": {**mission, "wording": "by_rule"}}, FOLDER)
    env = GridEnv(scenario, world=kind)
    observation, _ = env.reset(seed=3)
    row = env.snapshot()
    wording, what, color, *_, count = observation["mission"].tolist()
    assert (wording, count) == (2, {KEY: 2, BEACON: 3}[what])
    thing = row["mission"]["thing"][AGENT]
    assert (row["kind"]["value"][thing], row["color"]["value"][thing]) == (what, color)
    assert row["mission"]["thing_y"][AGENT] == 1


@pytest.mark.parametrize(
    ("mission", "said"),
    [
        (["fetch"], "mission: found a list of 1, expected a mapping such as {text:"),
        ({"object": "Key"}, "mission: the text is missing"),
        ({"text": "a {colour}"}, "mission.text: a mission has no {colour}; did you mean 'color'?"),
        ({"text": "a {} {0}"}, "mission.text: a mission has no {}"),
        ({"text": "a {color"}, "mission.text: expected '}' before end of string; write {{"),
        ({"text": "a {color:>9}"}, "mission.text: write {color} alone"),
        ({"text": "a" * 1001}, "mission.text: found 1001 characters, expected at most 1000"),
        ({"text": []}, "mission.text: found 0 texts, expected 1 to 100"),
        ({"text": ["a", "b {nobody}"], "wording": 0}, "mission.text[1]: a mission has no {nobody}"),
        (
            {"text": ["a", "b"]},
            "mission: found several texts; add which of them applies: `wording: any`",
        ),
        ({"text": "a", "wording": 1}, "mission.wording: found 1, allowed are 0 to 0"),
        ({"text": "a", "wording": "$n"}, "mission.wording: $n may be 1, texts are 0 to 0"),
        ({"text": "a", "object": "Kye"}, "mission.object: no object type 'Kye'; did you mean 'Ke"),
        ({"text": "a", "object": "$color"}, "mission.object: $color is a colour, expected an"),
        ({"text": "a", "object": "Floor"}, "mission.object: Floor is not among the scenario's"),
        ({"text": "a", "color": "PINK"}, "mission.color: no colour 'PINK'"),
        ({"text": "a", "color": "PURPLE"}, "mission.color: PURPLE is not in the scenario, which"),
        ({"text": "a", "near": "Key"}, "mission.near: unknown key 'near'"),
        ({"text": "a", "among": []}, "mission.among: found an empty list"),
        ({"text": "a", "among": "Nobody"}, "mission.among: no object type 'Nobody'"),
        ({"text": "a", "among": "Key", "color": "RED"}, "mission.color: a mission has either"),
        ({"text": "a", "component": "./rules.py:asked_by_rule"}, "asked_by_rule is not a mission"),
        ({"text": "a", "component": "./rules.py:Errand"}, "name the class Mission, because"),
        ({"text": "a", "component": "./rules.py:None_"}, "./rules.py has no 'None_'"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(mission, said):
    assert_refused(said, {**FETCH, "mission": mission}, FOLDER)


def test_a_scenario_on_top_changes_a_mission_key_by_key(tmp_path):
    below = {"text": "{color} {object}", "object": "Key", "color": "RED"}
    (tmp_path / "below.yaml").write_text(json.dumps({**FETCH, "mission": below}))
    above = {"extends": "./below.yaml", "mission": {"object": "Beacon"}}
    assert asked(Scenario.load(above, folder=tmp_path)) == "red beacon"


def test_rules_about_missions_want_one():
    without = {key: value for key, value in FETCH.items() if key != "mission"}
    assert_refused("mission: missing, and needed by fetch_mission, reach", without)


# ---- what a scenario does not ask it does not have ---------------------------------------------


def test_without_a_mission_nothing_is_different():
    scenario = Scenario.load(PLAIN)
    assert "mission" not in (scenario.layout.dtype.names or ())
    assert scenario.layout.mission is None
    assert scenario.missions is None
    env: Any = GridEnv(scenario, world="object")
    observation, info = env.reset(seed=0)
    assert {*observation} == {*env.observation_space} == {"grid", "agent_id_grid", "item"}
    assert "mission" not in info
    assert env.mission == ""
    envs = GridVectorEnv(scenario, 2, world="object")
    envs.reset(seed=0)
    assert envs.missions() == ("", "")
    assert envs.recorded == ("grid", "item")


# ---- what agents see ---------------------------------------------------------------------------


@pytest.mark.sample("object")
@pytest.mark.sample("default", "flat", "text", "layers", "minigrid", "no-overlap", "onehot")
@KINDS
@pytest.mark.parametrize("form", REPRESENTATION_NAMES)
def test_every_representation_tells_it(kind, form):
    scenario = Scenario.load(FETCH)
    env: Any = GridEnv(scenario, world=kind, observation_representation=form)
    envs = GridVectorEnv(scenario, 3, world=kind, observation_representation=form)
    many, _ = envs.reset(seed=5)
    assert envs.observation_space.contains(many)
    for i in range(3):
        observation, info = env.reset(seed=5 + i)
        assert env.observation_space.contains(observation)
        assert info["mission"] == env.mission == envs.missions()[i]
        mission = begin(scenario, 5 + i).world.mission
        asked = [1, mission.kind[AGENT], mission.color[AGENT]]
        if form == "text":
            assert observation.endswith(f"\nmission: {env.mission}")
            assert observation == many[i]
        elif form == "flat":
            assert observation[-3:].tolist() == asked == many[i][-3:].tolist()
        else:
            told = observation["mission"]
            assert told == env.mission if form == "minigrid" else told.tolist() == asked
            assert many["mission"][i].tolist() == asked
    if form not in ("flat", "text", "minigrid"):
        assert flatdim(env.observation_space["mission"]) == 3


def test_the_space_ends_where_the_numbers_do():
    env: Any = GridEnv(Scenario.load(PUT, FOLDER), world="object")
    space = env.observation_space["mission"]
    assert space.high.tolist() == [2, 15, 8, 15, 8, 127]
    assert space.low.tolist() == [0, 0, 0, 0, 0, -128]


@pytest.mark.sample("object")
@KINDS
@pytest.mark.parametrize("copy", [False, True])
def test_the_end_of_an_episode_shows_its_own_mission(kind, copy):
    scenario = asking({"text": "{color} {object}", "among": ["Key", "Beacon"]})
    envs = GridVectorEnv(scenario, 4, world=kind, autoreset_mode="SameStep", copy=copy)
    before, _ = envs.reset(seed=0)
    pilot, ends = np.random.default_rng(0), 0
    shown = before["mission"].copy()
    for _ in range(60):
        observation, _, over, cut, info = envs.step(pilot.integers(0, 8, 4))
        for i in np.flatnonzero(over | cut):
            assert info["final_obs"][i]["mission"].tolist() == shown[i].tolist()
            ends += shown[i].tolist() != observation["mission"][i].tolist()
        shown[over | cut] = observation["mission"][over | cut]
        assert shown.tolist() == observation["mission"].tolist()
    assert ends > 3


def test_results_go_where_they_are_wanted():
    envs = GridVectorEnv(Scenario.load(FETCH), 2, world="object")
    own = np.zeros((2, 3), np.int32)
    observation, _ = envs.reset(seed=1, out={"mission": own})
    assert observation["mission"] is own
    assert own.any()


# ---- both worlds -------------------------------------------------------------------------------


@pytest.mark.sample("object")
@KINDS
def test_worlds_that_are_kept_keep_their_mission(kind):
    envs = GridVectorEnv(Scenario.load(PUT, FOLDER), 3, world=kind)
    envs.reset(seed=2)
    rows, told = envs.snapshot(), envs.missions()
    for other in (envs.fork(), pickle.loads(pickle.dumps(envs))):
        assert other.missions() == told
    envs.reset(seed=70)
    assert envs.missions() != told
    observation, _ = envs.restore(rows)
    assert envs.missions() == told
    other = GridVectorEnv(Scenario.load(PUT, FOLDER), 3, world="object")
    assert other.restore(rows)[0]["mission"].tolist() == observation["mission"].tolist()


# ---- mixtures ----------------------------------------------------------------------------------

GO = {**FETCH, "mission": {"text": "go to the {object}", "object": "Key"}, "name": "go"}
MIXED = {"mixture": [{"scenario": each} for each in (PLAIN, {**FETCH, "mission": {**SEVERAL}}, GO)]}


@pytest.mark.sample("object")
@KINDS
def test_a_mixture_counts_the_texts_of_all_and_shows_nothing_where_nothing_is_asked(kind):
    envs: Any = GridVectorEnv(Scenario.load(MIXED), 12, world=kind)
    observation, info = envs.reset(seed=0)
    wording = observation["mission"][:, 0]
    for member, numbers in enumerate([{0}, {1, 2}, {3}]):
        assert set(wording[info["member"] == member].tolist()) == numbers
    assert not observation["mission"][info["member"] == 0].any()
    assert set(envs.missions()) == {"", "get a object", "go get a object", "go to the key"}
    assert envs.single_observation_space["mission"].high.tolist() == [3, 15, 8]


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize(
    "level",
    [
        PUT,
        {**PUT, "mission": {**PUT["mission"], "target_object": "$what", "target_color": "$color"}},
        {**FETCH, "mission": {**SEVERAL, "among": ["Key", "Beacon"]}},
        MIXED,
    ],
    ids=["own", "drawn", "among", "mixture"],
)
def test_both_worlds_ask_alike(level):
    played = Scenario.load(level, FOLDER).with_(max_steps=15)
    assert not run_differential_test(played, episodes=30).fault


def test_members_have_the_same_kind_of_mission():
    whole = {"mixture": [{"scenario": GO}, {"scenario": {**PUT, "name": "put"}}]}
    assert_refused("put has another class Mission than go; all", whole, FOLDER)


# ---- for people --------------------------------------------------------------------------------


def test_texts_pictures_and_inspection_say_it():
    scenario = Scenario.load(PUT, FOLDER)
    env: Any = GridEnv(scenario, world="object", render_mode="ansi")
    observation, _ = env.reset(seed=0)
    assert env.render().endswith(f"\nmission: {env.mission}")
    game = Session(scenario, 0)
    assert game.frame().mission == env.mission
    inspection = Inspection(scenario)
    inspection.load(env.snapshot())
    (parts,) = (part for part in inspection.agent().parts if part.name == "Mission")
    kind, color = (parts.fields[name].split()[1] for name in ("kind", "target_color"))
    assert kind in ("Key", "Beacon")
    assert color == "BLUE"
    arrays = inspection.observation("compact", game.frame().observation, (0, 0, 0))
    assert arrays["mission"].tolist() == observation["mission"].tolist()


def test_states_keep_the_mission():
    inner = Scenario.load(FETCH).inner_env()
    inner.set_seed(4)
    inner.reset()
    before = inner.state.world.mission.kind[AGENT], inner.state.world.mission.color[AGENT]
    assert before[0] in (KEY, BEACON)
    inner.step(Action.TURN_LEFT)
    mission = inner.state.world.mission
    assert (mission.kind[AGENT], mission.color[AGENT]) == before


def test_terminal_and_panel_show_it():
    game = Session(Scenario.load(FETCH), 0)
    frame = game.frame()
    picture = GridTerminalView(game, DARK)
    assert picture.facts(frame) == [f"mission: {frame.mission}", "holding nothing"]
    assert picture.facts(replace(frame, mission="")) == ["holding nothing"]
    for size in ((1000, 640), (120, 90)):
        drawn = []
        for mission in ("", frame.mission, "go and " * 40):
            surface = pygame.Surface(size, 0, 32)
            FrameRenderer("fetch").draw(surface, replace(frame, mission=mission))
            drawn.append(pygame.image.tobytes(surface, "RGB"))
        assert drawn[0] != drawn[1] != drawn[2]


# ---- what is kept ------------------------------------------------------------------------------


def test_rollouts_keep_it(tmp_path):
    env = GridVectorEnv(Scenario.load(FETCH), 2, world="object", autoreset_mode="Disabled")
    arrays, about = keep_rollout(env, tmp_path / "out")
    assert about["arrays"]["mission"]["shape"] == [3]
    alone = GridEnv(Scenario.load(FETCH), world="object")
    for k, start in enumerate(arrays["episode_start"].tolist()):
        mission = alone.reset(seed=int(arrays["episode_seed"][k]))[0]["mission"].tolist()
        assert arrays["mission"][start].tolist() == mission == arrays["last_mission"][k].tolist()


def test_replays_play_it_again():
    game = Session(Scenario.load(PUT, FOLDER), 3)
    for action in ("TURN_RIGHT", "TURN_LEFT", "PICK_N_DROP"):
        game.step(action)
    kept = Replay.from_bytes(game.replay().to_bytes())
    again = Session.from_replay(kept, Scenario.load(PUT, FOLDER))
    assert again.difference is None
    again.seek(again.length)
    assert again.frame().mission == game.frame().mission
    assert again.state_digest() == game.state_digest()


def test_phrases_make_a_text_and_the_longest_one_is_known():
    phrases = [
        Phrase("count", {2: "two very large"}),
        Phrase("color", {1: "red", 2: "blue"}, ("count", [1, 2])),
        Phrase("kind", {5: "door"}),
    ]
    fields = {"count": 2, "color": 1, "kind": 5}
    assert join_phrases(phrases, fields) == "two very large red door"
    assert join_phrases(phrases, {**fields, "count": 0}) == "door"
    assert max(len(text.split()) for text in list_longest_phrases(phrases)) == 5
