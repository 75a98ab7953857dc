"""Levels as web pages: the same worlds as in Python, in node."""

import base64
import hashlib
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.core import FLOOR, HIDDEN
from components.objects import WALL, built_in_types
from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.compiler.language.wasm import STACK_TOP
from gv_engine.play.grid.board import Board, GridContent
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.session.sprite_paths import UNDER_AGENT_CORNERS, cut_edges, read_svg
from gv_engine.play.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.play.ui.drawing.tiles import TileCache, encode_looks
from gv_engine.plugins.web.page import (
    Link,
    PageStyle,
    _describe_type,
    make_index,
    make_memory_image,
    make_page,
)
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.rules.geometry import LEFT
from gv_engine.scenario.memory.layout import RNG
from gv_engine.scenario.storage.resources import ASSETS
from gv_engine.world.rng import generator_to_row
from gv_engine.world.simulation import Simulation
from tests import ROOT
from tests.boards import scenario
from tests.domains.test_grid_stage import GUARDED
from tests.systems import test_layers as layers
from tests.web.games import NODE, compare, data_of, run_on_page, run_script

needs_node = pytest.mark.skipif(not NODE, reason="needs node: apt install nodejs")


@needs_node
@pytest.mark.compiled
@pytest.mark.sample("keydoor")
@pytest.mark.parametrize(
    "name",
    ["keydoor-5x5", "medley-7x7", "hold-plates", "hunt", "kick", "crafter", "BabyAI-PickupLoc-v0"],
)
def test_a_page_plays_the_worlds_of_python(name: str):
    level = Scenario.load(name)
    page = make_page(name, [level])
    states, different = compare(page, [level], seeds=4, steps=100)
    assert states > 40
    assert not different
    # no file names of this machine, as in descriptions of Python exceptions
    assert str(ROOT).encode() not in zlib.decompress(base64.b64decode(data_of(page)["wasm"]))


@needs_node
@pytest.mark.compiled
def test_a_page_plays_and_draws_all_layers():
    level = scenario("#######\n#A.3.4#\n#o.PL.#\n#.g.3m#\n#######", **layers.RULES)
    page = make_page("layers", [level])
    assert compare(page, [level], seeds=2, steps=100)[1] == 0
    (line, cells) = run_on_page(
        page,
        """
        const game = new Game(world, 5n, data.engine);
        for (const action of [0, 0, 6, 0, 3]) game.step([action]);
        const { top, below } = world.cells(0), fills = () => true;
        const sprites = top.map((thing, k) => cellSprites(level.types, below[k], thing, {}, fills));
        console.log(JSON.stringify(await game.toLine()));
        console.log(JSON.stringify(sprites));
        """,
    )
    game = Session.from_replay(Replay.from_line(line), level)
    assert game.difference is None
    game.undo(5)
    game.redo(5)
    assert game.state_digest() == Replay.from_line(line).steps[-1].state
    frame, sheet = game.frame(), SpriteSheet(types=level.types)
    codes = encode_looks(frame.grid, None, frame.beneath, frame.stacks)
    found = TileCache(sheet, 16)[codes.ravel()]
    assert len(np.unique(codes)) > 8
    assert max(len(cell["layers"]) for cell in cells) == 5
    for picture, cell in zip(found, cells, strict=True):
        expected = pygame.Surface((16, 16), 0, 32)
        for name, color in cell["layers"]:
            expected.blit(sheet.get(name, color, 16), (0, 0))
        if cell["covered"]:
            sheet.draw_covered(expected, expected.get_rect(), *cell["covered"])
        if cell["layers"][-1][0] != "wall":  # those are joined
            assert (picture == pygame.surfarray.array2d(expected).T).all()


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
def test_levels_of_a_pack_share_their_code():
    levels = [Scenario.load(f"sokoban#{k}") for k in (1, 2, 3)]
    page = make_page("sokoban", levels)
    assert {level["program"] for level in data_of(page)["levels"]} == {0}
    assert not compare(page, levels, seeds=2, steps=60)[1]


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
def test_a_game_is_one_line_for_page_and_window():
    level = Scenario.load("keydoor-5x5")
    page = make_page("keydoor", [level])
    (line,) = run_on_page(
        page,
        """
        const game = new Game(world, 2n ** 70n, data.engine);
        for (const action of [0, 4, 0, 6, 7, 5, 0]) game.step([action]);
        game.seek(5);
        game.step([4]);
        const line = await game.toLine();
        const again = playReplay(world, await readLine(line), data.engine);
        if (again.total !== game.total) throw new Error("another game");
        console.log(JSON.stringify(line));
        """,
    )
    replay = Replay.from_line(line)
    assert (replay.seed, len(replay.steps)) == (2**70, 6)
    game = Session.from_replay(replay, level)
    assert game.difference is None


def sign(body: str) -> str:
    """Return the line of a replay file that begins with `body`, with its checksum."""
    text = f'{body},\n "checksum": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'
    return "gv:" + base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()


@needs_node
def test_seeds_are_those_of_numpy():
    seeds = [0, 1, 12345, 2**32 - 1, 2**32, 2**64 + 7, 2**130 + 5]
    words = ", ".join(f"{seed}n" for seed in seeds)
    found = run_script(
        f"for (const s of [{words}]) console.log(JSON.stringify(seedGenerator(s).map(String)))"
    )
    for seed, row in zip(seeds, found, strict=True):
        record = np.zeros((), RNG)
        generator_to_row(np.random.default_rng(seed), record)
        assert [*map(int, row)] == [int(value) for value in record.tolist()]


@needs_node
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "This line is not a game, or it is incomplete."),
        ("gv:eJwrSS0uAQAEXQHB", "This game is damaged: its checksum does not fit the rest."),
        (sign("{nonsense"), "This line is not a game, or it is incomplete."),
        (sign('{"format": "GV Engine replay 1"'), "This game is of another version."),
        (
            sign('{"format": "GV Engine replay 2",\n "seed": 0,\n "steps": []'),
            "This line is not a game, or it is incomplete.",
        ),
    ],
)
def test_a_line_that_is_no_game_is_refused_with_a_sentence(line: str, says: str):
    code = f"readLine({json.dumps(line)}).catch(x => console.log(JSON.stringify(x.message)))"
    assert run_script(code) == [says]


@needs_node
def test_a_short_line_of_a_huge_text_is_not_unpacked():
    bomb = base64.urlsafe_b64encode(zlib.compress(bytes(2**26), 9)).decode()
    code = f"""
        let most = 0;
        const read = ReadableStreamDefaultReader.prototype.read;
        ReadableStreamDefaultReader.prototype.read = async function () {{
          const part = await read.call(this);
          most += part.value?.length ?? 0;
          return part;
        }};
        readLine("gv:{bomb}").catch(x => console.log(JSON.stringify([x.message, most])));
    """
    ((said, read),) = run_script(code)
    assert said == "This is larger than 4 MiB, which no game is."
    assert 2**22 < read < 2**23
    digits = sign('{"format": "GV Engine replay 2",\n "seed": ' + "9" * 10_000 + ',\n "steps": []')
    code = f"readLine({json.dumps(digits)}).catch(x => console.log(JSON.stringify(x.message)))"
    assert run_script(code) == ["This game is of another version."]


class Inline(HTMLParser):
    """Collects what a policy of content must allow: scripts, styles and other code in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.policy, self.code = "", {"script": list[str](), "style": list[str]()}
        self.others: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(named["content"])
        self._inside = "" if named.get("type") == "application/json" else tag
        outside = {"src", "href"} if tag != "a" else set()
        self.others += [name for name in named if name[:2] == "on" or name in {"style"} | outside]

    def handle_data(self, data: str) -> None:
        if self._inside in self.code:
            self.code[self._inside].append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


@pytest.mark.compiled
def test_a_page_and_an_index_allow_their_own_code_alone():
    link = Link("</style><script>a", 'b" onclick="c', "d.html")
    index = make_index("<script>", {"More <style>": [link]})
    page = make_page("</script><script>", [Scenario.load("keydoor-5x5")])
    for text, scripts in ((index, 0), (page, 5)):
        found = Inline(text)
        allowed = {
            name: words.split()
            for name, _, words in (part.strip().partition(" ") for part in found.policy.split(";"))
        }
        assert allowed["default-src"] == ["'none'"]
        assert [len(found.code[tag]) for tag in ("script", "style")] == [scripts, 1]
        for tag, codes in found.code.items():
            hashes = [hashlib.sha256(code.encode()).digest() for code in codes]
            own = [f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes]
            rest = ["'wasm-unsafe-eval'"] if tag == "script" else []
            assert allowed[f"{tag}-src"] == own + rest
        assert not found.others


def test_memory_has_nothing_of_this_process_between_the_fields():
    record = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 16]})
    array, arena = np.frombuffer(b"\xaa" * record.itemsize, record), np.ones(2**20, np.uint8)
    content, places = make_memory_image({"arena": arena, "rows": array})
    start = int(places["rows"]["address"]) - STACK_TOP
    assert content[start : start + 1] == b"\xaa"
    assert not any(content[start + 1 : start + 16])
    assert places["arena"].tolist() == (STACK_TOP + len(content), 2**20)


PROCESSOR = """
import esper

class Weather(esper.Processor):
    def process(self):
        pass
"""


@pytest.mark.compiled
def test_what_is_any_python_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(PROCESSOR, encoding="utf-8")
    Path("level.yaml").write_text(
        "extends: keydoor-5x5\ntransition_functions: [move_agent, ./rules.py:Weather]\n",
        encoding="utf-8",
    )
    assert main(["export", "level.yaml", "--html", "page.html"]) == 2
    assert "Weather is an esper.Processor" in capsys.readouterr().err
    assert not Path("page.html").exists()
    with pytest.raises(DoesNotCompileError, match="Weather"):
        make_page("level", [Scenario.load("level.yaml")])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["sokoban", "--levels", "3:2"],
            "--levels 3:2: sokoban has the levels 1 to 10; expected a number, or FIRST:LAST with",
        ),
        (["keydoor-5x5", "--levels", "2"], "--levels 2: keydoor-5x5 is a single level; leave out"),
        (["mathy-poly-simplify-easy"], "export takes only grids"),
        (["keydor-5x5"], "keydoor-5x5"),
        (["keydoor-5x5", "ice"], "--html writes one scenario, found 2; use --site for"),
        (
            ["keydoor-5x5", "--site", "levels"],
            "expected one of --html FILE, --site FOLDER and --net FILE, found --html and --site",
        ),
    ],
)
def test_wrong_use_says_what_is_allowed(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["export", *words, "--html", str(tmp_path / "page.html")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


FAILING = """
from gv_engine.rules.system import TRANSITION, system
from systems.queries import ahead

@system(TRANSITION)
def quake(w, agent):
    "The ground gives way on the way down."
    if w.action[agent] == 1:
        w.fail("nobody may go back")
    if w.action[agent] == 4:
        w.at[w.height + 99, 0] = ahead(w, agent)
    while w.action[agent] == 5:
        w.at[0, 0] = w.at[0, 0] + 0
"""


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
def test_a_rule_that_fails_says_so_and_the_world_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(FAILING, encoding="utf-8")
    Path("level.yaml").write_text(
        "extends: keydoor-5x5\ntransition_functions: [move_agent, turn_agent, ./rules.py:quake]\n",
        encoding="utf-8",
    )
    page = make_page("level", [Scenario.load("level.yaml")])
    messages = run_on_page(
        page,
        """
        world.reset(3n);
        const before = world.digest();
        for (const action of [1, 4, 5, 5]) {
          try { world.step([action]); }
          catch (error) {
            console.log(JSON.stringify([error.message, world.digest() === before]));
          }
        }
        """,
    )
    outside = "index 104 is out of bounds for axis 0 with size 10"
    assert messages == [
        ["nobody may go back", True],
        [f"The rule quake failed: {outside} (rules.py:11)", True],
        *[["The rule quake does not end", True]] * 2,
    ]


@pytest.mark.compiled
def test_a_file_that_is_no_page_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "level.yaml"
    file.write_text("extends: keydoor-5x5\n", encoding="utf-8")
    assert main(["export", str(file), "--html", str(file)]) == 2
    assert "exists and is not a web page" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "extends: keydoor-5x5\n"


@pytest.mark.compiled
@pytest.mark.thorough
def test_a_page_says_what_its_level_says():
    level = Scenario.load("keydoor-5x5")
    page = make_page(
        "<b>", [level], seed=7, style=PageStyle("light", "colour-blind safe", embedded=True)
    )
    data = data_of(page)
    assert "<title>&lt;b&gt;</title>" in page
    assert (data["seed"], data["theme"], data["embedded"]) == ("7", "light", True)
    (shown,) = data["levels"]
    assert shown["actions"] == list(level.action_names)
    assert shown["identity"]["digest"] == level.identity.digest
    assert shown["endings"][0][1][1][0] == "Reached the exit" or shown["endings"]
    assert page == make_page(
        "<b>", [level], seed=7, style=PageStyle("light", "colour-blind safe", True)
    )


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
def test_an_agent_waits_also_if_all_actions_are_taken_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("level.yaml").write_text(
        "extends: hold-plates\naction_space: [MOVE_FORWARD]\n", encoding="utf-8"
    )
    level = Scenario.load("level.yaml")
    (line,) = run_on_page(
        make_page("level", [level]),
        """
        const game = new Game(world, 0n, data.engine);
        for (const actions of [[0, null], [null, 0], [null, null], [0, 0]]) game.step(actions);
        console.log(JSON.stringify(await game.toLine()));
        """,
    )
    replay = Replay.from_line(line)
    ann, bob = level.agent_group.names
    assert [step.action for step in replay.steps] == [
        *(f"{ann} MOVE_FORWARD", f"{bob} MOVE_FORWARD", "WAIT"),
        f"{ann} MOVE_FORWARD | {bob} MOVE_FORWARD",
    ]
    assert Session.from_replay(replay, level).difference is None


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["keydoor-5x5", "BabyAI-GoToSeq-v0", "sokoban#3"])
def test_a_page_has_the_step_limit_of_the_episode_and_the_number_in_the_pack(name: str):
    level = Scenario.load(name)
    page = make_page("level", [level])
    limits = run_on_page(
        page,
        """
        for (const seed of [0n, 1n, 2n]) {
          world.reset(seed);
          console.log(world.stepLimit);
        }
        """,
    )
    simulation = Simulation(level)
    expected = []
    for seed in (0, 1, 2):
        simulation.reset(np.random.default_rng(seed))
        expected.append(level.step_limit(simulation.world) or 0)
    assert limits == expected
    assert data_of(page)["levels"][0]["number"] == (3 if "#" in name else 1)


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
@pytest.mark.parametrize("source", ["patrol", GUARDED], ids=["patrol", "guarded"])
def test_guards_see_the_cells_that_they_see_in_the_window(source: str | dict[str, Any]):
    level, steps = Scenario.load(source), 6
    found = run_on_page(
        make_page("level", [level]),
        f"""
        for (const seed of [0n, 1n, 2n]) {{
          world.reset(seed);
          for (let k = 0; k < {steps}; k++) {{
            console.log(JSON.stringify([...world.watched()]));
            world.step([{level.action_names.index("TURN_LEFT")}]);
          }}
        }}
        """,
    )
    expected = []
    for seed in (0, 1, 2):
        game = Session(level, seed)
        for _ in range(steps):
            frame = game.frame()
            width = frame.grid.shape[1]
            expected.append(
                {
                    y * width + x: [cy * width + cx for cy, cx in cells]
                    for (y, x), cells in frame.watched.items()
                }
            )
            game.step("TURN_LEFT")
    assert list(map(dict, found)) == expected
    assert any(map(any, map(dict.values, expected)))


@needs_node
def test_page_and_window_join_the_same_edges():
    rng = np.random.default_rng(3)
    grid = np.zeros((9, 11, 3), np.uint8)
    grid[..., 0] = rng.choice([HIDDEN, FLOOR, WALL], grid.shape[:2], p=[0.1, 0.3, 0.6])
    sheet = SpriteSheet()
    expected = sheet.add_joins(encode_looks(grid)) >> 56
    wall = read_svg(ASSETS / "sprites" / "wall.svg")
    (found, cut) = run_script(
        f"""
        const top = {json.dumps(grid.reshape(-1, 3).tolist())}, cut = [];
        console.log(JSON.stringify(top.map((_, k) =>
          joinsAt(top, 9, 11, Math.floor(k / 11), k % 11))));
        for (let joins = 0; joins < 256; joins++) cut.push(cutEdges({json.dumps(wall)}, joins));
        console.log(JSON.stringify(cut));
        """
    )
    is_wall = grid[..., 0] == WALL
    assert (np.reshape(found, (9, 11)) == expected)[is_wall].all()
    assert not expected[~is_wall].any()
    assert len(np.unique(expected[is_wall])) > 20
    assert cut == [cut_edges(wall, joins) for joins in range(256)]
    assert len(set(cut)) == 256


@needs_node
def test_page_and_window_show_the_same_sprites_in_every_cell():
    """In all states of the built-in types and of a level's own, above each other, and on them an
    agent: the sprites that the page lists, put together, are the picture of the window."""
    level = scenario(">.", objects={"Target": {"layer": "ground"}, "Crate": {"states": ["A", "B"]}})
    kinds = {kind.index: kind for kind in (*built_in_types()[1:], *level.types)}.values()
    looks = [(k.index, s, c) for k in kinds for s in range(k.num_states) for c in (0, 1)]
    grounds = [(FLOOR, 0, 0), *(look for look in looks if look[0] == level.types["Target"].index)]
    pairs = [(ground, thing) for ground in grounds for thing in looks]
    sheet, side = SpriteSheet(types=level.types), 48
    filled = [
        [name, color]
        for kind, state, color in looks
        if sheet.get(name := sheet.sprite_name(kind, state), color, side).get_at((0, 0))[3] == 255
    ]
    assert filled
    types = {kind.index: _describe_type(kind, level.types) for kind in kinds}
    (listed,) = run_script(
        f"""
        const types = {json.dumps(types)}, pairs = {json.dumps(pairs)};
        const filled = {json.dumps(filled)};
        const fills = (...sprite) => filled.some((one) => String(one) === String(sprite));
        console.log(JSON.stringify(pairs.map(([ground, thing]) =>
          [cellSprites(types, ground, thing, {{}}, fills),
           spriteUnderAgent(types, thing, fills)])));
        """
    )
    board, place = Board(sheet), pygame.Rect(0, 0, side, side)
    shown, expected = (pygame.Surface((side, side), 0, 32) for _ in range(2))
    seen = {"covered": 0, "under": 0}
    for (ground, thing), (cell, under) in zip(pairs, listed, strict=True):
        for agent in ((0, 0, LEFT), (-1, -1, 0)):
            grid, beneath = (np.array([[look]], np.uint8) for look in (thing, ground))
            board.draw(shown, place, (0, 0), side, GridContent(grid, agent, beneath=beneath))
            for name, color in cell["layers"]:
                joins = 255 if name == "wall" else 0  # alone in the grid
                expected.blit(sheet.get(name, color, side, joins=joins), (0, 0))
            if cell["covered"]:
                sheet.draw_covered(expected, place, *cell["covered"])
                seen["covered"] += 1
            if agent[0] == 0:
                expected.blit(sheet.agent(0, side, LEFT), (0, 0))
            if agent[0] == 0 and under:
                sheet.draw_covered(
                    expected, place, under[0], under[1], 1 / 3, UNDER_AGENT_CORNERS[LEFT]
                )
                seen["under"] += 1
            assert pygame.image.tobytes(shown, "RGB") == pygame.image.tobytes(expected, "RGB")
    assert min(seen.values()) > 10
