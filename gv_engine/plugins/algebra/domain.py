"""Declaration of the algebra domain, importable without mathy_core."""

from functools import cache
from pathlib import Path

from gv_engine.plugins.algebra.extras import MATH
from gv_engine.scenario.domains import Domain, ScenariosByName
from gv_engine.scenario.library import list_scenarios
from gv_engine.scenario.storage.resources import SCENARIOS


@cache
def _built_in() -> ScenariosByName:
    files = sorted((SCENARIOS / "mathy").glob("*.yaml"))
    return list_scenarios({f"mathy-{path.stem}": path for path in files})


DOMAIN = Domain(
    name="algebra",
    title="algebra",
    plugin_module="gv_engine.plugins.algebra.hooks",
    env="gv_engine.plugins.algebra.gym_env:ExpressionEnv",
    vector_env="gv_engine.plugins.algebra.vector_env:ExpressionVectorEnv",
    built_in=_built_in,
    format="gv_engine.plugins.algebra.scenario:FORMAT",
    rules="gv_engine.plugins.algebra.systems",
    extra=MATH,
    episode="gv_engine.plugins.algebra.episode:AlgebraEpisode",
    stage="gv_engine.plugins.algebra.stage:TreeStage",
    text="gv_engine.plugins.algebra.frame:expression_to_text",
    terminal="gv_engine.plugins.algebra.terminal:TreeTerminalView",
    views=dict.fromkeys(
        ("both", "tree", "expression"), "gv_engine.play.ui.drawing.recording:stage_renderer"
    ),
    commands_file=Path(__file__).with_name("commands.toml"),
)
