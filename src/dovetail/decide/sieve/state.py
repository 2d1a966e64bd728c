"""Holds what is compared: the pod's constraints on one side, a pool's types on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dovetail.decide.sieve.shelf import TypeShelf
from dovetail.decide.sieve.typesets import Bits
from dovetail.decide.sieve.wishes import Said, Wish, pod_wishes, with_volumes
from dovetail.model.pod import PodSpec
from dovetail.model.policy import MinValuesPolicy
from dovetail.model.resources import PODS, without_zeros
from dovetail.model.verdict import Reason
from dovetail.model.volumes import PodVolumes


class Ask(msgspec.Struct, frozen=True):
    """What pods alike ask for, worked out once. `attachments` counts volumes by driver."""

    spec: PodSpec
    wishes: tuple[Wish, ...]
    wishes_with_volumes: tuple[Wish, ...]
    requests: tuple[tuple[str, int], ...]
    attachments: tuple[tuple[str, int], ...]
    lonely: frozenset[int] = frozenset()  # affinity terms, by position, that no pod matches


class Waiver(msgspec.Struct, frozen=True):
    """Constraints left out of account, to see what would happen without them."""

    reasons: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()  # labels
    resources: frozenset[str] = frozenset()

    def __or__(self, other: Waiver) -> Waiver:
        return Waiver(
            self.reasons | other.reasons, self.keys | other.keys, self.resources | other.resources
        )

    def __bool__(self) -> bool:
        return bool(self.reasons or self.keys or self.resources)


class Finding(msgspec.Struct, frozen=True):
    """Where a pod failed at a pool. `left` are the types that were left before.

    `tell` makes the sentence: most findings are looked into and never told. `subject` is the label,
    resource or driver that it failed on, `said` what was said of the label.
    """

    reason: Reason
    tell: Callable[[], str]
    left: Bits
    waiver: Waiver
    subject: str = ""
    said: Said = ()


class Bench(msgspec.Struct, frozen=True):
    """One pool as the sieve needs it. `remaining` is what its limits leave after the plan."""

    shelf: TypeShelf
    remaining: Mapping[str, int]
    min_values_policy: str = MinValuesPolicy.STRICT


def ask_of(spec: PodSpec, volumes: PodVolumes, lonely: frozenset[int]) -> Ask:
    """What a pod asks for."""
    wishes = pod_wishes(spec)
    requests = {PODS: 1, **without_zeros(spec.requests)}
    return Ask(
        spec,
        wishes,
        with_volumes(wishes, volumes),
        tuple(sorted(requests.items())),
        tuple((driver, len(claims)) for driver, claims in volumes.attachments),
        lonely,
    )


class Sifting:
    """The types that are left, for each alternative of the pod's wishes."""

    def __init__(self, bench: Bench, ask: Ask, waived: Waiver) -> None:
        self.bench = bench
        self.shelf = bench.shelf
        self.ask = ask
        self.waived = waived
        self.left: Bits = bench.shelf.stock
        self.branches: list[tuple[Wish, Bits]] = []

    def is_waived(self, reason: Reason) -> bool:
        """Whether the step of this reason is left out."""
        return reason in self.waived.reasons

    def narrow(self, mask: Bits) -> bool:
        """Keep only these types; False (and nothing changed) if none would be left."""
        left = self.left & mask
        if not left:
            return False
        self.left = left
        return True

    def branch(self, branches: list[tuple[Wish, Bits]]) -> bool:
        """Go on with these alternatives; False (and nothing changed) if none has a type left."""
        kept = [(wish, mask & self.left) for wish, mask in branches if mask & self.left]
        if not kept:
            return False
        self.branches = kept
        self.left = 0
        for _, mask in kept:
            self.left |= mask
        return True
