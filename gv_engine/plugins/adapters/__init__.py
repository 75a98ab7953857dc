"""Adapters of environments and rollouts to other libraries; each is imported only when used."""

from typing import Any


def parallel_env(scenario: Any, **options: Any) -> Any:
    """Return a PettingZoo environment (`ParallelGridEnv`) for a scenario with several agents.

    >>> env = parallel_env("hold-plates", world="object")
    >>> observations, infos = env.reset(seed=0)
    >>> sorted(observations)
    ['ann', 'bob']

    Args:
        scenario, options: as for `ParallelGridEnv`.

    Raises:
        MissingExtraError: PettingZoo is not installed.
    """
    from gv_engine.plugins.adapters.pettingzoo import ParallelGridEnv

    return ParallelGridEnv(scenario, **options)
