"""Text games under a name without a dot, which `vf-eval gv_text_games` of verifiers imports."""

from gv_engine.plugins.adapters.verifiers import TextGameEnv, TextGameTaskset

__all__ = ["TextGameEnv", "TextGameTaskset"]
