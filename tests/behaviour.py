"""Recorded behaviour of every Gymnasium id that `import gv_engine` registers.

    python -m tests.behaviour [ID...]                  compare all ids, or these, with the record
    python -m tests.behaviour --write [--force ID...]  write what is new into the record

Each line of `tests/data/behaviour.txt` has an id and a digest of what an agent receives in `STEPS`
steps from each seed in `SEEDS`: observations, rewards, ends, missions, action masks and success.
The version of an id promises that they stay, see docs/versions.md. So `--write` adds new ids, and
replaces an id whose version was raised, but refuses to change the digest of an id.

A digest contains numbers as little-endian bytes and texts as UTF-8. It does not depend on the
platform, nor on the version of Python or NumPy.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pkgutil import resolve_name
from typing import Any

import gymnasium
import numpy as np

import gv_engine  # noqa: F401  # registers the ids
from gv_engine.envs.environment import GridEnv
from tests import DATA

RECORD = DATA / "behaviour.txt"
SEEDS = range(4)
STEPS = 50
"""Steps from each seed, through the ends of episodes."""

_ANY_ACTION = 0.25
"""Probability that an action is drawn from all actions, not only from those with an effect."""

_INFO = "mission", "action_mask", "success"
"""Keys of `info` that are compared, if an environment has them."""

CHANGED = (
    "{0} does not play as recorded: mend the change, or raise the version of its scenario in "
    "ID_VERSIONS in gv_engine/scenario/library.py and run `python -m tests.behaviour --write`"
)
CHANGED_COPY = (
    "{0} does not play as recorded: mend the change, or, if MiniGrid plays as it does now, run "
    "`python -m tests.behaviour --write --force {0}`"
)
NEW = "{0} is not recorded yet: run `python -m tests.behaviour --write`"
GONE = (
    "{0} is recorded, but no longer registered: bring it back, or remove it on purpose by "
    "`python -m tests.behaviour --write --force {0}`"
)
RAISED = "{0} is recorded, but {1} has replaced it: run `python -m tests.behaviour --write`"

# ---- digests -------------------------------------------------------------------------------------


def list_ids() -> list[str]:
    """Return the sorted ids, but for `GV-Scenario-v0`, which has no level of its own."""
    specs = gymnasium.registry.values()
    return sorted(
        spec.id for spec in specs if spec.id.startswith("GV-") and "scenario" in spec.kwargs
    )


def make_digest(env_id: str) -> str:
    """Return the digest of the behaviour of `env_id`, in hexadecimal digits."""
    spec = gymnasium.spec(env_id)
    env_class = resolve_name(str(spec.entry_point))
    # compiled worlds play the same, but compile for seconds
    options = {"world": "object"} if issubclass(env_class, GridEnv) else {}
    env = env_class(**spec.kwargs, **options)
    received = sha256()
    for seed in SEEDS:
        for outputs in _play(env, seed):
            received.update(encode(outputs))
    env.close()
    return received.hexdigest()


def _play(env: gymnasium.Env[Any, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield what an agent receives in each reset and step."""
    draw = random.Random(seed).random  # the same numbers in every version of Python
    observation, info = env.reset(seed=seed)
    yield _pick(observation, info)
    for _ in range(STEPS):
        mask = info["action_mask"]
        allowed = np.flatnonzero(mask) if draw() >= _ANY_ACTION and mask.any() else range(mask.size)
        observation, reward, terminated, truncated, info = env.step(
            int(allowed[int(draw() * len(allowed))])
        )
        results = {"reward": float(reward), "terminated": terminated, "truncated": truncated}
        yield results | _pick(observation, info)
        if terminated or truncated:
            observation, info = env.reset()
            yield _pick(observation, info)


def _pick(observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    return {"observation": observation, **{name: info[name] for name in _INFO if name in info}}


def encode(value: Any) -> bytes:
    """Return a value of an environment as bytes that are the same on every machine.

    Args:
        value: an array, number or text, or a mapping of such values, whose order does not count.
    """
    if isinstance(value, Mapping):
        return b"".join(name.encode() + b"\0" + encode(value[name]) for name in sorted(value))
    if isinstance(value, str):
        return value.encode() + b"\0"
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, int):
        return struct.pack("<q", value)
    array = np.asarray(value)
    kind = f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}"
    return kind.encode() + b"\0" + array.astype(array.dtype.newbyteorder("<")).tobytes()


# ---- record --------------------------------------------------------------------------------------


def read_record() -> dict[str, str]:
    """Return the recorded digest of each id."""
    lines = RECORD.read_text("utf-8").splitlines() if RECORD.exists() else []
    return dict(line.split() for line in lines)


def write_record(digests: Mapping[str, str]) -> None:
    """Write a digest for each id, sorted by id."""
    text = "".join(f"{env_id} {digests[env_id]}\n" for env_id in sorted(digests))
    RECORD.write_text(text, "utf-8", newline="\n")


def find_fault(env_id: str, digest: str, record: Mapping[str, str]) -> str:
    """Return a sentence about an id with another digest than in the record, and what to do; "" if
    there is nothing to say."""
    if env_id not in record:
        return NEW.format(env_id)
    if digest == record[env_id]:
        return ""
    is_copy = env_id.startswith(("GV-MiniGrid-", "GV-BabyAI-"))
    return (CHANGED_COPY if is_copy else CHANGED).format(env_id)


def find_gone(ids: Iterable[str], record: Mapping[str, str]) -> dict[str, str]:
    """Return a sentence about each recorded id that is not among `ids`, and what to do."""
    registered = {*ids}
    gone = {}
    for env_id in record.keys() - registered:
        later = find_later(env_id, registered)
        gone[env_id] = RAISED.format(env_id, later) if later else GONE.format(env_id)
    return gone


def find_later(env_id: str, ids: Iterable[str]) -> str:
    """Return the id of a higher version than `env_id` among `ids`; "" if there is none."""
    name, _, version = env_id.rpartition("-v")
    for other in ids:
        other_name, _, other_version = other.rpartition("-v")
        if other_name == name and int(other_version) > int(version):
            return other
    return ""


def update(record: dict[str, str], ids: Iterable[str], forced: Iterable[str]) -> list[str]:
    """Add new ids to `record`, remove those that a higher version has replaced, and change the
    `forced` ones. Return a sentence about each id that was refused."""
    ids, refused = [*ids], []
    for env_id in ids:
        digest = make_digest(env_id)
        if env_id not in record or env_id in forced:
            record[env_id] = digest
        elif fault := find_fault(env_id, digest, record):
            refused.append(fault)
    for env_id, fault in find_gone(ids, record).items():
        if env_id in forced or find_later(env_id, ids):
            del record[env_id]
        else:
            refused.append(fault)
    return refused


def main(arguments: list[str] | None = None) -> int:
    """Compare or write the record, and return 1 if an id does not play as recorded, else 0."""
    summary, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.behaviour",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ids", metavar="ID", nargs="*", help="ids to compare (default: all)")
    parser.add_argument("--write", action="store_true", help="write what is new into the record")
    parser.add_argument(
        "--force", metavar="ID", nargs="+", default=[], help="with --write: change these digests"
    )
    options = parser.parse_args(arguments)
    ids, record = list_ids(), read_record()
    if unknown := sorted({*options.ids, *options.force} - {*ids, *record}):
        parser.error(f"no such id: {', '.join(unknown)}")
    if options.write and options.ids:
        parser.error("--write takes all ids; name an id with --force to change its digest")
    if options.force and not options.write:
        parser.error("--force has a meaning with --write only")
    if options.write:
        faults = update(record, ids, options.force)
        write_record(record)
    else:
        chosen = options.ids or ids
        digests = {env_id: make_digest(env_id) for env_id in chosen if env_id in ids}
        faults = [find_fault(env_id, digest, record) for env_id, digest in digests.items()]
        gone = find_gone(ids, record)
        faults += [fault for env_id, fault in gone.items() if not options.ids or env_id in chosen]
    faults = [fault for fault in faults if fault]
    print(*faults, f"{len(faults)} faults, {len(record)} ids recorded", sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
