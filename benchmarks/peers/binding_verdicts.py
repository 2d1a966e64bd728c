"""What did kube-scheduler make of a plan, set up and told in which way? The verdict as figures."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from benchmarks.peers.scheduling import Scoring
from dovetail.model.pod import PodKey

_HEAD: Final = (
    "scenario", "scoring", "nominated", "pods", "bound at once", "as planned", "left",
    "bound $/h", "paper $/h", "realised $/h", "realised/paper",
)  # fmt: skip
_N_WORDS: Final = 3
_AT_ONCE: Final = 0.999  # of the planned pods


class Telling(StrEnum):
    """What kube-scheduler is told of where pods are meant to go."""

    NOTHING = "no"
    AS_CONTROLLER = "yes"  # all pods, but of those that a hard spread counts only a few a node
    IN_TURN = "in turn"  # all, but these one by one: each when all before it have been tried


class Way(msgspec.Struct, frozen=True):
    """How kube-scheduler is set up, and what it is told."""

    scoring: Scoring
    telling: Telling


WAYS: Final = tuple(Way(scoring, telling) for scoring in Scoring for telling in Telling)


class Judged(msgspec.Struct, frozen=True):
    """What kube-scheduler made of one plan. `bound` is the least that any plan can cost."""

    scenario: str
    scoring: Scoring
    telling: Telling
    n_pods: int
    n_bound_at_once: int
    n_as_planned: int
    n_left_after_round_2: int
    paper: float
    bound: float
    realised: float
    pending: tuple[PodKey, ...] = ()  # after the first round

    @property
    def share_at_once(self) -> float:
        """The share of planned pods that needed no second plan."""
        return self.n_bound_at_once / self.n_pods

    @property
    def is_missed(self) -> bool:
        """Whether a plan whose pods come in turn was not bound as it should be."""
        is_short = self.share_at_once < _AT_ONCE or self.n_left_after_round_2 > 0
        return self.telling is Telling.IN_TURN and is_short


def table(found: Sequence[Judged]) -> str:
    """All verdicts as aligned columns."""
    lines = [_HEAD, *map(_line, found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < _N_WORDS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _line(one: Judged) -> tuple[str, ...]:
    return (
        one.scenario,
        str(one.scoring),
        str(one.telling),
        str(one.n_pods),
        f"{one.share_at_once:.2%}",
        f"{one.n_as_planned / one.n_pods:.2%}",
        str(one.n_left_after_round_2),
        f"{one.bound:,.2f}",
        f"{one.paper:,.2f}",
        f"{one.realised:,.2f}",
        f"{one.realised / one.paper:.4f}",
    )
