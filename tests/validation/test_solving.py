"""Whether levels can be won: shortest ways, proofs that there is none, limits, chance."""

import json
import re
import shutil
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from gv_engine import GridEnv, Scenario
from gv_engine.cli import main
from gv_engine.envs.backends.backend import make_batch
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.validation import solver
from gv_engine.play.validation.solver import (
    OutdatedSearchError,
    Solution,
    Solver,
    Verdict,
)
from gv_engine.play.validation.solver_worker import ShortestPathHints, SolverWorker
from gv_engine.play.validation.survey import Survey
from tests import DATA
from tests.boards import RULES, distances, scenario
from tests.games import ruled
from tests.levels import NOT_OF_GALLERY
from tests.screen import until

pytestmark = pytest.mark.compiled

MAP = ">..K\n##D#\n..E."
AT_EXIT = {"name": "overlap", "object_type": "Exit"}
BOTH = {"name": "reduce_all", "terminating_functions": [AT_EXIT, AT_EXIT]}
LEVEL: dict[str, Any] = {
    **RULES,
    "map": MAP,
    "max_steps": 30,
    # one program with test_success.py
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [BOTH, AT_EXIT, "bump_into_wall"],
    },
    "success_function": AT_EXIT,
}
MOVES = scenario("#>.o.\n#...E", **distances())
"""A level that something moves in by chance."""


def load(**changes: Any) -> Scenario:
    return Scenario.load({**LEVEL, **changes}, folder=DATA)


def solved(limits: dict[str, Any] | None = None, **changes: Any) -> Solution:
    return Solver(load(**changes), **(limits or {})).solve(0)


def written(folder: Path, **changes: Any) -> str:
    """The path of a file of the level, beside its rules."""
    shutil.copy(DATA / "rules.py", folder)
    file = folder / "level.yaml"
    file.write_text(json.dumps({**LEVEL, **changes}, indent=2))
    return str(file)


def plainly(scenario: Scenario, seed: int) -> int:
    """The length of a shortest way, by forks of an environment over objects."""
    env = GridEnv(scenario, world="object")
    env.reset(seed=seed)
    waiting, known = deque([(env, 0)]), set()
    while waiting:
        here, steps = waiting.popleft()
        for action in range(env.num_actions):
            there = here.fork()
            _, _, terminated, truncated, info = there.step(action)
            if info["success"]:
                return steps + 1
            row = there.snapshot().copy()
            for name in ("steps", "reward", "total", "action", "ended_by", "rng"):
                row[name] = 0
            if not (terminated or truncated or row.tobytes() in known):
                known.add(row.tobytes())
                waiting.append((there, steps + 1))
    return 0


def played(scenario: Scenario, seed: int, actions: tuple[int, ...]) -> bool:
    """Whether a way leads to success, over objects."""
    env = GridEnv(scenario, world="object")
    env.reset(seed=seed)
    for action in actions:
        *_, terminated, truncated, info = env.step(action)
    return bool(info.get("success", True)) and terminated and not truncated


def test_the_way_is_a_shortest_one():
    level = load(map=">.K\n##D\n..E")
    found = Solver(level).solve(0)
    assert (found.verdict, found.by_chance) == (Verdict.WON, False)
    assert played(level, 0, found.actions)
    assert len(found.actions) == plainly(level, 0)


UNSEARCHABLE = {"crafter", "2048"}
"""Levels of so many states that the search ends without an answer."""


@pytest.mark.sample("keydoor-5x5", "medley-7x7")
@pytest.mark.parametrize("name", [name for name in NOT_OF_GALLERY if name not in UNSEARCHABLE])
def test_what_is_built_in_can_be_won(name):
    scenario = Scenario.load(name)
    solver = Solver(scenario)
    for seed in range(2):
        found = solver.solve(seed)
        if found.verdict is Verdict.LOST:  # a bad exit may stand in the one way to the good one
            assert "memory" in name
            assert "rooms" in name
        else:
            assert played(scenario, seed, found.actions), "the way holds in the object world"
            if name in ("empty-8x8", "teleport-5x5", "memory-5x5"):
                assert len(found.actions) == plainly(scenario, seed)


def test_draws_are_those_of_the_seed():
    found = Solver(MOVES).solve(3)
    assert found.by_chance
    assert played(MOVES, 3, found.actions)


@pytest.mark.thorough
def test_looking_by_chance_changes_no_way():
    sight = {"name": "stochastic_raytracing", "area": [[-2, 0], [-1, 1]]}
    assert solved(observation_function=sight) == solved()


def test_a_level_that_cannot_be_won():
    found = solved(map=MAP.replace("K", "."))
    assert [found.verdict, found.actions] == [Verdict.LOST, ()]


def test_a_way_longer_than_the_episode():
    steps = len(solved().actions)
    assert solved(max_steps=steps).verdict is Verdict.WON
    assert solved(max_steps=steps - 1).verdict is Verdict.LOST


@pytest.mark.parametrize("limits", [{"states": 10}, {"seconds": 1e-9}])
def test_not_found_is_not_cannot(limits):
    assert solved(limits).verdict is Verdict.UNKNOWN


def test_equal_levels_are_searched_once():
    solver = Solver(load())
    assert solver.solve(1) is solver.solve(0)
    solver = Solver(MOVES)
    assert solver.solve(3) == solver.solve(3), "draws have the search begin anew"


def test_all_levels_share_one_limit_of_seconds(monkeypatch):
    searched: list[float] = []

    def search(solver: Solver, worlds: Any, start: Any, uses_rng: bool) -> Solution:
        searched.append(solver._deadline)
        return Solution(Verdict.UNKNOWN, (), 1, 1, False)

    monkeypatch.setattr(Solver, "_search", search)
    survey = Survey(Scenario.load("keydoor-5x5"), range(9), seconds=60.0)
    assert len(survey.solutions) == len(searched) == 9
    assert len(set(searched)) == 1, "all of them end at the same time"
    survey = Survey(Scenario.load("keydoor-5x5"), range(9), seconds=1e-9)
    assert list(survey.solutions) == [0]
    assert survey.extent.startswith("1 of 9 levels, within 200,000 states of each and 1e-09 s")


@pytest.mark.thorough
def test_any_end_wins_where_no_success_is_declared():
    level = {**LEVEL, "map": "#" + MAP.replace("\n", "\n#")}
    del level["success_function"]
    assert len(Solver(Scenario.load(level, folder=DATA)).solve(0).actions) == 1  # into the wall


def test_rules_that_do_not_compile(tmp_path):
    code = "import json\nfrom gv_engine import TRANSITION, system\n"
    code += "@system(TRANSITION)\ndef odd(w):\n    json.dumps({})\n"
    level = ruled(tmp_path, code, transition_functions=["move_agent", "./rules.py:odd"])
    assert Solver(level).solve(0).verdict is Verdict.WON


def test_the_command(capsys, tmp_path):
    level, out = written(tmp_path), tmp_path / "way.gvreplay"
    assert main(["solve", level, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "can be won" in said
    assert "PICK_N_DROP" in said
    assert Replay.load(out).outcome == "terminated"
    assert main(["solve", level, "--out", str(tmp_path / "way.gif")]) == 0
    assert (tmp_path / "way.gif").stat().st_size > 1000
    assert main(["solve", level, "--states", "3"]) == 1
    assert "no way found within the limits" in capsys.readouterr().out
    assert main(["solve", written(tmp_path, map=MAP.replace("K", "."))]) == 1
    assert "cannot be won" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["keydoor-5x5", "--seeds", "2", "--out", "a.gif"], "--out saves one level"),
        (["keydoor-5x5", "--out", "a.txt"], "the name must end with"),
        (["mathy-complex-simplify-easy"], "of the domain algebra; solve takes only grids"),
    ],
)
def test_what_cannot_be_asked(arguments, said, capsys):
    assert main(["solve", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.thorough
def test_settings_are_kept_in_the_replay(tmp_path, capsys):
    out = tmp_path / "way.gvreplay"
    assert main(["solve", "keydoor", "--set", "size=6", "--seed", "2", "--out", str(out)]) == 0
    assert main(["replay", str(out), "--verify"]) == 0
    assert Replay.load(out).settings == {"size": 6}


def test_check_says_whether_it_can_be_won(tmp_path, capsys):
    level = written(tmp_path, legend={"B": "Box"})
    assert main(["check", level, "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert "the one level, within 200,000 states of each and 10 s of computing in all" in said
    assert re.search(r"can be won\tin \d+ steps at least", said)
    line = Path(level).read_text().splitlines().index('    "B": "Box"') + 1
    assert f"legend\t{level}:{line}: legend.B: no map has" in said, "and what may be mistakes"
    level = written(tmp_path, map=MAP.replace("K", "."))
    assert main(["check", level, "--episodes", "1"]) == 1
    said = capsys.readouterr()
    assert "can be won\tno\n" in said.out
    assert "level: the level cannot be won" in said.err


LATE = '''\
from gv_engine import TRANSITION, World, system
from systems.queries import all_with


@system(TRANSITION)
def thaw(w: World) -> None:
    """The door is gone after some steps."""
    if w.steps == 9:
        for door in all_with(w, w.door):
            w.remove(door)
'''


@pytest.mark.thorough
def test_what_happens_at_a_time_is_waited_for(tmp_path: Path):
    (tmp_path / "late.py").write_text(LATE)
    transitions = ["move_agent", "turn_agent", "./late.py:thaw"]
    late = {"transition_functions": transitions, "map": MAP.replace("K", ".")}
    solution = Solver(Scenario.load(written(tmp_path, **late))).solve(0)
    assert (solution.verdict, len(solution.actions)) == (Verdict.WON, 12)


def test_one_of_several_agents_is_searched_as_if_the_others_did_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    race = Scenario.load({"extends": "race", "map": "#####\n#>..#\n#>.E#\n#>..#\n#####"})
    count = len(race.actions)
    solution = Solver(race, agent=2).solve(0)
    assert solution.verdict is Verdict.WON
    assert {actions[0] for actions in solution.actions} == {count}
    assert {actions[2] for actions in solution.actions} == {count}
    assert count not in {actions[1] for actions in solution.actions}
    game = Session(race, 0)
    for actions in solution.actions:
        game.step(f"{game.agents[1]} {game.actions[actions[1]]}")
    assert game.outcome
    monkeypatch.setattr(
        solver, "make_expansion_batch", lambda level, *_, **__: make_batch(level, 1, "object")
    )
    assert Solver(race, agent=2).solve(0).actions == solution.actions
    alone = Scenario.load("hold-plates")  # each needs the other
    assert Solver(alone, agent=1).solve(0).verdict is Verdict.LOST


def test_a_search_ends_when_nobody_wants_its_result_and_is_not_remembered():
    wanted = [False, True]
    search = Solver(load(), is_outdated=lambda: bool(wanted.pop()))
    with pytest.raises(OutdatedSearchError):
        search.solve(0)
    wanted = [False] * 100
    assert search.solve(0).verdict is Verdict.WON


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"goal": 16}, ""),
        ({}, r"No hint: steps here are random, and no win is within \d steps"),
    ],
    ids=["near", "far"],
)
def test_a_hint_with_random_steps_says_how_far_it_has_searched(changes: dict[str, Any], told: str):
    level = Scenario.load("2048", **changes)
    game, hints = Session(level, 0), ShortestPathHints(level)
    try:
        hints.ask(game)
        replies: list[Any] = []

        def has_answered() -> bool:
            replies.append(hints.answer())
            return replies[-1] is not None

        until(has_answered, "the answer")
    finally:
        hints.close()
    assert bool(replies[-1].actions) == (not told)
    assert re.fullmatch(told, replies[-1].message)


@pytest.mark.slow
def test_the_process_that_searches_serves_the_next_level():
    first = SolverWorker(load())
    first.close()  # it has nothing to search
    level = load(map=">.E")
    second = SolverWorker(level)
    try:
        assert second._worker is first._worker
        second.send(Session(level, 0).row())
        replies: list[Any] = []

        def has_answered() -> bool:
            replies.append(second.receive())
            return replies[-1] is not None

        until(has_answered, "the answer")
        assert len(replies[-1][0]) == 2
        second.send(Session(level, 0).row())
    finally:
        second.close()
    third = SolverWorker(level)  # that process may be in a rule that never ends
    assert third._worker is not second._worker
    third.close()
