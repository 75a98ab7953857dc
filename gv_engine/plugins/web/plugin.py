"""The command that writes levels as web pages."""

from gv_engine.late_imports import Plugin

PLUGIN = Plugin(commands={"export": "gv_engine.plugins.web.export"})
