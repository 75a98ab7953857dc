"""Where what belongs to the player is kept, by the customs of the system."""

from __future__ import annotations

from pathlib import Path

import platformdirs

NAME = "gv-engine"


def config_folder() -> Path:
    """Settings and keys."""
    return Path(platformdirs.user_config_dir(NAME, appauthor=False))


def replay_folder() -> Path:
    """Replays."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "replays"


def recording_folder() -> Path:
    """Pictures and videos."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "recordings"
