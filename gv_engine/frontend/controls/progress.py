"""Which levels of packs the player has solved, kept from one time to the next."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from gv_engine.frontend.controls.folders import keep_aside, progress_file
from gv_engine.playing.game import Game
from gv_engine.reading.files import read_bytes, replacing
from gv_engine.reading.packs import PackLevel

_KEPT = 2000
"""Levels; those that were solved last."""
_LARGEST = 2**20
"""Bytes."""
_MARK = re.compile(rb'\s*"?(\w{1,64})"?\s*=\s*([1-9]\d{0,8})\s*(#.*)?')
"""A line: the digest of a map, and steps."""


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
        """The marks of all lines that can be made out, and what is wrong with others."""
        fewest: dict[str, int] = {}
        try:
            lines = read_bytes(self._file, _LARGEST, "marks of solved levels").splitlines()
        except FileNotFoundError:
            return fewest, ""
        except OSError as error:
            return fewest, f"{error}. Levels count as not solved{keep_aside(self._file)}"
        unfit = 0
        for line in lines:
            if mark := _MARK.fullmatch(line):
                digest, steps = mark[1].decode(), int(mark[2])
                fewest[digest] = min(steps, fewest.get(digest, steps))
            else:
                unfit += bool(line.strip()) and not line.lstrip().startswith(b"#")
        if not unfit:
            return fewest, ""
        some = "1 line" if unfit == 1 else f"{unfit} lines"
        wrong = f"{self._file}: {some} cannot be used and left out{keep_aside(self._file)}"
        return fewest, wrong

    def goal(self, level: PackLevel) -> str:
        """The par of a level of a pack beside the player's best."""
        best = self.fewest.get(level.digest, 0)
        par, least = f"par {level.par}" * bool(level.par), f"your best {best}" * bool(best)
        return " · ".join(filter(None, (par, least)))

    def told(self, game: Game, steps: int) -> str:
        """The steps of a level of a pack beside its par and the player's best; "" elsewhere."""
        level = game.pack_level
        if level is None:
            return ""
        return " · ".join(filter(None, (f"{steps} steps", self.goal(level))))

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
