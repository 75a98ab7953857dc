"""What users may ask for, and in which room it is: names of the package, and short module paths.

A name is loaded when it is asked for, so that neither rules nor a first import wait for the rest.
"""

from __future__ import annotations

_ROOMS = {
    "language.component": "NOTHING Coordinate EntityId Float64 Int8 Int16 Int32 component",
    "language.errors": "CapacityError DoesNotCompileError GVEngineError RuleError ScenarioError",
}
