"""Algebra as a game: expressions as worlds, rewrite rules as moves.

Needs the library mathy_core, which the extra `math` installs; without it, the error message says
how to install it.

>>> from gv_engine.mathy import MathyEnvState, PolySimplify
>>> env = PolySimplify(seed=1)
>>> state = MathyEnvState(problem="4x + 2x", max_moves=10)
>>> state, timestep, change = env.get_next_state(state, (3, 3))
>>> state.agent.problem, state.agent.moves_remaining, timestep.reward
('(4 + 2) * x', 9, 0.01)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
