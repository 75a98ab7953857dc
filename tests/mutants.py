"""What the tests hold: small changes of the rules, of which each should make a test fail.

    python -m tests.mutants [FILE ...] [--function NAME]

cosmic-ray makes the changes: another number, another operator, a condition turned round, a loop
without rounds. Each lives in a process of its own, forked from one that has collected the tests and
run none. There the tests that reach the changed function run, quick ones first and in the object
world alone, until one fails. What no test notices must stand in `tests/mutants.toml`, with the
reason.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import json
import math
import os
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from gv_engine.rules.system import System
from tests import ROOT

REASONS = Path(__file__).with_suffix(".toml")

FILES = (
    *(f"systems/{path.name}" for path in sorted(ROOT.glob("systems/[a-z]*.py"))),
    *(f"gv_engine/world/{name}.py" for name in ("bound_call", "columns", "rng", "simulation")),
    *("gv_engine/rules/geometry.py", "gv_engine/rules/world.py"),
    *("gv_engine/compiler/observation.py", "gv_engine/compiler/rng.py"),
)
"""What decides results."""

TESTS = (
    *(f"systems/test_{name}" for name in ("transition", "reward", "things", "visibility")),
    *("systems/test_reset", "systems/test_edges", "vector/test_interpreted"),
    *("world/test_row_world", "domains/test_scenarios", "scenario/test_scenario_problems"),
    *(f"domains/algebra/test_{name}" for name in ("conformance", "world", "scenario")),
    *(f"systems/test_{name}" for name in ("ground", "mechanisms", "missions", "success")),
    "systems/test_conformance",
)
"""Files whose tests of the object world should notice; to compile a change takes too long."""

QUICK = 0.1
"""Seconds of CPU time of a test that is tried even on what has a reason to survive."""

_COMPARISONS = (
    *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
    *("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt"),
)
_BINARY = (
    *("Add_Sub", "Sub_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul"),
    *("RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr"),
)
OPERATORS = (
    *("NumberReplacer", "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ZeroIterationForLoop"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_USub_UAdd"),
    *(f"ReplaceComparisonOperator_{pair}" for pair in _COMPARISONS),
    *(f"ReplaceBinaryOperator_{pair}" for pair in _BINARY),
)
"""Those of cosmic-ray's that people make by mistake; all of them would be ten times as many."""


# ---- changes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        file: where, from the root.
        function: the function or method that it is in, "" for what lies between them.
        first, last: lines of that, decorators among them.
        line: number of the first line that differs.
        was, now: the lines that differ.
        source: the whole file with the change.
    """

    file: str
    function: str
    first: int
    last: int
    line: int
    was: str
    now: str
    source: str

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What `tests/mutants.toml` knows it by, wherever it moves within its function."""
        return self.file, self.function, self.was, self.now

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.function}\n  - {self.was}\n  + {self.now}"


def mutants(file: str) -> Iterator[Mutant]:
    """All changes of a file that could matter, each once."""
    source = (ROOT / file).read_text(encoding="utf-8")
    known = {meaning(source)}
    for operator, occurrence in places(source):
        if mutant := mutant_at(file, source, operator, occurrence, known):
            yield mutant


def places(source: str) -> Iterator[tuple[Any, int]]:
    """Yield each operator with the number of each of its places in a file."""
    nodes = [*ast_nodes(get_ast(source))]
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        positions = (place for node in nodes for place in operator.mutation_positions(node))
        yield from ((operator, occurrence) for occurrence, _ in enumerate(positions))


def mutant_at(
    file: str, source: str, operator: Any, occurrence: int, known: set[str]
) -> Mutant | None:
    """Return the change at one place, and add its meaning to the known ones; None if the file means
    something known after it, or nothing."""
    changed = mutate_code(source, operator, occurrence)
    with suppress(SyntaxError):  # `not` before a `:=`
        if (meant := meaning(changed)) not in known:
            known.add(meant)
            return _mutant(file, source, changed)
    return None


def _mutant(file: str, source: str, changed: str) -> Mutant:
    one, other = source.splitlines(), changed.splitlines()
    ((_, start, stop, begin, end),) = (
        opcode
        for opcode in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if opcode[0] != "equal"
    )
    was, now = (" ".join(" ".join(lines).split()) for lines in (one[start:stop], other[begin:end]))
    function, first, last = "", 1, len(one)
    for node in ast.walk(ast.parse(source)):  # the outermost come first
        if isinstance(node, ast.FunctionDef) and not function:
            top = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            if top <= start + 1 <= (node.end_lineno or top):
                function, first, last = node.name, top, node.end_lineno or top
    return Mutant(file, function, first, last, start + 1, was, now, changed)


class _Meaning(ast.NodeTransformer):
    """Takes away what changes nothing that runs: annotations, imports for type checkers."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Name("_")
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        inner: Any = self.generic_visit(node.operand)
        twice = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not)
        return inner.operand if twice and isinstance(node.op, ast.Not) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        guards = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
        return None if "TYPE_CHECKING" in guards else self.generic_visit(node)


def meaning(source: str) -> str:
    return ast.dump(_Meaning().visit(ast.parse(source)))


# ---- into modules that are imported already ----------------------------------------------------


Place = tuple[str, int]
"""File and first line of a function."""


def module_of(file: str) -> ModuleType:
    return importlib.import_module(file.removesuffix(".py").replace("/", "."))


class _Telling(ast.NodeTransformer):
    """Lets functions say that they were called."""

    def __init__(self, file: str) -> None:
        self.file = file

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body[:0] = ast.parse(f"_reached(({self.file!r}, {node.lineno}))").body
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        told = ast.parse(f"_reached(({self.file!r}, {node.lineno})) or 0", mode="eval").body
        assert isinstance(told, ast.BoolOp)
        told.values[1] = node.body
        node.body = told
        return node


def _telling(file: str) -> str:
    return ast.unparse(_Telling(file).visit(ast.parse((ROOT / file).read_text(encoding="utf-8"))))


def run_again(module: ModuleType, source: str) -> dict[str, Any]:
    """What another text of a module makes of its names."""
    names = {**vars(module)}
    exec(compile(source, str(module.__file__), "exec"), names)
    return names


def transplant(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Let a module's functions do what their namesakes do, wherever they are known already."""
    for name, thing in list(old.items()):
        if thing is new[name]:
            continue
        if isinstance(thing, (int, float, tuple)):
            old[name] = new[name]
        # other modules may have added methods to a class, behind its own
        is_strict = not isinstance(thing, type)
        for one, other in zip(_functions(thing), _functions(new[name]), strict=is_strict):
            one.__code__, one.__defaults__ = other.__code__, other.__defaults__
        if isinstance(system := getattr(thing, "system", None), System):
            vars(system)["parameters"] = new[name].system.parameters  # it is frozen for all others


def _functions(thing: Any) -> Iterator[FunctionType]:
    """A function, the one under a decorator, those of a class, and the helpers of a system."""
    if isinstance(thing, type):
        for part in vars(thing).values():
            yield from _functions(part)
    elif isinstance(thing, property):
        yield from (part for part in (thing.fget, thing.fset) if isinstance(part, FunctionType))
    elif isinstance(thing, FunctionType):
        yield thing
        system = getattr(thing, "system", None)
        if isinstance(system, System) and system.check is not None:
            yield from _functions(system.check)
    elif isinstance(wrapped := getattr(thing, "__wrapped__", None), FunctionType):
        yield wrapped


# ---- runs --------------------------------------------------------------------------------------


@dataclass
class Test:
    """A test of the survey.

    Attributes:
        seconds: of CPU time.
        reached: functions that it calls.
        kills: functions whose changes it noticed first, and how many.
    """

    item: pytest.Item
    seconds: float
    reached: set[Place]
    kills: Counter[str]

    def reaches(self, mutant: Mutant) -> bool:
        # what calls no function at all reads what they declare, defaults for instance
        return not self.reached or any(
            file == mutant.file and mutant.first <= line <= mutant.last
            for file, line in self.reached
        )


class Hunt:
    """A pytest plugin that runs the collected tests against every change.

    Attributes:
        unexplained: changes that no test notices and that have no reason.
        stale: reasons of changes that are not made any more, or noticed.
    """

    def __init__(self, files: list[str], function: str) -> None:
        self.files = files
        self.function = function
        self.reasons = reasons()
        self.unexplained: list[Mutant] = []
        self.stale: list[tuple[str, str, str, str]] = []
        self.failed = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what compiles, and the tests of the comparing itself."""
        items[:] = [
            item
            for item in items
            if not item.get_closest_marker("compiled")
            and ("systems/test_conformance" not in item.nodeid or "comes_out_equal" in item.name)
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        started = time.perf_counter()
        tests = self._survey(session.items)
        made: Counter[str] = Counter()
        survived: Counter[str] = Counter()
        used = set()
        for file in self.files:
            for mutant in mutants(file):
                if self.function not in ("", mutant.function):
                    continue
                made[file] += 1
                if self._notice(mutant, tests):
                    continue
                survived[file] += 1
                reason = self.reasons.get(mutant.name, "")
                used.add(mutant.name)
                if not reason:
                    self.unexplained.append(mutant)
                print(f"{mutant}\n  {reason or 'NO REASON'}", flush=True)
            killed = made[file] - survived[file]
            print(f"{file}: {made[file]} changes, {killed} killed", flush=True)
        total, left = made.total(), survived.total()
        print(
            f"{total} changes, {total - left} killed ({1 - left / max(total, 1):.1%}), {left} "
            f"survived, {len(self.unexplained)} of them without a reason; "
            f"{time.perf_counter() - started:.0f} s"
        )
        if not self.function:
            self.stale = [n for n in self.reasons if n[0] in self.files and n not in used]
            for name in self.stale:
                print(f"a reason in {REASONS.name} for what is noticed, or gone: {name}")
        return True

    def _survey(self, items: list[pytest.Item]) -> list[Test]:
        """Every test once, in a process of its own, so that no cache remembers its results."""

        def survey() -> str:
            found: list[tuple[float, list[Place]]] = []
            reached: set[Place] = set()
            for file in FILES:
                module = module_of(file)
                vars(module)["_reached"] = reached.add
                transplant(vars(module), run_again(module, _telling(file)))
            for item in items:
                reached.clear()
                before = time.process_time()
                self._run(item)
                if self.failed:
                    return item.nodeid
                found.append((time.process_time() - before, sorted(reached)))
            return json.dumps(found)

        answer = in_child(survey)
        if not answer.startswith("["):
            raise pytest.UsageError(f"without any change, this fails: {answer or 'the survey'}")
        return [
            Test(item, seconds, {(file, line) for file, line in places}, Counter())
            for item, (seconds, places) in zip(items, json.loads(answer), strict=True)
        ]

    def _notice(self, mutant: Mutant, tests: list[Test]) -> bool:
        """Whether a test fails, or does not come to an end."""
        # survivors run all that there is: what is excused, the quick tests alone
        patience = QUICK if mutant.name in self.reasons else math.inf
        chosen = [t for t in tests if t.seconds < patience and t.reaches(mutant)]
        chosen.sort(key=lambda test: (-test.kills[mutant.function], test.seconds))
        module = module_of(mutant.file)

        def play() -> str:
            try:
                fresh = run_again(module, mutant.source)
            except Exception as error:  # not even that works
                return repr(error)
            transplant(vars(module), fresh)
            for number, test in enumerate(chosen):
                signal.setitimer(signal.ITIMER_VIRTUAL, 2 + 20 * test.seconds)
                self._run(test.item)
                if self.failed:
                    return str(number)
            return "survived"

        answer = in_child(play)
        if answer.isdecimal():
            chosen[int(answer)].kills[mutant.function] += 1
        return answer != "survived"

    def _run(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def in_child(act: Callable[[], str]) -> str:
    """What an act says in a process of its own; "" if that came to a bad end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        with os.fdopen(write, "w", encoding="utf-8") as answer:
            answer.write(act())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def reasons() -> dict[tuple[str, str, str, str], str]:
    """Why a change changes nothing, by the names of changes."""
    return {
        (entry["file"], entry["function"], entry["was"], now): entry["why"]
        for entry in tomllib.loads(REASONS.read_text(encoding="utf-8"))["survivor"]
        for now in entry["now"]
    }


def main(arguments: list[str] | None = None) -> int:
    """Make all changes of some files; 1 if one survives without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", default=list(FILES), metavar="FILE")
    parser.add_argument("--function", default="", help="make the changes of one function only")
    options = parser.parse_args(arguments)
    hunt = Hunt(options.files, options.function)
    tests = [str(ROOT / "tests" / f"{name}.py") for name in TESTS]
    code = pytest.main(["-p", "no:xdist", "-p", "no:cacheprovider", "-q", "-s", *tests], [hunt])
    return int(code) or int(bool(hunt.unexplained or hunt.stale))


if __name__ == "__main__":
    sys.exit(main())
