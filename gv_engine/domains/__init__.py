"""Domains of worlds: each is a folder, and hands out the same things by one protocol.

`gv_engine.scenario.plugin` has the protocol, and the one line for each domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gv_engine.scenario.loading import load_scenario

__all__ = ["load_scenario"]


def __getattr__(name: str) -> Any:
    # late, as reading asks every domain what it is
    if name in __all__:
        from gv_engine.scenario import loading

        return getattr(loading, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
