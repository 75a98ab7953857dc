"""One world: Python objects over esper, views of it, its generator, and its step."""
