"""Declaration of the algebra domain, importable without mathy_core."""

from gv_engine.scenario.files import SCENARIOS
from gv_engine.scenario.library import list_scenarios
from gv_engine.scenario.plugin import MATH, Domain, KeyCommand, ScenariosByName

_HERE = "gv_engine.domains.algebra"


def _built_in() -> ScenariosByName:
    """Return the built-in algebra scenarios by name."""
    files = sorted((SCENARIOS / "mathy").glob("*.yaml"))
    return list_scenarios({f"mathy-{path.stem}": path for path in files})


DOMAIN = Domain(
    name="algebra",
    title="algebra",
    plugin_module=f"{_HERE}.hooks",
    env=f"{_HERE}.gym_env:ExpressionEnv",
    vector_env=f"{_HERE}.vector_env:ExpressionVectorEnv",
    built_in=_built_in,
    format=f"{_HERE}.reader:FORMAT",
    rules="systems.algebra",
    extra=MATH,
    episode=f"{_HERE}.episode:AlgebraEpisode",
    stage=f"{_HERE}.stage:TreeStage",
    text="gv_engine.rules.frame:expression_to_text",
    terminal=f"{_HERE}.terminal:TreeTerminalView",
    views=dict.fromkeys(
        ("both", "tree", "expression"), "gv_engine.ui.drawing.recording:stage_renderer"
    ),
    keys=(
        KeyCommand("next_usable", "to the next node with a rule", ("Tab", "E", "Pad RB"), True),
        KeyCommand("previous_usable", "and to the one before", ("Shift+Tab", "Q", "Pad LB"), True),
        KeyCommand("apply", "apply the rule", ("Space", "Pad A")),
        KeyCommand("hint", "hint", ("F", "Pad X")),
        KeyCommand("node_before", "node before", ("Left", "A", "Pad Left"), True),
        KeyCommand("node_after", "node after", ("Right", "D", "Pad Right"), True),
        KeyCommand("node_above", "node above", ("Up", "W", "Pad Up"), True),
        KeyCommand("node_below", "node below", ("Down", "S", "Pad Down"), True),
        KeyCommand("next_rule", "next rule", ("X", "Pad RightStick"), True),
        KeyCommand("previous_rule", "previous rule", ("Shift+X",), True),
        *(
            KeyCommand(f"rule_{n}", f"apply rule {n}", (f"{n}", f"Keypad {n}"))
            for n in range(1, 10)
        ),
    ),
)
