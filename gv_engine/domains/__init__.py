"""Domains: plugins for kinds of worlds, one package each, with the interface of `DomainPlugin`.

`gv_engine.scenario.plugin` defines the interface and lists the domains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gv_engine.scenario.loading import load_scenario

__all__ = ["load_scenario"]


def __getattr__(name: str) -> Any:
    # imported late, because loading imports the domains
    if name in __all__:
        from gv_engine.scenario import scenario

        return getattr(scenario, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
