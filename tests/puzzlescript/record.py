"""Recorder of the games in `tests/data/puzzlescript`, played by PuzzleScript's own engine.

    python -m tests.puzzlescript.record CHECKOUT

plays random inputs in the engine of a checkout of https://github.com/increpare/PuzzleScript, by
`node`, and writes `recordings.json`: for each level of each game its inputs, and a hash of the
level at the start and after each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random

from gv_engine.plugins.puzzlescript.source import read_game_source
from tests import DATA, ROOT
from tests.peers.puzzlescript_player import list_uniform

FOLDER = DATA / "puzzlescript"
_INPUTS = 60


def record(checkout: str) -> None:
    """Write the recordings of all games."""
    random, games, names = Random(1), [], []
    for file in sorted(FOLDER.glob("*.txt")):
        text = file.read_text("utf-8")
        for number, level in enumerate(read_game_source(text).levels):
            if level.rows:
                inputs = random.choices([0, 1, 2, 3, 3, 4, "tick", "restart"], k=_INPUTS)
                games.append([text, inputs, number])
                names.append(file.name)
    task = json.dumps({"games": games, "uniform": list_uniform()})
    script = ROOT / "tests" / "peers" / "puzzlescript.js"
    command = ["node", str(script), checkout]
    process = subprocess.run(command, input=task, capture_output=True, text=True, check=True)
    recordings = [
        {"game": name, "level": number, "inputs": inputs, "shown": result["shown"]}
        for name, (_, inputs, number), result in zip(names, games, json.loads(process.stdout))
    ]
    lines = ",\n".join(json.dumps(recording) for recording in recordings)
    (FOLDER / "recordings.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    record(sys.argv[1])
