"""What is said of a level while it is edited."""

import os
import signal
from multiprocessing import Pipe
from operator import methodcaller
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest

from gv_engine.play.editor import document
from gv_engine.play.editor.document import (
    BackgroundChecker,
    CheckState,
    EditorDocument,
    check_level,
    new_document,
)
from gv_engine.play.editor.text_buffer import TextBuffer
from gv_engine.scenario.storage import worker_process
from tests.editor.test_sketch import paint
from tests.screen import PATIENCE, until

ROOM = new_document("room").buffer.text.replace("max_steps: 200", "max_steps: 20")


@pytest.fixture
def made() -> EditorDocument:
    """A room with an exit."""
    return EditorDocument(TextBuffer(ROOM))


def last(made: EditorDocument) -> CheckState:
    assert made.scenario
    return [*check_level(made.scenario)][-1]


@pytest.mark.compiled
def test_whether_and_in_how_many_steps_a_level_can_be_won(made: EditorDocument):
    assert last(made)[:3] == ((), 10, "")
    for cell in ((4, 7), (5, 6)):
        paint(made, cell, {"object": "Wall"})
    told = last(made)
    assert (told.steps, told.message, told.is_lost) == (None, "Cannot be won", True)
    (slip,) = [fault for fault in told.faults if fault.place.path == "terminating_function"]
    assert slip.is_slip
    assert "walls are around all that it waits for" in slip.message


@pytest.mark.compiled
def test_the_number_of_steps_is_known_before_faults_are_searched_for(
    made: EditorDocument, monkeypatch: pytest.MonkeyPatch
):
    assert made.scenario
    states = check_level(made.scenario)
    monkeypatch.setattr(document, "_find_faults", None)
    assert next(states) == CheckState(steps=10)
    monkeypatch.undo()
    assert [state.steps for state in states][:1] == [10]
    monkeypatch.setattr(document, "_FIRST_SEARCH_SECONDS", 0.0)
    first, *_, final = check_level(made.scenario)
    assert (first.steps, first.message) == (None, "")  # the short search gives up in silence
    assert final.steps == 10


@pytest.mark.thorough
@pytest.mark.compiled
def test_of_drawn_levels_more_seeds_are_tried(made: EditorDocument):
    paint(made, (1, 2), {"agent": "any"})
    told = last(made)
    assert told.levels.startswith("20 of 20 levels, in ")
    assert told.steps


def test_what_a_rule_breaks_is_at_its_place(tmp_path: Path):
    (tmp_path / "own.py").write_text(BREAKS)
    text = ROOM.replace("- turn_agent", "- ./own.py:drop")
    made = EditorDocument(TextBuffer(text, tmp_path / "own.yaml"))
    assert made.scenario
    (fault,) = last(made).faults
    assert fault.place.path == "transition_functions[1]"


BREAKS = """
from gv_engine import TRANSITION, World, system

@system(TRANSITION)
def drop(w: World) -> int:
    \"\"\"Returns what nobody wants.\"\"\"
    return 1
"""


@pytest.mark.slow
def test_another_process_says_so_and_what_is_no_longer_asked_is_not_said(
    made: EditorDocument, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(document, "_TIMEOUT", PATIENCE)  # it may have much else to do
    judge = BackgroundChecker()
    try:
        judge.ask(made.scenario)
        paint(made, (1, 2), {"agent": "RIGHT"})
        judge.ask(made.scenario)
        found = [CheckState()]

        def has_answered() -> bool:
            found.append(judge.answer() or found[-1])
            return not judge.is_waiting

        until(has_answered, "the answer")
        assert found[-1].steps == 9
        judge.ask(None)
        assert not judge.is_waiting
        assert judge.answer() is None
    finally:
        judge.close()


@pytest.mark.slow
def test_a_check_whose_process_dies_says_why_and_the_next_change_is_checked(made: EditorDocument):
    judge = BackgroundChecker()
    told = [CheckState()]

    def has_answered() -> bool:
        told.append(judge.answer() or told[-1])
        return not judge.is_waiting

    try:
        judge.ask(made.scenario)
        assert judge._worker
        judge._worker._process.kill()
        until(has_answered, "the answer")
        reason = "its process was killed, perhaps because memory ran out"
        assert told[-1].message == f"Not checked: {reason}. The next change checks again"
        judge.ask(made.scenario)
        assert judge._worker.is_alive
    finally:
        judge.close()


def test_a_search_for_an_old_level_ends(made: EditorDocument):
    assert made.scenario
    *_, final = check_level(made.scenario, lambda: True)
    assert final.steps is None


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_does_not_reach_a_process_that_starts():
    process, connection = worker_process.start_worker(methodcaller("send", "sent"))
    assert process.pid
    os.kill(process.pid, signal.SIGINT)
    assert connection.recv() == "sent"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_the_editor_does_not_wait_while_another_process_is_busy(
    made: EditorDocument, monkeypatch: pytest.MonkeyPatch
):
    ours, others = Pipe()
    monkeypatch.setattr(worker_process, "start_worker", lambda _: (Mock(), ours))
    judge = BackgroundChecker()

    def ask_often() -> None:
        for _ in range(200):  # far more than the connection holds
            judge.ask(made.scenario)

    thread = Thread(target=ask_often, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    newest = 0
    while newest < 200:
        assert others.poll(PATIENCE)
        newest, scenario = others.recv()
        assert scenario.name == made.scenario.name  # type: ignore[union-attr]
    judge.close()
