"""A desk for every test of the front end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.desk import Desk, home


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """In a folder of its own, with nothing on the screen."""
    home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    made = Desk()
    yield made
    made.app.quit()
