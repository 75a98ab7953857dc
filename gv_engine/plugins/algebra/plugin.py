"""The domain of algebra."""

from gv_engine.late_imports import Plugin

PLUGIN = Plugin(domains=("gv_engine.plugins.algebra.domain:DOMAIN",))
