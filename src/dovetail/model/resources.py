"""Defines amounts of resources, exact integers by resource name.

cpu is in millicores; everything else in its base unit (bytes, counts), as kube-scheduler counts
them: fractions were rounded up when the quantity was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

Resources = Mapping[str, int]

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
NODES: Final = "nodes"  # only in limits: how many nodes


def total(parts: Iterable[Resources]) -> dict[str, int]:
    """The sum of all parts."""
    result: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            result[name] = result.get(name, 0) + amount
    return result


def subtract(amounts: Resources, taken: Resources) -> dict[str, int]:
    """What is left of `amounts`; names only in `taken` are ignored, results may be negative."""
    return {name: amount - taken.get(name, 0) for name, amount in amounts.items()}


def peak(parts: Iterable[Resources]) -> dict[str, int]:
    """The largest amount of each name."""
    result: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            if amount > result.get(name, 0) or name not in result:
                result[name] = amount
    return result


def fits(requests: Resources, available: Resources) -> bool:
    """Whether every requested amount is there. What is not listed is not there."""
    return all(amount <= available.get(name, 0) for name, amount in requests.items() if amount > 0)


def without_zeros(amounts: Resources) -> dict[str, int]:
    """Only what is really asked for."""
    return {name: amount for name, amount in amounts.items() if amount}
