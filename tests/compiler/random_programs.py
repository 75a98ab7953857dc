"""Random functions in the compiled language, run by Python and compiled.

    python -m tests.compiler.random_programs --count 1000 --seed 0

Each function takes two integers and a float. The results have to be equal, or the errors of the
same class; compiled functions may fail instead where an integer needs more than 64 bits.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import random
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from gv_engine.rules.errors import DoesNotCompileError
from tests.compiler.language import compile_functions, run_python
from tests.compiler.test_language import is_same

ARGUMENTS = [
    *((0, 0, 0.0), (1, -1, 0.5), (7, 3, -2.25), (-8, 5, 1e3), (63, 64, -0.0), (2, 0, 1.5)),
    *((-1, -3, 7.0), (1 << 40, 12, -1e-3), (100, -(1 << 62), 3.0), (5, 9, -7.5)),
]
_SIZE = 6
_HEAD = """import math

import numpy as np


def helper(x, y=3):
    return x * 2 + y if x > y else y - x
"""


class Writer:
    """Writes the source of random functions."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._depth = 0
        self._loops = 0
        self._count = 0

    def function(self, name: str) -> str:
        """Return the source of a function."""
        self._whole, self._fractions, self._truths = ["a", "b"], ["f"], ["t"]
        self._depth = self._loops = 0
        lines = ["t = a > b", f"cells = np.zeros({_SIZE}, np.int64)"]
        for _ in range(self._rng.randint(2, 6)):
            lines += self._statement()
        results = ", ".join([*self._whole[:3], self._fraction(2), self._truth(2), "int(cells[2])"])
        body = "\n".join(f"    {line}" for line in [*lines, f"return {results}"])
        return f"def {name}(a, b, f):\n{body}\n"

    def _pick(self, *options: Any) -> Any:
        return self._rng.choice(options)

    def _block(self) -> list[str]:
        """Return one to three indented statements; their new variables may not be set behind."""
        self._depth += 1
        kept = [*self._whole], [*self._fractions], [*self._truths]
        lines = [line for _ in range(self._rng.randint(1, 3)) for line in self._statement()]
        if self._rng.random() < 0.8:
            self._whole, self._fractions, self._truths = kept
        self._depth -= 1
        return [f"    {line}" for line in lines]

    def _statement(self) -> list[str]:
        kind = self._rng.random()
        if self._depth > 2:
            kind *= 0.6
        if kind < 0.25:
            value = self._integer(3)
            name = self._name(self._whole, "n")
            return [f"{name} = {value}"]
        if kind < 0.33:
            value = self._fraction(3)
            name = self._name(self._fractions, "x")
            return [f"{name} = {value}"]
        if kind < 0.38:
            value = self._truth(2)
            name = self._name(self._truths, "p")
            return [f"{name} = {value}"]
        if kind < 0.45:
            sign = self._pick("+", "-", "*", "//", "%", "&", "|")
            return [f"{self._pick(*self._whole)} {sign}= {self._integer(2)}"]
        if kind < 0.52:
            place = f"{self._integer(1)} % {self._pick(_SIZE, _SIZE, 7)}"
            return [f"cells[{place}] = {self._integer(2)} % 1000"]
        if kind < 0.56:
            x, y = self._pick(*self._whole), self._pick(*self._whole)
            return [f"{x}, {y} = {self._integer(1)}, {self._integer(2)}"]
        if kind < 0.6:
            if self._loops and self._rng.random() < 0.5:
                return [f"if {self._truth(1)}:", f"    {self._pick('break', 'continue')}"]
            return [f"if {self._truth(1)} and {self._truth(1)}:", "    raise ValueError('found')"]
        if kind < 0.78:
            lines = [f"if {self._truth(3)}:", *self._block()]
            return [*lines, "else:", *self._block()] if self._rng.random() < 0.5 else lines
        return self._loop()

    def _loop(self) -> list[str]:
        self._loops += 1
        self._count += 1
        k = f"k{self._count}"
        kind = self._rng.random()
        if kind < 0.4:
            ends = self._pick(
                f"{self._integer(1)} % 7", "3", f"{self._integer(1)} % 5 - 1, 6", "8, 0, -3"
            )
            head = f"for {k} in range({ends}):"
        elif kind < 0.55:
            head = f"for {k} in cells.tolist():"
        elif kind < 0.7:
            head = f"for {k} in ({self._integer(1)}, 4, {self._integer(1)}):"
        elif kind < 0.8:
            head = f"for i{k}, {k} in enumerate(cells.tolist()[:{self._integer(1)} % 5]):"
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

    def _name(self, names: list[str], letter: str) -> str:
        if self._rng.random() < 0.5:
            return self._pick(*names)  # type: ignore[no-any-return]
        self._count += 1
        names.append(f"{letter}{self._count}")
        return names[-1]

    def _integer(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.25:
            number = str(self._rng.randint(-9, 70))
            return str(self._pick(*self._whole, *self._whole, number, "int(cells[1])"))
        one, two = self._integer(depth - 1), self._integer(depth - 1)
        kind = self._rng.random()
        if kind < 0.55:
            return f"({one} {self._pick('+', '-', '*', '//', '%', '&', '|', '^', '>>')} {two})"
        if kind < 0.6:
            return f"({one} << ({two} & 15))"
        if kind < 0.64:
            return f"(({one}) % 9) ** (({two}) % 4)"
        if kind < 0.7:
            return f"{self._pick('-', '~', '+')}({one})"
        if kind < 0.76:
            return f"abs({one})"
        if kind < 0.82:
            return f"{self._pick('min', 'max')}({one}, {two})"
        if kind < 0.88:
            return f"({one} if {self._truth(depth - 1)} else {two})"
        if kind < 0.92:
            return f"helper({one}, y={two})" if self._rng.random() < 0.5 else f"helper({one})"
        if kind < 0.95:
            return f"int({self._truth(depth - 1)})"
        if kind < 0.975:
            return f"sum([q * 2 for q in range({one} % 5) if q != {two} % 3])"
        return f"int({self._fraction(depth - 1)})"

    def _fraction(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.3:
            return self._pick(*self._fractions, *self._fractions, f"{self._rng.uniform(-4, 4):.2f}")  # type: ignore[no-any-return]
        one, two = self._fraction(depth - 1), self._fraction(depth - 1)
        kind = self._rng.random()
        if kind < 0.6:
            return f"({one} {self._pick('+', '-', '*', '/', '%', '//')} {two})"
        if kind < 0.7:
            return f"({self._integer(depth - 1)} / {self._integer(depth - 1)})"
        if kind < 0.78:
            return f"({one} * {self._integer(depth - 1)})"
        if kind < 0.86:
            return f"math.{self._pick('sin', 'cos', 'sqrt', 'fabs')}({one})"
        if kind < 0.93:
            return f"abs(-{one})"
        return f"({one} if {self._truth(depth - 1)} else {two})"

    def _truth(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.15:
            return self._pick(*self._truths, "True", f"{self._pick(*self._whole)} > 2")  # type: ignore[no-any-return]
        kind = self._rng.random()
        comparison = self._pick("<", "<=", "==", "!=", ">", ">=")
        if kind < 0.45:
            return f"({self._integer(depth - 1)} {comparison} {self._integer(depth - 1)})"
        if kind < 0.55:
            return f"({self._fraction(depth - 1)} {comparison} {self._fraction(depth - 1)})"
        if kind < 0.6:
            return f"({self._integer(depth - 1)} {comparison} {self._fraction(depth - 1)})"
        if kind < 0.75:
            return f"({self._truth(depth - 1)} {self._pick('and', 'or')} {self._truth(depth - 1)})"
        if kind < 0.8:
            return f"(not {self._truth(depth - 1)})"
        if kind < 0.87:
            return f"({self._integer(depth - 1)} in (1, {self._integer(depth - 1)}, 7))"
        if kind < 0.92:
            return f"(0 <= {self._integer(depth - 1)} < {self._integer(depth - 1)})"
        if kind < 0.96:
            return f"any(q > {self._integer(depth - 1)} for q in cells.tolist())"
        return f"all(q != {self._integer(depth - 1)} for q in range(5))"


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


def compare(functions: list[Any]) -> tuple[int, int, list[str]]:
    """Run functions in both ways; return the numbers of refused functions and of equal results, and
    descriptions of the results that differ."""
    kinds, compiled, refused = (int, int, float), [], 0
    for function in functions:
        try:
            compile_functions([(function, kinds)], run=False)
        except DoesNotCompileError:
            refused += 1
        else:
            compiled.append(function)
    equal, different = 0, []
    versions = compile_functions([(function, kinds) for function in compiled])
    for function, version in zip(compiled, versions, strict=True):
        for arguments in ARGUMENTS:
            found, wanted = version(*arguments), run_python(function, *arguments)
            if isinstance(found, str) and found.startswith("OverflowError: a"):
                continue
            if is_same(found, wanted):
                equal += 1
            else:
                different.append(f"{place(function)} {arguments}: {found}, Python {wanted}")
    return refused, equal, different


def place(function: types.FunctionType) -> str:
    """Return file and line of a function."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def main() -> int:
    """Compare random functions; print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="functions")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    totals = [0, 0]
    different: list[str] = []
    for start in range(0, options.count, 50):
        count = min(50, options.count - start)
        functions = load_functions(count, options.seed * 100_003 + start, folder)
        refused, equal, found = compare(functions)
        totals[0] += refused
        totals[1] += equal
        different += found
    for line in itertools.islice(different, 20):
        print(line)
    print(
        f"{options.count} functions, {totals[0]} refused, {totals[1]} results equal, "
        f"{len(different)} different"
    )
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
