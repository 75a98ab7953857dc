"""Reader of Tiled maps: everything that changes the picture of a map is read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gv_engine import Scenario
from tests.scenario.reading import RULES, assert_refused, begin

TILES = """<tileset firstgid="1" name="t" tilewidth="16" tileheight="16" tilecount="8" columns="4">
<image source="t.png" width="64" height="32"/>
<tile id="0" class="Wall"/><tile id="1" class="Floor"/>
<tile id="2"><properties><property name="agent" value="RIGHT"/></properties></tile>
<tile id="3" class="Exit"><animation><frame tileid="1" duration="9"/></animation></tile>
</tileset>"""
WALL, FLOOR, AGENT, EXIT = 1, 2, 3, 4
BOARD = [[WALL] * 6, [WALL, AGENT, FLOOR, FLOOR, EXIT, WALL], [WALL] * 6]
PLAIN = ["######", "#>..E#", "######"]


def draw_layer(rows: list[list[int]], attributes: str = "") -> str:
    data = ",".join(str(number) for row in rows for number in row)
    return f'<layer id="1" name="a" {attributes}><data encoding="csv">{data}</data></layer>'


def draw_one(y: int, x: int, tile: int, attributes: str = "") -> str:
    rows = [[0] * 6 for _ in range(3)]
    rows[y][x] = tile
    return draw_layer(rows, attributes)


def draw_object(tile: int, x: float, y: float, attributes: str = "", body: str = "") -> str:
    place = f'id="7" gid="{tile}" x="{x}" y="{y}" width="16" height="16"'
    return (
        f'<objectgroup id="3" name="o"><object {place} {attributes}>{body}</object></objectgroup>'
    )


def write_map(folder: Path, body: str, attributes: str = "", tiles: str = TILES) -> None:
    size = 'width="6" height="3" tilewidth="16" tileheight="16"'
    orientation = "" if "orientation" in attributes else 'orientation="orthogonal"'
    text = f'<map version="1.10" {orientation} {size} {attributes}>{tiles}{body}</map>'
    (folder / "m.tmx").write_text(text)


def read_rows(folder: Path) -> list[str]:
    """The rows of the level, with `>` for an agent that faces right."""
    world = begin(Scenario.load({**RULES, "levels": "m.tmx"}, folder)).world
    signs = {2: ".", 3: "#", 4: "E"}
    rows = [[signs.get(kind, "?") for kind in row] for row in world.cells()[..., 0].tolist()]
    rows[world.position.y[1]][world.position.x[1]] = "^v<>"[world.agent.facing[1]]
    return ["".join(row) for row in rows]


BASE = draw_layer(BOARD)


@pytest.mark.parametrize(
    ("body", "middle"),
    [
        (BASE, "#>..E#"),
        (BASE + draw_one(1, 2, WALL), "#>#.E#"),
        # hidden layers and groups
        (BASE + draw_one(1, 2, WALL, 'visible="0"'), "#>..E#"),
        (BASE + draw_one(1, 2, WALL, 'opacity="0" tintcolor="#ff0000"'), "#>..E#"),
        (BASE + f'<group visible="0">{draw_one(1, 2, WALL)}</group>', "#>..E#"),
        (BASE + f'<group opacity="0"><group>{draw_one(1, 2, WALL)}</group></group>', "#>..E#"),
        (BASE + f'<group><group visible="1">{draw_one(1, 2, WALL)}</group></group>', "#>#.E#"),
        # offsets
        (BASE + draw_one(1, 2, WALL, 'offsetx="16"'), "#>.#E#"),
        (BASE + draw_one(2, 1, WALL, 'offsetx="32" offsety="-16"'), "#>.#E#"),
        (BASE + '<group offsetx="8">' + draw_one(1, 2, WALL, 'offsetx="8"') + "</group>", "#>.#E#"),
        # objects
        (BASE + draw_object(WALL, 32, 32), "#>#.E#"),
        (BASE + draw_object(WALL, 32, 32).replace('width="16" height="16"', ""), "#>#.E#"),
        (BASE + draw_object(WALL, 32, 32, 'visible="0" rotation="45"'), "#>..E#"),
        (BASE + draw_object(FLOOR, 32, 32, 'type="Wall"'), "#>#.E#"),
        (f'{BASE}<group offsetx="16">{draw_object(WALL, 32, 32)}</group>', "#>.#E#"),
        # without an effect on the picture
        (BASE + draw_one(1, 2, 0, 'locked="1" class="x" parallaxx="1" x="0"'), "#>..E#"),
        (BASE + '<imagelayer id="4" name="empty"/>', "#>..E#"),
    ],
)
def test_maps_are_read_as_tiled_draws_them(body: str, middle: str, tmp_path: Path):
    write_map(tmp_path, body, 'renderorder="left-up" backgroundcolor="#000000"')
    assert read_rows(tmp_path) == ["######", middle, "######"]


@pytest.mark.parametrize(
    ("flags", "sign"),
    # as drawn by Tiled's tmxrasterizer
    [(0, ">"), (1, "v"), (2, ">"), (3, "^"), (4, "<"), (5, "v"), (6, "<"), (7, "^")],
)
def test_turned_tiles_turn_the_agent(flags: int, sign: str, tmp_path: Path):
    turned = AGENT + (flags << 29)
    board = [BOARD[0], [WALL, turned, *BOARD[1][2:]], BOARD[2]]
    write_map(tmp_path, draw_layer(board))
    assert read_rows(tmp_path)[1] == f"#{sign}..E#"
    board[1][1] = FLOOR
    write_map(tmp_path, draw_layer(board) + draw_object(turned, 16, 32))
    assert read_rows(tmp_path)[1] == f"#{sign}..E#"


@pytest.mark.parametrize(
    ("body", "attributes", "says"),
    [
        (BASE, 'orientation="hexagonal" hexsidelength="8"', "the map has orientation 'hexagonal'"),
        (BASE, 'orientation="staggered"', "which is not read; set it to orthogonal in Tiled: Map"),
        (BASE, 'orientation="isometric"', "orientation 'isometric'"),
        (BASE, 'infinite="1"', "the map has infinite '1', which is not read; set it to 0"),
        (BASE, 'newfangled="1"', "the map has newfangled '1', which is not read; remove it"),
        (draw_layer(BOARD, 'offsetx="8"'), "", "layer 'a' has the offset x=8, y=0, expected whole"),
        (draw_layer(BOARD, 'offsety="16"'), "", "the offset of layer 'a' moves a tile out of the"),
        (draw_layer(BOARD, 'offsetx="1e300"'), "", "moves a tile out of the map"),
        (draw_layer(BOARD, 'offsetx="nan"'), "", "has the offset x=nan"),
        (draw_layer(BOARD, 'offsetx="x"'), "", "its offsetx is 'x', expected a number"),
        (
            draw_layer(BOARD, 'opacity="0.5"'),
            "",
            "opacity '0.5', which is not read; set it to 1, or",
        ),
        (draw_layer(BOARD, 'tintcolor="#ff0000"'), "", "set it to #ffffff, or hide the layer"),
        (draw_layer(BOARD, 'parallaxx="0.5"'), "", "layer 'a' has parallaxx '0.5'"),
        (draw_layer(BOARD, 'mode="multiply"'), "", "layer 'a' has mode 'multiply'"),
        (draw_layer(BOARD, 'width="3" height="6"'), "", "layer 'a' has the height 6, expected the"),
        (f'<group name="g" opacity="0.5">{BASE}</group>', "", "layer 'g' has opacity '0.5'"),
        (
            f'{BASE}<imagelayer name="i"><image/></imagelayer>',
            "",
            "layer 'i' has the element <image>",
        ),
        (f"{BASE}<sky/>", "", "the map has the element <sky>, which is not read; remove it"),
        (BASE + draw_object(WALL, 33, 32), "", "object 7 of layer 'o' is at x=33, y=16, expected"),
        (BASE + draw_object(WALL, 32, 16 * 4), "", "object 7 of layer 'o' is outside of the map"),
        (BASE + draw_object(WALL, 32, 32, 'rotation="90"'), "", "rotation '90', which is not read"),
        (BASE + draw_object(WALL, 32, 32, 'template="a.tx"'), "", "template 'a.tx', which is not"),
        (BASE + draw_object(WALL, 32, 32, "", "<text/>"), "", "element <text>, which is not read"),
        (
            BASE + draw_object(WALL, 32, 32).replace('height="16"', 'height="8"'),
            "",
            "is 16x8 pixels",
        ),
        (
            BASE + draw_object(WALL, 32, 32).replace("gid", "name"),
            "",
            "'o' is not a tile; insert tiles",
        ),
    ],
)
def test_maps_that_would_look_otherwise_are_refused(
    body: str, attributes: str, says: str, tmp_path: Path
):
    write_map(tmp_path, body, attributes)
    assert_refused(says, {**RULES, "levels": "m.tmx"}, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('tilewidth="16"', 'tilewidth="32"', "'t' has a tile of 32x16 pixels, expected the 16x16"),
        ("<image", '<tileoffset x="4"/><image', "the drawing offset of tileset 't' has x '4'"),
        ('class="Wall"/>', 'class="Wall"><image width="9"/></tile>', "has a tile of 9x16 pixels"),
        ("<image", "<hologram/><image", "tileset 't' has the element <hologram>, which is not"),
        (TILES, '<tileset firstgid="1" source="a.tsj"/>', "'a.tsj' is JSON; save it as .tsx in"),
        (TILES, '<tileset firstgid="1" source="a.tsx"/>', "'a.tsx' has <map>, expected <tileset>"),
    ],
)
def test_tiles_that_do_not_fill_their_cells_are_refused(
    old: str, new: str, says: str, tmp_path: Path
):
    (tmp_path / "a.tsx").write_text("<map/>")
    write_map(tmp_path, BASE, tiles=TILES.replace(old, new))
    assert_refused(says, {**RULES, "levels": "m.tmx"}, tmp_path)


@pytest.mark.parametrize(
    "tiles",
    [
        TILES.replace('tilewidth="16"', 'tilewidth="32" tilerendersize="grid"'),
        TILES.replace("<image", '<tileoffset x="0" y="0"/><wangsets/><grid/><image'),
        # a tileset without tiles in the map
        f'{TILES}<tileset firstgid="9" name="big" tilewidth="99" tileheight="99"/>',
        # tiles of a tileset that has grown into the numbers of the next one
        TILES.replace("</tileset>", '<tile id="8" class="Exit"/></tileset>')
        + '<tileset firstgid="9" name="u" tilewidth="16" tileheight="16"/>',
    ],
)
def test_tilesets_may_have_what_changes_no_picture(tiles: str, tmp_path: Path):
    write_map(tmp_path, BASE, tiles=tiles)
    assert read_rows(tmp_path) == PLAIN
    if 'name="u"' in tiles:
        write_map(tmp_path, BASE + draw_one(1, 2, 9), tiles=tiles)
        assert_refused("this tile has no class", {**RULES, "levels": "m.tmx"}, tmp_path)


@pytest.mark.parametrize(
    ("alignment", "x", "y"),
    [("unspecified", 32, 32), ("topleft", 32, 16), ("center", 40, 24), ("bottomright", 48, 32)],
)
def test_objects_are_aligned_as_their_tileset_says(alignment: str, x: int, y: int, tmp_path: Path):
    tiles = TILES.replace('name="t"', f'name="t" objectalignment="{alignment}"')
    write_map(tmp_path, BASE + draw_object(WALL, x, y), tiles=tiles)
    assert read_rows(tmp_path)[1] == "#>#.E#"
