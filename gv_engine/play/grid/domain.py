"""Declaration of the grid domain, importable without its dependencies."""

from pathlib import Path

from gv_engine.rules.frame import VIEWS
from gv_engine.scenario.domains import Domain
from gv_engine.scenario.library import list_built_in_grids, list_multi_agent_grids


def list_player_views(level_view: str) -> tuple[str, ...]:
    """Return the two views for players of a level whose scenario names the view `level_view`, or
    "": the level's own view, by default the state, and the state. If that is the same, the
    observation is second, beside the state in a level that names the view "state".

    >>> list_player_views("")
    ('state', 'observation')
    >>> list_player_views("state")
    ('state', 'both')
    >>> list_player_views("explored")
    ('explored', 'state')
    """
    seconds = {"": "observation", "state": "both"}
    return level_view or "state", seconds.get(level_view, "state")


DOMAIN = Domain(
    name="grid",
    title="grid",
    plugin_module="gv_engine.play.grid.hooks",
    env="gv_engine.envs.environment:GridEnv",
    vector_env="gv_engine.envs.vector_environment:GridVectorEnv",
    built_in=list_built_in_grids,
    format="gv_engine.play.grid.hooks:FORMAT",
    episode="gv_engine.play.grid.episode:GridEpisode",
    stage="gv_engine.play.grid.stage:GridStage",
    sketch="gv_engine.play.grid.board:EditorMapView",
    text="gv_engine.scenario.readers.map:frame_to_text",
    observation_text="gv_engine.scenario.missions.sentences:observation_to_text",
    terminal="gv_engine.play.grid.terminal:GridTerminalView",
    views=dict.fromkeys(VIEWS, "gv_engine.play.grid.board:make_renderer"),
    commands_file=Path(__file__).with_name("commands.toml"),
    panels=("inspector",),
    multi_agent=list_multi_agent_grids,
)
