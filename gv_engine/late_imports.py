"""Late imports: code that a package loads by name from a package above it, or only when needed.

Imports go down the layers. Where a package has to reach up, the target is listed here as
`module:name`, and in no other place; `tests/house/test_imports.py` checks that. A domain's own
classes are listed in its `plugin` module.
"""

DOMAIN_PLUGINS = ("gv_engine.domains.grid.plugin:DOMAIN", "gv_engine.domains.algebra.plugin:DOMAIN")
"""The `gv_engine.scenario.plugin.Domain` of each kind of worlds."""

RENDER_MODES = {
    "human": "gv_engine.ui.window.viewer:open_viewer",
    "rgb_array": "gv_engine.ui.drawing.recording:PixelRenderer",
    "ansi": "gv_engine.envs.render_modes:Text",
}
"""The `gv_engine.envs.render_modes.RenderMode` of each name. Stepping imports none of them."""

NOTEBOOK_HTML = "gv_engine.ui.drawing.notebook:to_html"
"""Function that draws environments, sessions and replays in notebooks."""

CELL_RENDERER = "gv_engine.ui.drawing.sprites:render_cells"
"""Function that draws the cells of pixel observations."""

GRID_RENDERER = "gv_engine.ui.drawing.sprites:render_grid"
"""Function that draws a grid of GridVerse with its agent."""

KEY_READER = "gv_engine.ui.input.bindings:check_action_key"
"""Function that reads the key of a custom action."""

STATE_FUNCTION_ADAPTER = "gv_engine.gridverse.functions:make_system"
"""Function that makes a system from a function of GridVerse states."""

SCENARIO_BUILDER = "gv_engine.scenario.building:build_scenario"
"""Function that builds a grid scenario from its document."""

INNER_ENV = "gv_engine.gridverse.envs.gridworld:GridWorld.from_scenario"
"""Factory of the object environment of a scenario."""

INSTRUCTION_GRAMMAR = "systems.minigrid.grammar"
"""Module that reads the texts of BabyAI's missions."""

PARTNER_LOADER = "gv_engine.rollout.policy:load_partners"
"""Function that loads the policies of the partners in a training."""

LEARNING_NAMES = {
    "Config": "gv_engine.learning.config:Config",
    "TrainedPolicy": "gv_engine.learning.policy_file:TrainedPolicy",
    "WandbLogger": "gv_engine.learning.loggers:WandbLogger",
    "evaluate": "gv_engine.rollout.evaluation:evaluate_policy",
    "export_policy": "gv_engine.learning.policy_export:export_policy",
    "load_policy": "gv_engine.learning.policy_file:TrainedPolicy",
    "resume_training": "gv_engine.learning.training:resume_training",
    "train": "gv_engine.learning.training:train",
}
"""Public names of `gv_engine.learning`."""
