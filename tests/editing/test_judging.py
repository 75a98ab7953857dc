"""What is said of a level while it is edited."""

import time

import pytest

from gv_engine.editing.beginning import new_work
from gv_engine.editing.judging import Judge, Judgement, judgements
from gv_engine.editing.workpiece import Workpiece
from tests.editing.test_sketch import paint


def last(made: Workpiece) -> Judgement:
    assert made.scenario
    return [*judgements(made.scenario)][-1]


@pytest.mark.compiled
def test_whether_and_in_how_many_steps_a_level_can_be_won():
    made = new_work("room")
    assert last(made)[:3] == ((), 10, "")
    for cell in ((4, 7), (5, 6)):
        paint(made, cell, {"object": "Wall"})
    told = last(made)
    assert (told.steps, told.says, told.is_lost) == (None, "Cannot be won", True)
    (slip,) = [fault for fault in told.faults if fault.place.path == "terminating_function"]
    assert slip.is_slip
    assert "walls are around all that it waits for" in slip.says


@pytest.mark.slow
def test_another_process_says_so_and_what_is_no_longer_asked_is_not_said():
    made, judge = new_work("room"), Judge()
    try:
        judge.ask(made.scenario)
        paint(made, (1, 2), {"agent": "RIGHT"})
        judge.ask(made.scenario)
        found, until = Judgement(), time.monotonic() + 60
        while judge.waits and time.monotonic() < until:
            found = judge.answer() or found
            time.sleep(0.05)
        assert found.steps == 9
        judge.ask(None)
        assert not judge.waits
        assert judge.answer() is None
    finally:
        judge.close()
