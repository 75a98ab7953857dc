"""Games that are played by texts, and their limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gv_engine import Scenario
from gv_engine.play.session.session import Session
from gv_engine.play.session.text_games import GameError, Limits, TextGames
from gv_engine.rules.errors import GVEngineError

LEVEL = {
    "name": "hall",
    "description": "Walk to the exit.",
    "map": "#####\n#>.E#\n#####",
    "transition_functions": [{"name": "move_agent"}, {"name": "turn_agent"}],
    "reward_functions": [{"name": "reach_exit"}],
    "terminating_function": {"name": "reach_exit"},
    "success_function": {"name": "reach_exit"},
    "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
    "max_steps": 20,
}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def hall(**options: Any) -> TextGames:
    return TextGames({"hall": Scenario.load(LEVEL)}, **options)


def test_a_game_is_won_by_texts_alone():
    games = hall()
    state = games.start("hall", 4)
    name = state["session"]
    assert state["description"] == "Walk to the exit."
    assert state["seed"] == 4
    assert state["observation"].splitlines() == [
        "You see a wall 1 step left",
        "You see a wall 1 step right",
        "You see a exit 2 steps forward",
    ]
    assert state["actions"] == ["go forward", "turn left", "turn right"]
    state = games.act(name, "Go  forward")
    assert (state["steps"], state["reward"], state["done"]) == (1, 0.0, False)
    state = games.act(name, "MOVE_FORWARD")
    assert (state["reward"], state["return"], state["done"], state["success"]) == (1, 1, True, True)
    assert state["ending"]
    assert state["actions"] == []
    assert json.loads(json.dumps(state)) == state
    with pytest.raises(GameError, match=r"the game has ended \(terminated\): start another one"):
        games.act(name, "go forward")
    assert games.end(name) == {"steps": 2, "return": 1, "success": True}
    with pytest.raises(GameError, match="it was never started, has ended"):
        games.end(name)


def test_games_are_those_of_sessions():
    games, session = TextGames(), Session(Scenario.load("BabyAI-Pickup-v0"), 7)
    state = games.start("GV-BabyAI-Pickup-v0", 7)
    for action in ("TURN_LEFT", "MOVE_FORWARD", "MOVE_FORWARD", "TURN_RIGHT", "PICK_UP"):
        session.step(action)
        after = games.act(state["session"], action)
        assert after["reward"] == session.past_steps[-1].reward
        assert after["observation"].endswith(f"mission: {session.frame().mission}")
    assert games.find_game(state["session"]).state_digest() == session.state_digest()


def test_a_map_is_shown_on_request():
    games = hall()
    name = games.start("hall")["session"]
    assert games.look(name)["observation"].startswith("You see")
    drawn = games.look(name, "map")["observation"].splitlines()
    assert any("E" in line for line in drawn)
    assert "holding nothing" in drawn
    with pytest.raises(GameError, match=r"style: found 'maps'; did you mean 'map'\?"):
        games.look(name, "maps")
    assert games.legal_actions(name)["actions"] == ["go forward", "turn left", "turn right"]
    assert "pick n drop" in games.legal_actions(name)["all"]


def test_unknown_actions_change_nothing_and_all_are_told():
    games = hall()
    name = games.start("hall")["session"]
    for action in ("jump", "", "go forward now", "x" * 10**5):
        with pytest.raises(GVEngineError, match=r"no action .*allowed: go forward"):
            games.act(name, action)
    assert games.look(name)["steps"] == 0


def test_several_agents_see_and_act_together():
    games = TextGames()
    state = games.start("hand-over", 3)
    name = state["session"]
    assert [*state["actions"]] == ["ann", "bob"]
    assert {"ann:", "bob:"} <= {*state["observation"].splitlines()}
    one = games.act(name, "ann go forward | bob turn left")
    assert one["steps"] == 1
    assert games.act(name, "bob turn left")["steps"] == 2  # ann waits
    for action in ("go forward", "eve go forward", "ann go forward |"):
        with pytest.raises(GameError, match=r"no agent .*allowed: ann, bob"):
            games.act(name, action)
    assert games.look(name)["steps"] == 2


def test_each_agent_has_a_player_of_its_own():
    games, together = TextGames(), TextGames()
    name = games.start("hand-over", 3)["session"]
    both = together.start("hand-over", 3)
    views = {agent: games.look(name, agent=agent) for agent in ("ann", "bob")}
    joined = "\n".join(f"{agent}:\n{view['observation']}" for agent, view in views.items())
    assert joined == both["observation"]
    assert {agent: view["actions"] for agent, view in views.items()} == both["actions"]
    one = games.act(name, "go forward", "ann")
    assert (one["steps"], one["waiting_for"]) == (0, ["bob"])
    assert games.act(name, "turn right", "ann")["steps"] == 0  # ann has changed her mind
    for action in ("jump", "turn left | ann go forward"):
        with pytest.raises(GVEngineError, match="no action"):
            games.act(name, action, "bob")
    with pytest.raises(GameError, match=r"no agent 'eve' \(allowed: ann, bob\)"):
        games.act(name, "go forward", "eve")
    two = games.act(name, "turn left", "bob")
    assert (two["steps"], two["waiting_for"]) == (1, ["ann", "bob"])
    together.act(both["session"], "ann turn right | bob turn left")
    digests = {
        each.find_game(key).state_digest()
        for each, key in [(games, name), (together, both["session"])]
    }
    assert len(digests) == 1


def test_the_only_agent_may_be_named():
    games = hall()
    name = games.start("hall")["session"]
    (agent,) = games.find_game(name).agents
    assert games.act(name, "go forward", agent)["steps"] == 1
    assert games.look(name, agent=agent)["waiting_for"] == [agent]


def test_expressions_are_played_too():
    games = TextGames()
    state = games.start("mathy-poly-simplify-easy", 3)
    after = games.act(state["session"], state["actions"][0])
    assert after["steps"] == 1
    assert after["observation"] != state["observation"]
    with pytest.raises(GVEngineError, match="no action 'swap 1'"):
        games.act(state["session"], "swap 1")


def test_names_are_of_no_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keydoor.yaml").write_text(json.dumps(LEVEL))
    for name in (
        *("../x.yaml", "scenarios/keydoor.yaml", "/etc/passwd", "keydoor.yaml", "", "#", "#1"),
        *("tutorial#99", "tutorial#-1", "tutorial#1#1", "tutorial#x", "keydoor-5x5#2", "\0"),
        *("x" * 10**6, "tutorial#" + "9" * 10**5, str(tmp_path / "keydoor.yaml")),
    ):
        with pytest.raises(GameError) as caught:
            TextGames().start(name)
        assert len(str(caught.value)) < 300


def test_names_are_suggested():
    with pytest.raises(GameError, match=r"no scenario 'keydor-5x5'; did you mean 'keydoor-5x5'\?"):
        TextGames().start("keydor-5x5")
    found = TextGames().list_scenarios("keydoor 5")
    assert found == {"Keydoor": ["keydoor-5x5"]}
    assert hall().list_scenarios("hall")["Named on the command line"] == ["hall"]
    every = TextGames().list_scenarios()
    assert "keydoor-9x9" in every["Keydoor"]
    assert "hand-over" in every["Together"]
    assert TextGames().list_scenarios("q" * 10**6) == {}


def test_there_are_at_most_so_many_games_and_idle_ones_end():
    clock = Clock()
    games = hall(limits=Limits(games=2, idle_seconds=60), clock=clock)
    first, second = games.start("hall")["session"], games.start("hall")["session"]
    with pytest.raises(GameError, match="2 games are open, as many as are allowed"):
        games.start("hall")
    clock.now = 59
    games.look(second)
    clock.now = 60
    with pytest.raises(GameError, match="was idle for 60 seconds"):
        games.look(first)
    third = games.start("hall")["session"]
    assert len({first, second, third}) == 3
    assert games.look(second)["steps"] == 0
    games.end(second)
    games.start("hall")


def test_a_game_has_at_most_so_many_steps():
    games = hall(limits=Limits(steps=3))
    name = games.start("hall")["session"]
    for _ in range(3):
        games.act(name, "turn left")
    with pytest.raises(GameError, match="has had 3 steps, the limit"):
        games.act(name, "turn left")


def test_seeds_have_a_range():
    for seed in (-1, 2**32, 10**5000, -(10**5000)):
        with pytest.raises(GameError, match=r"seed: found .*, allowed are 0 to 4294967295"):
            hall().start("hall", seed)
    assert hall().start("hall", 2**32 - 1)["seed"] == 2**32 - 1


def test_few_scenarios_stay_loaded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gv_engine.play.session.text_games._MAX_LOADED", 2)
    games = TextGames()
    for name in ("keydoor-5x5", "empty-4x4", "tutorial#1", "tutorial#2", "keydoor-5x5"):
        games.start(name)
    assert games._load_built_in.cache_info()[:2] == (0, 5)  # hits and misses
    games.start("tutorial#2")
    assert games._load_built_in.cache_info().hits == 1
