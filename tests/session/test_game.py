"""The game that the window plays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import GridEnv, RuleError, Scenario, ScenarioError
from gv_engine.play.session import timeline
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.controller import parse_seed
from gv_engine.play.session.replay import ReplayError
from gv_engine.play.session.session import Session
from gv_engine.play.session.timeline import EpisodeSummary
from gv_engine.rules.geometry import ACTIONS
from tests.games import LEFT, RIGHT, ruled, take


def game(name: str = "keydoor-5x5", seed: int | None = 200, **changes: Any) -> Session:
    scenario = Scenario.load(name)
    return Session(scenario.with_(**changes) if changes else scenario, seed)


def test_it_is_called_and_drawn_like_its_scenario():
    made = game()
    assert made.title == "keydoor-5x5"
    assert made.scenario.types[5].sprite_of(2) == "door_locked"  # type: ignore[attr-defined]
    folder = made.sprite_sources[0]
    assert isinstance(folder, Path)
    assert folder.name == "scenarios"


def test_it_plays_the_episodes_of_an_environment():
    """Which is not looked at, so looking changes nothing."""
    env, played = GridEnv("keydoor-5x5", world="object"), game(seed=3)
    rng = np.random.default_rng(0)
    for seed in (3, 4):
        observation, _ = env.reset(seed=seed)
        assert played.seed == seed
        for _ in range(50):
            for _ in range(2):
                assert np.array_equal(played.frame().observation, observation["grid"])
            action = int(rng.integers(8))
            observation, reward, *_ = env.step(action)
            played.step(ACTIONS[action])
            assert played.frame().reward == reward
        assert played.frame().steps == 50
        played.reset()


def test_the_goal_is_said_until_the_first_step():
    played = game()
    assert played.frame().message == "Find the key, open the door, reach the exit."
    played.step(LEFT)
    assert played.frame().message == ""
    played.reset()
    assert played.frame().message != ""


def test_an_action_that_the_scenario_lacks_is_no_step():
    shown = take(game("empty-4x4"), "ACTUATE").frame()
    assert (shown.message, shown.steps) == ("Use what is ahead: not in this level", 0)


def test_episodes_without_a_step_do_not_count():
    played = game(seed=7)
    played.reset()
    assert (played.seed, played.titled_summaries) == (8, [])
    played.step(LEFT)
    played.reset()
    summary = EpisodeSummary(8, 1, -0.05, "")
    assert (played.seed, played.titled_summaries) == (9, [(played.title, summary)])
    played.step(LEFT)
    assert [episode.seed for _, episode in played.titled_summaries] == [8, 9]
    played.restart()
    played.reset(seed=3)
    assert [episode.seed for _, episode in played.titled_summaries] == [8, 9]
    assert played.seed == 3


def test_drawn_seeds_can_be_typed():
    seeds = {game(seed=None).seed for _ in range(5)}
    assert len(seeds) > 1
    assert max(seeds) < 10_000


FAILING = """
from gv_engine import TRANSITION, system
from gv_engine.rules.geometry import TURN_LEFT, TURN_RIGHT
@system(TRANSITION)
def give_up(w, agent):
    w.agent.facing[agent] = w.rng.integers(4)
    if w.action[agent] == TURN_LEFT:
        w.fail('no more')
    if w.action[agent] == TURN_RIGHT:
        print(1 / 0)
"""


def test_a_rule_that_fails_says_where_and_the_game_goes_on(tmp_path: Path):
    scenario = ruled(tmp_path, FAILING, transition_functions=["./rules.py:give_up"])
    played, ignorant = (Session(scenario, 0) for _ in range(2))
    for _ in range(20):
        played.step("MOVE_LEFT")
        ignorant.step("MOVE_LEFT")
        before = played.state_digest()
        with pytest.raises(RuleError, match=r"rules.py:8: no more$"):
            played.step(LEFT)
        with pytest.raises(RuleError, match=r"rules.py:10: ZeroDivisionError: division by zero$"):
            played.step(RIGHT)
        assert played.state_digest() == before
    assert played.replay() == ignorant.replay()
    played.undo(2)
    with pytest.raises(RuleError):
        played.step(LEFT)
    assert (played.position, played.length) == (18, 20), "what was undone is there"


# ---- back and forward ------------------------------------------------------------------------


def shown(played: Session) -> tuple[object, ...]:
    """All that the present frame shows, to be compared."""
    return content_of(played.frame())


def content_of(frame: Any) -> tuple[object, ...]:
    """The values of a frame, to be compared."""
    values = vars(frame).values()
    return tuple(value.tolist() if isinstance(value, np.ndarray) else value for value in values)


@pytest.mark.sample("teleport")
@pytest.mark.parametrize("name", ["dynamic-obstacles-7x7", "teleport-7x7", "keydoor-9x9"])
def test_every_earlier_step_is_found_again(name: str):
    played, chance = game(name, seed=1), np.random.default_rng(1)
    frames = [shown(played)]
    while played.length < 70 and not played.frame().outcome:
        played.step(str(chance.choice([a for a in played.actions if a != "MOVE_FORWARD"])))
        frames.append(shown(played))
    for position in chance.integers(len(frames), size=40).tolist():
        played.seek(position)
        assert shown(played) == frames[position]
        assert played.position == position
    assert played.length == len(frames) - 1
    kept = list(played.frames())  # a frame stays as it was while the game goes on
    assert [content_of(frame) for frame in kept] == frames


def test_undone_steps_can_be_taken_again_or_another_way():
    played = take(game("dynamic-obstacles-7x7", seed=1), *[LEFT] * 6)
    states = [taken.state for taken in played.replay().steps]
    played.undo(3)
    played.undo()
    assert (played.position, played.length, played.state_digest()) == (2, 6, states[1])
    played.redo(2)
    assert (played.position, played.state_digest()) == (4, states[3])
    played.step(LEFT)
    assert (played.position, played.length, played.state_digest()) == (5, 5, states[4])
    played.redo()
    played.undo(99)
    assert (played.position, played.message) == (0, "Walk to the exit and bump into nothing.")


def test_nothing_happens_after_the_end():
    played = take(game(seed=0, max_steps=2), *[LEFT] * 3)
    assert (played.length, played.frame().outcome) == (2, "truncated")
    played.undo()
    played.step(RIGHT)
    assert (played.length, played.frame().outcome) == (2, "truncated")


def test_snapshots_of_long_ago_are_fewer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timeline, "_SNAPSHOT_INTERVAL", 2)
    monkeypatch.setattr(timeline, "_RECENT_STEPS", 8)
    played = take(game("empty-4x4", 1, max_steps=None), *[LEFT] * 41)
    # every 2nd of the last 8, every 4th of the 8 before, every 8th of 16, every 16th
    assert sorted(played.timeline._snapshots) == [0, 16, 24, 28, 32, 34, 36, 38, 40]
    states = [taken.state for taken in played.replay().steps]
    for position in (41, 33, 17, 15, 1):
        played.seek(position)
        assert played._episode.state_digest() == states[position - 1]


def test_a_rule_that_remembers_is_found_out(tmp_path: Path):
    code = (
        "from gv_engine import TRANSITION, system\n"
        "calls = []\n"
        "@system(TRANSITION)\n"
        "def remember(w, agent):\n"
        "    calls.append(w.steps)\n"
        "    w.agent.facing[agent] = len(calls) % 4\n"
    )
    scenario = ruled(tmp_path, code, transition_functions=["./rules.py:remember"])
    played = take(Session(scenario, 0), LEFT, LEFT)
    played.undo()
    assert "a rule remembers something" in played.message


def test_time_passes_without_an_action():
    played = game("dynamic-obstacles-7x7", seed=1)
    before, after = played.frame(), take(played, played.wait).frame()
    assert (after.action, after.steps, after.agent) == ("WAIT", 1, before.agent)
    assert not np.array_equal(after.grid, before.grid)


def test_the_digest_of_a_world_that_has_waited_is_what_it_always_was():
    assert take(game(seed=1), "WAIT").state_digest() == "5cc3aea190f66e15"


def test_functions_of_states_know_no_waiting(tmp_path: Path):
    code = (
        "from gv_engine import transition_function_registry\n"
        "@transition_function_registry.register\n"
        "def rest(state, action, *, rng=None):\n    'Nothing.'\n"
    )
    played = Session(ruled(tmp_path, code, transition_functions=["./rules.py:rest"]), 0)
    assert played.wait == ""
    played.step("WAIT")
    assert played.message == "Wait: not in this level"


def test_the_mask_says_what_would_do_something():
    played = game("empty-4x4", seed=1)
    assert list(played.mask()) == list(played.actions)
    assert played.mask()[LEFT]
    assert not all(played.mask().values())


@pytest.mark.parametrize("name", ["hold-plates", "medley-7x7"])
def test_a_game_can_begin_with_a_row(name: str):
    source, played = take(game(name, seed=4), LEFT, LEFT, RIGHT), game(name, seed=9)
    played.restore(source.row())
    assert (played.position, played.length, source.length) == (0, 0, 3)
    assert played.state_digest() == source.state_digest()
    assert take(played, LEFT).state_digest() == take(source, LEFT).state_digest()
    with pytest.raises(ReplayError, match="began with a snapshot"):
        played.replay()
    played.restart()
    source.undo()
    assert played.state_digest() == source.state_digest()
    played.reset()
    assert played.replay().start == game(name, seed=10).replay().start
    with pytest.raises(ValueError, match="other maximum sizes"):
        played.restore(game("nine-rooms-13x13").row())


# ---- games that were left --------------------------------------------------------------------


@pytest.mark.parametrize("leave", ["restart", "reset", "previous_level"])
def test_undo_goes_back_into_the_game_that_was_left(leave: str):
    played = take(game(seed=7), LEFT, LEFT, RIGHT)
    played.undo()
    left = shown(played), played.replay()
    getattr(played, leave)()
    played.step(RIGHT)
    present = played.replay()
    played.undo()
    played.undo()
    assert (played.position, played.length) == (2, 3)
    assert played.frame().message == "Back to the game before"
    played.message = ""
    assert (shown(played), played.replay()) == left
    played.redo()
    assert played.position == 3
    played.redo()
    assert (played.position, played.replay()) == (0, present)
    played.undo()
    played.undo()
    assert played.position == 2


def test_a_step_after_a_rewind_keeps_what_was_undone_and_says_so():
    played = take(game(), *[LEFT] * 40)
    future = played.replay()
    played.seek(3)
    played.step(RIGHT)
    said = "37 undone steps are kept; “back to the game before” returns to them"
    assert played.frame().message == said
    assert played.length == 4
    played.step(RIGHT)
    assert played.frame().message == ""
    played.previous_timeline()
    assert (played.position, played.replay()) == (3, future)
    played.seek(40)
    assert played.replay() == future
    played.next_timeline()
    assert (played.position, played.length) == (5, 5)


def test_no_game_is_lost_between_others_and_none_is_told_twice():
    played = game(seed=1)
    for seed in (2, 3, 4):
        played.step(LEFT)
        played.reset(seed)
    played.previous_timeline()
    played.previous_timeline()
    assert played.seed == 2
    played.reset(9)
    played.step(LEFT)
    assert [each.seed for _, each in played.titled_summaries] == [1, 3, 2, 9]
    seeds = [played.seed]
    for _ in range(5):
        played.previous_timeline()
        seeds.append(played.seed)
    assert seeds == [9, 2, 4, 3, 1, 1]


def test_games_that_are_too_many_are_told_but_not_kept():
    played = game(seed=0)
    for _ in range(30):
        played.step(LEFT)
        played.reset()
    assert [each.seed for _, each in played.titled_summaries] == list(range(30))
    assert len(played._history.before) == 20


def test_another_scenario_can_be_undone_too():
    played = take(game("empty-4x4", 5), LEFT)
    played.change_scenario(Scenario.load("empty-8x8"))
    played.step(LEFT)
    assert (played.title, played.frame().grid.shape) == ("empty-8x8", (8, 8, 3))
    assert [title for title, _ in played.titled_summaries] == ["empty-4x4", "empty-8x8"]
    played.undo(9)
    played.undo()
    assert (played.title, played.position) == ("empty-4x4", 1)
    assert played.frame().grid.shape == (4, 4, 3)


def test_levels_follow_each_other_by_their_seeds():
    played = game(seed=7)
    begun = {seed: game(seed=seed).state_digest() for seed in (5, 6, 7, 8)}
    for leave, seed in (
        (played.next_level, 8),
        (played.previous_level, 7),
        (played.previous_level, 6),
        (played.previous_level, 5),
        (played.continue_play, 5),  # which is not over
    ):
        leave()
        assert (played.seed, played.position, played.state_digest()) == (seed, 0, begun[seed])
    played.change_scenario(Scenario.load("keydoor-5x5").with_(max_steps=1))
    take(played, LEFT).continue_play()  # it was lost
    assert (played.seed, played.state_digest()) == (5, begun[5])
    first = game(seed=0)
    first.previous_level()
    assert (first.seed, first.message) == (0, "There is no level before that of seed 0")


def test_levels_of_a_pack_follow_each_other_by_their_numbers():
    first = load_playable("tutorial#1")
    many = len(first.document.levels)
    played = Session(first, 7)
    played.previous_level()
    assert (played.scenario.document.variant, played.message) == ("1", "This is the first level")
    for number in (2, 3):
        played.next_level()
        assert (played.scenario.document.variant, played.seed) == (str(number), 7)
    played.previous_level()
    assert played.scenario.document.variant == "2"
    take(played, *[played.actions[1]] * 3).continue_play()  # which is not over
    assert (played.scenario.document.variant, played.position) == ("2", 3)
    played.change_scenario(load_playable(f"tutorial#{many}"))
    played.next_level()
    assert played.title.startswith("puzzles-easy")
    assert [title for title, _ in played.titled_summaries] == ["tutorial-2"]


def test_a_typed_seed_is_a_number():
    assert [*map(parse_seed, ("0", "007", "10000"))] == [0, 7, 10_000]
    for text in ("", "-1", "1.5", "x", "1 2"):
        with pytest.raises(ScenarioError, match="Seeds are whole numbers from 0 on"):
            parse_seed(text)


def test_the_game_before_and_after_are_told_where_there_is_none():
    played = game()
    played.previous_timeline()
    assert played.message == "There is no game before this"
    played.next_timeline()
    assert played.message == "There is no game after this"
    take(played, LEFT).restart()
    played.restart()  # without a step, nothing is left
    played.previous_timeline()
    assert (played.message, played.length) == ("Back to the game before", 1)
    played.next_timeline()
    assert (played.message, played.length) == ("On to the game after", 0)
