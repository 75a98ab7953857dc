"""Agents in games: what they do is what a rollout does, whichever way the game went."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.play.grid import hooks
from gv_engine.play.session.autoplay import (
    ActionChoice,
    AutoplayError,
    Opponent,
    PolicyAutoplayer,
    SolutionPath,
    SolverAutoplayer,
    describe_standing,
    describe_winner,
)
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import Replay, ReplayError
from gv_engine.play.session.session import Session
from tests.games import FORWARD, LEFT, LINE, RIGHT, take
from tests.screen import until

FOLLOWS = '''
import numpy as np

def follow(observation, info, rngs):
    """Turn to the right, and be sure of it."""
    return np.full(len(rngs), 5), np.eye(info["action_mask"].shape[1])[[5] * len(rngs)]
'''


def acted(game: Session, actor: PolicyAutoplayer, steps: int) -> list[str]:
    """Let it act; what it has done."""
    for _ in range(steps):
        game.redo_or_step(actor.choose(game).action)
    return [taken.action for taken in game.past_steps]


def test_an_agent_acts_the_same_after_going_back_and_being_overruled():
    game = Session(load_playable("keydoor-5x5"), 3)
    actor = PolicyAutoplayer(game, "random")
    whole = acted(game, actor, 12)
    game.seek(4)
    assert actor.choose(game).action == whole[4]  # nothing is drawn anew
    assert acted(game, actor, 8) == whole
    assert game.length == 12  # and the steps that were undone are the same
    game.seek(4)
    other = LEFT if whole[4] != LEFT else RIGHT
    game.step(other)  # somebody takes over, and hands back
    after = actor.choose(game)
    assert acted(game, PolicyAutoplayer(game, "random"), 1)[-1] == after.action
    game.previous_timeline()
    game.seek(game.length)
    assert actor.choose(game) == PolicyAutoplayer(game, "random").choose(game)


LOOKS = """
def look(observation, info, rngs):
    return [int(grid.sum() + 8 * rng.random()) % 8 for grid, rng in zip(observation["grid"], rngs)]
"""


@pytest.mark.parametrize("named", ["random", "valid", "./own.py:look"])
def test_who_has_seen_another_way_does_what_a_fresh_one_does(named, tmp_path, monkeypatch):
    """Longer than, as long as, or shorter than the one before."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(LOOKS)
    game = Session(load_playable("keydoor-9x9"), 5)
    actor = PolicyAutoplayer(game, named)
    for back, actions in ((0, "RRRR"), (3, "LLL"), (2, "R"), (3, "LRLRL"), (9, ""), (0, "L")):
        game.undo(back)
        for action in actions:
            game.step({"R": RIGHT, "L": LEFT}[action])
            assert actor.choose(game) == PolicyAutoplayer(game, named).choose(game)
        assert actor.choose(game) == PolicyAutoplayer(game, named).choose(game)


@pytest.mark.parametrize("name", ["keydoor-5x5", "medley-7x7", "doors", "MiniGrid-Fetch-5x5-N2-v0"])
def test_agents_in_games_are_handed_what_one_of_many_worlds_shows(name):
    game = Session(load_playable(name), 3)
    env = GridVectorEnv(name, 1, world="object")
    seen, told = env.reset(seed=3)
    for number in (1, 0, 1):
        observation, info = game.observe()
        assert seen.keys() == observation.keys()
        for key, array in observation.items():
            np.testing.assert_array_equal(array, seen[key], err_msg=key)
        np.testing.assert_array_equal(info["action_mask"], told["action_mask"])
        game.step(game.actions[number])
        seen, *_, told = env.step([number])


def test_chances_are_told(tmp_path: Path):
    game = Session(load_playable("keydoor-5x5"), 3)
    chances = PolicyAutoplayer(game, "valid").choose(game).probabilities
    open_ = [action for action, is_open in game.mask().items() if is_open]
    assert chances == {action: 1 / len(open_) if action in open_ else 0 for action in game.actions}
    file = tmp_path / "policy.py"
    file.write_text(FOLLOWS)
    choice = PolicyAutoplayer(game, f"{file}:follow").choose(game)
    assert choice.action == game.actions[5]
    assert choice.probabilities[choice.action] == 1.0


class Guide:
    """Knows one way, and is asked."""

    def __init__(self, *actions: str) -> None:
        self.actions, self.asked = actions, 0

    def ask(self, session: Game) -> None:
        self.asked += 1

    def answer(self) -> SolutionPath:
        return SolutionPath(self.actions, "" if self.actions else "There is none")

    def close(self) -> None: ...


def test_a_solver_is_asked_where_its_way_is_left_alone():
    game, guide = Session(load_playable("keydoor-5x5"), 3), Guide(LEFT, LEFT, "ACTUATE")
    actor = SolverAutoplayer(guide)

    def would() -> str:
        choice = actor.choose(game)
        assert choice is not None
        return choice.action

    for _ in range(2):
        game.step(would())
    assert (would(), guide.asked) == ("ACTUATE", 1)
    game.undo()
    assert (would(), guide.asked) == (LEFT, 1)
    game.step(RIGHT)
    assert (would(), guide.asked) == (LEFT, 2)
    with pytest.raises(AutoplayError, match="There is none"):
        SolverAutoplayer(Guide()).choose(game)


def test_a_rival_is_as_many_steps_old(tmp_path: Path):
    own = take(Session(load_playable("keydoor-5x5"), 3), LEFT, LEFT, LEFT)
    own.replay().save(tmp_path / "mine.gvreplay")
    ghost = Opponent.load(str(tmp_path / "mine.gvreplay"), own)
    own.seek(2)
    for steps, position, over in ((0, 0, False), (2, 2, False), (1, 1, False), (2, 2, False)):
        assert ghost.go_to(steps)
        assert (ghost.session.position, ghost.is_over) == (position, over)
    assert describe_winner(own, ghost) == "You and mine were equally good"
    assert ghost.go_to(9)  # and no further than its end
    assert (ghost.session.position, ghost.session.length, ghost.is_over) == (3, 3, True)
    assert describe_standing("mine", ghost.session) == "mine: 3 steps, return -0.15"
    assert describe_winner(own, ghost) == "You won the race: 2 steps against 3"
    assert Replay.load(tmp_path / "mine.gvreplay").steps == tuple(ghost.session.past_steps)
    random = Opponent.load("random", own)
    for steps in (5, 2):
        assert random.go_to(steps)
        assert random.session.position == steps
    own.reset()
    assert not ghost.follow_level(own)
    assert random.follow_level(own)
    assert random.session.seed == own.seed
    with pytest.raises(ReplayError, match="is of seed 3, and here is 4"):
        Opponent.load(str(tmp_path / "mine.gvreplay"), own)


PAYS = ["reach_exit", {"name": "living_reward", "reward": -0.5}]


def walked(*actions: str, pays: object = PAYS) -> Session:
    return take(Session(Scenario.load({**LINE, "reward_functions": pays}), 0), *actions)


@pytest.mark.parametrize(
    ("own", "other", "pays", "told"),
    [
        ([], [], PAYS, "You and other were equally good"),
        ([LEFT], [RIGHT], PAYS, "You and other were equally good"),
        ([LEFT], [], PAYS, "other won the race: 0 steps against 1"),
        ([FORWARD] * 2, [LEFT], PAYS, "You won the race: return 0 against -0.5"),
        (["MOVE_LEFT"], [LEFT] * 2, PAYS, "You won the race: 1 step against 2"),
        ([LEFT] * 3, [LEFT] * 2, PAYS[:1], "other won the race: 2 steps against 3"),
        ([LEFT] * 2, [LEFT] * 3, PAYS[:1], "You won the race: 2 steps against 3"),
    ],
)
def test_who_gets_more_or_the_same_in_fewer_steps_is_better(own, other, pays, told):
    rival = Opponent("other", walked(*other, pays=pays))
    assert describe_winner(walked(*own, pays=pays), rival) == told


def test_how_a_game_stands():
    assert describe_standing("me", walked()) == "me: 0 steps, return 0"
    assert describe_standing("me", walked(LEFT)) == "me: 1 step, return -0.5"
    assert describe_standing("me", walked(FORWARD, FORWARD)) == "me: 2 steps, return 0"


class Thinking(Guide):
    """An actor that thinks for a while, and then goes one way."""

    name = "thinking"

    def __init__(self, *actions: str) -> None:
        super().__init__(*actions)
        self.ready = self.closed = False

    def choose(self, session: Game) -> ActionChoice | None:
        return ActionChoice(self.actions[session.position], {}) if self.ready else None

    def close(self) -> None:
        self.closed = True


def test_a_rival_is_waited_for_while_it_thinks():
    actor = Thinking(FORWARD, "FLY")
    rival = Opponent("thinking", walked(LEFT, RIGHT), actor)
    assert rival.go_to(1)
    assert rival.go_to(2)
    assert not rival.go_to(3)
    assert (rival.session.position, rival.is_over) == (2, False)
    again = Opponent("thinking", walked(), actor)
    assert not again.go_to(1)
    actor.ready = True
    assert again.go_to(1)
    assert [taken.action for taken in again.session.past_steps] == [FORWARD]
    with pytest.raises(AutoplayError, match="Fly: not in this level"):
        again.go_to(2)
    actor.actions = (FORWARD,) * 3
    assert again.go_to(5)  # where its episode ends
    assert (again.session.position, again.is_over) == (2, True)
    again.close()
    assert actor.closed
    rival = Opponent("nobody", walked())
    rival.close()
    assert rival.is_over


def test_a_solver_forgets_the_paths_of_rules_that_have_changed(monkeypatch: pytest.MonkeyPatch):
    guides: list[Guide] = []

    def make_guide(scenario: object, agent: int) -> Guide:
        guides.append(Guide(LEFT if guides else "ACTUATE"))
        return guides[-1]

    monkeypatch.setattr(hooks, "make_hint_provider", make_guide)
    scenario, actor = Scenario.load("keydoor-5x5"), SolverAutoplayer()
    first = actor.choose(Session(scenario, 3))
    second = actor.choose(Session(scenario.with_(max_steps=9), 3))
    assert first is not None
    assert second is not None
    assert (first.action, second.action) == ("ACTUATE", LEFT)
    assert [guide.asked for guide in guides] == [1, 1]


@pytest.mark.compiled
def test_a_solver_that_races_searches_before_the_first_step():
    game = Session(load_playable("keydoor-5x5"), 3)
    with closing(Opponent.load("solver", game)) as opponent:
        solver = opponent._autoplayer
        assert isinstance(solver, SolverAutoplayer)
        assert solver._hints is not None
        answer = solver._hints.answer
        until(lambda: bool((path := answer()) and path.actions), "the path from the beginning")


def test_who_is_ahead_is_told():
    ahead, behind = walked(FORWARD, FORWARD), walked(LEFT, LEFT)
    assert describe_standing("me", ahead, False, behind) == "me: 2 steps, ahead"
    assert describe_standing("me", behind, False, ahead) == "me: 2 steps"
    assert describe_standing("me", behind, False, behind) == "me: 2 steps"
