"""Plugin of mypy that knows the type of a field of a structured array, such as `rows["height"]`.

mypy compares a text in quotes anew each time with the keys that `ndarray.__getitem__` takes, as it
remembers no result about a literal. That takes 60 ms a field.
"""

from collections.abc import Callable

from mypy.nodes import StrExpr
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import FunctionLike

_ANY_ARRAY = "numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]"


class FieldPlugin(Plugin):
    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        return _find_signature if fullname == "numpy.ndarray.__getitem__" else None


def _find_signature(context: MethodSigContext) -> FunctionLike:
    """Return the signature `(str) -> NDArray[Any]` for a text as the key of an `NDArray[Any]`."""
    is_field = any(isinstance(each, StrExpr) for argument in context.args for each in argument)
    if not is_field or str(context.type) != _ANY_ARRAY:
        return context.default_signature
    text = context.api.named_generic_type("builtins.str", [])
    return context.default_signature.copy_modified(arg_types=[text], ret_type=context.type)


def plugin(version: str) -> type[Plugin]:
    return FieldPlugin
