"""Each plugin can be deleted: the rest is imported, listed and played."""

from pathlib import Path

import pytest

from tests.without_plugin import PLUGINS, copy_without, run_without

pytestmark = pytest.mark.slow

CORE = """
import contextlib, io, pkgutil, sys
import gymnasium
import gv_engine
from gv_engine.cli import create_parser, main

plugin, here = sys.argv[1], sys.argv[2]
assert gv_engine.__file__.startswith(here), gv_engine.__file__
env = gymnasium.make("GV-Keydoor-5x5-v0", world="object")
env.reset(seed=0)
env.step(0)
for command in ("list", "rules"):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([command]) == 0, command
create_parser()
for module in pkgutil.walk_packages(gv_engine.__path__, "gv_engine."):
    if "plugins" not in module.name and "starter" not in module.name:
        try:
            __import__(module.name)
        except gv_engine.GVEngineError as error:
            assert "needs the extra" in str(error), module.name
        except ImportError as error:  # a public path of the plugin
            assert plugin in str(error), module.name
"""


@pytest.mark.thorough
@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_engine_works_without_a_plugin(plugin: str, tmp_path: Path):
    folder = tmp_path / "checkout"
    copy_without(plugin, folder)
    assert run_without(folder, "-c", CORE, plugin, str(folder)).returncode == 0
