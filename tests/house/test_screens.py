"""The pictures of `make screens`: drawn the same twice, and compared."""

from pathlib import Path

import pytest

from tests.screens import SCENES, Window, compare, draw, sheet

pytestmark = pytest.mark.window


def test_a_change_is_found_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    small = Window((400, 300), 1, "dark")
    drawn = {name: draw(SCENES[name], small) for name in ("tiny", "pause")}
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        for name in drawn:
            (folder / name).mkdir(parents=True)
            draw(SCENES[name], small).save(folder / name / "small.png")
    assert compare(after, before) == 0
    changed = drawn["tiny"].copy()
    changed.putpixel((7, 5), (1, 2, 3))
    changed.save(after / "tiny" / "small.png")
    assert compare(after, before) == 1
    assert capsys.readouterr().out.startswith("tiny/small.png: differs from (7, 5) to (8, 6)\n")
    assert (after / "differences.png").exists()
    assert sheet(drawn).width > 2 * 400
