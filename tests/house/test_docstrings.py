"""Every example in a docstring of the engine prints what it says."""

import doctest
import importlib

import pytest

from gv_engine.rules.errors import MissingExtraError
from tests import ROOT

FILES = [
    file.relative_to(ROOT).with_suffix("")
    for file in sorted((ROOT / "gv_engine").rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]
NAMES = [".".join(file.parts).removesuffix(".__init__") for file in FILES]


@pytest.mark.parametrize("name", NAMES)
def test_examples_print_what_they_say(name: str):
    try:
        module = importlib.import_module(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0
