"""Declaration of the grid domain, importable without its dependencies."""

from gv_engine.rules.frame import VIEWS
from gv_engine.scenario.library import list_built_in_grids, list_multi_agent_grids
from gv_engine.scenario.plugin import Domain, KeyCommand

DOMAIN = Domain(
    name="grid",
    title="grid",
    plugin_module="gv_engine.domains.grid.hooks",
    env="gv_engine.envs.environment:GridEnv",
    vector_env="gv_engine.envs.vector_environment:GridVectorEnv",
    built_in=list_built_in_grids,
    format="gv_engine.domains.grid.hooks:FORMAT",
    episode="gv_engine.domains.grid.episode:GridEpisode",
    stage="gv_engine.domains.grid.stage:GridStage",
    sketch="gv_engine.domains.grid.board:EditorMapView",
    text="gv_engine.scenario.map:frame_to_text",
    observation_text="gv_engine.scenario.sentences:observation_to_text",
    terminal="gv_engine.domains.grid.terminal:GridTerminalView",
    views=dict.fromkeys(VIEWS, "gv_engine.domains.grid.board:make_renderer"),
    keys=(
        KeyCommand("MOVE_FORWARD", "move forward", ("Up", "W", "Pad Up"), True),
        KeyCommand("MOVE_BACKWARD", "move backward", ("Down", "S", "Pad Down"), True),
        KeyCommand("TURN_LEFT", "turn left", ("Left", "A", "Pad Left"), True),
        KeyCommand("TURN_RIGHT", "turn right", ("Right", "D", "Pad Right"), True),
        KeyCommand("MOVE_LEFT", "step left", ("Shift+Left", "Shift+A", "Q", "Pad LB"), True),
        KeyCommand("MOVE_RIGHT", "step right", ("Shift+Right", "Shift+D", "E", "Pad RB"), True),
        KeyCommand("ACTUATE", "use what is ahead", ("Space", "Pad A")),
        KeyCommand("PICK_N_DROP", "pick up or drop", ("P", "Pad X")),
        KeyCommand("PICK_UP", "pick up what is ahead", ("U",)),
        KeyCommand("DROP", "drop what is held", ("O",)),
        KeyCommand("TOGGLE", "open or close what is ahead", ("F",)),
        KeyCommand("DONE", "say that it is done", ("C",)),
        KeyCommand("NOOP", "do nothing", ("Period",)),
    ),
    panels=("inspector",),
    multi_agent=list_multi_agent_grids,
)
