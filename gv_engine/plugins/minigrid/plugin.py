"""Environments and observations with MiniGrid's interface, and BabyAI's missions."""

from gv_engine.late_imports import Plugin

PLUGIN = Plugin(
    levels={"MiniGrid": "minigrid", "BabyAI": "babyai"},
    env_ids="gv_engine.plugins.minigrid.ids:list_env_ids",
    representations={"minigrid": "gv_engine.plugins.minigrid.observations:MiniGridEncoder"},
    mission_language="gv_engine.plugins.minigrid.mission_language:Instructions",
)
