"""One world: objects over esper, its row, its chance, its step."""
