"""Defines taints and tolerations, and whether a pod tolerates the taints of a node."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.requirements import integer


class Effect(StrEnum):
    """What a taint does to a pod that does not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TolerationOperator(StrEnum):
    """How a toleration compares its value with the taint's."""

    EQUAL = "Equal"
    EXISTS = "Exists"
    GT = "Gt"
    LT = "Lt"


class Taint(msgspec.Struct, frozen=True, gc=False, order=True):
    """A mark on a node that keeps pods away."""

    key: str
    value: str = ""
    effect: str = Effect.NO_SCHEDULE

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, gc=False, order=True):
    """What a pod puts up with. An empty key with Exists tolerates everything."""

    key: str = ""
    operator: str = TolerationOperator.EQUAL
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator or TolerationOperator.EQUAL:
            case TolerationOperator.EXISTS:
                return True
            case TolerationOperator.EQUAL:
                return bool(self.key) and self.value == taint.value
            case TolerationOperator.GT | TolerationOperator.LT as operator:
                return bool(self.key) and _compares(taint.value, operator, self.value)
            case _:
                return False


def _compares(taint_value: str, operator: str, toleration_value: str) -> bool:
    left, right = integer(taint_value), integer(toleration_value)
    if left is None or right is None:
        return False
    return left > right if operator == TolerationOperator.GT else left < right


def repelling_taint(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], *, soft: bool = False
) -> Taint | None:
    """The first taint that keeps the pod away; `soft` counts PreferNoSchedule too."""
    tolerated = tuple(tolerations)
    for taint in taints:
        if taint.effect == Effect.PREFER_NO_SCHEDULE and not soft:
            continue
        if not any(toleration.tolerates(taint) for toleration in tolerated):
            return taint
    return None


def tolerates(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> bool:
    """Whether no hard taint keeps the pod away."""
    return repelling_taint(taints, tolerations) is None


# Ours, on nodes that new pods should rather keep off. It counts as nobody's preference.
DISCOURAGED: Final = Taint(labels.DISCOURAGED, "", Effect.PREFER_NO_SCHEDULE)


def is_discouraging(taint: Taint) -> bool:
    """Whether this is that mark; key and effect tell taints apart."""
    return (taint.key, taint.effect) == (DISCOURAGED.key, DISCOURAGED.effect)


_EPHEMERAL: Final = frozenset(
    {
        ("node.kubernetes.io/not-ready", Effect.NO_SCHEDULE),
        ("node.kubernetes.io/not-ready", Effect.NO_EXECUTE),
        ("node.kubernetes.io/unreachable", Effect.NO_SCHEDULE),
        ("node.cloudprovider.kubernetes.io/uninitialized", Effect.NO_SCHEDULE),
        (labels.UNREGISTERED_TAINT, Effect.NO_EXECUTE),
    }
)


def is_ephemeral(taint: Taint) -> bool:
    """Whether a starting node is expected to lose this taint by itself."""
    return (taint.key, taint.effect) in _EPHEMERAL or taint.key.startswith("readiness.k8s.io/")
