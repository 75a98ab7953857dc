"""Policies and rollouts: many episodes played by a policy, their folders on disk, and snapshots of
worlds."""
