"""Random functions in the compiled language, run by Python and compiled.

    python -m tests.compiler.random_programs --count 10000 --seed 0
    python -m tests.compiler.random_programs --count 1000 --wasm

Each function takes two integers and a float. The results have to be equal, or the errors of the
same class; a compiled function may fail instead where an integer needs more than 64 bits. A
function that does not come to an end within ten minutes ends the program.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import inspect
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.compiler.language.wasm import C_MATH
from gv_engine.world.simulation import NUMPY_ERRORS
from tests.compiler.language import compile_functions, run_python
from tests.compiler.node import run_in_wasm
from tests.compiler.test_language import is_same

LEAST, MOST = -(1 << 63), (1 << 63) - 1
ARGUMENTS = [
    *((0, 0, 0.0), (1, -1, 0.5), (7, 3, -2.25), (-8, 5, 1e3), (63, 64, -0.0), (2, 0, 1.5)),
    *((-1, -3, 7.0), (1 << 40, 12, -1e-3), (100, -(1 << 62), 3.0), (5, 9, -7.5)),
    *((MOST, LEAST, 1e308), (LEAST, -1, 5e-324), (MOST, MOST, float("inf")), (12, 2, 1e16)),
]
LOUD = (
    *("OverflowError: an integer", "OverflowError: a float is no", "ValueError: a negative power"),
    "ValueError: a negative number to a fractional power",
)
"""Errors of compiled functions where Python goes on."""
SHIFT = "ValueError: negative shift count"
"""Error of compiled functions where NumPy's numbers go on."""
NUMPY_ONLY = "FloatingPointError: invalid value", "FloatingPointError: overflow"
"""Errors of NumPy's numbers where others are nan or infinite."""
BATCH = 100
_SIZE = 6
_HEAD = """import math

import numpy as np

TABLE = ((0, 1), (1, 0), (0, -1), (-1, 0))
PRICES = {1: 5, 4: 7, -3: 0}
WEIGHTS = np.array([3, 1, 4, 1, 5])


def helper(x, y=3, *, z=1):
    return x * 2 + y if x > y else y - x * z


def total(*values):
    found = 0
    for k, value in enumerate(values):
        found += k * value
    return found


def apply(function, x):
    return function(x) + 1


def count_below(values, limit):
    found = 0
    for value in values:
        if value < limit:
            found += 1
    return found


def first_above(values, limit):
    for k, value in enumerate(values):
        if value > limit:
            return k, value
    return -1, limit
"""


class Writer:
    """Writes the source of random functions."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._depth = self._loops = self._count = 0
        self._whole: list[str] = []
        self._fractions: list[str] = []
        self._truths: list[str] = []
        self._lists: list[str] = []
        self._functions: list[str] = []

    def function(self, name: str) -> str:
        """Return the source of a function."""
        self._whole, self._fractions, self._truths = ["a", "b"], ["f"], ["t"]
        self._lists, self._functions = ["items"], []
        self._depth = self._loops = 0
        dtype = self._pick("np.int64", "np.int64", "object", "np.int8", "np.uint16")
        lines = ["t = a > b", f"cells = np.zeros({_SIZE}, {dtype})", "items = [3]"]
        lines.append(f"grid = np.full((3, 4), {self._pick('1', '2')})")
        for _ in range(self._rng.randint(2, 6)):
            lines += self._statement()
        results = [*self._whole[:3], self._fraction(2), self._truth(2), "int(cells[2])"]
        results += ["len(items)", "int(grid[1, 2])"]
        body = "\n".join(f"    {line}" for line in [*lines, f"return {', '.join(results)}"])
        return f"def {name}(a, b, f):\n{body}\n"

    def _pick(self, *options: Any) -> Any:
        return self._rng.choice(options)

    def _block(self) -> list[str]:
        """Return one to three indented statements; their new variables may not be set behind."""
        self._depth += 1
        kept = [*self._whole], [*self._fractions], [*self._truths]
        lists, functions = [*self._lists], [*self._functions]
        lines = [line for _ in range(self._rng.randint(1, 3)) for line in self._statement()]
        if self._rng.random() < 0.8:
            self._whole, self._fractions, self._truths = kept
        self._lists, self._functions = lists, functions
        self._depth -= 1
        return [f"    {line}" for line in lines]

    def _statement(self) -> list[str]:
        kind = self._rng.random()
        if self._depth > 2:
            kind *= 0.6
        if kind < 0.17:
            value = self._integer(3)
            name = self._name(self._whole, "n")
            return [f"{name} = {value}"]
        if kind < 0.23:
            value = self._fraction(3)
            name = self._name(self._fractions, "x")
            return [f"{name} = {value}"]
        if kind < 0.27:
            value = self._truth(2)
            name = self._name(self._truths, "p")
            return [f"{name} = {value}"]
        if kind < 0.33:
            sign = self._pick("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "**")
            value = self._integer(2)
            value = f"({value}) % 5" if sign in ("<<", "**") else value
            return [f"{self._pick(*self._whole)} {sign}= {value}"]
        if kind < 0.42:
            return self._change_array()
        if kind < 0.5:
            return self._change_list()
        if kind < 0.54:
            x, y = self._pick(*self._whole), self._pick(*self._whole)
            values = f"{self._integer(1)}, {self._integer(2)}"
            rest = f"{x}, *_ = ({values}, 4)"
            return [self._pick(f"{x}, {y} = {values}", f"{x}, {y} = TABLE[{x} % 4]", rest)]
        if kind < 0.6:
            if self._loops and self._rng.random() < 0.5:
                return [f"if {self._truth(1)}:", f"    {self._pick('break', 'continue')}"]
            if self._rng.random() < 0.2:
                return [f"assert {self._truth(1)} or {self._truth(1)}, 'wrong'"]
            return [f"if {self._truth(1)} and {self._truth(1)}:", "    raise ValueError('found')"]
        if kind < 0.64 and self._depth == 0:
            return self._define()
        if kind < 0.79:
            test = self._truth(3)
            if self._rng.random() < 0.2:
                test = f"({self._name(self._whole, 'n')} := {self._integer(1)}) > 2 and {test}"
            lines = [f"if {test}:", *self._block()]
            if self._rng.random() < 0.3:
                lines += [f"elif {self._truth(2)}:", *self._block()]
            return [*lines, "else:", *self._block()] if self._rng.random() < 0.5 else lines
        return self._loop()

    def _change_array(self) -> list[str]:
        place = f"{self._integer(1)} % {self._pick(_SIZE, _SIZE, 7)}"
        value = f"{self._integer(2)} % {self._pick(100, 100, 300)}"
        return [
            self._pick(
                f"cells[{place}] = {value}",
                f"cells[{place}] = {value}",
                f"cells[{self._pick('1:4', '::2', '-2:', ':')}] = {value}",
                f"grid[{self._integer(1)} % 3, {self._integer(1)} % 4] = {value}",
                f"grid[{self._integer(1)} % 3] = {value}",
                f"grid[:, {self._integer(1)} % 4] = {value}",
                f"grid[0] = grid[{self._integer(1)} % 3]",
                f"grid[grid > {self._integer(1)} % 5] = {value}",
                f"cells.fill({value})",
            )
        ]

    def _change_list(self) -> list[str]:
        name = self._pick(*self._lists)
        if self._rng.random() < 0.3 and self._depth < 2:
            self._count += 1
            self._lists.append(f"v{self._count}")
            start = self._pick("[]", f"[{self._integer(1)}]", "[0] * 4", "[q for q in range(3)]")
            return [f"{self._lists[-1]} = {start}", f"{self._lists[-1]}.append({self._integer(1)})"]
        if self._rng.random() < 0.15:
            return [f"if {name}:", f"    {self._pick(*self._whole)} = {name}.pop()"]
        return [
            self._pick(
                f"{name}.append({self._integer(2)})",
                f"{name}.append({self._integer(1)})",
                f"{name}.append({self._integer(1)})",
                f"{name}[{self._integer(1)} % {self._pick(1, 1, 3)}] = {self._integer(1)}",
                f"{name}[-1] += 1",
                f"{name}.clear()",
            )
        ]

    def _define(self) -> list[str]:
        """Return a function within the function."""
        self._count += 1
        name, outer = f"g{self._count}", [*self._whole]
        lines = [f"def {name}(x, y={self._rng.randint(-3, 9)}):"]
        self._whole = [self._pick(*outer), "x", "y"]
        lines += [f"    if {self._truth(1)}:", f"        return {self._integer(1)}"]
        lines += [f"    return {self._integer(2)}"]
        if self._rng.random() < 0.4:
            lines = [f"{name} = lambda x, y=2: {self._integer(2)}"]
        self._whole = outer
        self._functions.append(name)
        return lines

    def _loop(self) -> list[str]:
        self._loops += 1
        self._count += 1
        k = f"k{self._count}"
        kind = self._rng.random()
        if kind < 0.35:
            ends = self._pick(
                f"{self._integer(1)} % 7", "3", f"{self._integer(1)} % 5 - 1, 6", "8, 0, -3"
            )
            head = f"for {k} in range({ends}):"
        elif kind < 0.45:
            head = (
                f"for {k} in {self._pick('cells.tolist()', 'WEIGHTS.tolist()', 'sorted(items)')}:"
            )
        elif kind < 0.55:
            head = f"for {k} in ({self._integer(1)}, 4, {self._integer(1)}):"
        elif kind < 0.62:
            head = f"for i{k}, {k} in enumerate(cells.tolist()[:{self._integer(1)} % 5]):"
        elif kind < 0.68:
            values = f"(({self._integer(1)}, 1), (2, 3), (4, 5))"
            head = f"for {k}, (i{k}, _) in zip(range({self._integer(1)} % 4), {values}):"
        elif kind < 0.74:
            head = f"for {k} in reversed(range({self._integer(1)} % 6)):"
        elif kind < 0.78:
            self._loops -= 1
            return self._search()
        else:
            self._loops -= 1
            lines = [f"{k} = 0", f"while {k} < 5 and {self._truth(1)}:"]
            return [*lines, f"    {k} += 1", *self._block()]
        self._whole.append(k)
        body = self._block()
        self._whole.remove(k) if k in self._whole else None
        self._loops -= 1
        tail = ["else:", *self._block()] if self._rng.random() < 0.15 else []
        return [head, *body, *tail]

    def _search(self) -> list[str]:
        """Return a loop that breaks with a new variable set, or a list that grows in its loop."""
        self._count += 1
        k, name = f"k{self._count}", f"n{self._count}"
        if self._rng.random() < 0.4:
            turn = [f"    if {k} < 20:", f"        w{k}.append({k} * 2 + {self._integer(1)} % 3)"]
            self._whole.append(name)
            lines = [
                f"w{k} = [1, 5]",
                f"for {k} in w{k}:",
                *turn,
                f"{name} = sum(w{k}) + len(w{k})",
            ]
            return lines
        lines = [f"{k} = 0", "while True:", f"    {k} += 1"]
        lines += [f"    if {self._truth(1)} or {k} > 6:", f"        {name} = {self._integer(1)}"]
        if self._rng.random() < 0.5:
            lines[3:3] = [f"    if {k} > 1:", f"        {self._pick(*self._whole)} = last{k}"]
            lines[3:3] = []
            lines += ["        break", f"    last{k} = {self._integer(1)}"]
        else:
            lines += ["        break"]
        self._whole.append(name)
        return lines

    def _name(self, names: list[str], letter: str) -> str:
        if self._rng.random() < 0.5:
            return self._pick(*names)  # type: ignore[no-any-return]
        self._count += 1
        names.append(f"{letter}{self._count}")
        return names[-1]

    def _integer(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.25:
            number = str(self._rng.randint(-9, 70))
            read = self._pick("int(cells[1])", "items[-1]", "grid[2, 1]", "len(items)")
            return str(self._pick(*self._whole, *self._whole, number, number, read))
        one, two = self._integer(depth - 1), self._integer(depth - 1)
        kind = self._rng.random()
        if kind < 0.45:
            return f"({one} {self._pick('+', '-', '*', '//', '%', '&', '|', '^', '>>')} {two})"
        if kind < 0.49:
            return f"({one} << ({two} & 15))"
        if kind < 0.53:
            return f"(({one}) % 9) ** (({two}) % 4)"
        if kind < 0.58:
            return f"{self._pick('-', '~', '+')}({one})"
        if kind < 0.66:
            return f"({one} if {self._truth(depth - 1)} else {two})"
        if kind < 0.7 and self._functions:
            return f"{self._pick(*self._functions)}({one}{self._pick('', f', {two}')})"
        if kind < 0.975:
            return str(self._pick(*self._calls(depth, one, two)))
        return f"int({self._fraction(depth - 1)})"

    def _calls(self, depth: int, one: str, two: str) -> Sequence[str]:
        """Return calls with integers as results."""
        test, name = self._truth(depth - 1), self._pick(*self._lists)
        return (
            f"abs({one})",
            f"{self._pick('min', 'max')}({one}, {two}, 5)",
            f"{self._pick('min', 'max', 'sum')}(({one}, {two}))",
            f"{self._pick('min', 'max')}({name}, default={one})",
            f"helper({one}, y={two})",
            f"helper({one}, z={two})",
            f"helper({one})",
            f"total({one}, {two}, 3)",
            f"total(*({one}, {two}))",
            f"apply(lambda q: q * 2 - {two}, {one})",
            f"int({test})",
            f"sum([q * 2 for q in range({one} % 5) if q != {two} % 3])",
            f"sum(q for q in {name} if q < {one})",
            f"sum(q * r for q in range(3) for r in range({one} % 4))",
            f"len([q for q in {name} if q % 3 == {two} % 3])",
            f"divmod({one}, {two})[{self._pick(0, 1)}]",
            f"PRICES.get({one} % 6, {two})",
            f"PRICES[{one} % 5]",
            f"TABLE[{one} % 4][{self._pick('0', '1', f'{two} % 2')}]",
            f"({one}, {two}, 9)[{one} % 3]",
            f"[{one}, 4, {two}][{two} % 4 - 1]",
            f"range({self._pick('0, 40, 3', '9, -9, -2')})[{one} % 8]",
            f"{name}[{one} % {self._pick('1', 'len(items)', '3')}]",
            f"sorted(({one}, {two}, 3))[{self._pick(0, 1, -1)}]",
            f"len({name}[{self._pick('1:', '::2', '-2:', f'{one} % 3:')}])",
            f"int(grid[{one} % 3, {two} % 4])",
            f"int(grid.{self._pick('sum', 'min', 'max', 'argmax')}())",
            f"int(cells[{self._pick('1:', '::2', '::-1')}].sum())",
            f"int((grid[1] + {one} % 50).max())",
            f"int(WEIGHTS[WEIGHTS > {one} % 5].sum())",
            f"int(np.sort(grid[{one} % 3])[{two} % 4])",
            f"count_below({self._pick(name, 'WEIGHTS', 'grid[0]', 'range(9)')}, {one})",
            f"first_above({self._pick(name, '(1, 5, 9)', 'range(0, 90, 7)')}, {one})[1]",
            f"math.gcd({one}, {two})",
            f"math.isqrt(abs({one}))",
            f"round({self._fraction(depth - 1)})",
            f"math.{self._pick('floor', 'ceil', 'trunc')}({self._fraction(depth - 1)})",
        )

    def _fraction(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.3:
            return self._pick(*self._fractions, *self._fractions, f"{self._rng.uniform(-4, 4):.2f}")  # type: ignore[no-any-return]
        one, two = self._fraction(depth - 1), self._fraction(depth - 1)
        kind = self._rng.random()
        if kind < 0.5:
            return f"({one} {self._pick('+', '-', '*', '/', '%', '//')} {two})"
        if kind < 0.55:
            return f"({one} ** {self._pick('2', '0.5', '-1', f'({two} % 3.0)')})"
        if kind < 0.62:
            return f"({self._integer(depth - 1)} / {self._integer(depth - 1)})"
        if kind < 0.69:
            return f"({one} * {self._integer(depth - 1)})"
        if kind < 0.8:
            names = "sin cos tan atan tanh sqrt fabs exp log log2 log10 log1p expm1 radians degrees"
            return f"math.{self._pick(*names.split())}({one})"
        if kind < 0.86:
            return f"math.{self._pick('hypot', 'atan2', 'copysign', 'fmod')}({one}, {two})"
        if kind < 0.9:
            return f"abs(-{one})"
        if kind < 0.93:
            return f"{self._pick('min', 'max')}({one}, {two})"
        if kind < 0.95:
            return f"(1.5, {one}, -2.0)[{self._integer(depth - 1)} % 3]"
        return f"({one} if {self._truth(depth - 1)} else {two})"

    def _truth(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.15:
            return self._pick(*self._truths, "True", f"{self._pick(*self._whole)} > 2")  # type: ignore[no-any-return]
        kind = self._rng.random()
        comparison = self._pick("<", "<=", "==", "!=", ">", ">=")
        one, two = self._integer(depth - 1), self._integer(depth - 1)
        if kind < 0.4:
            return f"({one} {comparison} {two})"
        if kind < 0.48:
            return f"({self._fraction(depth - 1)} {comparison} {self._fraction(depth - 1)})"
        if kind < 0.53:
            return f"({one} {comparison} {self._fraction(depth - 1)})"
        if kind < 0.66:
            return f"({self._truth(depth - 1)} {self._pick('and', 'or')} {self._truth(depth - 1)})"
        if kind < 0.7:
            return f"(not {self._truth(depth - 1)})"
        if kind < 0.74:
            return (
                f"({self._truth(depth - 1)} {self._pick('&', '|', '^')} {self._truth(depth - 1)})"
            )
        name = self._pick(*self._lists)
        return str(
            self._pick(
                f"({one} in (1, {two}, 7))",
                f"({one} in {{1, 3, {two}}})",
                f"({one} not in {name})",
                f"({one} in range({self._pick(9, '0, 30, 4', f'3, {two}')}))",
                f"({one} in PRICES)",
                f"(0 <= {one} < {two})",
                f"({one}, 2) {comparison} ({two}, 3)",
                f"any(q > {one} for q in cells.tolist())",
                f"all(q != {one} for q in range(5))",
                f"any(q * r == {one} for q in range(4) for r in range(3))",
                f"any([{one} > 2, {self._truth(depth - 1)}])",
                f"bool((grid == {one}).any())",
                f"math.isnan({self._fraction(depth - 1)})",
                f"math.isfinite({self._fraction(depth - 1)})",
                f"(len({name}) {comparison} 2)",
            )
        )


def load_functions(count: int, seed: int, folder: Path) -> list[Any]:
    """Return random functions, whose source is in a file of a folder."""
    writer = Writer(seed)
    path = folder / f"random_{seed}.py"
    sources = "\n\n".join(writer.function(f"rule{k}") for k in range(count))
    path.write_text(f"{_HEAD}\n\n{sources}", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"rule{k}") for k in range(count)]


def uses_math_of_browser(function: Any) -> bool:
    """Return True for functions that call what may differ in the last digit, see `C_MATH`."""
    code = inspect.getsource(function)
    return "**" in code or any(f"math.{name}(" in code for name in C_MATH - {"fmod"})


def compare_in_wasm(functions: Sequence[Any], seen: Counter[str]) -> list[str]:
    """Run functions as machine code and in Node.js; return descriptions of results that differ."""
    kinds, different = (int, int, float), []
    versions = compile_functions([(each, kinds) for each in functions], refused=[])
    for function, results in run_in_wasm(functions, kinds, ARGUMENTS).items():
        for arguments, found in zip(ARGUMENTS, results, strict=True):
            wanted = versions[function, kinds](*arguments)
            if is_same(found, wanted):
                seen["equal errors" if isinstance(found, str) else "equal results"] += 1
            elif uses_math_of_browser(function):
                seen["different, by a function of the browser"] += 1
            else:
                place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
                different.append(f"{place} {arguments}: {found}, machine code {wanted}")
    return different


def compare(functions: Sequence[Any], seen: Counter[str], is_checked: bool = True) -> list[str]:
    """Run functions in both ways; return descriptions of the results that differ. `seen` counts
    the results by kind, and the errors of functions that do not compile."""
    kinds, different = (int, int, float), []
    refused: list[tuple[Any, str]] = []
    pairs = [(function, kinds) for function in functions]
    for (function, _), version in compile_functions(pairs, is_checked, refused).items():
        for arguments in ARGUMENTS:
            found = version(*arguments)
            if isinstance(found, str) and found.startswith(LOUD):
                seen["beyond 64 bits"] += 1
                continue  # Python may take very long here
            with np.errstate(**NUMPY_ERRORS):
                wanted = run_python(function, *arguments)
            if SHIFT == found != wanted or str(wanted).startswith(NUMPY_ONLY):
                seen["different with NumPy's numbers"] += 1
            elif is_same(found, wanted):
                seen["equal errors" if isinstance(found, str) else "equal results"] += 1
            else:
                seen["different"] += 1
                code = function.__code__
                place = f"{code.co_filename}:{code.co_firstlineno}"
                different.append(f"{place} {arguments}: {found}, Python {wanted}")
    seen["refused"] += len(refused)
    seen.update(
        f"refused: {error.partition(': in ')[2].partition(': ')[2]}" for _, error in refused
    )
    return different


def main() -> int:
    """Compare random functions; print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="functions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wasm", action="store_true", help="compare machine code with Node.js")
    parser.add_argument("--folder", type=Path, help="for the functions, by default a new one")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    seen: Counter[str] = Counter()
    different: list[str] = []
    for start in range(0, options.count, BATCH):
        faulthandler.dump_traceback_later(600, exit=True)
        count = min(BATCH, options.count - start)
        functions = load_functions(count, options.seed * 100_003 + start, folder)
        found = (compare_in_wasm if options.wasm else compare)(functions, seen)
        different += found
        print("\n".join(found[:5]), end="\n" if found else "", flush=True)
    for reason, number in seen.most_common():
        print(f"{number} {reason}")
    print(f"{options.count} functions, {len(different)} results different")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
