"""Parameters of functions."""

import inspect
from itertools import islice


def get_positional_parameters(signature: inspect.Signature, n: int) -> list[inspect.Parameter]:
    """Return the first `n` parameters, or all if there are fewer."""
    return list(islice(signature.parameters.values(), n))


def get_keyword_parameter(signature: inspect.Signature, name: str) -> inspect.Parameter:
    """Return the parameter with this name; raise TypeError if there is none."""
    if name not in signature.parameters:
        raise TypeError(f"{signature} has no parameter {name!r}")
    return signature.parameters[name]
