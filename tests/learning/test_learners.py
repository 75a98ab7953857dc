"""What `python -m benchmarks.learners` learns with; needs the extra rl, see `make learn`."""

import json
import time

import pytest

from benchmarks import learners

pytest.importorskip("torch")

pytestmark = [pytest.mark.slow, pytest.mark.compiled]


def test_a_contender_tells_of_each_update_and_of_its_test(monkeypatch, capsys):
    monkeypatch.setattr(learners, "limit_cores", lambda cores: None)
    monkeypatch.setattr(learners, "TESTED", range(1_000_000, 1_000_008))
    monkeypatch.setattr(learners, "LONGEST", 2 * 32)  # of two updates
    monkeypatch.setattr(learners, "GOAL", 0.01)
    learners.train("gv-engine", 0, time.process_time() + 60.0)
    *updates, tested = map(json.loads, capsys.readouterr().out.splitlines())
    told = [learners.Progress(*each) for each in updates]
    assert [each.steps for each in told] == [4096 * (k + 1) for k in range(len(told))]
    assert told[0].success == 0 < told[-1].success
    assert tested in [k / 8 for k in range(9)]
