"""Names of modules: prefixes that tell rule files of authors from the engine's own modules."""

RULE_MODULE_PREFIX = "gv_engine.scenario.rule_modules."
"""Prefix of the names of modules loaded from Python files beside a scenario."""

INLINE_TYPES_PREFIX = f"{RULE_MODULE_PREFIX}objects "
"""Prefix of the module names given to object types that scenario files declare in YAML."""

SEPARATOR = "|"
"""Separator in the name of a rule package: after its folder, and before its type index offset."""

_OWN = {"components", "gv_engine", "systems"}


def is_rule_module(name: str) -> bool:
    """Return True for the name of a module loaded from a rule file."""
    return name.startswith(RULE_MODULE_PREFIX)


def is_engine_module(name: str) -> bool:
    """Return True for the name of a module that is part of the engine."""
    return name.partition(".")[0] in _OWN and not is_rule_module(name)


def package_of(name: str) -> str:
    """Return the package name of a rule file's module, one package per folder; "" for other
    modules."""
    if not is_rule_module(name):
        return ""
    return RULE_MODULE_PREFIX + name.removeprefix(RULE_MODULE_PREFIX).partition(".")[0]


def type_index_offset(package: str) -> int:
    """Return the number of object type indices that a rule package leaves free for other
    packages."""
    return int(package.partition(SEPARATOR)[2].partition(SEPARATOR)[2] or 0)
