"""Names of modules: the engine's own, and those that authors wrote."""

RULE_MODULE_PREFIX = "gv_engine.scenario.rule_modules."
"""How the names of modules begin that are Python files beside a scenario."""

INLINE_TYPES_PREFIX = f"{RULE_MODULE_PREFIX}objects "
"""How the modules are called of types that scenario files declare in text."""

SEPARATOR = "|"
"""Stands in the name of a package of rule files behind its folder, and before `offset_of` it."""

_OWN = {"components", "gv_engine", "systems"}


def is_rule_module(name: str) -> bool:
    """Whether a module of this name comes from a rule file."""
    return name.startswith(RULE_MODULE_PREFIX)


def is_engine_module(name: str) -> bool:
    """Whether a module of this name is part of the engine."""
    return name.partition(".")[0] in _OWN and not is_rule_module(name)


def package_of(name: str) -> str:
    """The package of a rule file, by the name of its module: that of its folder; "" for others."""
    if not is_rule_module(name):
        return ""
    return RULE_MODULE_PREFIX + name.removeprefix(RULE_MODULE_PREFIX).partition(".")[0]


def type_index_offset(package: str) -> int:
    """How many indices of object types a package of rule files leaves to those of others."""
    return int(package.partition(SEPARATOR)[2].partition(SEPARATOR)[2] or 0)
