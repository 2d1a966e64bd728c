"""Holds the instance types of a pool as bits, so that a claim can be narrowed quickly.

What a pod demands is computed first, with the order in which its preferences are relaxed: they
count as demands until the pod finds no place; then one after another is dropped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pod import DaemonSet, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import total
from dovetail.model.taints import Effect, Toleration, TolerationOperator, tolerates
from dovetail.model.topology import NodeTerm, PodTerm, Spread

_SOFT_TAINTS = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE)


class PodDemand(msgspec.Struct, frozen=True, eq=False):
    """What a pod insists on. `requirements` are all that it asks of the node's labels."""

    requirements: Requirements
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    near: tuple[PodTerm, ...] = ()
    apart: tuple[PodTerm, ...] = ()


def demands(spec: PodSpec) -> tuple[PodDemand, ...]:
    """From all that the pod would like to what it must have, in the order in which it is tried."""
    return tuple(_demand(item) for item in _relaxations(spec))


class _Asked(msgspec.Struct, frozen=True):
    """A spec with what is left of its preferences, each list in the order of going."""

    spec: PodSpec
    terms: tuple[NodeTerm, ...]
    near: tuple[PodTerm, ...]
    apart: tuple[PodTerm, ...]
    nodes: tuple[NodeTerm, ...]
    soft: tuple[Spread, ...]
    tolerates_soft: bool = False


def _heaviest_first(weighed: tuple[tuple[int, PodTerm], ...]) -> tuple[PodTerm, ...]:
    return tuple(term for _, term in sorted(weighed, key=lambda pair: -pair[0]))


def _relaxations(spec: PodSpec) -> Iterator[_Asked]:
    asked = _Asked(
        spec,
        terms=spec.required_terms,
        near=_heaviest_first(spec.preferred_affinity),
        apart=_heaviest_first(spec.preferred_anti_affinity),
        nodes=tuple(term for _, term in sorted(spec.preferred_terms, key=lambda pair: -pair[0])),
        soft=tuple(spread for spread in spec.spread if not spread.is_hard),
    )
    yield asked
    while len(asked.terms) > 1:
        asked = msgspec.structs.replace(asked, terms=asked.terms[1:])
        yield asked
    for name in ("near", "apart", "nodes", "soft"):
        while terms := getattr(asked, name):
            asked = msgspec.structs.replace(asked, **{name: terms[1:]})
            yield asked
    yield msgspec.structs.replace(asked, tolerates_soft=True)


def _demand(asked: _Asked) -> PodDemand:
    spec = asked.spec
    wanted = [
        Requirement(key, False, frozenset({value})) for key, value in spec.node_selector.items()
    ]
    for term in (*asked.terms[:1], *asked.nodes[:1]):
        wanted += (*term.expressions, *term.fields)
    tolerations = spec.tolerations
    if asked.tolerates_soft:
        tolerations = (*tolerations, _SOFT_TAINTS)
    return PodDemand(
        requirements=Requirements(wanted),
        tolerations=tolerations,
        spread=(*(spread for spread in spec.spread if spread.is_hard), *asked.soft),
        near=(*spec.affinity, *asked.near),
        apart=(*spec.anti_affinity, *asked.apart),
    )


Bits = int  # of instance types, by their place in the menu


class Menu:
    """The types of one pool, cheapest first, with what daemon sets leave of each."""

    def __init__(
        self, pool: NodePool, types: Sequence[InstanceType], daemon_sets: Iterable[DaemonSet]
    ) -> None:
        self.pool = pool
        self.requirements = Requirements(pool.requirements) & Requirements.of_labels(pool.labels)
        priced = [(_cheapest(item, self.requirements), item) for item in types]
        self.types = [
            kind
            for price, kind in sorted(priced, key=lambda pair: (pair[0] or 0, pair[1].name))
            if price is not None
        ]
        running = [item for item in daemon_sets if tolerates(pool.taints, item.spec.tolerations)]
        self.overheads = [self._overhead(kind, running) for kind in self.types]
        self._steps = self._stairs()
        self._bits: dict[int, tuple[Requirements, Bits]] = {}
        self._offers: dict[int, tuple[Requirements, list[tuple[int, int, Offering]]]] = {}
        self._worst: dict[int, tuple[Requirements, list[int], list[Bits]]] = {}
        self._bought: dict[int, tuple[Requirements, dict[str, Bits]]] = {}
        self._domains: dict[tuple[int, str], tuple[Requirements, frozenset[str]]] = {}

    def _overhead(self, kind: InstanceType, running: Iterable[DaemonSet]) -> dict[str, int]:
        offered = self.requirements & kind.requirements
        return total(
            daemon_set.spec.requests
            for daemon_set in running
            if any(offered.intersects(each.requirements) for each in demands(daemon_set.spec))
        )

    def _stairs(self) -> dict[str, tuple[list[int], list[Bits]]]:
        """For each resource the amounts that types leave for pods, and who leaves so much."""
        names = {name for kind in self.types for name in kind.allocatable}
        stairs: dict[str, tuple[list[int], list[Bits]]] = {}
        for name in sorted(names):
            left = sorted(
                (kind.allocatable.get(name, 0) - self.overheads[index].get(name, 0), index)
                for index, kind in enumerate(self.types)
            )
            amounts: list[int] = []
            bits: list[Bits] = []
            mask = 0
            for amount, index in reversed(left):
                mask |= 1 << index
                amounts.append(amount)
                bits.append(mask)
            stairs[name] = (amounts[::-1], bits[::-1])
        return stairs

    def types_holding(self, requests: Mapping[str, int]) -> Bits:
        """The types with room for this."""
        result = -1
        for name, amount in requests.items():
            if amount <= 0:
                continue
            amounts, bits = self._steps.get(name, ([], []))
            at = bisect_left(amounts, amount)
            if at == len(amounts):
                return 0
            result &= bits[at]
        return result

    def types_admitted(self, wanted: Requirements) -> Bits:
        """The types that can be had with these labels, in some offering."""
        known = self._bits.get(id(wanted))
        if known is None:
            mask = 0
            for index, kind in enumerate(self.types):
                if next(_matches(kind, wanted), None) is not None:
                    mask |= 1 << index
            known = self._bits[id(wanted)] = (wanted, mask)
        return known[1]

    def offers(self, wanted: Requirements) -> list[tuple[int, int, Offering]]:
        """Price, type and offering of all that can be had with these labels, cheapest first."""
        known = self._offers.get(id(wanted))
        if known is None:
            offers = [
                (item.price_nanousd, index, item)
                for index, kind in enumerate(self.types)
                for item in _matches(kind, wanted)
            ]
            offers.sort(key=lambda row: (row[0], row[1], row[2].zone, row[2].capacity_type))
            known = self._offers[id(wanted)] = (wanted, offers)
        return known[1]

    def below(self, price: int, wanted: Requirements) -> Bits:
        """The types that cost less even at their worst: the dearest way to buy one as reserved,
        else as spot, else on demand.
        """
        known = self._worst.get(id(wanted))
        if known is None:
            prices: list[int] = []
            bits: list[Bits] = [0]
            for worst, index in sorted(self._worst_prices(wanted)):
                prices.append(worst)
                bits.append(bits[-1] | 1 << index)
            known = self._worst[id(wanted)] = (wanted, prices, bits)
        return known[2][bisect_left(known[1], price)]

    def _worst_prices(self, wanted: Requirements) -> Iterator[tuple[int, int]]:
        by_type: dict[int, dict[str, int]] = {}
        for price, index, item in self.offers(wanted):
            prices = by_type.setdefault(index, {})
            prices[item.capacity_type] = max(price, prices.get(item.capacity_type, 0))
        for index, prices in by_type.items():
            yield next(prices[item] for item in labels.CAPACITY_TYPES if item in prices), index

    def capacity_types(self, bits: Bits, wanted: Requirements) -> set[str]:
        """How these types can be bought."""
        known = self._bought.get(id(wanted))
        if known is None:
            by_kind: dict[str, Bits] = {}
            for _, index, item in self.offers(wanted):
                by_kind[item.capacity_type] = by_kind.get(item.capacity_type, 0) | 1 << index
            known = self._bought[id(wanted)] = (wanted, by_kind)
        return {kind for kind, mask in known[1].items() if mask & bits}

    def domains(self, key: str, wanted: Requirements) -> frozenset[str]:
        """The values of a label that nodes with these labels can have."""
        known = self._domains.get((id(wanted), key))
        if known is None:
            asked = wanted.get(key)
            values: set[str] = set()
            for kind in self.types:
                requirement = kind.requirements.get(key)
                if requirement is not None and not requirement.complement:
                    values |= requirement.values
            kept = frozenset(item for item in values if asked is None or asked.has(item))
            known = self._domains[id(wanted), key] = (wanted, kept)
        return known[1]

    def names(self, bits: Bits) -> tuple[str, ...]:
        """The types that are meant, in the order of the menu."""
        return tuple(kind.name for index, kind in enumerate(self.types) if bits >> index & 1)

    def within(self, limits: Mapping[str, int], bits: Bits) -> Bits:
        """Those that do not exceed what is left of a pool's limits."""
        if not limits:
            return bits
        mask = 0
        for index, kind in enumerate(self.types):
            if all(kind.capacity.get(name, 0) <= left for name, left in limits.items()):
                mask |= 1 << index
        return bits & mask


def _cheapest(kind: InstanceType, wanted: Requirements) -> int | None:
    return min((item.price_nanousd for item in _matches(kind, wanted)), default=None)


def _matches(kind: InstanceType, wanted: Requirements) -> Iterator[Offering]:
    """The offerings of a type that can be had with these labels."""
    if _agree(kind.requirements, wanted):
        for offering in kind.offerings:
            if offering.is_available and _agree(offering.requirements, wanted):
                yield offering


def _agree(offered: Requirements, wanted: Requirements) -> bool:
    """Whether some node could satisfy both; asked of every type and offering, so in a loop."""
    for key, asked in wanted.items():
        requirement = offered.get(key)
        if requirement is None or requirement.intersects(asked):
            continue
        if not (requirement.tolerates_absence and asked.tolerates_absence):
            return False
    return True
