"""Words of commands that train: seeds of several runs, and options to repeat a command with."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from gv_engine.rules.errors import TrustError, shorten


def parse_seeds(text: str) -> range:
    """Convert an option's value to a range of seeds: `0:3` gives 0, 1 and 2. Raise an argparse
    error for invalid text."""
    ends = text.split(":")
    if len(ends) == 2 and all(end.isdecimal() for end in ends):
        seeds = range(*map(int, ends))
        if seeds and seeds.stop <= 2**31:
            return seeds
    raise argparse.ArgumentTypeError(
        f"found {shorten(text, 40)!r}, expected a range of seeds from 0 on, such as 0:3 for three"
    )


def scenario_words(reference: Mapping[str, Any]) -> list[str]:
    """Return the command-line words for a scenario: its name or path, --set and --max-steps.
    `reference` describes the scenario, as `make_reference` returns it."""
    words = [reference["source"]]
    for name, value in reference["settings"].items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    limit = reference["changes"].get("max_steps")
    return [*words, "--max-steps", str(limit)] if limit else words


def consent_words(options: argparse.Namespace, load: Callable[..., object]) -> list[str]:
    """Return the options --allow-module, --no-code and --trust as words for a repeated command.
    --trust is added only if `load()`, which loads the scenario, raises TrustError without it.

    Args:
        options: options of the command.
        load: function that loads the scenario with the keyword arguments of `Consent`.
    """
    words = [word for name in options.allow_modules for word in ("--allow-module", name)]
    words += [] if options.code else ["--no-code"]
    try:
        # warnings about the scenario's files do not matter here
        with warnings.catch_warnings(action="ignore"):
            load(allow_modules=options.allow_modules, code=options.code)
    except TrustError:
        words.append("--trust")
    return words
