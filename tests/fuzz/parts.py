"""What does a long run judge, and how much of it? The parts of `make fuzz`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.fuzz import judge, kills, placed
from tests.laws import peace, thrift


@dataclass(frozen=True)
class Part:
    """A law, how it is judged for one seed, and for how many it is judged unless told otherwise."""

    name: str
    says: str
    n_seeds: int
    wrong: Callable[[int], list[str]]
    at_once: int = 1  # seeds that a worker takes


PARTS: Final = (
    Part("plans", "plans for waiting pods are right", 20_000, judge.wrong, at_once=16),
    Part("placed", "nobody is left out who could be placed", 20_000, placed.wrong, at_once=16),
    Part("rest", "busy clusters come to rest", 5_000, peace.wrong, at_once=4),
    Part("budgets", "budgets hold while much is under way", 5_000, thrift.wrong, at_once=4),
    Part("kills", "nothing is lost wherever the controller is killed", 200, kills.wrong),
)
BY_NAME: Final = {part.name: part for part in PARTS}
