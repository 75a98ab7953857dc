"""Calls, and functions within functions."""

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
from gv_engine.compiler.language.values import Method, describe, is_growing, is_known
from gv_engine.rules.functions import is_foreign


@visits(ast.Call)
def _call(body: Body, node: ast.Call) -> Any:
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
    is_reduced = function in (any, all, sum) and node.args
    if is_reduced and isinstance(generator := node.args[0], ast.GeneratorExp):
        start = [*sequences.evaluate_all(body, node.args[1:]), *_keywords(body, node).values()]
        if len(start) > (function is sum):
            body.refuse(f"{function.__name__} takes fewer arguments")
        parts = (*node.args[1:], *node.keywords)
        if any(isinstance(each, ast.Call) for part in parts for each in ast.walk(part)):
            body.refuse("the number that `sum` begins with is no call here: name it before")
        return comprehensions.emit_reduction(
            body, function, generator, comprehensions.check_sum_start(body, *start)
        )
    return call(body, function, [*sequences.evaluate_all(body, node.args)], _keywords(body, node))


def _keywords(body: Body, node: ast.Call) -> dict[str, Any]:
    if any(keyword.arg is None for keyword in node.keywords):
        body.refuse("`**values` does not compile")
    return {str(each.arg): body.evaluate(each.value) for each in node.keywords}


def is_iterator(body: Body, node: ast.expr) -> bool:
    """Return True for generators, `zip(…)` and so on, whose items Python gives out once."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return body.evaluate(node.func) in (enumerate, reversed, zip)
    return isinstance(node, ast.GeneratorExp)


def call(body: Body, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return the result of a call."""
    if isinstance(function, Method) and isinstance(function.function, Nested):
        return call_nested(body, function.function, function.record, arguments, keywords)
    if isinstance(function, Nested):
        return call_nested(body, function, None, arguments, keywords)
    if isinstance(function, Method):
        return call(body, function.function, [function.record, *arguments], keywords)
    if (emitted := body.library.get(function)) is not None:
        try:
            return emitted(body, *arguments, **keywords)
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
    """Return a function within this one."""
    source = replace(body.source, **analyze_code(node))
    own = source.assigned.keys()
    free = sorted(source.loads.keys() & body.source.assigned.keys() - own)
    source = replace(source, assigned=source.assigned + Counter(free))
    if getattr(node, "name", "") in free:
        body.refuse("a function within another one does not call itself in compiled code")
    parts = node.args
    parameters: list[tuple[str, Any, ast.expr | None]] = []
    places = [*parts.posonlyargs, *parts.args]
    missing = [None] * (len(places) - len(parts.defaults))
    for each, default in zip(places, [*missing, *parts.defaults]):
        parameters.append((each.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, default))
    if parts.vararg:
        parameters.append((parts.vararg.arg, inspect.Parameter.VAR_POSITIONAL, None))
    for each, default in zip(parts.kwonlyargs, parts.kw_defaults):
        parameters.append((each.arg, inspect.Parameter.KEYWORD_ONLY, default))
    if parts.kwarg:
        body.refuse("`**keywords` does not compile")
    signature = inspect.Signature(
        [
            inspect.Parameter(name, kind, default=_evaluate_default(body, default))
            for name, kind, default in parameters
        ]
    )
    return Nested(body, source, signature, tuple(free))


def _evaluate_default(body: Body, node: ast.expr | None) -> Any:
    value = inspect.Parameter.empty if node is None else body.evaluate(node)
    if not is_known(value):
        body.refuse("the default of a parameter is known before the program runs")
    return value


def call_nested(
    body: Body,
    function: Nested,
    captured: Any,
    arguments: list[Any],
    keywords: dict[str, Any],
) -> Any:
    """Return the result of a call of a function within another one, with the variables that it
    reads; None for those that they have here."""
    if captured is None:
        if function.free and function.owner is not body:
            body.refuse(f"{function.__name__} reads variables of another function")
        captured = body.read_captured(function)
    bound = body.bind_arguments(function, function.signature, arguments, keywords)
    values = {**dict(zip(function.free, captured)), **bound}
    return body.emit_call(*body.compile_version(function, values))


def _is_pure(function: Any) -> bool:
    """Return True for what may run while compiling: classes, methods of constants, and what the
    engine's own objects offer."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, dict):
        return function.__name__ in ("get", "keys", "values", "items")
    if isinstance(function, type) or isinstance(owner, str | tuple | int | float | frozenset):
        return True
    return type(owner).__module__.startswith("gv_engine.")
