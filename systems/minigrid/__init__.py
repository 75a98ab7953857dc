"""MiniGrid: its levels and rules, draw by draw as the reference has them.

Oddities are part of what is reproduced: they are in here, and nowhere in the engine. Scenario files
name these systems by their modules, `systems.minigrid.levels:empty`.
"""
