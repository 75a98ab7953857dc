"""Which levels of packs the player has solved, kept from one time to the next."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gv_engine.frontend.controls.folders import keep_aside, progress_file, read_toml
from gv_engine.playing.game import Game
from gv_engine.reading.files import replacing

_KEPT = 2000
"""Levels; those that were solved last."""


class Progress:
    """The levels in `progress.toml`, by the digests of their maps; a wrong line counts as left out.

    Args:
        file: `progress.toml` in the data folder if None.

    Attributes:
        fewest: in how many steps each was solved at best.
        wrong: what is wrong with the file, empty if nothing; then it is kept beside itself, with
            `.bad` after its name.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or progress_file()
        self.fewest, self.wrong = self._read()

    def _read(self) -> tuple[dict[str, int], str]:
        found, _, wrong = read_toml(self._file, "marks of solved levels")
        fewest = {
            digest: steps
            for digest, steps in found.items()
            if type(steps) is int and steps > 0 and digest.isalnum()
        }
        if not wrong and len(fewest) < len(found):
            count = len(found) - len(fewest)
            wrong = f"{self._file}: {count} of its lines cannot be used and are left out"
        if wrong:
            wrong += keep_aside(self._file)
        return fewest, wrong

    def told(self, game: Game, steps: int) -> str:
        """The steps of a level of a pack beside its par and the player's best; "" elsewhere."""
        level = game.pack_level
        if level is None:
            return ""
        best = self.fewest.get(level.digest, 0)
        par, least = f"par {level.par}" * bool(level.par), f"your best {best}" * bool(best)
        return " · ".join(filter(None, (f"{steps} steps", par, least)))

    def solved(self, game: Game, steps: int) -> None:
        """Keep in how many steps the level of a pack was solved, if that is the fewest.

        Raises:
            OSError: it cannot be written; it counts all the same until the end.
        """
        if not game.pack_level:
            return
        digest = game.pack_level.digest
        with suppress(OSError):  # somebody may be playing in another window, too
            for other, least in self._read()[0].items():
                self.fewest[other] = min(least, self.fewest.get(other, least))
        before = self.fewest.pop(digest, steps)
        self.fewest[digest] = min(steps, before)
        lines = [f"{known} = {least}\n" for known, least in [*self.fewest.items()][-_KEPT:]]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._file) as draft:
            draft.write_text("".join(lines), "utf-8")
