"""Names of modules that authors wrote."""

RULE_FILES = "gv_engine.reading.rule_files."
"""How the names of modules begin that are Python files beside a scenario."""


def is_rule_module(name: str) -> bool:
    """Whether a module of this name comes from a rule file."""
    return name.startswith(RULE_FILES)


TEXTS = f"{RULE_FILES}objects "
"""How the modules are called of types that scenario files declare in text."""
