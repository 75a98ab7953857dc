"""Sets as the bits of a number, in rules that look at many things at once."""


def ones(bits: int) -> int:
    """How many bits of a number that is not negative are set."""
    return int(bits).bit_count()
