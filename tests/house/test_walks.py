"""Files that run on the way of a call."""

from gv_engine import Scenario
from tests.walks import files_called


def test_files_are_those_of_the_engine_whose_functions_are_called():
    def load():
        Scenario.load("empty-4x4")

    files = files_called(load)
    assert files[0] == "gv_engine/scenario/scenario.py"
    assert "systems/visibility.py" not in files_called(lambda: None)
    assert not any(file.startswith("tests/") for file in files)
