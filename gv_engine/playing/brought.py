"""Levels that a line of text brings along: what a scenario file says, and never any Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from gv_engine.language.errors import GVEngineError, shortened
from gv_engine.playing.catalogue import says
from gv_engine.playing.episode import Playable
from gv_engine.playing.replay import Replay, ReplayError
from gv_engine.reading.document import read_text
from gv_engine.reading.files import replacing
from gv_engine.reading.library import Level
from gv_engine.reading.loading import family_of
from gv_engine.reading.trust import Trust
from gv_engine.reading.untrusted import checked_digest, is_file_name

_TRUST = replace(Trust.given(code=False), alone=True)


def brought(replay: Replay, folder: Path) -> Playable:
    """The scenario of a replay by its own text, which is kept as a file: for a replay that somebody
    has pasted, where nobody knows its scenario. No Python is run for it, and no file that it names
    is read; nothing is written before the text is known to be the scenario.

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
        file = folder / checked_digest(said.digest)[:16] / f"{name}.yaml"
        try:
            document = read_text(said.text.encode(), Level(file, variant), _TRUST, replay.settings)
            found = cast(Playable, family_of(document).hooks.read(document))
        except GVEngineError as error:
            why = f": {error}"
        else:
            if found.identity.digest == said.digest:
                if not says(str(file), said.text):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with replacing(file) as draft:
                        draft.write_bytes(said.text.encode())
                return found
    raise ReplayError(
        f"a game of {shortened(said.name, 60)!r}, which is not known here, and its text alone is "
        f"not enough: it needs other files, or Python of its own{why}"
    )


def _names(name: str) -> Iterator[tuple[str, str]]:
    """What the file may be called, and which of the levels or variants in it is meant."""
    stem, _, variant = name.rpartition("-")
    for file, inner in ((name, ""), (stem, variant)):
        if is_file_name(file):
            yield file, inner
