"""`gv-engine bench`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gv_engine.cli import bench, main
from tests.cli.shell import RULE, write

pytestmark = pytest.mark.slow


def once(work: Callable[[], object], seconds: float) -> float:
    """Once a second, whatever it takes: no test looks at the clock."""
    work()
    return 1.0


def test_bench(capsys, monkeypatch):
    monkeypatch.setattr(bench, "_measure_rate", once)
    words = ["--num-envs", "10", "--threads", "3", "--seconds", "0.3"]
    assert main(["bench", "empty-4x4", *words]) == 0
    rows = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert rows["10 worlds, resets per second"] == "10"
    threads = [name.split(", ")[1] for name in rows if "thread" in name]
    assert threads == ["1 thread", "2 threads", "3 threads"]
    assert 1 < float(rows["memory per world, KiB"]) < 5
    assert main(["bench", "empty-4x4", "--num-envs", str(10**15)]) == 2
    said = capsys.readouterr().err
    assert "not enough memory; lower --num-envs (Unable to" in said


@pytest.mark.thorough
def test_bench_of_what_does_not_compile(here: Path, capsys, monkeypatch):
    monkeypatch.setattr(bench, "_measure_rate", once)
    code = RULE + "    {i: [] for i in 'ab'}['a'].append(object())\n"
    write(here, "./rules.py:rule", "max_steps: 5", code)
    assert main(["bench", ".", "--num-envs", "2", "--threads", "3"]) == 0
    out, said = capsys.readouterr()
    rows = [line.split("\t")[0] for line in out.splitlines()]
    assert "2 object worlds, steps per second" in rows
    assert not [row for row in rows if "thread" in row]
    assert said.count("does not compile: ") == 1
