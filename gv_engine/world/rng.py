"""State of a world's PCG64 random generator, copied between NumPy's `Generator` and a record of a
batch.

Sampling from such a record is in `gv_engine.compiler.rng`, bit for bit like NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LOW = (1 << 64) - 1


def generator_to_row(generator: np.random.Generator, record: np.ndarray[Any, Any]) -> None:
    """Write the state of a NumPy random generator into `record`, an array of shape () and dtype
    `gv_engine.scenario.memory.layout.RNG`.

    Raises:
        TypeError: the generator is not over PCG64.
    """
    state = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(
            f"worlds need a generator over PCG64, this one is over {state['bit_generator']}"
        )
    words = state["state"]
    record["state_high"] = words["state"] >> 64
    record["state_low"] = words["state"] & _LOW
    record["inc_high"] = words["inc"] >> 64
    record["inc_low"] = words["inc"] & _LOW
    record["has_half"] = state["has_uint32"]
    # an unused half is left over from an earlier sample and has no meaning
    record["half"] = state["uinteger"] if state["has_uint32"] else 0


class FastGenerator(np.random.Generator):
    """NumPy generator that returns Python integers instead of NumPy's, and whose `choice(n)` is
    five times as fast. The numbers are the same."""

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        """Return what NumPy's `Generator.integers` does, a single number as Python's int."""
        drawn = super().integers(*args, **kwargs)
        return drawn if isinstance(drawn, np.ndarray) else int(drawn)

    def choice(self, a: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a random sample of `a`, exactly as NumPy's `Generator.choice` does, but faster if
        `a` is the only argument and an integer."""
        if args or kwargs or type(a) is not int or a < 1:
            return super().choice(a, *args, **kwargs)
        return int(super().integers(a))  # same result as NumPy's choice


def to_rule_generator(generator: np.random.Generator) -> np.random.Generator:
    """Return a generator for rules that shares the state of another one."""
    is_ready = isinstance(generator, FastGenerator)
    return generator if is_ready else FastGenerator(generator.bit_generator)


def generator_from_row(record: np.ndarray[Any, Any]) -> np.random.Generator:
    """Return a NumPy random generator in the state that `record` holds, an array of shape () and
    dtype `gv_engine.scenario.memory.layout.RNG`."""
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": int(record["state_high"]) << 64 | int(record["state_low"]),
            "inc": int(record["inc_high"]) << 64 | int(record["inc_low"]),
        },
        "has_uint32": int(record["has_half"]),
        "uinteger": int(record["half"]),
    }
    return FastGenerator(bits)


def copy_generator(source: Any, target: Any) -> None:
    """Copy the state of a random number generator from the record `source` into the record
    `target`."""
    target.state_high, target.state_low = source.state_high, source.state_low
    target.inc_high, target.inc_low = source.inc_high, source.inc_low
    target.has_half, target.half = source.has_half, source.half


def sample_scenario_index(rng: Any, scenarios: Any) -> int:
    """Sample one scenario of a mixture with the random generator `rng`, and return its index.
    `scenarios[k].share` is the probability of the scenarios 0 to k together."""
    sample = rng.random()
    member = 0
    while sample >= scenarios[member].share:
        member += 1
    return member
