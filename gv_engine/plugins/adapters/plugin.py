"""Commands that speak to other libraries."""

from gv_engine.late_imports import Plugin

PLUGIN = Plugin(
    commands={
        "minari": "gv_engine.plugins.adapters.cli.minari",
        "score": "gv_engine.plugins.adapters.cli.score",
        "serve": "gv_engine.plugins.adapters.cli.serve",
    }
)
