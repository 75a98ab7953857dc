"""Tests, in the folders of what they test; what several of them use lies beside this."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""

DATA = ROOT / "tests" / "data"
"""Recorded episodes, and scenarios with rules of their own."""
