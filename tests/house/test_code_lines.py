"""The counter of code lines."""

from pathlib import Path

import pytest

from tests import code_lines

SOURCE = '''"""A module.

With two paragraphs.
"""

import os  # one


class Two:
    """A class."""

    three = """a
    text"""  # of two lines, no docstring


def five(six: int = 6) -> str:
    """A function."""
    # a comment
    return os.sep.join(
        ["seven"],
    )
'''


def test_code_is_counted_without_comments_docstrings_and_blank_lines():
    assert code_lines.count_code_lines(SOURCE) == 8


def test_too_many_lines_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in code_lines.ENGINE:
        (tmp_path / name).mkdir()
    (tmp_path / "systems" / "a.py").write_text(SOURCE)
    monkeypatch.setattr(code_lines, "ROOT", tmp_path)
    for limit, code in ((8, 0), (7, 1)):
        (tmp_path / "pyproject.toml").write_text(f"[tool.gv-engine]\ncode_lines = {limit}\n")
        assert code_lines.main([]) == code
        assert f"8 code lines, at most {limit} by" in capsys.readouterr().out
    assert code_lines.main(["systems"]) == 0
