"""A small share of `python -m tests.kills`."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests import kills

pytestmark = pytest.mark.slow


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
@pytest.mark.sample("0-rollout")
@pytest.mark.parametrize("name", ["rollout", "settings"])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_said_to_be_whole_is_whole(tmp_path: Path, seed: int, name: str):
    came = kills.once(kills.WRITERS[name], tmp_path, random.Random(seed))
    assert came in {"part", "empty", "told", "not begun", "whole", "swept"}


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_recording_leaves_what_was_there(tmp_path: Path):
    program = kills.RECORD.replace("{suffix}", ".mp4")
    act = kills.Act(program, 0.3, kills.pictures(b"never that soon", ".mp4"))
    assert kills.once(act, tmp_path, random.Random(1)).startswith("old, ")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
@pytest.mark.sample("0-edit", "0-play")
@pytest.mark.parametrize("name", ["edit", "play"])
@pytest.mark.parametrize("seed", range(10))
def test_a_killed_window_loses_seconds(tmp_path: Path, seed: int, name: str):
    assert kills.once(kills.WRITERS[name], tmp_path, random.Random(seed))
