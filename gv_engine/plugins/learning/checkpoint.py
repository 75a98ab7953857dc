"""Schema of `checkpoint.pt`: `check_checkpoint` runs before a learner is restored from a file.

A checkpoint has the keys, types, shapes and dtypes of that of a new learner with the same settings;
some lengths differ, see `_make_template`, and numbers that are counts or indices have bounds, see
`_list_bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.torch_library import Tensor
from gv_engine.scenario.storage.array_files import ArrayError


class _ListOf(NamedTuple):
    """List of any length; its items have the form of `item`."""

    item: Any


class _FreeAxis(NamedTuple):
    """Tensor like `tensor`, but with any length of the axis `axis`."""

    tensor: Tensor
    axis: int


def check_checkpoint(checkpoint: Mapping[str, Any], learner: Learner) -> None:
    """Raise ArrayError unless the new `learner` can be restored from `checkpoint`, the content of
    `checkpoint.pt`."""
    own = learner.state()
    best = {"score": [0.0] * 3, "steps": 0, "net": own["net"]} if checkpoint.get("best") else {}
    _match("", checkpoint, {"learner": _make_template(own), "best": best, "seconds": 0.0})
    for path, value, low, high in _list_bounds(checkpoint["learner"], own, learner):
        numbers = value.flatten().tolist() if isinstance(value, Tensor) else [value]
        if wrong := [each for each in numbers if each < low or each > high]:
            raise ArrayError(f"{path} has {wrong[0]}; expected numbers from {low} to {high}")


def _make_template(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of a learner's state, given the state of a new one."""
    ages, counts = own["estimator"]
    levels = dict(own["curriculum"])
    for name in levels.keys() & {"rows", "scores", "_ended_at"}:
        levels[name] = _FreeAxis(levels[name], 0)
    partners = dict(own["partners"])
    if "pool" in partners:
        partners["pool"] = _ListOf(own["net"])
    parts = {"estimator": [ages, _FreeAxis(counts, 1)], "curriculum": levels, "partners": partners}
    if "visited" in own:
        parts["visited"] = [_ListOf(0) for _ in own["visited"]]
    return {**own, **parts}


def _list_bounds(
    state: Mapping[str, Any], own: Mapping[str, Any], learner: Learner
) -> Iterator[tuple[str, Any, float, float]]:
    """Yield path, value, least and greatest number of the entries of a learner's `state` that have
    bounds. `own` is the state of a new `learner`."""
    most = math.inf
    yield "counts", state["counts"][0], 0, most
    yield "counts", state["counts"][1], 0, most
    yield "colors", state["colors"], 0, learner.colors.num_permutations - 1
    for name in state.keys() & {"reward_scaler", "novelty_scaler"}:
        count, _, squares = state[name]["moments"]
        yield f"{name}.moments", count, 1e-9, most
        yield f"{name}.moments", squares, 0, most
    ages, counts = state["estimator"]
    yield "estimator", ages, 0, counts.shape[1]
    if levels := state["curriculum"]:
        number = len(own["curriculum"]["scores"]) + len(levels.get("rows", ()))
        for name in ("scores", "_ended_at"):
            yield f"the length of curriculum.{name}", len(levels[name]), number, number
        yield "curriculum._ended_at", levels["_ended_at"], 0, levels["episodes"]
        for name in ("_levels", "_next_levels"):
            yield f"curriculum.{name}", levels[name], 0, number - 1
    if "pool" in (partners := state["partners"]):
        size = len(partners["pool"])
        yield "the length of partners.pool", size, int(state["counts"][0] > 0), most
        yield "partners._slots", partners["_slots"], 0, max(0, size - 1)


def _match(path: str, saved: Any, form: Any) -> None:
    """Raise ArrayError unless `saved`, the value at `path`, has the form `form`."""
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(form, _ListOf) and isinstance(saved, list):
        form = [form.item] * len(saved)
    is_list = type(form) in (list, tuple) and isinstance(saved, list | tuple)
    shape = _shape(form, saved)
    if isinstance(form, Mapping) and isinstance(saved, Mapping):
        if differing := sorted(map(str, saved.keys() ^ form.keys())):
            raise ArrayError(f"{path or 'it'}: the entry {differing[0]!r} is missing or unknown")
        parts = [(f"{path}.{name}".lstrip("."), saved[name], form[name]) for name in form]
    elif is_list and len(saved) == len(form):
        parts = [(f"{path}[{k}]", each, form[k]) for k, each in enumerate(saved)]
    elif is_list or shape != _shape(saved) or (shape is None and type(saved) is not type(form)):
        raise ArrayError(f"{path} is {_describe(saved)}; expected {_describe(form)}")
    for part in parts:
        _match(*part)


def _shape(form: Any, saved: Any = None) -> tuple[Any, ...] | None:
    """Return dtype and shape of a tensor, with a free axis as long as that of `saved`; None for
    another value."""
    if isinstance(form, _FreeAxis):
        sizes = [*form.tensor.shape]
        if isinstance(saved, Tensor) and saved.dim() == len(sizes):
            sizes[form.axis] = saved.shape[form.axis]
        return (form.tensor.dtype, *sizes)
    return (form.dtype, *form.shape) if isinstance(form, Tensor) else None


def _describe(value: Any) -> str:
    """Return the type of a value as text, of a tensor its dtype and shape, of a list its length."""
    if shape := _shape(value):
        return f"a tensor of {shape[0]}, shape {shape[1:]}"
    if isinstance(value, list | tuple):
        return "a list" if isinstance(value, _ListOf) else f"a list of {len(value)}"
    return "a mapping" if isinstance(value, Mapping) else f"of type {type(value).__name__}"
