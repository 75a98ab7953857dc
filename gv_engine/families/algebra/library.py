"""The library mathy_core, imported in this one place.

It asks for a module that Python 3.13 no longer has, and warns about it before.
"""

from __future__ import annotations

import sys
import typing
import warnings
from types import ModuleType

from gv_engine.language.errors import MissingExtraError
from gv_engine.reading.extras import MATH

if "typing.io" not in sys.modules:
    _stand_in = ModuleType("typing.io")
    _stand_in.IO = typing.IO  # type: ignore[attr-defined]  # all that is asked of it
    sys.modules["typing.io"] = _stand_in

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", SyntaxWarning)
        from mathy_core import expressions as expressions
        from mathy_core import rules as rules
        from mathy_core import util as util
        from mathy_core.parser import ExpressionParser as ExpressionParser
        from mathy_core.parser import ParserException as ParserException
        from mathy_core.rule import BaseRule as BaseRule
        from mathy_core.rule import ExpressionChangeRule as ExpressionChangeRule
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mathy_core":
        raise
    raise MissingExtraError(MATH.how_to_get, name=error.name) from None
