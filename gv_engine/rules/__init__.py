"""API that rules are written with: components, object types, systems, geometry, world methods.
Imports nothing heavier than NumPy."""
