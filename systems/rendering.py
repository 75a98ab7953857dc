"""Rendering rules: they read the world and change nothing."""

from components.core import HIDDEN
from gv_engine.rules.frame import Canvas, Frame
from gv_engine.rules.geometry import FORWARD, action_name
from gv_engine.rules.system import RENDERING, system
from gv_engine.rules.world import World


@system(RENDERING, rows=True)
def draw_state_and_observation(w: World, agent: int, canvas: Canvas) -> None:
    """Show the whole grid, lit where the agent sees it, and beside it the agent's view."""
    observation = canvas.observation
    outcome = "terminated" if w.terminated else "truncated" if w.truncated else ""
    holding, facing = w.agent.holding[agent], int(w.agent.facing[agent])
    grid = w.cells()
    for other in w.agents():
        y, x = int(w.position.y[other]), int(w.position.x[other])
        if other != agent and y >= 0:
            grid[y, x] = w.appearance(other)
    canvas.show(
        Frame(
            title=canvas.title,
            grid=grid,
            agent=(int(w.position.y[agent]), int(w.position.x[agent]), facing),
            item=w.appearance(holding) if holding else (0, 0, 0),
            seen=canvas.area.grid_mask(w, agent, observation[..., 0] != HIDDEN),
            observation=observation,
            observer=(*canvas.area.observer, FORWARD if canvas.area.turns else facing),
            types=canvas.types,
            color=int(w.color.value[agent]),
            beneath=w.beneath(),
            stacks=w.stacks(),
            action=action_name(w.action[agent]) if w.steps else "",
            reward=float(w.reward[agent]),
            terms=canvas.terms,
            total=float(w.total[agent]),
            steps=w.steps,
            max_steps=canvas.max_steps,
            mission=canvas.mission,
            numbers=canvas.numbers,
            display=canvas.display,
            outcome=outcome,
            success=bool(w.success[agent]),
            ending=canvas.ending,
            message=canvas.message,
        )
    )
