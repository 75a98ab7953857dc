"""The gallery: each level can be won by a way that is kept, and is drawn in full."""

from __future__ import annotations

import json
import re

import pytest

from gv_engine import GridEnv
from gv_engine.scenario.library import list_built_in_grids
from gv_engine.session.catalogue import built_in_entries
from tests import DATA, ROOT
from tests.levels import NOT_OF_GALLERY, OF_GALLERY

WAYS = json.loads((DATA / "gallery.json").read_text("utf-8"))
"""Ways that win, by scenario and seed: numbers of actions, most of them of a shortest way."""


def test_every_level_has_ways():
    assert set(WAYS) == set(OF_GALLERY)
    assert len(OF_GALLERY) >= 20


@pytest.mark.parametrize("name", OF_GALLERY)
def test_it_is_won_by_the_way_that_is_kept(name):
    env = GridEnv(name, world="object")
    for seed, way in WAYS[name].items():
        env.reset(seed=int(seed))
        ends = [env.step(int(action)) for action in way]
        assert [terminated for _, _, terminated, _, _ in ends] == [*[False] * (len(way) - 1), True]
        assert ends[-1][4]["success"]


def test_the_catalogue_shows_it_as_a_group_of_its_own():
    groups = {entry.title: entry.group for entry in built_in_entries()}
    assert {groups[name] for name in OF_GALLERY} == {"Gallery"}
    assert "Gallery" not in {groups[name] for name in NOT_OF_GALLERY}


def test_the_page_tells_of_every_file():
    levels = list_built_in_grids()
    files = {name.removesuffix(f"-{levels[name].variant}") for name in OF_GALLERY}
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(.+?)` ", page, re.MULTILINE)) == files
