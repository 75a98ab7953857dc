"""WebAssembly modules of the compiled language, run in Node.js."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.compiler.language.body import ARENA_HEAD, NUMBERS
from gv_engine.compiler.language.wasm import STACK_TOP, link_texts
from tests.compiler.language import ARENA, RESULTS, pack, read_result, write_functions

NODE = shutil.which("node")
_MEMORY = 1 << 22
"""Bytes behind the image."""

Call = dict[str, Any]


def run_in_node(module: bytes, image: bytes, calls: list[Call]) -> list[list[Any]]:
    """Run calls of a module whose memory begins with `image`, with an arena behind it. Return for
    each call the result, or the text of an exception, and the bytes that it reads."""
    assert NODE is not None
    data = {
        "module": encode(module),
        "image": encode(image),
        "start": STACK_TOP,
        "size": len(image) + _MEMORY,
        "calls": calls,
    }
    script = str(Path(__file__).with_name("run_wasm.js"))
    done = subprocess.run(
        [NODE, script], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    results: list[list[Any]] = json.loads(done.stdout)
    return [[first, *map(base64.b64decode, rest)] for first, *rest in results]


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def run_in_wasm(
    functions: Sequence[Any], kinds: Sequence[type], arguments: Sequence[Sequence[Any]]
) -> dict[Any, list[Any]]:
    """Return the results of functions in WebAssembly for each of some arguments, or the texts of
    their errors, by function; those that do not compile are left out."""
    pairs = [(function, kinds) for function in functions]
    compiler, text, versions = write_functions(pairs, refused=[])
    module = link_texts([text], [name for name, _ in versions.values()])
    output = STACK_TOP + 8 * len(kinds)
    arena = output + 8 * RESULTS
    calls = []
    for name, _ in versions.values():
        for values in arguments:
            given = [[STACK_TOP, encode(pack(values, kinds).tobytes())]]
            given.append([arena, encode(np.array([ARENA_HEAD, ARENA]).tobytes())])
            reads = [[output, 8 * RESULTS], [arena + NUMBERS, ARENA_HEAD - NUMBERS]]
            given_places = [arena, STACK_TOP, output]
            calls.append(
                {"name": f"{name}0", "args": given_places, "writes": given, "reads": reads}
            )
    found = iter(run_in_node(module, bytes(8 * len(kinds)), calls))
    results = {}
    for (function, _), (_, version) in versions.items():
        of_function = [next(found) for _ in arguments]
        results[function] = [
            read_result(compiler, version, code, np.frombuffer(taken), np.frombuffer(numbers))
            for code, taken, numbers in of_function
        ]
    return results
