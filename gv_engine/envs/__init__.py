"""Gymnasium environments of scenarios: single and vector environments, spaces, observations,
levels."""
