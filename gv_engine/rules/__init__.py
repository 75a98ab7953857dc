"""What rules are written in: components, object types, systems, geometry, verbs. NumPy at most."""
