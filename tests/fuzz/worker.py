"""Runs cases one after the other, and measures each; a process of its own."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from gv_engine.rules.errors import ScenarioError
from tests.canary import Ear, Sandbox, canary
from tests.fuzz.kinds import Case, Kind, kinds

MOST_CPU = 2.0
"""Seconds that a case may take of a processor."""
MOST_MEMORY = 300 * 2**20
"""Bytes that the process may have had at its largest."""
_COMPILER = 200 * 2**20
"""Bytes beside these where the compiler is imported, as for damaged rows."""
_LONGEST_MESSAGE = 5000
_SHRINK_FOR = 30.0
SHARES = {
    "scenarios": 4, "packs": 1, "replays": 1, "snapshots": 1, "rows": 1,
    "rollouts": 1, "policies": 1, "settings": 1, "actions": 1, "checkpoints": 1,
    "puzzlescript": 1,
}  # fmt: skip
"""How often a kind has its turn, if what it needs is installed."""


class Failure(NamedTuple):
    """What went wrong with a case; equal first words are one fault."""

    fault: str
    told: str


def main(
    folder: Path,
    seed: int,
    first: int,
    until: float,
    count: int,
    levels: int,
    only: str = "",
    hostile: bool = False,
) -> None:
    """Run cases until there is no time left, or so many; tell of each kind on stdout.

    Args:
        levels: how many are compiled for damaged rows.
        only: the only kind to run; "" for all.
        hostile: values that do harm where they are believed, in place of damage.
    """
    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True
    here = folder / "case"
    canary(folder / "outside.py", folder / "has run")
    ear, sandbox = Ear(here), Sandbox(here)
    if hostile:
        from tests.fuzz.hostile import hostile_kinds  # opens the app, and what reads datasets

        known = hostile_kinds(folder)
        turns = [*known]
    else:
        known = kinds(folder, levels)
        turns = [name for name, share in SHARES.items() if name in known for _ in range(share)]
    turns = [name for name in turns if only in ("", name)]
    at_first = _peak() if hostile or "torch" in sys.modules else 0
    for index in range(first, first + count):
        if time.time() > until:
            return
        name = turns[index % len(turns)]
        case = known[name].make(Random(f"{seed} {index}"))
        _write(here, case)
        (folder / "now").write_text(json.dumps([index, name]))
        began = time.process_time()
        failure = run(known[name], here, case, ear, sandbox)
        took = time.process_time() - began
        peak = _peak()
        if failure is None and took > MOST_CPU:
            failure = Failure("slow", f"{took:.1f} s of CPU")
        most = MOST_MEMORY + at_first + ("llvmlite" in sys.modules) * _COMPILER
        if failure is None and peak > most:
            failure = Failure("large", f"{peak >> 20} MiB at its largest")
        if failure is not None:
            if failure.fault not in ("slow", "large") and not hostile:
                case = smallest(known[name], here, case, ear, failure)
            path = str(_kept(folder, name, case))
            _tell(failed=name, index=index, path=path, **failure._asdict())
        _tell(ran=name, index=index, took=took, peak=peak)
        if failure is not None and failure.fault == "large":
            return  # what comes next would be blamed for it


def _peak() -> int:
    """Bytes of memory that the process has had at its largest."""
    status = Path("/proc/self/status")
    if status.exists():  # the other way counts what the parent had when it started this one
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource  # Windows has none, and only imports this module

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def run(
    kind: Kind, here: Path, case: Case, ear: Ear, sandbox: Sandbox | None = None
) -> Failure | None:
    """What is wrong with how the engine takes a case, None if nothing is."""
    broken = [] if sandbox is None else sandbox.broken
    try:
        ear.strange.clear()
        broken.clear()
        said = kind.run(here) or ""
    except kind.allowed as error:
        said = str(error)
        named = isinstance(error, ScenarioError) or str(here) in said
        if kind.main != "level.yaml" and not named:
            return Failure("unnamed", f"the message does not name the file: {said[:200]}")
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frames[-1].filename).name}:{frames[-1].name}"
        return Failure(
            f"{type(error).__name__} in {place}",
            "".join(traceback.format_exception(error, limit=-6))[-3000:],
        )
    if ear.strange:
        return Failure("strange", f"opened for running: {ear.strange[:3]}")
    if broken:
        return Failure("broken", f"outside of its folder: {broken[:3]}")
    if len(said) > _LONGEST_MESSAGE:
        return Failure("long", f"a message of {len(said)} characters: {said[:200]}")
    left = {path.name for path in here.iterdir()} - set(case)
    if left:
        return Failure("left", f"left behind: {sorted(left)}")
    return None


def smallest(kind: Kind, here: Path, case: Case, ear: Ear, failure: Failure) -> Case:
    """A smaller case with the same fault: first without lines, then without words or bytes."""
    until = time.monotonic() + _SHRINK_FOR

    def fails(smaller: Case) -> bool:
        _write(here, smaller)
        found = run(kind, here, smaller, ear)
        return found is not None and found.fault == failure.fault

    for name in case:
        for cut in (b"\n", b" ", b""):
            parts = case[name].split(cut) if cut else [bytes([each]) for each in case[name]]
            step = len(parts) // 2
            while step and time.monotonic() < until:
                at = 0
                while at < len(parts) and time.monotonic() < until:
                    fewer = parts[:at] + parts[at + step :]
                    smaller = {**case, name: cut.join(fewer)}
                    if fails(smaller):
                        case, parts = smaller, fewer
                    else:
                        at += step
                step //= 2
    return case


def _write(here: Path, case: Case) -> None:
    here.mkdir(exist_ok=True)
    for path in here.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in case:
            path.unlink()
    for name, data in case.items():
        (here / name).write_bytes(data)


def _kept(folder: Path, name: str, case: Case) -> Path:
    place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder.parent))
    _write(place, case)
    return place


def _tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    place, begun, start, end, most, few, only, *more = sys.argv[1:]
    numbers = int(begun), int(start), float(end), int(most), int(few)
    main(Path(place), *numbers, only, more == ["hostile"])
