"""Levels that a line of text brings along: what a scenario file says, and never any Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gv_engine.language.errors import GVEngineError
from gv_engine.playing.catalogue import read_playable
from gv_engine.playing.episode import Playable
from gv_engine.playing.replay import Replay, ReplayError
from gv_engine.reading.files import replacing
from gv_engine.reading.trust import Trust

_NAME = re.compile(r"\w[\w .+-]{0,80}")


def brought(replay: Replay, folder: Path) -> Playable:
    """The scenario of a replay by its own text, which is kept as a file: for a replay that somebody
    has pasted, where nobody knows its scenario. No Python is run for it.

    Args:
        replay: with the text.
        folder: where the file goes, into a folder of its own.

    Raises:
        ReplayError: the text alone is not the scenario.
        OSError: the file cannot be written.
    """
    said = replay.scenario
    why = ""
    for name, variant in _names(said.name):
        file = folder / said.digest[:16] / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as draft:
            draft.write_text(said.text, "utf-8")
        try:
            level = f"{file}#{variant}" if variant else file
            found = read_playable(level, Trust.given(code=False), replay.settings)
        except GVEngineError as error:
            why = f": {error}"
        else:
            if found.identity.digest == said.digest:
                return found
        file.unlink()
        file.parent.rmdir()
    raise ReplayError(
        f"a game of {said.name!r}, which is not known here, and its text alone is not enough: it "
        f"needs other files, or Python of its own{why}"
    )


def _names(name: str) -> Iterator[tuple[str, str]]:
    """What the file may be called, and which of the levels or variants in it is meant."""
    stem, _, variant = name.rpartition("-")
    for file, inner in ((name, ""), (stem, variant)):
        if _NAME.fullmatch(file):
            yield file, inner
