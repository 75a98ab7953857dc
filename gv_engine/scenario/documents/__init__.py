"""Scenario files before a domain reads them, and the Python that they name."""
