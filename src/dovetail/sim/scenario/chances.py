"""Makes one stream of random numbers for each part of a scenario, from its seed."""

from __future__ import annotations

from random import Random


def stream(seed: int, *names: str) -> Random:
    """The chance of one part: the same for everybody who asks by the same names."""
    return Random("/".join((str(seed), *names)))  # noqa: S311  it only has to repeat itself
