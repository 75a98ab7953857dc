"""Small changes of bytes, texts and trees of values, all drawn from one generator."""

from __future__ import annotations

import copy
import json
import re
from random import Random
from typing import Any

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 5, 63, 64, 65, 127, 255, 256, 511, 512, 513, 1024, 10**5, 10**6, 10**9),
    *(2**31 - 1, 2**31, 2**63, 10**400, -(2**31), -(10**20)),
    *(0.5, -0.1, 1e-320, 1e308, float("inf"), float("nan"), 1e20),
)
_MANY = 1000
"""Values of a tree that is not changed any more."""
TEXTS = (
    *("", " ", "a", "no", "null", "{}", "x" * 300, "y" * 5000, "ü😀"),
    *("a\nb", "a\tb", "\x00", "\x7f", "2026-01-01", "1:30", "~", "<<", "*a", "&a b"),
    *("0x7f", "1e400", "1_000", "-.inf", ".nan"),
    *("./rules.py:hit_rubble", "./rules.py:RUBBLE", "./rules.py:Gone", "./gone.py:f", "rules.py"),
    *("os:_exit", "builtins:exec", "builtins:max", "esper:Processor", "subprocess:run"),
    *("../outside.py:rule", "./../outside.py:rule", "tests.canary:canary", "this:s"),
    *("Health", "Health.points", "./rules.py:Gone.points", ".points", "Health."),
    *("no.such:thing", "./:f", ":f", "..", "/", ".", "a/../b.yaml", "level.yaml", "fifo.yaml"),
)
SCRAPS = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\t", b"\r", b"\n", b"  ", b"9" * 50),
    *(b"- ", b": ", b"? ", b"[", b"]", b"{", b"}", b"'", b'"', b"#", b"|", b">", b"@", b"`"),
    *(b"&a ", b"*a", b"<<: *a\n", b"!!python/object:os.system ", b"!!binary x"),
    *(b"%YAML 9\n", b"---\n", b"...\n", b"e"),
)


# ---- bytes ---------------------------------------------------------------------------------------


def damaged(rng: Random, data: bytes) -> bytes:
    """One to four changes of bytes, most often one."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice((1, 2, 8, 64)))
        match rng.randrange(7):
            case 0 if found:
                at = min(at, len(found) - 1)
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                del found[at:]
            case 2:
                del found[at:end]
            case 3:
                found[at:at] = rng.choice(SCRAPS)
            case 4:
                found[at:at] = found[at:end]
            case 5:
                found[at:end] = rng.randbytes(end - at)
            case _:
                found[at:end] = bytes(end - at)
    return bytes(found)


def edited(rng: Random, text: str) -> str:
    """One to three changes of lines or words, most often one."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        match rng.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = " " * rng.randrange(4) + lines[at].lstrip()
            case 4:
                lines[at] = re.sub(r"-?\d+(\.\d+)?", lambda _: str(rng.choice(NUMBERS)), lines[at])
            case 5:
                words = re.split(r"(\w+)", lines[at])
                words[rng.randrange(len(words))] = rng.choice(TEXTS)
                lines[at] = "".join(words)
            case 6:
                where = rng.randrange(len(lines[at]) + 1)
                scrap = rng.choice(SCRAPS).decode("latin-1")
                lines[at] = lines[at][:where] + scrap + lines[at][where:]
            case _:
                lines[at:at] = [lines[at]] * rng.choice((2, 10, 300))
        text = "\n".join(lines)
    return text


# ---- trees ---------------------------------------------------------------------------------------


def places(tree: Any) -> list[tuple[Any, Any]]:
    """(container, key) of all values below the root."""
    found = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in pairs:
            found.append((node, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found


class Trees:
    """Changes trees of values, with what others of their kind hold.

    Args:
        trees: those that there are.
    """

    def __init__(self, trees: list[Any]) -> None:
        self.trees = trees
        self._values = [node[key] for tree in trees for node, key in places(tree)]
        self._keys = sorted(
            {key for tree in trees for node, key in places(tree) if isinstance(node, dict)},
            key=str,  # a legend has numbers among them
        )

    def changed(self, rng: Random, tree: Any) -> Any:
        """A copy with one to four changes, most often one."""
        tree = copy.deepcopy(tree)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            found = places(tree)
            if not found:
                return self.value(rng)
            if len(found) > _MANY:  # or lists of lists would grow without end
                break
            node, key = rng.choice(found)
            self._change(rng, node, key)
        return tree

    def _change(self, rng: Random, node: Any, key: Any) -> None:
        match rng.randrange(8):
            case 0:
                del node[key]
            case 1:
                node[key] = copy.deepcopy(rng.choice(self._values))
            case 2 if isinstance(node, dict):
                node[self.key(rng)] = node.pop(key)
            case 2:
                node.insert(key, copy.deepcopy(rng.choice(node)))
            case 3 if isinstance(node, dict):
                node[self.key(rng)] = copy.deepcopy(rng.choice(self._values))
            case 3:
                node[key:key] = [node[key]] * rng.choice((1, 2, 20, 300))
            case 4:
                node[key] = rng.choice(([node[key]], {"name": node[key]}, [node[key]] * 3))
            case 5 if isinstance(node[key], str):
                node[key] = edited(rng, node[key])
            case 5 if isinstance(node[key], int | float) and abs(node[key]) < 10**9:
                node[key] += rng.choice((1, -1, 0.5, 100))
            case _:
                node[key] = self.value(rng)

    def key(self, rng: Random) -> str:
        """A key, mostly one that others have."""
        return str(rng.choice(TEXTS) if rng.random() < 0.2 else rng.choice(self._keys))

    def value(self, rng: Random) -> Any:
        """Any value."""
        match rng.randrange(6):
            case 0 | 1:
                return rng.choice(NUMBERS)
            case 2:
                return rng.choice(TEXTS)
            case 3:
                return rng.choice((None, True, False, [], {}, [[]], [None]))
            case 4:
                return [self.value(rng) for _ in range(rng.randrange(4))]
            case _:
                return {self.key(rng): self.value(rng) for _ in range(rng.randrange(3))}


def as_json(tree: Any) -> str:
    """JSON, in which numbers may be infinite."""
    return json.dumps(tree, ensure_ascii=False, default=str)
