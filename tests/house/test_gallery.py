"""The gallery of the site: all levels, and links that lead somewhere.

It needs `plugins/algebra`, `plugins/learning`, `plugins/minigrid` and `plugins/web`.
"""

import re
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from gv_engine.scenario.domains import list_playable_scenarios
from gv_engine.scenario.library import gym_id, list_multi_agent_grids
from tests import ROOT
from tests.gallery import (
    Family,
    list_families,
    make_card,
    make_cards,
    play_episodes,
    read_level,
    write_family,
)

LINKS = re.compile(r'(?:href|src|srcset)="(.+?)"')
FAMILIES = {family.name: family for family in list_families()}


def test_every_level_is_in_the_gallery():
    cards = make_cards()
    several = list_multi_agent_grids()
    words = {*re.findall(r"[\w-]+", cards)}
    for name in list_playable_scenarios():
        assert (name if name in several else gym_id(name)) in words
    text = unescape(re.sub("<.+?>", "", cards))
    for family in FAMILIES.values():
        assert read_level(family.shown.source).description in text, family.name
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert "<!-- every level -->" in page


@pytest.mark.compiled
@pytest.mark.sample("mathy-binomial")
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_pictures_and_pages_are_where_the_cards_link(family: Family, tmp_path: Path):
    write_family(family, tmp_path)
    linked = {*LINKS.findall(make_card(family, ""))}
    assert linked == {file.name for file in tmp_path.iterdir()}
    assert f"{family.name}.gif" in linked
    with Image.open(tmp_path / f"{family.name}.gif") as picture:
        assert getattr(picture, "n_frames", 1) > 1 or family.name == "minigrid-playground"


def test_a_picture_shows_wins():
    games = [*play_episodes(FAMILIES["crossing"])]
    assert len(games) > 1
    assert all(game.frame().success for game in games)
