"""Worlds as environments of Gymnasium: spaces, representations, one world and many."""
