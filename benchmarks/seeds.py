"""Where does the chance in a scenario come from? From its name and a number, and nothing else."""

from __future__ import annotations

import random


def seeded(name: str, seed: int) -> random.Random:
    """A generator that gives the same draws in every process, whatever PYTHONHASHSEED says."""
    return random.Random(f"{name}/{seed}")
