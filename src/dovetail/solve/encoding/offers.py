"""Lists everything that can be bought, and the labels that its nodes will have.

An offer is a pool, an instance type, one of its offerings, and a value for every label that the
pool leaves open (`team In [a, b]`, or `team Exists`) and some pod mentions. So every offer has
definite labels, and an expression is true or false of it, exactly as kube-scheduler will see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import is_
from typing import Final

import msgspec
import numpy as np

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import OfferKey
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.solve.axes import Int

MAX_REMEMBERED: Final = 64  # pools whose choice of types is remembered
MAX_MARKETS: Final = 4
MAX_CHOICES: Final = 256  # label choices per pool; more would be a pool for every pod
_OTHER: Final = "other"
_NO_NODE_PRICE: Final = Policy()

Choice = tuple[tuple[str, str | None], ...]


class Offer(msgspec.Struct, frozen=True, gc=False):
    """One row. `choice` holds the values given to labels that the pool leaves open."""

    pool: int
    type: int  # index into the distinct types of the problem
    offering: Offering
    choice: int


@dataclass(frozen=True, slots=True)
class OfferTable:
    """Everything on offer: rows, what their numbers stand for, and the rows as columns."""

    pools: tuple[NodePool, ...]
    types: tuple[InstanceType, ...]
    offers: tuple[Offer, ...]
    choices: tuple[Choice, ...]
    pool_o: Int
    type_o: Int
    choice_o: Int
    price_o: Int  # what plans are compared by: the provider's price and the price per node
    provider_price_o: Int
    way_o: Int
    ways: tuple[tuple[str, str], ...]  # capacity type and zone, of the offers' ways to be bought
    part_o: Int  # which of `parts` an offering brings
    parts: tuple[Requirements, ...]
    label_columns: dict[str, tuple[Int, list[str | None]]] = field(default_factory=dict)
    _keys: list[OfferKey] = field(default_factory=list)

    @property
    def keys(self) -> list[OfferKey]:
        """The offers by name; worked out once."""
        if not self._keys:
            self._keys.extend(map(self._key, self.offers))
        return self._keys

    def _key(self, offer: Offer) -> OfferKey:
        return OfferKey(
            self.pools[offer.pool].name,
            self.types[offer.type].name,
            offer.offering.zone,
            offer.offering.capacity_type,
            offer.offering.reservation_id,
            tuple((key, value) for key, value in self.choices[offer.choice] if value is not None),
        )

    def at(self, offer_o: Int) -> OfferTable:
        """The market of these offers, in this order; one may be named twice."""
        return replace(
            self,
            offers=tuple(self.offers[offer] for offer in offer_o.tolist()),
            pool_o=self.pool_o[offer_o],
            type_o=self.type_o[offer_o],
            choice_o=self.choice_o[offer_o],
            price_o=self.price_o[offer_o],
            provider_price_o=self.provider_price_o[offer_o],
            way_o=self.way_o[offer_o],
            part_o=self.part_o[offer_o],
            _keys=[],
            label_columns={
                key: (codes[offer_o], values) for key, (codes, values) in self.label_columns.items()
            },
        )


class Mentions(msgspec.Struct, frozen=True, gc=False):
    """What pods and daemon sets say about node labels: every key, the values worth telling apart,
    and the keys over which pods are spread or kept together.
    """

    values_by_key: Mapping[str, tuple[str, ...]]
    topology_keys: tuple[str, ...]


def mentions(expressions: Iterable[Requirement], topology_keys: Iterable[str]) -> Mentions:
    """Collect what is said about node labels."""
    values_by_key: dict[str, set[str]] = {}
    for requirement in expressions:
        values = values_by_key.setdefault(requirement.key, set())
        values.update(requirement.values)
        values.update(
            str(bound) for bound in (requirement.gte, requirement.lte) if bound is not None
        )
    keys = sorted(set(topology_keys) - {labels.HOSTNAME})
    for key in keys:
        values_by_key.setdefault(key, set())
    return Mentions(
        {key: tuple(sorted(values)) for key, values in sorted(values_by_key.items())}, tuple(keys)
    )


def pool_requirements(pool: NodePool) -> Requirements:
    """What every node of the pool satisfies."""
    fixed = dict(pool.labels)
    fixed[labels.NODE_POOL] = pool.name
    if pool.node_class.kind:
        fixed[f"{pool.node_class.group}/{pool.node_class.kind.lower()}"] = pool.node_class.name
    return Requirements(pool.requirements) & Requirements.of_labels(fixed)


def open_market(
    pools: Sequence[NodePool],
    instance_types: Mapping[str, tuple[InstanceType, ...]],
    mentions: Mentions,
    policy: Policy = _NO_NODE_PRICE,
) -> OfferTable:
    """All offers of all pools, each with definite labels; remembered while nothing changes."""
    sold = tuple(instance_types.get(pool.name, ()) for pool in pools)
    node_price_p = tuple(policy.node_price_of(pool) for pool in pools)
    for asked, market in _markets:
        if (
            asked[0] == mentions
            and asked[2] == node_price_p
            and (len(asked[1]) == len(sold) and all(map(is_, asked[1], sold)))
            and market.pools == tuple(pools)
        ):
            return market
    market = _open_market(pools, instance_types, mentions)
    if any(node_price_p):
        more_o = np.array(node_price_p, dtype=np.int64)[market.pool_o]
        market = replace(market, price_o=market.provider_price_o + more_o)
    _markets.insert(0, ((mentions, sold, node_price_p), market))
    del _markets[MAX_MARKETS:]
    return market


def open_keys(
    pools: Sequence[NodePool],
    instance_types: Mapping[str, tuple[InstanceType, ...]],
    mentions: Mentions,
) -> frozenset[str]:
    """The labels of which some pool leaves the value open: only those change what is on offer."""
    keys: set[str] = set()
    for pool in pools:
        asked, types = pool_requirements(pool), instance_types.get(pool.name, ())
        catalogue = _catalogue(asked, types)
        for key in mentions.values_by_key:
            if key not in catalogue.is_open:
                mention = Mentions({key: ()}, ())
                catalogue.is_open[key] = bool(_open_keys(asked, catalogue.rows, mention))
        keys.update(key for key in mentions.values_by_key if catalogue.is_open[key])
    return frozenset(keys)


def _open_market(
    pools: Sequence[NodePool],
    instance_types: Mapping[str, tuple[InstanceType, ...]],
    mentions: Mentions,
) -> OfferTable:
    offers: list[Offer] = []
    types: list[InstanceType] = []
    index_of: dict[int, int] = {}
    choices: list[Choice] = [()]
    for number, pool in enumerate(pools):
        asked = pool_requirements(pool)
        rows = _catalogue(asked, instance_types.get(pool.name, ())).rows
        for kind, _ in rows:
            if id(kind) not in index_of:
                index_of[id(kind)] = len(types)
                types.append(kind)
        offers += _with_choices(number, asked, rows, (mentions, index_of, choices))
    firsts = {id(offer.offering.requirements): offer.offering for offer in reversed(offers)}
    part_of = {part: number for number, part in enumerate(firsts)}
    codes: dict[tuple[str, str], int] = {}
    ways = [(offer.offering.capacity_type, offer.offering.zone) for offer in offers]
    way_o = np.array([codes.setdefault(way, len(codes)) for way in ways], dtype=np.int64)
    price_o = np.array([offer.offering.price_nanousd for offer in offers], dtype=np.int64)
    return OfferTable(
        tuple(pools),
        tuple(types),
        tuple(offers),
        tuple(choices),
        pool_o=np.array([offer.pool for offer in offers], dtype=np.int64),
        type_o=np.array([offer.type for offer in offers], dtype=np.int64),
        choice_o=np.array([offer.choice for offer in offers], dtype=np.int64),
        price_o=price_o,
        provider_price_o=price_o,
        way_o=way_o,
        ways=tuple(codes),
        part_o=np.array(
            [part_of[id(offer.offering.requirements)] for offer in offers], dtype=np.int64
        ),
        parts=tuple(offering.requirements for offering in firsts.values()),
    )


Rows = list[tuple[InstanceType, tuple[Offering, ...]]]
# A catalogue hardly ever changes, and the answer for a pool is the same until it does.
_Asked = tuple[Mentions, tuple[tuple[InstanceType, ...], ...], tuple[int, ...]]
_markets: list[tuple[_Asked, OfferTable]] = []
_remembered: dict[tuple[int, Requirements], _Catalogue] = {}


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """What a pool allows of all types, and of which labels that leaves the value open."""

    types: tuple[InstanceType, ...]
    rows: Rows
    is_open: dict[str, bool] = field(default_factory=dict)


def _catalogue(asked: Requirements, types: tuple[InstanceType, ...]) -> _Catalogue:
    """The types and available offerings that the pool allows, remembered for each catalogue."""
    key = (id(types), asked)
    catalogue = _remembered.get(key)
    if catalogue is None or catalogue.types is not types:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        catalogue = _remembered[key] = _Catalogue(types, _allowed_rows(asked, types))
    return catalogue


def _allowed_rows(asked: Requirements, types: Iterable[InstanceType]) -> Rows:
    wishes = list(asked.items())
    known: dict[int, bool] = {}

    def allows(offered: Requirements) -> bool:
        fine = known.get(id(offered))
        if fine is None:
            fine = known[id(offered)] = _agree(wishes, offered)
        return fine

    rows = []
    for kind in types:
        if not allows(kind.requirements):
            continue
        offerings = tuple(
            item for item in kind.offerings if item.is_available and allows(item.requirements)
        )
        if offerings:
            rows.append((kind, offerings))
    return rows


def _agree(wishes: Sequence[tuple[str, Requirement]], offered: Requirements) -> bool:
    """Whether what a pool asks and what is offered can both hold."""
    for key, ours in wishes:
        theirs = offered.get(key)
        if theirs is None or ours.intersects(theirs):
            continue
        if not (ours.tolerates_absence and theirs.tolerates_absence):
            return False
    return True


def _with_choices(
    pool: int,
    asked: Requirements,
    rows: Rows,
    shared: tuple[Mentions, dict[int, int], list[Choice]],
) -> list[Offer]:
    mentions, index_of, choices = shared
    left_open = _open_keys(asked, rows, mentions)
    if not left_open:
        return [
            Offer(pool, index_of[id(kind)], offering, 0)
            for kind, offerings in rows
            for offering in offerings
        ]
    result = []
    keys = sorted(left_open)
    for values in list(product(*(left_open[key] for key in keys)))[:MAX_CHOICES]:
        choice = tuple(zip(keys, values, strict=True))
        if choice not in choices:
            choices.append(choice)
        number = choices.index(choice)
        for kind, offerings in rows:
            result += [
                Offer(pool, index_of[id(kind)], offering, number)
                for offering in offerings
                if all(
                    may_carry(key, value, (asked, kind.requirements, offering.requirements))
                    for key, value in choice
                )
            ]
    return result


def may_carry(key: str, value: str | None, layers: Iterable[Requirements]) -> bool:
    """Whether a node of these layers (pool, type, offering) may have this value of the label."""
    return all(layer[key].admits(value) for layer in layers if key in layer)


def definite(key: str, layers: Sequence[Requirements]) -> tuple[bool, str | None]:
    """Whether the layers leave no choice about a label, and its value (None: the node has none)."""
    merged: Requirement | None = None
    for layer in layers:
        stated = layer.get(key)
        if stated is not None:
            merged = stated if merged is None else merged & stated
    if merged is None:
        return True, None
    if merged.complement:
        # Nobody adds a provider's label but the provider: a pool that merely demands it gets none.
        return labels.is_well_known(key), None
    if len(merged.values) > 1:
        return False, None
    return True, next(iter(merged.values)) if merged.values else None


def _open_keys(
    asked: Requirements,
    rows: Sequence[tuple[InstanceType, tuple[Offering, ...]]],
    mentions: Mentions,
) -> dict[str, tuple[str | None, ...]]:
    """The mentioned labels that the pool or its types leave open, with the values worth having."""
    result = {}
    offered = {
        id(way.requirements): way.requirements for _, offerings in rows for way in offerings
    }.values()
    for key in mentions.values_by_key:
        kinds = {kind.requirements.get(key): kind.requirements for kind, _ in rows}
        layers = {layer.get(key): layer for layer in offered}
        listed: set[str] = set()
        is_open = False
        for kind in kinds.values():
            for layer in layers.values():
                fixed, value = definite(key, (asked, kind, layer))
                is_open = is_open or not fixed
                listed |= (
                    {value} if value is not None else _listed_values(key, (asked, kind, layer))
                )
        if is_open:
            result[key] = _worth_having(
                key, asked, listed | set(mentions.values_by_key[key]), mentions
            )
    return result


def _listed_values(key: str, layers: Iterable[Requirements]) -> set[str]:
    """Every value of the label that some layer names as allowed."""
    return {
        value
        for layer in layers
        if key in layer and not layer[key].complement
        for value in layer[key].values
    }


def _worth_having(
    key: str, asked: Requirements, listed: set[str], mentions: Mentions
) -> tuple[str | None, ...]:
    """Values worth telling apart, and one more that nobody mentions."""
    need = asked.get(key)
    values: list[str | None] = [
        value for value in sorted(listed) if need is None or need.has(value)
    ]
    if need is not None and need.complement:
        values += _unmentioned_value(need, set(mentions.values_by_key[key]))
    if need is not None and need.tolerates_absence:
        values.append(None)
    return tuple(values)


def _unmentioned_value(need: Requirement, values: set[str]) -> list[str]:
    """One allowed value that no pod names, for the pods that do not care."""
    tries = [_OTHER, *(f"{_OTHER}-{n}" for n in range(len(values) + 1))]
    start = need.gte if need.gte is not None else (need.lte or 0) - len(values) - 1
    tries += [str(start + n) for n in range(len(values) + 2)]
    return [name for name in tries if name not in values and need.has(name)][:1]
