"""What several agents want of the same things, and what happens whoever acts, in both worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gv_engine import RuleError, Scenario, ScenarioError
from gv_engine.envs.backends.backend import make_batch
from gv_engine.rules.geometry import MOVE_FORWARD, ORIENTATIONS, PICK_N_DROP, TOGGLE, TURN_LEFT
from gv_engine.rules.system import REGISTRIES, TRANSITION, has_parameter
from tests.boards import Session, scenario

pytestmark = pytest.mark.compiled_elsewhere

BELT = {"object": "Belt", "state": "RIGHT"}
RULES: dict[str, Any] = {
    "action_space": ["MOVE_FORWARD", "TURN_LEFT", "PICK_N_DROP", "TOGGLE"],
    "objects": {
        "Belt": {"layer": "ground", "states": ORIENTATIONS},
        "Plate": {"layer": "ground", "states": ["UP", "DOWN"]},
        "Gate": {"states": {"SHUT": ["Solid"], "OPEN": []}},
        "Guard": {"states": ORIENTATIONS},
        "Ghost": {"states": ["RESTING", "RUNNING"]},
        "Clock": {"states": ["ONE", "TWO", "THREE"]},
        "Fire": {},
        "Fuse": {},
    },
    "legend": {
        "r": {"object": "Guard", "state": "RIGHT"},
        "G": {"object": "Ghost", "state": "RUNNING"},
        "c": "Clock",
        "*": "Fire",
        "~": "Fuse",
        "g": "Gate",
        "=": {"ground": BELT},
        "k": {"object": "Key", "ground": BELT},
        ")": {"agent": "RIGHT", "ground": BELT},
        "p": {"agent": "RIGHT", "ground": "Plate"},
        "h": {"agent": "RIGHT", "holds": "Key"},
        "t": {"object": "Telepod", "agent": "LEFT"},
        "/": {"object": "Door", "state": "OPEN", "agent": "LEFT"},
    },
    "transition_functions": [
        "move_agent",
        "turn_agent",
        "pickndrop",
        "toggle",
        "teleport",
        "move_obstacles",
        {"name": "convey", "object_type": "Belt"},
        {"name": "patrol", "object_type": "Guard"},
        {"name": "chase", "object_type": "Ghost"},
        {"name": "spread", "object_type": "Fire", "other_type": "Fuse", "chance": 0.5},
        {"name": "elapse", "object_type": "Clock"},
        {"name": "hold_down", "object_type": "Plate"},
        {"name": "follow", "object_type": "Gate", "other_type": "Plate"},
    ],
    "reward_functions": ["living_reward"],
}

BLOCKS = pytest.mark.parametrize("blocks", [(), ("movement",)], ids=["nothing", "movement"])


@pytest.fixture
def several(world: str) -> Any:
    """Plays so many agents on a map, in both worlds."""

    def start(picture: str, agents: int = 2, blocks: tuple[str, ...] = ("movement",)) -> Session:
        crew = {"agents": {"number": agents, "blocks": [*blocks]}}
        return Session(scenario(picture, **RULES, **crew), world)

    return start


def test_what_happens_by_itself_happens_once_a_step_whoever_acts(several):
    picture = "r.....#\nG#..p.#\n.*~~~~~\nko...c.\n=.....g\n#######\n"
    one = several(picture + "#.#.#.#", agents=1)
    many = several(picture + "#^#>#<#", agents=4)
    seen = set()
    for _ in range(6):
        one.act(TURN_LEFT)
        many.act(4 * (TURN_LEFT,))
        rows = [game.board.split("\n")[:6] for game in (one, many)]
        assert rows[0] == rows[1]
        assert states(one) == states(many)
        seen.add(str(states(one)))
    assert len(seen) == 6


def states(game: Session) -> dict[str, list[tuple[int, ...]]]:
    """By type, where its objects are and in which state."""
    row, found = game.row, {}
    for kind in game.scenario.layout.types:
        if kind.name in RULES["objects"] and kind.state:
            column, field = kind.state
            (entities,) = np.nonzero(row["kind"]["value"] == kind.index)
            columns = row["position"]["y"], row["position"]["x"], row[column][field]
            found[kind.name] = sorted(zip(*(each[entities].tolist() for each in columns)))
    return found


def test_a_ghost_runs_to_the_nearest_who_is_not_done(several):
    game = several("#######\nE<.G..v\n#######").act((MOVE_FORWARD, TURN_LEFT))
    assert game.board.split("\n")[1] == "<.G...>"
    assert game.row["done"].tolist() == [0, 1, 0]
    assert game.act((TURN_LEFT, TURN_LEFT)).board.split("\n")[1] == "<..G..^"
    for before, after in (("v.G...v", ">G....>"), ("v..G..v", ">.G...>"), ("v#.G..v", ">#..G.>")):
        assert several(before).act((TURN_LEFT, TURN_LEFT)).board == after


@BLOCKS
def test_belts_move_each_who_stands_on_them_once(several, blocks):
    game = several("))..\n....", blocks=blocks).act((TURN_LEFT, TURN_LEFT))
    assert game.board.split("\n")[0] == "B^^."


def test_a_door_does_not_close_on_somebody(several):
    game = several(">/.\n...")
    assert "TOGGLE" not in game.mask
    assert game.act((TOGGLE, TURN_LEFT)).row["door"]["status"].max() == 0
    assert "TOGGLE" in several(">_.\n..^").mask


@BLOCKS
def test_nothing_is_dropped_on_somebody(several, blocks):
    game = several("h<.\n...", blocks=blocks)
    assert "PICK_N_DROP" not in game.mask
    held = game.row["agent"]["holding"][1]
    assert held == game.act((PICK_N_DROP, TURN_LEFT)).row["agent"]["holding"][1] != 0


@BLOCKS
def test_telepods_that_are_taken_lead_nowhere(several, blocks):
    game = several("t..\n..t", blocks=blocks).act((TURN_LEFT, TURN_LEFT))
    assert game.row["position"]["y"][1:3].tolist() == ([0, 1] if blocks else [1, 0])


def test_a_door_that_lets_one_pass_is_refused():
    rule = {"name": "let_pass", "object_type": "Guard"}
    with pytest.raises(ScenarioError, match=r"let_pass: .* there are 2; allowed is one"):
        scenario(">.<", **{**RULES, "agents": 2, "transition_functions": [rule]})
    scenario(">..", **{**RULES, "transition_functions": [rule]})


def test_what_is_an_agents_asks_for_the_agent_in_its_condition():
    """What asks whether there is a ghost, say, happens once, be it nobody's."""
    for name in REGISTRIES[TRANSITION]:
        system = REGISTRIES[TRANSITION][name]
        if has_parameter(system.function, "agent") and system.when:
            assert has_parameter(system.when, "agent"), system.name


@pytest.mark.parametrize("level", ["Fetch-5x5-N2", "GoToDoor-5x5", "PutNear-6x6-N2"])
def test_minigrids_missions_are_those_of_all(level: str):
    played = Scenario.load({"extends": f"MiniGrid-{level}-v0", "agents": 3})
    worlds = make_batch(played, 5, "object")
    worlds.reset(np.ones(5, np.bool_))
    told = worlds.outputs.mission.reshape(5, 3, -1)
    assert (told == told[:, :1]).all()
    assert len(np.unique(told)) > 1


ROLES: dict[str, Any] = {
    "agents": {"names": ["ann", "bob", "cat"], "teams": {"reds": ["ann", "cat"]}},
    "transition_functions": [
        "move_agent",
        {"name": "turn_agent", "for": "reds"},
        {"name": "chain", "transition_functions": [{"name": "pickndrop", "for": ["bob", "cat"]}]},
    ],
    "reward_functions": [
        {"name": "living_reward", "reward": -1.0},
        {"name": "living_reward", "reward": 5.0, "for": "reds"},
        {"name": "pickndrop", "object_type": "Key", "reward_pick": 2.0, "for": "bob"},
    ],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [{"name": "reach_exit", "for": "cat"}, "bump_into_wall"],
    },
}


def test_a_function_for_some_agents_runs_in_their_turns(world: str):
    game = Session(scenario("EK>#\nEK>#\nEK>#", **{**RULES, **ROLES, "legend": {}}), world)
    masks = game.batch.outputs.mask.reshape(2, 3, -1)[1]
    names = game.scenario.action_names
    does = [{name for name, valid in zip(names, mask) if valid} for mask in masks.tolist()]
    # a bump ends the episode of each
    assert does == [{"TURN_LEFT", "MOVE_FORWARD"}, {"MOVE_FORWARD"}, {"TURN_LEFT", "MOVE_FORWARD"}]
    game.act(3 * (TURN_LEFT,), 3 * (TURN_LEFT,))
    assert game.row["agent"]["facing"][1:4].tolist() == [2, 3, 2]
    assert game.batch.outputs.rewards.reshape(2, 3)[1].tolist() == [4, -1, 4]
    game.act(3 * (PICK_N_DROP,), 3 * (MOVE_FORWARD,), 3 * (MOVE_FORWARD,))
    assert game.row["agent"]["holding"][1:4].astype(bool).tolist() == [False, False, True]
    assert game.row["done"].tolist() == [0, 0, 1, 1]
    assert game.row["ended_by"].tolist() == [0, 0, 3, 2]


def reds(*members: str) -> dict[str, Any]:
    return {"agents": {"number": 2, "teams": {"reds": [*members]}}}


def turns(*names: str) -> dict[str, Any]:
    return {"transition_functions": [{"name": "turn_agent", "for": [*names]}]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (reds(), "teams.reds: found an empty list"),
        (reds("ann"), "no agent 'ann'"),
        ({"agents": {"names": ["ann", "bob"], "teams": {"bob": ["ann"]}}}, "'bob' is an agent"),
        (turns("dan"), "no agent or team 'dan'"),
        (turns(), "found an empty list"),
        (
            {"transition_functions": [{"name": "move_obstacles", "for": "ann"}]},
            "runs once a step, not for an agent",
        ),
        ({"agents": 1}, "only several agents have names; there is one"),
        (
            {"agents": {"names": ["ann", "bob | cat"]}},
            r"\[1\]: found 'bob \| cat', expected a name",
        ),
        ({"agents": {"number": 2, "teams": {"x=y": ["agent_1"]}}}, "found the team 'x=y'"),
    ],
)
def test_agents_and_teams_that_are_not_there(changes: dict[str, Any], says: str):
    with pytest.raises(ScenarioError, match=says):
        scenario(">..", **{**RULES, **ROLES, **changes})


def test_more_agents_than_places():
    played = scenario(">.#", **{**RULES, "agents": 3})
    with pytest.raises(RuleError, match="there are more agents than free cells"):
        Session(played, "object")
