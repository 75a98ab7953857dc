"""Rendering: systems that only look, run on demand."""

from typing import Any

from components.objects import HIDDEN
from gv_engine.frame import Frame
from gv_engine.geometry import ACTIONS
from gv_engine.system import RENDERING, system


@system(RENDERING)
def draw_state_and_observation(w: Any, agent: int, canvas: Any) -> None:
    """Show the whole grid, lit where the agent sees it, and beside it what the agent sees."""
    simulation, observation = canvas.simulation, canvas.observation
    scenario = simulation.scenario
    outcome = "terminated" if w.terminated else "truncated" if w.truncated else ""
    canvas.show(
        Frame(
            title=simulation.member.name,
            grid=w.cells(),
            agent=(w.position.y[agent], w.position.x[agent], w.agent.facing[agent]),
            item=w.appearance(w.agent.holding[agent]) if w.agent.holding[agent] else (0, 0, 0),
            seen=simulation.view.on_grid(w, agent, observation[..., 0] != HIDDEN),
            observation=observation,
            observer=scenario.area.observer,
            action=ACTIONS[w.action] if w.steps else "",
            reward=w.reward,
            terms=dict(zip(scenario.reward_names, simulation.terms, strict=True)),
            total=w.total,
            steps=w.steps,
            max_steps=simulation.member.max_steps,
            outcome=outcome,
            message=canvas.message,
        )
    )
