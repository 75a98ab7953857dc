"""States as Python objects, as GridVerse has them: for scenarios, and for rules."""

from gv_engine.late_imports import Plugin

PLUGIN = Plugin(
    state_function_adapter="gv_engine.plugins.gridverse.functions:make_system",
    inner_env="gv_engine.plugins.gridverse.envs.gridworld:GridWorld.from_scenario",
)
