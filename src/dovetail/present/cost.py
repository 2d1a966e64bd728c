"""Divides the price of every node among its pods.

A pod's weight on its node is the largest of its shares of cpu, memory and devices. The part of a
node's price that is used is the share of whichever of these is asked for most; it is divided among
the pods by weight. The rest is unused, and nobody's. Nothing is lost or counted twice: what the
pods pay and what is unused add up to the price, to the nanodollar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

import msgspec

from dovetail.decide.nodes import census
from dovetail.decide.pools import price_of, prices
from dovetail.model import resources
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot

HOURS_PER_MONTH: Final = 730
HOW: Final = (
    "A node's price is divided among its pods by the larger of their shares of its cpu and memory "
    "(or devices); what the fuller of these has left is unused. A month has 730 hours."
)
UNUSED: Final = "(unused)"
NO_POOL: Final = "(no pool)"
ALONE: Final = "(no workload)"
_UNSHARED: Final = frozenset({resources.EPHEMERAL_STORAGE, resources.PODS})


class By(StrEnum):
    """What prices are added up by."""

    POOL = "pool"
    NAMESPACE = "namespace"
    WORKLOAD = "workload"
    LABEL = "label"


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What a pod pays of its node, per hour."""

    pod: Pod
    nanousd: int


class Bill(msgspec.Struct, frozen=True, gc=False):
    """The price of a node per hour, and who pays it; the rest is `unused_nanousd`."""

    node: Node
    nanousd: int
    charges: tuple[Charge, ...]
    unused_nanousd: int


class CostRow(msgspec.Struct, frozen=True, gc=False):
    """What one pool, namespace, workload or label value costs per hour. Of a pool, that is what
    its nodes cost, and `unused_nanousd` is part of it.
    """

    name: str
    nanousd: int
    n_pods: int
    n_nodes: int
    unused_nanousd: int = 0


def bills(snapshot: Snapshot) -> tuple[Bill, ...]:
    """One for every node, in order of names."""
    where, known = census(snapshot.pods).by_node, prices(snapshot)
    return tuple(
        bill(node, where.get(node.name, ()), price_of(node, known))
        for node in sorted(snapshot.nodes, key=lambda node: node.name)
    )


def bill(node: Node, pods: Sequence[Pod], nanousd: int) -> Bill:
    """The price of a node, divided."""
    there = sorted((pod for pod in pods if not pod.is_terminal), key=lambda pod: pod.key)
    used = min(Fraction(1), max(_shares(node, there).values(), default=Fraction(0)))
    weights = [max(_shares(node, (pod,)).values(), default=Fraction(0)) for pod in there]
    spent = int(nanousd * used)
    parts = _divide(spent, weights)
    charges = tuple(map(Charge, there, parts))
    return Bill(node, nanousd, charges, nanousd - sum(parts))


def _shares(node: Node, pods: Sequence[Pod]) -> Mapping[str, Fraction]:
    """How much of each resource of a node these pods ask for."""
    asked = resources.total(pod.spec.requests for pod in pods)
    return {
        name: Fraction(asked.get(name, 0), amount)
        for name, amount in node.allocatable.items()
        if amount > 0 and name not in _UNSHARED
    }


def _divide(whole: int, weights: Sequence[Fraction]) -> list[int]:
    """A whole in parts by weight, which add up to it; nothing where nobody weighs anything."""
    total = sum(weights, Fraction(0))
    if not total:
        return [0] * len(weights)
    parts, sofar, before = [], Fraction(0), 0
    for weight in weights:
        sofar += weight
        after = int(whole * sofar / total)
        parts.append(after - before)
        before = after
    return parts


# ------------------------------------------------------------------ added up


def rows(bills: Sequence[Bill], by: By, label: str = "team") -> tuple[CostRow, ...]:
    """What everything costs by pool, namespace, workload or label, the dearest first; last, but
    for pools, what is unused.
    """
    if by is By.POOL:
        return tuple(sorted(_pool_rows(bills), key=_dearest))
    named = {
        By.NAMESPACE: lambda pod: pod.namespace,
        By.WORKLOAD: lambda pod: pod.workload or ALONE,
        By.LABEL: lambda pod: _label_value(pod, label),
    }[by]
    unused = sum(item.unused_nanousd for item in bills)
    rest = CostRow(UNUSED, unused, 0, len(bills), unused)
    return (*sorted(_pod_rows(bills, named), key=_dearest), rest)


def _label_value(pod: Pod, label: str) -> str:
    value = pod.labels.get(label)
    return f"(no label {label})" if value is None else f"{label}={value}"


def _dearest(row: CostRow) -> tuple[int, str]:
    return (-row.nanousd, row.name)


def _pool_rows(bills: Sequence[Bill]) -> Iterator[CostRow]:
    alike: dict[str, list[Bill]] = {}
    for item in bills:
        alike.setdefault(item.node.node_pool or NO_POOL, []).append(item)
    for name, members in alike.items():
        yield CostRow(
            name=name,
            nanousd=sum(member.nanousd for member in members),
            n_pods=sum(len(member.charges) for member in members),
            n_nodes=len(members),
            unused_nanousd=sum(member.unused_nanousd for member in members),
        )


def _pod_rows(bills: Sequence[Bill], named: Callable[[Pod], str]) -> Iterator[CostRow]:
    alike: dict[str, list[tuple[str, Charge]]] = {}
    for item in bills:
        for charge in item.charges:
            alike.setdefault(named(charge.pod), []).append((item.node.name, charge))
    for name, members in alike.items():
        yield CostRow(
            name=name,
            nanousd=sum(charge.nanousd for _, charge in members),
            n_pods=len(members),
            n_nodes=len({node for node, _ in members}),
        )
