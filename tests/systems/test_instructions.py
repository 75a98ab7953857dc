"""Missions of verbs in levels of an author: what files say, and which actions follow them."""

import re
from typing import Any

import gymnasium
import numpy as np
import pytest

from gv_engine import AGENT, GridEnv, GridVectorEnv, Scenario
from gv_engine.play.editor.document import new_document
from gv_engine.play.editor.form_fields import make_field
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.play.validation.lint import find_placed_mistakes
from gv_engine.plugins.minigrid.systems.grammar import PICK_UP_OBJECT
from gv_engine.rules.geometry import ACTUATE, MOVE_FORWARD, PICK_N_DROP, TURN_LEFT, TURN_RIGHT
from gv_engine.scenario.missions.missions import Missions
from tests.scenario.reading import assert_refused, begin

BALL = "components.minigrid:Ball"
LEVEL: dict[str, Any] = {
    "map": "#######\n#c.>r.#\n#k...D#\n#######",
    "legend": {
        "r": {"object": BALL, "color": "RED"},
        "c": {"object": BALL, "color": "BLUE"},
        "k": {"object": "Key", "color": "YELLOW"},
        "D": {"object": "Door", "state": "CLOSED", "color": "RED"},
    },
    "state_space": {"objects": ["Wall", "Floor", "Door", "Key", BALL]},
    "max_steps": 50,
    "transition_functions": [
        *("move_agent", "turn_agent", "pickndrop", "actuate_door", "verify_instruction")
    ],
    "reward_functions": ["follow_instruction"],
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
    "terminating_function": "followed_instruction",
    "success_function": "followed_instruction",
}
RED_BALL, BLUE_BALL = {"type": "Ball", "color": "RED"}, {"type": "Ball", "color": "BLUE"}
TO_BLUE = [TURN_LEFT, TURN_LEFT, MOVE_FORWARD]
TO_DOOR = [TURN_RIGHT, MOVE_FORWARD, TURN_LEFT, MOVE_FORWARD]
AND_BACK = [TURN_LEFT, TURN_LEFT, MOVE_FORWARD]
TO_KEY = [PICK_N_DROP, *TO_BLUE, TURN_LEFT, PICK_N_DROP]
KINDS = pytest.mark.parametrize(
    "world", ["object", pytest.param("compiled", marks=pytest.mark.compiled)]
)


def level(mission: Any, **more: Any) -> Scenario:
    return Scenario.load({**LEVEL, "mission": mission, **more})


def mission_of(scenario: Scenario, seed: int = 0) -> str:
    return scenario.mission(begin(scenario, seed).world)


def missions_of(scenario: Scenario) -> Missions:
    assert scenario.missions
    return scenario.missions


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mission", "text"),
    [
        ({"go_to": {}}, "go to a object"),
        ({"go_to": {"type": "Ball"}}, "go to a ball"),
        ({"go_to": {**BLUE_BALL, "place": "behind"}}, "go to the blue ball behind you"),
        ({"open": {"place": "right"}}, "open the door on your right"),
        (
            {"pick_up": {"color": "YELLOW"}, "and": {"open": {}}},
            "pick up the yellow object and open the door",
        ),
        (
            {"put": RED_BALL, "next_to": {"type": "Key"}, "then": {"go_to": BLUE_BALL}},
            "put the red ball next to the key, then go to the blue ball",
        ),
        (
            {"open": {}, "after": {"go_to": RED_BALL, "and": {"go_to": BLUE_BALL}}},
            "open the door after you go to the red ball and go to the blue ball",
        ),
    ],
)
def test_clauses_have_a_text_which_says_the_same(mission, text):
    assert mission_of(level(mission)) == mission_of(level(text)) == text


def test_random_values_and_parameters_are_in_missions():
    draw = {"color": ["RED", "BLUE"], "what": [BALL, "Key"]}
    drawn = level({"go_to": {"color": "$color", "type": "$what"}}, draw=draw)
    texts = {mission_of(drawn, seed) for seed in range(20)}
    assert texts == {f"go to the {c} {what}" for c in ("red", "blue") for what in ("ball", "key")}
    source = {**LEVEL, "parameters": {"task": {"default": "open the door"}}, "mission": "$task"}
    assert mission_of(Scenario.load(source)) == "open the door"
    assert mission_of(Scenario.load(source, task="go to a key")) == "go to a key"


def test_a_mission_of_a_reset_function_is_replaced():
    source = {"extends": "BabyAI-OpenRedDoor-v0", "mission": {"pick_up": {"type": "Ball"}}}
    world = begin(Scenario.load(source)).world
    assert world.mission.verb[AGENT] == PICK_UP_OBJECT
    assert [world.target.descriptions[e] for e in world.having(world.door)] == [0]


@pytest.mark.parametrize(
    ("mission", "message"),
    [
        ("go to red ball", "mission: word 3: found 'red', expected 'a' or 'the'; other missions"),
        (
            "go to a box",
            "mission: Parcel is not among the scenario's objects; add it to the objects",
        ),
        ("go to a grey ball", "mission: GREY is not in the scenario, which has NONE, RED"),
        ({"goto": {}}, "mission.goto: unknown key 'goto'; did you mean 'go_to'?"),
        ({"go_to": {"typ": "Key"}}, "mission.go_to.typ: unknown key 'typ'; did you mean 'type'"),
        ({"go_to": {"type": "Wall"}}, "mission.go_to.type: found Wall, expected Parcel, Ball, Key"),
        ({"open": {"type": "Key"}}, "mission.open.type: found Key, expected Door: texts have wo"),
        ({"go_to": {"place": "top"}}, "mission.go_to.place: no place 'top' (allowed: left, righ"),
        ({"go_to": {}, "open": {}}, "mission: a clause has one of go_to, pick_up, open, put; fou"),
        ({"and": {"go_to": {}}}, "mission: a clause has one of go_to, pick_up, open, put; found n"),
        ({"put": {}}, "mission: `put` and `next_to` go together"),
        ({"go_to": {}, "next_to": {}}, "mission: `put` and `next_to` go together"),
        ({"open": {}, "and": {"then": {}}}, "mission.and.then: unknown key 'then'"),
        (
            {"open": {}, "then": {"go_to": {}}, "after": {"go_to": {}}},
            "mission.after: a mission has either `then` or `after`",
        ),
        ("fetch", "mission: word 1: found 'fetch', expected 'go to', 'open', 'pick up' or 'put'"),
        (
            {"text": "a {object}", "object": "Key"},
            "mission: it has another form; verify_instruction, f",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(mission, message):
    assert_refused(message, {**LEVEL, "mission": mission})


def test_rules_and_missions_of_verbs_need_each_other():
    without = {key: value for key, value in LEVEL.items() if key != "mission"}
    assert_refused(
        "mission: missing; verify_instruction, follow_instruction, followed_instr", without
    )
    moves = {"transition_functions": ["move_agent"]}
    assert_refused("nothing verifies it; put verify_", {**LEVEL, "mission": "open a door", **moves})
    assert_refused("is for one agent", {**LEVEL, "mission": "open a door", "agents": 2})


def test_a_description_that_no_level_matches_is_found():
    mission = {"go_to": RED_BALL, "then": {"open": {"color": "BLUE"}, "and": {"go_to": {}}}}
    messages = [finding.message for finding, _ in find_placed_mistakes(level(mission))]
    assert messages == [
        "<mapping>: mission: no level has the blue door; put one into it, or ask for another"
    ]


# ---- actions -------------------------------------------------------------------------------------

CASES = {
    "go to": ({"go_to": BLUE_BALL}, TO_BLUE),
    "pick up": ({"pick_up": RED_BALL}, [PICK_N_DROP]),
    "open": ({"open": {"color": "RED"}}, [*TO_DOOR, ACTUATE]),
    "put": ({"put": RED_BALL, "next_to": {"type": "Key"}}, TO_KEY),
    "and": ({"go_to": BLUE_BALL, "and": {"go_to": RED_BALL}}, [ACTUATE, *TO_BLUE]),
    "then": ({"go_to": BLUE_BALL, "then": {"go_to": RED_BALL}}, [*TO_BLUE, *AND_BACK]),
    "after": ({"go_to": RED_BALL, "after": {"go_to": BLUE_BALL}}, [*TO_BLUE, *AND_BACK]),
    "place": ({"go_to": {"type": "Ball", "place": "behind"}}, TO_BLUE),
    "swap": ({"pick_up": BLUE_BALL}, [PICK_N_DROP, *TO_BLUE, PICK_N_DROP]),
}
"""Missions, each with actions of which the last one ends it."""
OTHERS = {
    "go to": ({"go_to": {"type": "Key"}}, TO_BLUE),
    "pick up": ({"pick_up": BLUE_BALL}, [PICK_N_DROP]),
    "open": ({"open": {"place": "left"}}, [*TO_DOOR, ACTUATE]),
    "put": ({"put": RED_BALL, "next_to": {"type": "Door"}}, TO_KEY),
    "then": ({"go_to": RED_BALL, "then": {"pick_up": BLUE_BALL}}, [TURN_LEFT, PICK_N_DROP]),
}
"""Missions, each with actions that do something else."""


def play_in_vain(mission, actions, world) -> GridEnv:
    """A level in which these actions do not follow the mission."""
    env = GridEnv(level(mission), world=world)
    env.reset(seed=0)
    for action in actions:
        _, reward, terminated, _, _ = env.step(action)
        assert (reward, terminated) == (0, False)
    return env


@pytest.mark.sample("object", "then-compiled")
@KINDS
@pytest.mark.parametrize("name", CASES)
def test_the_last_action_follows_the_mission(name, world):
    mission, actions = CASES[name]
    env = play_in_vain(mission, actions[:-1], world)
    _, reward, terminated, _, info = env.step(actions[-1])
    assert (reward, terminated, info["success"]) == (1, True, True)


@pytest.mark.sample("object")
@KINDS
@pytest.mark.parametrize("name", OTHERS)
def test_other_objects_do_not_follow_the_mission(name, world):
    play_in_vain(*OTHERS[name], world)


@pytest.mark.compiled
@pytest.mark.thorough
def test_both_worlds_play_the_same():
    place = [{"agent": "any"}, {"object": "Key", "color": "$color", "count": 3}]
    mission = {"put": {"color": "$color"}, "next_to": BLUE_BALL, "after": {"go_to": RED_BALL}}
    source = {**LEVEL, "map": LEVEL["map"].replace(">", "."), "place": place, "mission": mission}
    scenario = Scenario.load({**source, "draw": {"color": ["RED", "GREEN"]}})
    assert run_differential_test(scenario, episodes=30).fault == ""


# ---- token ids -----------------------------------------------------------------------------------

TOKENS = {"name": "default", "mission": "tokens"}
WORDS = (
    " go to pick up open put the a red green blue yellow purple grey orange cyan box ball key"
    " object door on your left right in front of you behind next and , then after"
)


def test_the_vocabulary_of_verbs_is_fixed():
    tokens = missions_of(Scenario.load("BabyAI-GoToLocal-v0")).tokens
    assert tokens.vocabulary == tuple(WORDS.split(" "))
    assert tokens.vocabulary == missions_of(level("open the door")).tokens.vocabulary
    assert len(tokens.low) == 72
    assert (tokens.high == len(tokens.vocabulary) - 1).all()


@pytest.mark.sample("object")
@KINDS
def test_missions_are_observed_as_token_ids(world):
    text = "go to the red ball, then open a door on your left"
    scenario = level(text)
    envs = GridVectorEnv(scenario, 3, world=world, observation_representation=TOKENS)
    observations, _ = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert observations["mission"].shape == (3, 72)
    words = text.replace(",", " ,").split()
    for ids in observations["mission"]:
        assert ids.tolist() == [*map(WORDS.split(" ").index, words), *[0] * (72 - len(words))]
        assert missions_of(scenario).tokens.to_text(ids) == text
    observations, *_ = envs.step(np.full(3, ACTUATE))
    assert (observations["mission"][:, 0] == 1).all()
    env = GridEnv(scenario, world=world, observation_representation=TOKENS)
    assert env.reset(seed=0)[0]["mission"].tolist() == observations["mission"][0].tolist()


def test_token_ids_of_minigrid_stand_for_its_texts():
    name, seen = "GV-BabyAI-BossLevel-v0", {"name": "minigrid", "mission": "tokens"}
    options: Any = {"world": "object", "observation_representation": seen}
    envs: Any = gymnasium.make_vec(name, 8, **options)
    observations = envs.reset(seed=0)[0]
    assert observations in envs.observation_space
    tokens = envs.scenario.missions.tokens
    assert tuple(map(tokens.to_text, observations["mission"])) == envs.missions()
    one, info = gymnasium.make(name, **options).reset(seed=0)
    assert one["mission"].tolist() == observations["mission"][0].tolist()
    assert tokens.to_text(one["mission"]) == info["mission"] == envs.missions()[0]


def test_token_ids_of_other_texts_are_the_words_that_these_may_have():
    scenario = Scenario.load("fetch")
    tokens = missions_of(scenario).tokens
    assert tokens.vocabulary[:4] == ("", "fetch", "the", "red")
    for seed in range(5):
        numbers = missions_of(scenario).encode(begin(scenario, seed).world)
        assert tokens.to_text(tokens.encode(numbers)) == missions_of(scenario).to_text(numbers)


def test_the_longest_mission_has_ids():
    clause = "put the red ball in front of you next to the red key in front of you"
    text = f"{clause} and {clause}, then {clause} and {clause}"
    scenario = Scenario.load({"extends": "BabyAI-GoToLocal-v0", "mission": text})
    missions = missions_of(scenario)
    tokens = missions.tokens
    ids = tokens.encode(missions.encode(begin(scenario).world))
    assert ids.all()
    assert tokens.to_text(ids) == text


@pytest.mark.parametrize(
    ("name", "seen", "message"),
    [
        ("fetch", {"name": "compact", "mission": "words"}, "mission='words', allowed is 'tokens'"),
        ("fetch", {"name": "text", "mission": "tokens"}, "'text' has no separate mission"),
        ("keydoor", {"name": "minigrid", "mission": "tokens"}, "the scenario has no missions"),
    ],
)
def test_wrong_requests_for_token_ids_are_refused(name, seen, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        GridEnv(name, world="object", observation_representation=seen)


def test_numbers_with_too_many_values_have_no_token_ids():
    scenario = Scenario.load("fetch")
    missions = Missions(scenario.layout, [("fetch {object}{color}{object}{color}",)])
    with pytest.raises(ValueError, match="has too many values for token ids"):
        _ = missions.tokens


@pytest.mark.parametrize("mission", ["open the red door", {"open": {"color": "RED"}}])
def test_a_mission_of_verbs_is_kept_and_has_fields(mission):
    made = new_document("keydoor")
    made.set_value(("mission",), mission)
    field = make_field("mission", made.format.keys["mission"], mission, made.vocabulary)
    assert ("open" in field.keys) == isinstance(mission, dict)
    assert field.parse("go to a key") == "go to a key"
    made.set_value(("description",), "Mine.")
    assert made.values["mission"] == mission
