"""What the family of mathy worlds offers; see `gv_engine.families.Hooks`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gv_engine.mathy.gym_env import ExpressionEnv
from gv_engine.mathy.scenario import MathyScenario
from gv_engine.scenario_file import Document


def read(document: Document, changes: Mapping[str, Any]) -> MathyScenario:
    """The scenario of a document."""
    return MathyScenario.read(document, changes)


def make_env(scenario: MathyScenario, **options: Any) -> ExpressionEnv:
    """Its Gymnasium environment."""
    return ExpressionEnv(scenario, **options)
