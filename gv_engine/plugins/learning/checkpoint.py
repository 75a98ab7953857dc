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
    """Template of a list of any length; `item` is the template of its items."""

    item: Any


class _FreeAxis(NamedTuple):
    """Template of a tensor like `tensor`, in which the axis `axis` may have any length."""

    tensor: Tensor
    axis: int


def check_checkpoint(checkpoint: Mapping[str, Any], learner: Learner) -> None:
    """Raise ArrayError if `checkpoint`, the content of `checkpoint.pt`, cannot be loaded into the
    new `learner`."""
    new = learner.state()
    best = {"score": [0.0] * 3, "steps": 0, "net": new["net"]} if checkpoint.get("best") else {}
    _match("", checkpoint, {"learner": _make_template(new), "best": best, "seconds": 0.0})
    for path, value, low, high in _list_bounds(checkpoint["learner"], new, learner):
        numbers = value.flatten().tolist() if isinstance(value, Tensor) else [value]
        if wrong := [number for number in numbers if number < low or number > high]:
            raise ArrayError(f"{path} has {wrong[0]}; expected numbers from {low} to {high}")


def _make_template(new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template for checking a saved state: the state of a new learner, where lists and
    axes of variable length are marked as `_ListOf` and `_FreeAxis`."""
    template = dict(new)
    ages, counts = new["estimator"]
    template["estimator"] = [ages, _FreeAxis(counts, 1)]
    template["curriculum"] = curriculum = dict(new["curriculum"])
    for name in curriculum.keys() - {"updates", "can_replay"}:
        curriculum[name] = _FreeAxis(curriculum[name], 0)
    if "pool" in new["partners"]:
        template["partners"] = {**new["partners"], "pool": _ListOf(new["net"])}
    if "visited" in new:
        template["visited"] = [_ListOf(0) for _ in new["visited"]]
    return template


def _list_bounds(
    state: Mapping[str, Any], new: Mapping[str, Any], learner: Learner
) -> Iterator[tuple[str, Any, float, float]]:
    """Yield (path, value, minimum, maximum) for each entry of a saved state that must lie in a
    range. `new` is the state of a new learner."""
    num_steps, num_episodes = state["counts"]
    yield "counts", num_steps, 0, math.inf
    yield "counts", num_episodes, 0, math.inf
    yield "colors", state["colors"], 0, learner.colors.num_permutations - 1
    for name in [each for each in state if each.endswith("_scaler")]:
        count, _, squares = state[name]["moments"]
        yield f"{name}.moments", count, 1e-9, math.inf
        yield f"{name}.moments", squares, 0, math.inf
    ages, counts = state["estimator"]
    yield "estimator", ages, 0, counts.shape[1]
    if levels := state["curriculum"]:
        num_levels = len(levels["rows"])
        yield "the length of curriculum.rows", num_levels, 0, learner.settings.level_buffer_size
        for name in ("scores", "played_at"):
            yield f"the length of curriculum.{name}", len(levels[name]), num_levels, num_levels
        yield "curriculum.played_at", levels["played_at"], 0, levels["updates"]
        yield "curriculum.scores", levels["scores"], 0, math.inf
        yield "curriculum.updates", levels["updates"], 0, 2**53
        yield "curriculum.can_replay", int(levels["can_replay"]), 0, int(num_levels > 0)
    if "pool" in (partners := state["partners"]):
        pool_size = len(partners["pool"])
        yield "the length of partners.pool", pool_size, int(num_steps > 0), math.inf
        yield "partners._slots", partners["_slots"], 0, max(0, pool_size - 1)


def _match(path: str, saved: Any, template: Any) -> None:
    """Raise ArrayError if `saved` differs from `template` in type, keys, length, shape or dtype. A
    `_ListOf` in the template allows any length, a `_FreeAxis` any size of one axis. `path` names
    the value in the error."""
    if isinstance(template, _ListOf) and isinstance(saved, list):
        template = [template.item] * len(saved)
    is_list = type(template) in (list, tuple) and isinstance(saved, list | tuple)
    array_type = _array_type(template, saved)
    if isinstance(template, Mapping) and isinstance(saved, Mapping):
        if differing := sorted(map(str, saved.keys() ^ template.keys())):
            raise ArrayError(f"{path or 'it'}: the entry {differing[0]!r} is missing or unknown")
        for name in template:
            _match(f"{path}.{name}".lstrip("."), saved[name], template[name])
    elif is_list and len(saved) == len(template):
        for k, (item, item_template) in enumerate(zip(saved, template, strict=True)):
            _match(f"{path}[{k}]", item, item_template)
    elif (
        is_list
        or array_type != _array_type(saved)
        or (array_type is None and type(saved) is not type(template))
    ):
        raise ArrayError(f"{path} is {_describe(saved)}; expected {_describe(template)}")


def _array_type(value: Any, saved: Any = None) -> tuple[Any, ...] | None:
    """Return (dtype, size, …) of a tensor; None for any other value. If `value` is a `_FreeAxis`,
    the size of its free axis is taken from the tensor `saved`."""
    if isinstance(value, _FreeAxis):
        sizes = [*value.tensor.shape]
        if isinstance(saved, Tensor) and saved.dim() == len(sizes):
            sizes[value.axis] = saved.shape[value.axis]
        return (value.tensor.dtype, *sizes)
    return (value.dtype, *value.shape) if isinstance(value, Tensor) else None


def _describe(value: Any) -> str:
    """Describe the type of a value for error messages: a tensor by dtype and shape, a list by its
    length."""
    if array_type := _array_type(value):
        return f"a tensor of {array_type[0]}, shape {array_type[1:]}"
    if isinstance(value, list | tuple):
        return "a list" if isinstance(value, _ListOf) else f"a list of {len(value)}"
    return "a mapping" if isinstance(value, Mapping) else f"of type {type(value).__name__}"
