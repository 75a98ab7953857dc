"""Every Gymnasium id plays as recorded in `tests/data/behaviour.txt`, and the command that writes
it.

`make test` plays an id of each scenario file, `make thorough` the others. Many ids are those of
`gv_engine.plugins.minigrid` and `gv_engine.plugins.algebra`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from gv_engine.scenario import library
from gv_engine.scenario.domains import DOMAINS
from tests import behaviour

IDS = behaviour.list_ids()


def first_of_each_file() -> list[str]:
    refs = {
        library.gym_id(name): ref
        for domain in DOMAINS.values()
        for name, ref in library.add_whole_files(domain.built_in()).items()
    }
    by_file = {refs[env_id].file: env_id for env_id in reversed(IDS)}
    return sorted(by_file.values())


FIRST = first_of_each_file()
OTHERS = [env_id for env_id in IDS if env_id not in FIRST]


def check(env_id: str) -> None:
    fault = behaviour.find_fault(env_id, behaviour.make_digest(env_id), behaviour.read_record())
    assert not fault, fault


@pytest.mark.parametrize("env_id", FIRST)
def test_an_id_of_each_file_plays_as_recorded(env_id):
    check(env_id)


@pytest.mark.thorough
@pytest.mark.parametrize("env_id", OTHERS)
def test_all_other_ids_play_as_recorded(env_id):
    check(env_id)


def test_exactly_the_registered_ids_are_recorded():
    record = behaviour.read_record()
    new = [behaviour.NEW.format(env_id) for env_id in IDS if env_id not in record]
    faults = [*new, *behaviour.find_gone(IDS, record).values()]
    assert not faults, "\n".join(faults)


# ---- the command ---------------------------------------------------------------------------------

RULE = '''"""A reward."""

from gv_engine import REWARD, World, system


@system(REWARD)
def pay(w: World) -> float:
    """Pays each step."""
    return {0}
'''
LEVEL = """
map: |
  ####
  #>E#
  ####
transition_functions: [move_agent, turn_agent]
reward_functions: ["./rules.py:pay"]
observation_function: {name: partially_occluded, area: [[-1, 0], [-1, 1]]}
terminating_function: reach_exit
"""


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Function that registers ids of a level whose rule pays `reward`, in place of all others. The
    record is empty at first."""
    monkeypatch.setattr(behaviour, "RECORD", tmp_path / "behaviour.txt")
    for env_id in IDS:
        monkeypatch.delitem(gymnasium.registry, env_id)

    def register(reward: float, *env_ids: str) -> None:
        folder = tmp_path / "level"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "rules.py").write_text(RULE.format(reward))
        (folder / "scenario.yaml").write_text(LEVEL)
        for env_id in behaviour.list_ids():
            del gymnasium.registry[env_id]
        for env_id in env_ids:
            kwargs = {"scenario": str(folder)}
            entry_point = "gv_engine.envs.environment:GridEnv"
            gymnasium.register(env_id, entry_point=entry_point, kwargs=kwargs)

    yield register
    register(0)


def test_an_unchanged_id_passes(registered, capsys):
    registered(1.5, "GV-One-v0")
    assert behaviour.main(["--write"]) == 0
    recorded = behaviour.read_record()
    assert behaviour.main([]) == behaviour.main(["--write"]) == 0
    assert behaviour.read_record() == recorded
    assert "0 faults, 1 ids recorded" in capsys.readouterr().out


def test_a_new_id_is_written(registered, capsys):
    registered(1.5, "GV-One-v0")
    assert behaviour.main([]) == 1
    assert behaviour.NEW.format("GV-One-v0") in capsys.readouterr().out
    assert behaviour.main(["--write"]) == 0
    one = behaviour.read_record()
    registered(1.5, "GV-One-v0", "GV-Two-v0")
    assert behaviour.main(["--write"]) == 0
    assert behaviour.read_record() == one | {"GV-Two-v0": one["GV-One-v0"]}


def test_a_changed_rule_fails_and_is_not_written(registered, capsys):
    registered(1.5, "GV-One-v0")
    assert behaviour.main(["--write"]) == 0
    recorded = behaviour.read_record()
    registered(1.25, "GV-One-v0")
    for arguments in ([], ["GV-One-v0"], ["--write"]):
        capsys.readouterr()
        assert behaviour.main(arguments) == 1
        told = capsys.readouterr().out
        assert behaviour.CHANGED.format("GV-One-v0") in told
        assert "ID_VERSIONS in gv_engine/scenario/library.py" in told
        assert behaviour.read_record() == recorded


def test_force_changes_the_digest_of_one_id(registered):
    registered(1.5, "GV-One-v0", "GV-Two-v0")
    assert behaviour.main(["--write"]) == 0
    before = behaviour.read_record()
    registered(1.25, "GV-One-v0", "GV-Two-v0")
    assert behaviour.main(["--write", "--force", "GV-One-v0"]) == 1
    after = behaviour.read_record()
    assert after["GV-One-v0"] != before["GV-One-v0"]
    assert after["GV-Two-v0"] == before["GV-Two-v0"]


def test_a_raised_version_replaces_the_id(registered, capsys):
    registered(1.5, "GV-One-v9")
    assert behaviour.main(["--write"]) == 0
    registered(1.25, "GV-One-v10")
    assert behaviour.main([]) == 1
    assert behaviour.RAISED.format("GV-One-v9", "GV-One-v10") in capsys.readouterr().out
    assert behaviour.main(["--write"]) == 0
    assert [*behaviour.read_record()] == ["GV-One-v10"]


def test_an_id_that_has_gone_is_told_and_stays_recorded(registered, capsys):
    registered(1.5, "GV-One-v1", "GV-Two-v0")
    assert behaviour.main(["--write"]) == 0
    registered(1.5, "GV-One-v0", "GV-Two-v0")
    assert behaviour.main(["--write"]) == 1
    assert behaviour.GONE.format("GV-One-v1") in capsys.readouterr().out
    assert {*behaviour.read_record()} == {"GV-One-v0", "GV-One-v1", "GV-Two-v0"}
    assert behaviour.main(["--write", "--force", "GV-One-v1"]) == 0
    assert {*behaviour.read_record()} == {"GV-One-v0", "GV-Two-v0"}


@pytest.mark.parametrize(
    "arguments", [["GV-Three-v0"], ["--write", "GV-One-v0"], ["--force", "GV-One-v0"]]
)
def test_wrong_arguments_are_refused(registered, arguments):
    registered(1.5, "GV-One-v0")
    with pytest.raises(SystemExit):
        behaviour.main(arguments)
    assert not behaviour.RECORD.exists()


def test_a_scenario_gets_the_version_of_the_table(monkeypatch):
    monkeypatch.setattr(library, "ID_VERSIONS", {"keydoor-9x9": 2})
    assert library.gym_id("keydoor-9x9") == "GV-Keydoor-9x9-v2"
    assert library.gym_id("keydoor-7x7") == "GV-Keydoor-7x7-v0"


def test_bytes_are_those_of_a_little_endian_machine():
    numbers = np.array([[1, -2]], np.int16)
    assert behaviour.encode(numbers) == b"i2(1, 2)\0" + bytes([1, 0, 254, 255])
    assert behaviour.encode(numbers.astype(">i2")) == behaviour.encode(numbers)
    assert behaviour.encode({"b": True, "a": 0.5}) == (
        b"a\0" + bytes([0, 0, 0, 0, 0, 0, 224, 63]) + b"b\0" + bytes([1, *[0] * 7])
    )
    assert behaviour.encode("é") == b"\xc3\xa9\0"
