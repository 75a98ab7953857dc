"""Values of algebra beside SymPy: `python -m tests.algebra_sympy --count 20000 --seed 1`.

Random problems are written in a grammar of this file and read by the engine and by SymPy, which
must be installed. The values that SymPy gives a problem are compared with those of the engine's
tree, of its printed text, and of the result of every move that the mask offers. The engine and
SymPy read the printed text; the engine reads the results of all moves, SymPy that of one of them.
SymPy reads 1/2x as x/2, so that products behind / have parentheses here.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gv_engine.plugins.algebra.expression import Node, NoValueError, TooLargeError, evaluate
from gv_engine.plugins.algebra.parser import parse
from gv_engine.plugins.algebra.rule_set import RuleSet, core_rules

try:
    import sympy
    from sympy.parsing import sympy_parser
except ModuleNotFoundError:
    raise SystemExit("this check needs SymPy: pip install sympy") from None

LETTERS = "xyzab"
POINTS: tuple[dict[str, Any], ...] = (
    {"x": 7, "y": 5, "z": 3, "a": 2, "b": 11},
    {letter: Fraction(2 * number + 3, 4) for number, letter in enumerate(LETTERS)},
)
_TRANSFORMATIONS = (
    *sympy_parser.standard_transformations,
    sympy_parser.convert_xor,
    sympy_parser.rationalize,
    sympy_parser.implicit_multiplication,
)
_NAMES = {letter: sympy.Symbol(letter) for letter in LETTERS} | {"sgn": sympy.sign}
_TOLERANCE = 1e-9


class Grammar:
    """Writer of random problem texts."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def problem(self) -> str:
        """Return an expression, or rarely an equation, of at most 90 characters."""
        while True:
            text = self._sum(2)
            if self._random.random() < 0.04:
                text = f"{text} = {self._sum(2)}"
            if len(text) <= 90:
                return text

    def _choose(self, *options: str | Callable[[], str]) -> str:
        option = self._random.choice(options)
        return option if isinstance(option, str) else option()

    def _sum(self, depth: int) -> str:
        text = self._product(depth)
        for _ in range(self._random.choice((0, 1, 1, 2, 3))):
            text += self._choose(" + ", " + ", " - ", "+", "-") + self._product(depth)
        return text

    def _product(self, depth: int) -> str:
        text = self._signed(depth)
        for _ in range(self._random.choice((0, 0, 0, 1, 1, 2))):
            if self._random.random() < 0.3:
                text += self._choose(" / ", "/") + self._divisor(depth)
            else:
                text += self._choose(" * ", "*") + self._signed(depth)
        return text

    def _signed(self, depth: int) -> str:
        return self._choose("", "", "", "", "-") + self._factors(depth)

    def _divisor(self, depth: int) -> str:
        minus = self._choose("", "", "", "-")
        return minus + self._choose(
            lambda: self._factor(depth, self._number), lambda: f"({self._factors(depth)})"
        )

    def _factors(self, depth: int) -> str:
        """Factors without a sign between them."""
        text = self._choose("", lambda: self._factor(depth, self._number))
        count = self._random.choice((1, 1, 1, 2, 2, 3) if text == "" else (0, 0, 1, 1, 1, 2, 3))
        for _ in range(count):
            following = self._factor(depth, self._letter)
            text += f"{' ' * (text != '' and self._random.random() < 0.15)}{following}"
        return text

    def _factor(self, depth: int, leaf: Callable[[], str]) -> str:
        base = leaf()
        if depth and self._random.random() < 0.3:
            group = f"({self._sum(depth - 1)})"
            base = self._choose(group, group, group, "sgn(x - 4)")
        elif leaf == self._number and self._random.random() < 0.05:
            return f"{self._choose('3', '4', '5')}!" + self._choose("", "^2")
        return base + (self._exponent(min(depth, 2)) if self._random.random() < 0.4 else "")

    def _exponent(self, depth: int) -> str:
        text = "^" + self._choose("", "", "", "-")
        if depth and self._random.random() < 0.2:
            return (
                f"{text}({self._choose('x - 2', 'y + 1', '1 + 2', '-2', '2x', 'z / 2', '4 - 4')})"
            )
        text += self._choose("0", "1", "2", "2", "3", "2", "x", "y", "z")
        return text + (self._exponent(depth - 1) if depth and self._random.random() < 0.2 else "")

    def _letter(self) -> str:
        return self._random.choice(LETTERS)

    def _number(self) -> str:
        return self._choose("0", "1", "2", "2", "3", "4", "5", "7", "12", "2.5", "0.5", ".25")


@lru_cache(1000)
def sympy_values(text: str, exactly: tuple[bool, ...]) -> tuple[Any, ...]:
    """SymPy's values of a text at `POINTS`, of an equation the difference of its sides; None where
    there is no finite one. `exactly` has False for points at which the value has a root."""
    left, *right = (
        sympy_parser.parse_expr(
            re.sub(r"(?<=[a-z])(?=[a-z])(?!(?<=s)gn\(|(?<=sg)n\()", " ", side),
            _NAMES,
            _TRANSFORMATIONS,
        )
        for side in text.split("=")
    )
    whole = left - right[0] if right else left
    values = []
    for point, is_exact in zip(POINTS, exactly, strict=True):
        numbers = {_NAMES[name]: sympy.Rational(number) for name, number in point.items()}
        # SymPy factors the base of a root, for hours if it is large
        value = whole.subs(numbers) if is_exact else whole.evalf(25, subs=numbers)
        values.append(_to_number(value))
    return tuple(values)


def _to_number(value: Any) -> Any:
    """A number of SymPy as a fraction or a complex number; None for infinity and nan."""
    if value.is_Rational:
        return Fraction(int(value.p), int(value.q))
    return complex(value) if value.is_finite else None


def own_value(node: Node, point: dict[str, Any]) -> Any:
    """The engine's value of a tree, or the class of the error that it has none."""
    try:
        return evaluate(node, point)
    except NoValueError as error:
        return type(error)


def is_same(one: Any, other: Any) -> bool:
    """Compare two numbers, exactly if both are exact; None is equal to None."""
    if one is None or other is None or (_is_exact(one) and _is_exact(other)):
        return bool(one == other)
    return bool(abs(complex(one) - complex(other)) <= _TOLERANCE * max(1, abs(other)))


def _is_exact(value: Any) -> bool:
    return isinstance(value, int | Fraction)


def are_proportional(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    """Compare the differences of the sides of two equations."""
    if None in (*before, *after):
        return [value is None for value in before] == [value is None for value in after]
    try:
        return is_same(before[0] * after[1], before[1] * after[0])
    except OverflowError:  # an exact number beside a float: at most the sides are swapped
        return all(is_same(abs(one), abs(other)) for one, other in zip(before, after, strict=True))


class _Problem(NamedTuple):
    """Values of a problem at `POINTS`, by the engine and by SymPy, and False for those with a root.
    SymPy calculates on with infinity, 1 / (1 / 0) is 0, and has factorials of fractions, where the
    engine has no value."""

    own: list[Any]
    right: tuple[Any, ...]
    exactly: tuple[bool, ...]


class Comparison:
    """Comparison of texts in the engine and in SymPy.

    Attributes:
        counts: number of texts, values and moves compared.
        different: descriptions of what differs.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.different: list[str] = []
        self._rules = RuleSet(core_rules())

    def compare(self, text: str) -> None:
        """Compare a problem, its printed text and all its moves."""
        try:
            root = parse(text)
        except ValueError as error:
            self.different.append(str(error))
            return
        values = [own_value(root, point) for point in POINTS]
        if TooLargeError in values:
            self.counts["problems with a value that is too large to compare"] += 1
            return
        self.counts["problems"] += 1
        self.counts["problems without a value at a point"] += NoValueError in values
        if NoValueError in values and not re.search(r"[/!]|\^[-(]", text):
            self.different.append(f"{text}: no value")
        exactly = tuple(not isinstance(value, float | complex) for value in values)
        problem = _Problem(values, sympy_values(text, exactly), exactly)
        self._compare_values(text, text, values, problem)
        again = parse(root.text)
        printed = [own_value(again, point) for point in POINTS]
        self._compare_values(f"{text}, printed as {root.text}", root.text, printed, problem)
        moves = np.argwhere(self._rules.mask(root)).tolist()
        chosen = moves[len(text) % len(moves)] if moves else None  # for SymPy to read
        for node, rule in moves:
            self.counts["moves"] += 1
            result = self._rules.apply(root, node, rule)[0]
            where = f"{text}, {self._rules[rule].name} at {node} to {result}"
            moved = [own_value(parse(result), point) for point in POINTS]
            if TooLargeError in moved:  # of factors in another order, where a 0 was first
                self.counts["moves with a value that is too large to compare"] += 1
            elif "=" not in text:
                self._compare_values(
                    where, result if [node, rule] == chosen else "", moved, problem
                )
            elif not are_proportional(tuple(map(_none, values)), tuple(map(_none, moved))):
                self.different.append(f"{where}: not proportional")

    def _compare_values(self, where: str, text: str, values: list[Any], problem: _Problem) -> None:
        """Compare the engine's `values`, and SymPy's values of `text` if there is one, with those
        of the problem."""
        read = sympy_values(text, problem.exactly) if text else problem.right
        for ours, theirs, own, right in zip(values, read, problem.own, problem.right, strict=True):
            self.counts["values"] += 1
            same = ours is own if own is NoValueError else is_same(_none(ours), right)
            if not (same and is_same(theirs, right)):
                self.different.append(f"{where}: {ours}, SymPy {theirs}, expected {right}")


def _none(value: Any) -> Any:
    """A value of the engine, None if it is the class of an error."""
    return None if isinstance(value, type) else value


def main(arguments: list[str] | None = None) -> int:
    """Compare random problems, print the counts, and return 1 if something differs."""
    options = argparse.ArgumentParser(prog="python -m tests.algebra_sympy", description=__doc__)
    options.add_argument("--count", type=int, default=2000, help="number of problems")
    options.add_argument("--seed", type=int, default=0)
    wanted = options.parse_args(arguments)
    grammar, comparison = Grammar(wanted.seed), Comparison()
    while comparison.counts["problems"] < wanted.count and not len(comparison.different) > 20:
        comparison.compare(grammar.problem())
    for name, count in comparison.counts.items():
        print(f"{count:9,} {name}")
    for difference in comparison.different:
        print("different:", difference)
    print(f"{len(comparison.different)} different")
    return bool(comparison.different)


if __name__ == "__main__":
    raise SystemExit(main())
