"""MiniGrid's levels and rules; they use the RNG exactly as the reference does.

Oddities of the reference are reproduced here, and nowhere in the engine. Scenario files name these
systems by their modules, `gv_engine.plugins.minigrid.systems.levels:empty`.
"""
