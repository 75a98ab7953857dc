"""Rendering: systems that only look, run on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.appearance import HIDDEN
from gv_engine.language.frame import Frame
from gv_engine.language.geometry import action_name
from gv_engine.language.system import RENDERING, system
from gv_engine.language.world import World

if TYPE_CHECKING:
    from gv_engine.worlds.canvas import Canvas


@system(RENDERING, rows=True)
def draw_state_and_observation(w: World, agent: int, canvas: Canvas) -> None:
    """Show the whole grid, lit where the agent sees it, and beside it what the agent sees."""
    scenario, observation = canvas.scenario, canvas.observation
    member = scenario.members[w.member]
    outcome = "terminated" if w.terminated else "truncated" if w.truncated else ""
    holding = w.agent.holding[agent]
    canvas.show(
        Frame(
            title=member.name,
            grid=w.cells(),
            agent=(int(w.position.y[agent]), int(w.position.x[agent]), int(w.agent.facing[agent])),
            item=w.appearance(holding) if holding else (0, 0, 0),
            seen=canvas.view.on_grid(w, agent, observation[..., 0] != HIDDEN),
            observation=observation,
            observer=scenario.area.observer,
            action=action_name(w.action) if w.steps else "",
            reward=w.reward,
            terms=dict(zip(scenario.reward_names, canvas.terms, strict=True)),
            total=w.total,
            steps=w.steps,
            max_steps=member.max_steps,
            outcome=outcome,
            success=bool(w.success),
            ending=scenario.ending(w),
            message=canvas.message,
        )
    )
