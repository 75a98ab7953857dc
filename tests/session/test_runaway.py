"""Rules that never come to an end: named, stopped, and the game goes on."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gv_engine.cli import main
from gv_engine.play.session import watchdog as runaway
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.session import Session
from gv_engine.play.session.watchdog import _ALARM, StuckRule, Watchdog, _handle_signals
from gv_engine.rules.errors import GVEngineError, StoppedError
from tests.games import take, write_counter
from tests.player import Player, playing, started
from tests.processes import FINDS_TESTS, run_program
from tests.screen import PATIENCE, Screen, until
from tests.ui.test_terminal import playing as in_terminal
from tests.ui.test_terminal import until as shown

MAP = """\
map: |
  ######
  #>...#
  #...E#
  ######
"""
LEVEL = f"""\
{MAP}
transition_functions: [move_agent, turn_agent, "./rules.py:crawl"]
reward_functions: [reach_exit, {{name: living_reward, reward: -0.05}}]
observation_function: {{name: fully_transparent, area: [[-2, 0], [-1, 1]]}}
terminating_function: reach_exit
"""

RULES = """
import time

from gv_engine import *
from gv_engine.rules.geometry import TURN_LEFT
from systems.visibility import fully_transparent

def for_ever(w, agent):
    while w.action[agent] == TURN_LEFT:
        time.sleep(0.01)

@system(TRANSITION)
def crawl(w, agent):
    "Ends unless the agent turns left."
    for_ever(w, agent)
"""
RUNS = "while w.action[agent] == TURN_LEFT:\n        time.sleep(0.01)"
ON_A_TURN = "    if w.action[agent] == TURN_LEFT: for_ever(w, agent)\n"
ENDS = RULES.replace("    for_ever(w, agent)\n", "    pass\n")


def write(folder: Path, code: str = RULES, level: str = LEVEL) -> Path:
    cave = folder / "cave"
    cave.mkdir(exist_ok=True)
    (cave / "scenario.yaml").write_text(level)
    (cave / "rules.py").write_text(code)
    return cave


def begin(folder: Path, code: str = RULES, level: str = LEVEL) -> Session:
    """A game of such a cave."""
    return Session(load_playable(write(folder, code, level)), seed=0)


def stop_at(seconds: float = 0.2) -> Watchdog:
    return Watchdog(seconds, lambda runaway: True)


# ---- the guard -------------------------------------------------------------------------------

LOOPS = {
    "plain": "while True: pass",
    "catching": """
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass""",
    "catching at its end": """
    while True:
        try:
            while True: pass
        except: pass""",
    "asleep": "time.sleep(1000)",
    "in the engine": "while True: w.inside(0, 0)",
    "switching worlds": """
    while True:
        w.remove(w.spawn(2))""",
    "a list": "[x for x in iter(int, 1)]",
}


@pytest.mark.sample("plain", "end", "asleep", "engine", "worlds")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_rule_is_stopped_whatever_it_does(tmp_path: Path, loop: str):
    code = RULES.replace("    for_ever(w, agent)\n", ON_A_TURN)
    game = begin(tmp_path, code.replace(RUNS, LOOPS[loop]))
    game.step("MOVE_FORWARD")
    before, threads = game.row(), threading.active_count()
    with stop_at(), pytest.raises(StoppedError, match=r"crawl \(.*rules.py:\d+\) ran for"):
        game.step("TURN_LEFT")
    assert game.row() == before
    game.step("MOVE_FORWARD")
    assert (game.position, game.frame().steps) == (2, 2)
    assert sys.gettrace() is None
    assert threading.active_count() == threads
    other = threading.Thread(target=Session, args=(game.scenario, 0), daemon=True)
    other.start()
    other.join(PATIENCE)
    assert not other.is_alive(), "esper is free for other threads"


def test_it_is_asked_while_the_rule_goes_on(tmp_path: Path):
    game = begin(tmp_path, RULES.replace(RUNS, "time.sleep(0.7)"))
    asked: list[StuckRule] = []

    def asks(runaway: StuckRule) -> bool:
        asked.append(runaway)
        return False

    with Watchdog(0.1, asks):
        game.step("TURN_LEFT")
    assert game.position == 1
    assert len(asked) > 1
    assert asked[0].name == "crawl"
    assert asked[0].place.endswith("rules.py:9"), "in what it calls"
    assert 0.1 <= asked[0].seconds < asked[-1].seconds < 1


def test_many_short_calls_are_no_long_one_and_what_is_no_rule_takes_its_time(tmp_path: Path):
    game = begin(tmp_path, ENDS)
    with Watchdog(0.3, lambda runaway: pytest.fail(f"{runaway} is quick"), ends=True):
        end = time.monotonic() + 0.7
        while time.monotonic() < end:
            game.restart()
            game.step("TURN_LEFT")
        time.sleep(0.7)


def test_who_debugs_a_rule_takes_their_time(tmp_path: Path):
    traced = "import sys; sys.settrace(lambda *_: None); time.sleep(0.6); sys.settrace(None)"
    game = begin(tmp_path, RULES.replace(RUNS, traced))
    with stop_at():
        game.step("TURN_LEFT")
    assert game.position == 1


def test_signals_are_as_before(tmp_path: Path):
    before = signal.getsignal(_ALARM)
    with stop_at():
        assert signal.getsignal(_ALARM) != before
    assert signal.getsignal(_ALARM) == before
    thread = threading.Thread(target=stop_at().__enter__)
    thread.start()  # in another thread it does nothing
    thread.join()
    assert signal.getsignal(_ALARM) == before


class Burnt(Exception):
    """The process would have ended, with this exit code."""


def burn(says: str, code: int) -> None:
    raise Burnt(says, code)


INT, TERM, OTHER = (bytes([number]) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGFPE))


@pytest.mark.parametrize(
    ("came", "times", "wait", "code"),
    [
        (b"", [], 0.01, None),
        (OTHER * 3, [], 0.01, None),
        (INT, [5.0], 0.01, 130),
        (TERM, [5.0], 0.01, 143),
        (INT + TERM, [5.0, 5.1], 0.01, 143),
        (TERM + INT, [5.0, 5.5], 0.01, 130),
        (INT + INT, [5.0, 6.0], 0.01, 130),  # which may be the same one
        (INT + INT, [5.0, 6.1], 0.01, 130),
        (INT + OTHER + INT, [5.0, 5.5], 0.01, 130),
        (TERM + TERM, [5.0, 7.0], 0.01, 143),
        (INT + INT, [5.0, 6.0], 60, None),  # until nobody sends any more
        (INT + INT, [5.0, 6.1], 60, 130),  # another one, a second later, is not waited for
    ],
)
def test_signals_that_are_not_heeded_end_the_process(monkeypatch, came, times, wait, code):
    clock = iter(times)
    monkeypatch.setattr(runaway, "_exit", burn)
    monkeypatch.setattr(runaway, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(came)
        if code is None or wait > 1:
            theirs.close()
        if code is None:
            _handle_signals(ours, wait, "stuck")
        else:
            with pytest.raises(Burnt) as burnt:
                _handle_signals(ours, wait, "stuck")
            assert burnt.value.args == ("stuck", code)
    assert next(clock, None) is None


# ---- games -----------------------------------------------------------------------------------

ELSEWHERE = {
    "reset_function": (
        "@system(RESET)\ndef build(w, agent):\n    while True: time.sleep(0.01)\n",
        LEVEL.replace(MAP, "max_shape: [4, 6]\nreset_function: ./rules.py:build"),
    ),
    "visibility": (
        "@system(VISIBILITY)\ndef look(w, agent, view):\n    while True: time.sleep(0.01)\n",
        LEVEL.replace("fully_transparent", "./rules.py:look"),
    ),
    "the file": ("while True: time.sleep(0.01)\n", LEVEL),
}


@pytest.mark.sample("reset_function", "the file")
@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_level_that_does_not_begin(tmp_path: Path, where: str):
    code, level = ELSEWHERE[where]
    with stop_at(), pytest.raises(GVEngineError, match=r"\(.*rules.py:\d+\) ran for .* stopped"):
        begin(tmp_path, ENDS + code, level)


def test_a_new_version_that_loops_is_left(tmp_path: Path):
    game = take(begin(tmp_path, ENDS), "MOVE_FORWARD", "TURN_LEFT", "MOVE_FORWARD")
    game.undo()
    before, scenario = game.row(), game.scenario
    write(tmp_path, RULES)
    assert HotReload(game).has_file_changes()
    with stop_at():
        said = HotReload(game).reload()
    assert "crawl (" in said
    assert "was stopped" in said
    assert (game.scenario, game.position, game.length) == (scenario, 2, 3)
    assert game.row() == before
    assert not HotReload(game).has_file_changes(), "until the next time that it is saved"
    game.redo()
    game.step("TURN_LEFT")
    assert game.position == 4


CRAWLING_PROBLEM = """
import time
def crawl(params, rng):
    while True: time.sleep(0.01)
"""
CRAWLING_RULE = """
import time
from mathy_core.rule import BaseRule
class Crawl(BaseRule):
    name, code = "Crawl", "CR"
    def can_apply_to(self, node):
        while len(node.get_root().to_list()) < 9: time.sleep(0.01)
"""
ALGEBRA = "domain: algebra\nenvironment: PolySimplify\n"


def test_algebra(tmp_path: Path):
    level = f"{ALGEBRA}problem_function: ./rules.py:crawl\n"
    with stop_at(), pytest.raises(StoppedError, match=r"rules.py:\d+\) ran for"):
        begin(tmp_path, CRAWLING_PROBLEM, level)
    assert main(["check", str(tmp_path / "cave"), "--limit", "0.3"]) == 1


def test_a_move_that_cannot_be_shown_is_none(tmp_path: Path):
    rules = "rules: [distributive_factoring, ./rules.py:Crawl]\nproblem: 4x + 2x + y\n"
    game = begin(tmp_path, CRAWLING_RULE, ALGEBRA + rules)
    before = game.frame().text
    with stop_at(), pytest.raises(StoppedError, match="the step was taken back"):
        game.step("distributive_factoring 3")
    assert (game.position, game.length, game.frame().text) == (0, 0, before)


# ---- check -----------------------------------------------------------------------------------

HEARS_SIGNALS = "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')"


@pytest.mark.parametrize(
    ("loop", "place"), [(RUNS, "rules.py:10"), (HEARS_SIGNALS, "")], ids=["Python", "C"]
)
def test_check_names_the_rule(tmp_path, capsys, loop, place):
    cave = write(tmp_path, RULES.replace(RUNS, loop))
    assert main(["check", str(cave), "--limit", "0.3"]) == 1
    said = capsys.readouterr().err
    assert re.search(rf"crawl \(.*{place}\) ran for", said)
    assert "compiling" not in said, "it is found before"


IN_C = {
    "that keeps all to itself": "sum(iter(int, 1))",
    "that lets others run": "import hashlib; hashlib.pbkdf2_hmac('md5', b'', b'', 2**31 - 1)",
}
CHECK = """
import sys
from gv_engine.cli import main
from gv_engine.play.session import watchdog
watchdog._GRACE_SECONDS = 0.3
sys.exit(main(["check", sys.argv[1], "--limit", "LIMIT"]))
"""
COMPILED_NEVER_ENDS = """
import sys
from gv_engine.compiler.batch_program import BatchProgram
prepare = BatchProgram.prepare
def prepare_changed(self):
    changed = [each for each in sys.modules.values() if "NEVER_ENDS" in vars(each)]
    for module in changed:
        module.NEVER_ENDS = True
    prepare(self)
    for module in changed:
        module.NEVER_ENDS = False
BatchProgram.prepare = prepare_changed
"""
ENVIRONMENT = os.environ | FINDS_TESTS


def check_in_a_process(
    folder: Path, limit: float, change: str = ""
) -> subprocess.CompletedProcess[str]:
    program = change + CHECK.replace("LIMIT", str(limit))
    return run_program(program, folder, env=ENVIRONMENT, timeout=10 * PATIENCE, check=False)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no such functions")
@pytest.mark.parametrize("what", IN_C)
def test_check_ends_what_is_stuck_in_c(tmp_path: Path, what: str):
    done = check_in_a_process(write(tmp_path, RULES.replace(RUNS, IN_C[what])), limit=0.3)
    assert done.returncode == 1
    assert "rules.py" in done.stderr
    assert "crawl" in done.stderr
    assert "Error" not in done.stderr


@pytest.mark.thorough
@pytest.mark.slow
def test_check_ends_what_runs_for_ever_where_it_is_compiled(tmp_path: Path):
    done = check_in_a_process(write_counter(tmp_path), limit=1, change=COMPILED_NEVER_ENDS)
    assert done.returncode == 1
    assert "TRANSITION\tcount" in done.stdout
    assert "the compiled world ran for 1 s and was stopped" in done.stderr
    assert "move_agent, count, reach_exit" in done.stderr


ROLLOUT = """
import signal
import sys
from gv_engine import GridVectorEnv
from gv_engine.cli import main, rollout
from gv_engine.envs.backends.compiled_backend import CompiledBatch
init, run_loop = GridVectorEnv.__init__, CompiledBatch.run_loop
def compiled(self, *args, **options):
    init(self, *args, **{**options, "world": "compiled"})
def told(self, play):
    signal.signal(signal.SIGINT, lambda *_: None)  # which may come before the compiled code
    print("stepping", file=sys.stderr, flush=True)
    return run_loop(self, play)
GridVectorEnv.__init__, CompiledBatch.run_loop = compiled, told
rollout._MAX_WAIT = 0.2
sys.exit(main(["rollout", sys.argv[1], "--max-steps", "9"]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_a_rollout_that_is_stuck_where_it_is_compiled(tmp_path: Path):
    words = [sys.executable, "-c", ROLLOUT, str(write_counter(tmp_path, until=200))]
    with subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as rollout:
        assert rollout.stderr is not None
        while "stepping" not in rollout.stderr.readline():
            assert rollout.poll() is None
        rollout.send_signal(signal.SIGINT)
        _, said = rollout.communicate(timeout=10 * PATIENCE)
    assert rollout.returncode == 130
    assert "does not end" in said


# ---- the window ------------------------------------------------------------------------------


@pytest.mark.sample("Escape")
@pytest.mark.parametrize("key", ["Escape", "Return"])
def test_a_rule_is_stopped_in_the_window(screen: Screen, folder: Path, key: str):
    with playing(screen, folder, write(folder), 0) as player:
        player.does("MOVE_FORWARD")
        until(player.sees_the_same, "the step")
        before = player.picture().mean()
        player.screen.xdotool("key", "Left")
        until(lambda: player.picture().mean() < 0.75 * before, "the question")
        player.screen.xdotool("key", key)
        until(lambda: player.picture().mean() > 0.9 * before, "the game again")
        player.does("MOVE_FORWARD", "TURN_RIGHT", "MOVE_FORWARD")
        assert "seed 0, left, return -0.2 in 4 steps" in player.leaves()


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["SIGTERM", "close"])
def test_the_window_closes_while_a_rule_runs(screen: Screen, folder: Path, way: str):
    with playing(screen, folder, write(folder), 0) as player:
        player.does("MOVE_FORWARD")
        until(player.sees_the_same, "the step")
        player.screen.xdotool("key", "Left")
        time.sleep(0.5)
        if way == "close":
            player.screen.close(player.window)
        else:
            player.process.terminate()
        said, wrong = player.process.communicate(timeout=PATIENCE)
        assert (player.process.returncode, wrong) == (0, "")
        assert "left, return -0.05 in 1 step" in said
        assert len(player.files("unfinished*")) == 1


@pytest.mark.thorough
def test_the_window_asks_about_a_level_that_does_not_begin(screen: Screen, folder: Path):
    code, level = ELSEWHERE["reset_function"]
    cave = write(folder, ENDS + code, level)

    def black(player: Player) -> float:
        return float((player.picture() == 0).all(axis=-1).mean())

    with started(screen, folder, "play", str(cave), "--seed", "0") as player:
        until(lambda: 0.1 < black(player) < 0.99, "the question over an empty window")
        player.screen.xdotool("key", "Escape")
        until(lambda: black(player) < 0.1, "the start screen")
        assert player.leaves() == ""


# ---- the terminal ----------------------------------------------------------------------------


@pytest.mark.sample("ctrl-c")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["ctrl-c", "SIGTERM"])
def test_a_rule_is_stopped_in_the_terminal(tmp_path: Path, way: str):
    code = RULES.replace("    for_ever(w, agent)\n", ON_A_TURN)
    cave = write(tmp_path, code.replace(RUNS, LOOPS["catching"]))
    with in_terminal(tmp_path, str(cave)) as (process, keyboard):
        shown(keyboard, b"leave")
        os.write(keyboard, b"\x1b[1;2D")  # Shift+Left turns on the spot
        shown(keyboard, b"s, crawl (")
        if way == "ctrl-c":
            os.killpg(process.pid, signal.SIGINT)
            shown(keyboard, b"the step was taken back")
            os.write(keyboard, b"\x1b[A")
            shown(keyboard, b"step 1")
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(process.pid, signal.SIGTERM)
        shown(keyboard, b"\x1b[?1049l")
        assert process.wait(PATIENCE) == {"ctrl-c": 130, "SIGTERM": 143}[way]
