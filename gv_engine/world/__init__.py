"""Object world, the reference implementation: one world of Python objects stored in the ECS library
esper, its views, random generator and step."""
