"""Vector environments, and rollouts, as other libraries want them; none is imported before it is
asked for."""
