"""Plugin that lets mypy check a field of a structured array faster, such as `rows["height"]`.

Without it, mypy compares the literal text with all overloads of `ndarray.__getitem__`, each time
anew. Arrays of other types than `NDArray[Any]` are checked as before.
"""

from collections.abc import Callable

from mypy.nodes import StrExpr
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import FunctionLike

_ANY_ARRAY = "numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]"


class FieldPlugin(Plugin):
    """Gives `ndarray.__getitem__` a single signature where the key is a literal text."""

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        return _find_signature if fullname == "numpy.ndarray.__getitem__" else None


def _find_signature(context: MethodSigContext) -> FunctionLike:
    """Return the signature `(str) -> NDArray[Any]` for a text as the key of an `NDArray[Any]`."""
    has_text_key = any(isinstance(each, StrExpr) for argument in context.args for each in argument)
    if not has_text_key or str(context.type) != _ANY_ARRAY:
        return context.default_signature
    text = context.api.named_generic_type("builtins.str", [])
    return context.default_signature.copy_modified(arg_types=[text], ret_type=context.type)


def plugin(version: str) -> type[Plugin]:
    """Return the class of the plugin; mypy calls this function by its name."""
    return FieldPlugin
