"""Late imports: code that a package loads by name from a package above it, or only when needed.

Imports go down the layers. Where a package has to reach up, the target is listed here as
`module:name`, and in no other place; `tests/house/test_imports.py` checks that. A domain's own
classes are listed in its `plugin` module.

Each folder `gv_engine/plugins/NAME/` with a file `plugin.py` is a plugin: its `PLUGIN` lists what
it adds. The engine works without any of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from gv_engine.rules.errors import GVEngineError


class MissingPluginError(GVEngineError):
    """A plugin that this needs has been removed from the engine."""


@dataclass(frozen=True)
class Plugin:
    """Additions of a plugin to the engine, each named as `module` or `module:name`, and imported
    when it is first used.

    Attributes:
        domains: its domains, each a `gv_engine.scenario.domains.Domain`.
        commands: module of each command of `gv-engine`, see `gv_engine.cli.COMMANDS`.
        policy_writer: function `(run, out)` that writes the policy of a run into a file, as a
            network, and returns a description of it.
        state_function_adapter: function `(function, phase, name)` that makes a system from a
            function of states.
        levels: folder of built-in levels, below `scenarios/`, by the name of their group; each
            level is a variant of a file, and called `GROUP-variant`.
        env_ids: function that yields further Gymnasium ids, each with the entry points of its
            environment and vector environment, and their arguments.
        representations: `ObservationEncoder` of each further representation of observations.
        mission_language: class of a `gv_engine.scenario.missions.mission_reader.MissionLanguage`.
        inner_env: function that returns the environment of a scenario whose states are objects.
        file_formats: class `gv_engine.scenario.documents.foreign_files.FileFormat` of each kind of
            game of other programs.
    """

    domains: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    policy_writer: str = ""
    state_function_adapter: str = ""
    mission_language: str = ""
    inner_env: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    env_ids: str = ""
    file_formats: tuple[str, ...] = ()
    representations: Mapping[str, str] = field(default_factory=dict)


@cache
def find_plugins() -> tuple[Plugin, ...]:
    """Return the plugins in the folder `gv_engine/plugins`, in the order of their names."""
    files = sorted(Path(__file__).parent.glob("plugins/*/plugin.py"))
    return tuple(
        import_module(f"gv_engine.plugins.{file.parent.name}.plugin").PLUGIN for file in files
    )


def load_plugin_object(attribute: str) -> Any:
    """Import and return the object that the first plugin with this `attribute` of `Plugin` names.

    Raises:
        MissingPluginError: no plugin names one.
    """
    for plugin in find_plugins():
        if target := getattr(plugin, attribute):
            return resolve_name(target)
    raise MissingPluginError(f"no plugin in gv_engine/plugins/ has a {attribute}, which this needs")


GRID_DOMAIN = "gv_engine.play.grid.domain:DOMAIN"
"""The `gv_engine.scenario.domains.Domain` of grids."""

RENDER_MODES = {
    "human": "gv_engine.play.ui.window.viewer:open_viewer",
    "rgb_array": "gv_engine.play.ui.drawing.recording:PixelRenderer",
    "ansi": "gv_engine.envs.render_modes:Text",
}
"""The `gv_engine.envs.render_modes.RenderMode` of each name. Stepping imports none of them."""

NOTEBOOK_HTML = "gv_engine.play.ui.drawing.notebook:to_html"
"""Function that draws environments, sessions and replays in notebooks."""

CELL_RENDERER = "gv_engine.play.ui.drawing.tiles:render_cells"
"""Function that draws the cells of pixel observations."""

KEY_READER = "gv_engine.play.ui.input.bindings:check_action_key"
"""Function that reads the key of a custom action."""

SCENARIO_BUILDER = "gv_engine.scenario.mixture:build_scenario"
"""Function that builds a grid scenario from its document."""
