"""Timesteps, the outcomes of moves."""

from gv_engine.plugins.algebra.state import (
    StepType,
    TimeStep,
    is_terminal_transition,
    termination,
    transition,
)

__all__ = ["StepType", "TimeStep", "is_terminal_transition", "termination", "transition"]
