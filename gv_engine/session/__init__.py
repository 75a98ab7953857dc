"""Somebody plays, or watches what was played: games, replays and recordings, without a window."""
