"""Player of PuzzleScript games in our worlds, with the inputs of PuzzleScript's recordings."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine import GridEnv
from gv_engine.plugins.puzzlescript.scenario import make_scenario
from gv_engine.plugins.puzzlescript.source import read_game_source

SEEDS = 12
"""Number of seeds; level k of a game has the seed k % SEEDS."""
MOVES: dict[int | str, str] = {
    **{0: "MOVE_FORWARD", 1: "MOVE_LEFT", 2: "MOVE_BACKWARD", 3: "MOVE_RIGHT"},
    **{4: "ACTUATE", "tick": "NOOP", "restart": "RESTART"},
}
"""Action of each recorded input."""


def list_uniform(length: int = 20_000) -> list[list[float]]:
    """Return the random numbers of our worlds, by seed."""
    return [np.random.default_rng(seed).random(length).tolist() for seed in range(SEEDS)]


def share_program(mapping: dict[str, Any]) -> None:
    """Change the keys of a scenario so that most games have the same layout in memory, and so share
    one compiled program. Only observations and pictures suffer."""
    layers = mapping["reset_function"]["layers"]
    side, layers = (
        1 << max(smallest, (size - 1).bit_length())
        for smallest, size in ((4, max(mapping["max_shape"])), (3, layers))
    )
    names = [name.rstrip("0123456789") for name in mapping["objects"]["Cell"]["components"]]
    components = [f"{name}{layers}" for name in names]
    mapping |= {"max_shape": [side, side], "capacity": side**2 + 4, "sprites": {}}
    mapping["objects"] = {"Cell": {"components": components, "states": ["A", "B"]}}
    mapping["observation_function"]["area"] = [[1, 1], [1, 1]]


class GamePlayer:
    """Game that goes on with its next level after a win, as PuzzleScript does in its own tests."""

    def __init__(self, text: str, number: int, world: str) -> None:
        """Load level `number` of a source, counted with messages, into a world of this kind."""
        self.text, self.number, self.world = text, number, world
        source = read_game_source(text)
        self.levels, self.settings = source.levels, source.settings
        self.loaded, self.is_over = -1, False
        self.load()

    def load(self) -> None:
        """Load the current level."""
        self.loaded += 1
        name = str(sum(bool(level.rows) for level in self.levels[: self.number + 1]))
        mapping = make_scenario(self.text, name, has_tools=True)
        mapping.pop("variants", None)
        share_program(mapping)
        self.env = GridEnv(mapping, world=self.world)
        self.actions = self.env.scenario.action_names
        self.env.reset(seed=self.loaded % SEEDS)
        self.undos: list[NDArray[Any]] = []

    def read(self) -> tuple[Any, NDArray[Any]]:
        """Return the row of the world, and the objects of its cells, by layer."""
        row: Any = self.env.snapshot()
        cells = row["at"][: row["height"], : row["width"]]
        return row, row["stack"]["objects"][cells.T.ravel()]

    def play(self, recorded: int | str) -> None:
        """Do what a recorded input says."""
        if recorded == "undo":
            self.undo()
            return
        if recorded == "restart" and "norestart" in self.settings:
            return
        row, before = self.read()
        *_, terminated, _, _ = self.env.step(self.actions.index(MOVES[recorded]))
        _, after = self.read()
        if recorded == "restart" or (recorded != "tick" and (before != after).any()):
            self.undos.append(row)
        if terminated and self.env.snapshot()["turn_result"]["won"].any():
            self.win()

    def win(self) -> None:
        """Go on to the next level. Without a next one, and if it is a message, the level stays, and
        PuzzleScript's tests do not look for wins any more."""
        if self.is_over:
            return
        self.number = (self.number + 1) % len(self.levels)
        self.is_over = not self.number or not self.levels[self.number].rows
        if not self.is_over:
            self.load()

    def undo(self) -> None:
        """Go back to the last other state; the checkpoint and the random generator stay."""
        row, now = self.read()
        cells = row["at"][: row["height"], : row["width"]].T.ravel()
        while self.undos and (self.undos[-1]["stack"]["objects"][cells] == now).all():
            self.undos.pop()
        if self.undos and "noundo" not in self.settings:
            row = row.copy()
            row["stack"]["objects"] = self.undos.pop()["stack"]["objects"]
            self.env.restore(row)

    def digest(self) -> str:
        """Return a hash of the objects in all cells, as `puzzlescript.js` computes it."""
        row, stacks = self.read()
        parts = [str(row["height"]), str(row["width"])]
        for cell in stacks.tolist():
            parts.append(" ".join(map(str, sorted(each - 1 for each in cell if each))))
        return hashlib.sha256(",".join(parts).encode()).hexdigest()[:16]
