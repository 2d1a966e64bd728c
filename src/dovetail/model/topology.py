"""Defines the constraints between pods: topology spread, affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from dovetail.model.requirements import Operator, Requirement


class LabelSelector(msgspec.Struct, frozen=True, gc=False):
    """Which pods (or namespaces) are meant: all expressions must hold.

    No expressions select everything; `nothing` selects nothing (an absent selector).
    Only In, NotIn, Exists and DoesNotExist occur.
    """

    expressions: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels_by_key: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        if self.nothing:
            return False
        return all(item.admits(labels_by_key.get(item.key)) for item in self.expressions)


NOTHING = LabelSelector(nothing=True)


def equality(labels_by_key: Mapping[str, str]) -> LabelSelector:
    """The selector of exactly these labels."""
    return LabelSelector(
        tuple(
            Requirement(key, False, frozenset({value}))
            for key, value in sorted(labels_by_key.items())
        )
    )


class NodePolicy(StrEnum):
    """Whether a spread constraint counts only nodes that the pod could use."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class Spread(msgspec.Struct, frozen=True, gc=False):
    """A topology spread constraint. `is_hard` is whenUnsatisfiable: DoNotSchedule."""

    topology_key: str
    selector: LabelSelector
    max_skew: int = 1
    min_domains: int = 1
    is_hard: bool = True
    node_affinity_policy: str = NodePolicy.HONOR
    node_taints_policy: str = NodePolicy.IGNORE
    match_label_keys: tuple[str, ...] = ()


class PodTerm(msgspec.Struct, frozen=True, gc=False):
    """An affinity or anti-affinity term: the pods meant, and how far "together" reaches.

    `namespaces` empty and `namespace_selector` None mean the pod's own namespace.
    """

    topology_key: str
    selector: LabelSelector
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


def narrow(
    selector: LabelSelector,
    pod_labels: Mapping[str, str],
    *,
    match: tuple[str, ...] = (),
    mismatch: tuple[str, ...] = (),
) -> LabelSelector:
    """The selector, with matchLabelKeys and mismatchLabelKeys taken from the pod's own labels."""
    if selector.nothing:
        return selector
    more = [
        Requirement(key, operator is Operator.NOT_IN, frozenset({pod_labels[key]}))
        for keys, operator in ((match, Operator.IN), (mismatch, Operator.NOT_IN))
        for key in keys
        if key in pod_labels
    ]
    return LabelSelector((*selector.expressions, *more)) if more else selector


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One alternative of a node affinity: all expressions on labels and fields must hold.

    A term without any expression selects no node.
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, labels_by_key: Mapping[str, str], node_name: str) -> bool:
        """Whether a node of this name with these labels is selected."""
        if not self.expressions and not self.fields:
            return False
        return all(
            expression.admits(labels_by_key.get(expression.key)) for expression in self.expressions
        ) and all(field.admits(node_name) for field in self.fields)


class HostPort(msgspec.Struct, frozen=True, gc=False, order=True):
    """A port that a pod takes on its node."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104  the wildcard as Kubernetes spells it, nothing is bound here

    @property
    def is_wildcard(self) -> bool:
        """Whether it is taken on every address of the node."""
        return self.ip in {"", "0.0.0.0", "::"}  # noqa: S104  compared, never bound

    def conflicts(self, other: HostPort) -> bool:
        """Whether two pods with these ports cannot share a node."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.ip == other.ip or self.is_wildcard or other.is_wildcard)
        )
