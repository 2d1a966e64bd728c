"""Defines the metrics of status conditions, for each kind of object.

One set for each kind that has conditions. The gauges among them have a series for each object and
condition, and are written by `condition_metrics.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram

from dovetail import labels
from dovetail.observe import buckets


class ConditionKind(msgspec.Struct, frozen=True, gc=False):
    """A kind whose conditions are watched, and which of an object's labels its series carry.

    `has_deprecated` says whether it is counted under the reference's old names too.
    """

    kind: str
    group: str = labels.GROUP
    labels: tuple[str, ...] = ()
    has_deprecated: bool = True

    @property
    def prefix(self) -> str:
        """How the names of its metrics begin."""
        return f"operator_{self.kind.lower()}"


def condition_kinds(node_class_labels: Iterable[str] = ()) -> tuple[ConditionKind, ...]:
    """The kinds, where nodes carry these labels that name their node class."""
    owned = (*node_class_labels, labels.NODE_POOL)
    return (
        ConditionKind("NodeClaim", labels=owned),
        ConditionKind("NodePool"),
        ConditionKind("Node", "", (*owned, labels.INITIALIZED), has_deprecated=False),
    )


def metric_label(key: str) -> str:
    """How a metric spells a label key of Kubernetes."""
    return key.translate(_PLAIN)


_PLAIN: Final = str.maketrans("/.-", "___")


class ConditionMeters:
    """The counters and histograms of one kind."""

    def __init__(self, kind: ConditionKind, registry: CollectorRegistry) -> None:
        own = tuple(metric_label(key) for key in kind.labels)
        self.kind = kind
        self.transition_seconds = Histogram(
            f"{kind.prefix}_status_condition_transition_seconds",
            "Time that a condition had its previous status.",
            ("type", "status", *own),
            buckets=buckets.CONDITIONS,
            registry=registry,
        )
        self.transitions_total = Counter(
            f"{kind.prefix}_status_condition_transitions_total",
            "Number of condition transitions.",
            ("type", "status", "reason", *own),
            registry=registry,
        )
        self.termination_duration_seconds = Histogram(
            f"{kind.prefix}_termination_duration_seconds",
            "Time from deletion to removal of an object.",
            own,
            buckets=buckets.CONDITIONS,
            registry=registry,
        )
