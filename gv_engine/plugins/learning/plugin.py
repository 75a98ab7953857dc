"""Commands that train and compare policies, and the writer of their networks."""

from gv_engine.late_imports import Plugin

_CLI = "gv_engine.plugins.learning.cli"

PLUGIN = Plugin(
    commands={
        "train": f"{_CLI}.train",
        "sweep": f"{_CLI}.sweep",
        "benchmark": f"{_CLI}.benchmark",
    },
    policy_writer="gv_engine.plugins.learning:export_policy",
)
