"""Calls, lambdas and nested functions in compiled code."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

from gv_engine.compiler.language import comprehensions, sequences, variables
from gv_engine.compiler.language.body import Body, Nested, visits
from gv_engine.compiler.language.source import LIST_METHODS, analyze_code
from gv_engine.compiler.language.values import (
    AnyValue,
    Method,
    Scalar,
    describe,
    is_growing,
    is_known,
)
from gv_engine.rules.functions import is_foreign


@visits(ast.Call)
def _call(body: Body, node: ast.Call) -> AnyValue:
    """Emit code for a call expression and return its result."""
    match node.func:
        case ast.Attribute(ast.Name(name), method) if (
            method in LIST_METHODS and name in body.source.assigned
        ):
            values = variables.read_variable(body, name)
            if is_growing(values):
                if node.keywords:
                    body.refuse(f"`{method}` takes no keywords in compiled code")
                return sequences.call_list_method(
                    body, method, values, [*sequences.evaluate_all(body, node.args)]
                )
    function = body.evaluate(node.func)
    is_compiled = isinstance(function, FunctionType | Nested | Method)
    if is_compiled and any(map(partial(is_iterator, body), node.args)):
        body.refuse("an iterator is no argument in compiled code: use a list")
    if function in (any, all, sum) and node.args and isinstance(node.args[0], ast.GeneratorExp):
        return _reduce_generator(body, node, function, node.args[0])
    arguments = [*sequences.evaluate_all(body, node.args)]
    return call(body, function, arguments, _evaluate_keywords(body, node))


def _reduce_generator(
    body: Body, node: ast.Call, function: Any, generator: ast.GeneratorExp
) -> Scalar:
    """Emit code for `any`, `all` or `sum` of a generator expression, such as `sum(x for x in row)`;
    return the result."""
    start = [*sequences.evaluate_all(body, node.args[1:])]
    start += _evaluate_keywords(body, node).values()
    if len(start) > (1 if function is sum else 0):
        body.refuse(f"{function.__name__} takes fewer arguments")
    start_nodes = (*node.args[1:], *node.keywords)
    if any(isinstance(each, ast.Call) for part in start_nodes for each in ast.walk(part)):
        body.refuse("the number that `sum` begins with is no call here: name it before")
    checked_start = comprehensions.check_sum_start(body, *start)
    return comprehensions.emit_reduction(body, function, generator, checked_start)


def _evaluate_keywords(body: Body, node: ast.Call) -> dict[str, Any]:
    if any(keyword.arg is None for keyword in node.keywords):
        body.refuse("`**values` does not compile")
    return {str(each.arg): body.evaluate(each.value) for each in node.keywords}


def is_iterator(body: Body, node: ast.expr) -> bool:
    """Return True for an expression whose items Python gives out only once: a generator, or a call
    of `enumerate`, `reversed` or `zip`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return body.evaluate(node.func) in (enumerate, reversed, zip)
    return isinstance(node, ast.GeneratorExp)


def call(body: Body, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> AnyValue:
    """Emit code for a call whose arguments are evaluated, and return its result. A pure function of
    constants is run at compile time."""
    if isinstance(function, Method) and isinstance(function.function, Nested):
        return call_nested(body, function.function, function.record, arguments, keywords)
    if isinstance(function, Nested):
        return call_nested(body, function, None, arguments, keywords)
    if isinstance(function, Method):
        return call(body, function.function, [function.record, *arguments], keywords)
    if (emit_call := body.library.get(function)) is not None:
        try:
            return emit_call(body, *arguments, **keywords)
        except (ArithmeticError, TypeError, ValueError) as error:
            body.refuse(f"{describe(function)}: {error}")
    if isinstance(function, FunctionType):
        if is_foreign(function):
            name = f"{function.__module__}.{function.__name__}"
            body.refuse(f"{name} is a function of another library, which does not compile")
        return body.call_function(function, *arguments, **keywords)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, dict) and function == owner.get and len(arguments) == 2:
        return sequences.look_up_dict(body, owner, *arguments)
    if callable(function) and is_known((*arguments, *keywords.values())) and _is_pure(function):
        try:
            result = function(*arguments, **keywords)
        except Exception as error:  # any exception of what runs while compiling
            body.refuse(f"{describe(function)}: {error}")
        if not hasattr(result, "__next__"):  # it would give out its items while compiling
            return result
    body.refuse(f"{describe(function)} does not compile")


@visits(ast.FunctionDef)
def _function_def(body: Body, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        body.refuse("a function within another one has no decorator in compiled code")
    variables.assign_name(body, node.name, _lambda(body, node))


@visits(ast.Lambda)
def _lambda(body: Body, node: ast.Lambda | ast.FunctionDef) -> Nested:
    """Return the function that a `lambda` or nested `def` defines. It is compiled when it is
    called."""
    source = replace(body.source, **analyze_code(node))
    free = sorted(source.loads.keys() & body.source.assigned.keys() - source.assigned.keys())
    source = replace(source, assigned=source.assigned + Counter(free))
    if getattr(node, "name", "") in free:
        body.refuse("a function within another one does not call itself in compiled code")
    return Nested(body, source, _make_signature(body, node.args), tuple(free))


def _make_signature(body: Body, arguments: ast.arguments) -> inspect.Signature:
    """Return the signature of a nested function; the defaults of its parameters are evaluated
    now."""
    parameters: list[inspect.Parameter] = []

    def add(argument: ast.arg, kind: Any, default: ast.expr | None) -> None:
        value = _evaluate_default(body, default)
        parameters.append(inspect.Parameter(argument.arg, kind, default=value))

    positional = [*arguments.posonlyargs, *arguments.args]
    no_defaults = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*no_defaults, *arguments.defaults]):
        add(argument, inspect.Parameter.POSITIONAL_OR_KEYWORD, default)
    if arguments.vararg:
        add(arguments.vararg, inspect.Parameter.VAR_POSITIONAL, None)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        add(argument, inspect.Parameter.KEYWORD_ONLY, default)
    if arguments.kwarg:
        body.refuse("`**keywords` does not compile")
    return inspect.Signature(parameters)


def _evaluate_default(body: Body, node: ast.expr | None) -> AnyValue:
    """Return the value of a parameter's default expression; `Parameter.empty` if `node` is None."""
    value = inspect.Parameter.empty if node is None else body.evaluate(node)
    if not is_known(value):
        body.refuse("the default of a parameter is known before the program runs")
    return value


def call_nested(
    body: Body,
    function: Nested,
    captured: AnyValue,
    arguments: list[Any],
    keywords: dict[str, Any],
) -> AnyValue:
    """Emit a call of a nested function and return its result. `captured` has the values of the
    outer variables that it reads, by name; None to read them now."""
    if captured is None:
        if function.free and function.owner is not body:
            body.refuse(f"{function.__name__} reads variables of another function")
        captured = body.read_captured(function)
    bound = body.bind_arguments(function, function.signature, arguments, keywords)
    values = {**dict(zip(function.free, captured)), **bound}
    return body.emit_call(*body.compile_version(function, values))


def _is_pure(function: Any) -> bool:
    """Return True if a function of constants may run at compile time: a class, a method of a
    constant, or a method of the engine's compile-time objects."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, dict):
        return function.__name__ in ("get", "keys", "values", "items")
    if isinstance(function, type) or isinstance(owner, str | tuple | int | float | frozenset):
        return True
    return type(owner).__module__.startswith("gv_engine.")
