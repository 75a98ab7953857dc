"""From a scenario to compiled code. It imports Numba; nothing but compiled worlds imports it."""
