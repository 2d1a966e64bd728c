"""What else could be bought? Every node that a pool could launch, one label choice at a time.

A label of a new node is whatever all who speak about it (pool, instance type, offering) admit.
Where they leave a choice, every value that anything in the cluster mentions is tried, and one that
nothing mentions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dovetail import labels as well_known
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.policy import MinValuesPolicy
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from tests.oracle.hosts import is_leaving, new_host
from tests.oracle.world import Host

FRESH_NAME: Final = "a-node-nobody-planned"
FRESH_VALUE: Final = "a-value-nobody-mentions"
MOST_CHOICES: Final = 256


@dataclass(frozen=True)
class Fresh:
    """A node that could be launched in addition."""

    pool: NodePool
    kind: InstanceType
    offering: Offering
    host: Host


@dataclass
class Usage:
    """What pools and reservations already give away."""

    by_pool: dict[str, dict[str, int]] = field(default_factory=dict)
    by_reservation: dict[str, int] = field(default_factory=dict)

    def take(self, pool: str, capacity: Mapping[str, int], reservation_id: str = "") -> None:
        """Count one node."""
        held = self.by_pool.setdefault(pool, {})
        for name, amount in capacity.items():
            if name != "nodes":
                held[name] = held.get(name, 0) + amount
        held["nodes"] = held.get("nodes", 0) + 1
        if reservation_id:
            self.by_reservation[reservation_id] = self.by_reservation.get(reservation_id, 0) + 1

    def excess(self, pool: NodePool) -> list[str]:
        """The limits that are exceeded."""
        held = self.by_pool.get(pool.name, {})
        return [
            f"{name}: {held.get(name, 0)} of {limit}"
            for name, limit in pool.limits.items()
            if held.get(name, 0) > limit
        ]

    def has_room(self, pool: NodePool, capacity: Mapping[str, int]) -> bool:
        """Whether one more node of this capacity stays within the pool's limits."""
        held = self.by_pool.get(pool.name, {})
        more = {**capacity, "nodes": 1}
        return all(
            held.get(name, 0) + more.get(name, 0) <= limit for name, limit in pool.limits.items()
        )


def usage(snapshot: Snapshot, launches: Iterable[Launch]) -> Usage:
    """What the nodes that stay and the planned ones take together."""
    found = Usage(by_reservation=dict(snapshot.ledger.reserved_by_id))
    for node in snapshot.nodes:
        if node.node_pool and not is_leaving(snapshot, node):
            found.take(node.node_pool, node.capacity)
    for launch in launches:
        kind = kinds_of(snapshot, launch.node_pool).get(launch.instance_type)
        if kind is not None:
            found.take(launch.node_pool, kind.capacity, launch.reservation_id)
    return found


def kinds_of(snapshot: Snapshot, pool: str) -> dict[str, InstanceType]:
    """The instance types of a pool by name."""
    return {kind.name: kind for kind in snapshot.instance_types.get(pool, ())}


def is_usable(pool: NodePool) -> bool:
    """Whether the pool may grow for pods at all."""
    return pool.is_ready and not pool.is_deleting and pool.replicas is None and not pool.problems


def is_refused(
    snapshot: Snapshot, now: datetime, pool: str, kind: InstanceType, offering: Offering
) -> bool:
    """Whether the provider said no a short while ago, to this pool or to whomever."""
    asked = (kind.name, offering.zone, offering.capacity_type)
    return any(
        asked == (one.instance_type, one.zone, one.capacity_type) and now < one.until
        for one in snapshot.ledger.refusals
        if one.node_pool in {"", pool}
    )


def can_be_had(
    snapshot: Snapshot, now: datetime, pool: str, kind: InstanceType, offering: Offering
) -> bool:
    """Whether the provider would deliver one such node to a pool now."""
    if not offering.is_available or is_refused(snapshot, now, pool, kind, offering):
        return False
    gone = snapshot.ledger.reserved_by_id.get(offering.reservation_id, 0)
    return offering.capacity_type != well_known.RESERVED or offering.reservation_capacity > gone


def reservation_left(used: Usage, offering: Offering) -> int:
    """How many more of a reserved offering there are; a big number for all others."""
    if offering.capacity_type != well_known.RESERVED:
        return 1 << 30
    gone = used.by_reservation.get(offering.reservation_id, 0)
    return offering.reservation_capacity - gone


def said(pool: NodePool, kind: InstanceType, offering: Offering) -> list[Requirement]:
    """Everything that pool, type and offering say about the labels of the node."""
    fixed = {
        **pool.labels,
        well_known.NODE_POOL: pool.name,
        well_known.INSTANCE_TYPE: kind.name,
        well_known.ZONE: offering.zone,
        well_known.CAPACITY_TYPE: offering.capacity_type,
    }
    if pool.node_class.kind:
        key = f"{pool.node_class.group}/{pool.node_class.kind.lower()}"
        fixed[key] = pool.node_class.name
    return [
        *(Requirement(key, values=frozenset({value})) for key, value in fixed.items()),
        *pool.requirements,
        *kind.requirements.values(),
        *offering.requirements.values(),
    ]


def topology_keys(spec: PodSpec) -> set[str]:
    """The labels over which the pod must be spread, kept together or kept apart."""
    spreads = {one.topology_key for one in spec.spread if one.is_hard}
    return spreads | {one.topology_key for one in (*spec.affinity, *spec.anti_affinity)}


def mentioned(
    snapshot: Snapshot, launches: Iterable[Launch], pods: Iterable[Pod] | None = None
) -> dict[str, set[str]]:
    """Every label key of nodes that anything cares about, with the values it names.

    What a bound pod asks for makes no values: its node has the label, or nobody has.
    """
    launches = tuple(launches)
    found: dict[str, set[str]] = {}

    def note(requirements: Iterable[Requirement]) -> None:
        for one in requirements:
            bounds = {str(bound) for bound in (one.gte, one.lte) if bound is not None}
            found.setdefault(one.key, set()).update(one.values, bounds)

    terms = [term for one in snapshot.volumes.values() for term in one.terms]
    terms += [term for one in snapshot.storage_classes.values() for term in one.terms]
    daemons = [one.spec for one in snapshot.daemon_sets]
    present = [one.spec for one in (snapshot.pods if pods is None else pods)]
    for spec in _distinct([*present, *daemons]):
        for key in topology_keys(spec):
            found.setdefault(key, set())
    asking = [one.spec for one in (_unsettled(snapshot) if pods is None else pods)]
    for spec in _distinct([*asking, *daemons]):
        terms += spec.required_terms
        note(
            Requirement(key, values=frozenset({value})) for key, value in spec.node_selector.items()
        )
    for term in terms:
        note(term.expressions)
    for key, values in found.items():
        values.update(_named_by_pools(snapshot, key))
        values.update(one.labels[key] for one in snapshot.nodes if key in one.labels)
        planned = {one.labels[key] for one in launches if key in one.labels}
        # Of all values that nobody mentions one is as good as another: one is enough.
        values.update(planned if planned - values else {FRESH_VALUE, *planned})
    return found


def _unsettled(snapshot: Snapshot) -> list[Pod]:
    """Every pod that might want a node now: it has none, or one that leaves."""
    leaving = {node.name for node in snapshot.nodes if is_leaving(snapshot, node)}
    return [pod for pod in snapshot.pods if not pod.node_name or pod.node_name in leaving]


def _named_by_pools(snapshot: Snapshot, key: str) -> set[str]:
    """The values of a label that some pool fixes or lists: another may leave the label open."""
    found = {pool.labels[key] for pool in snapshot.node_pools if key in pool.labels}
    for pool in snapshot.node_pools:
        listed = [one for one in pool.requirements if one.key == key and not one.complement]
        found.update(value for one in listed for value in one.values)
    return found


def _distinct(specs: Iterable[PodSpec]) -> Iterable[PodSpec]:
    return {id(spec): spec for spec in specs}.values()


def label_choices(
    speakers: Iterable[Requirement], mentions: Mapping[str, set[str]]
) -> Iterator[dict[str, str]]:
    """Every set of labels that all speakers admit, varied only where somebody cares."""
    by_key: dict[str, list[Requirement]] = {}
    for one in speakers:
        by_key.setdefault(one.key, []).append(one)
    options: list[list[tuple[str, str | None]]] = []
    for key, requirements in by_key.items():
        candidates = set(mentions.get(key, {FRESH_VALUE}))
        for one in requirements:
            candidates |= {str(bound) for bound in (one.gte, one.lte) if bound is not None}
            candidates |= set() if one.complement else one.values
        legal: list[str | None] = [
            value
            for value in (*sorted(candidates), None)
            if all(one.admits(value) for one in requirements)
        ]
        if not legal:
            return
        options.append([(key, value) for value in (legal if key in mentions else legal[:1])])
    for choice in itertools.islice(itertools.product(*options), MOST_CHOICES):
        yield {key: value for key, value in choice if value is not None}


def fresh_hosts(
    snapshot: Snapshot, now: datetime, used: Usage, mentions: Mapping[str, set[str]]
) -> Iterator[Fresh]:
    """Every node that could be launched on top of what is already used."""
    for pool, kind, offering in _on_sale(snapshot, now, used):
        for labels in label_choices(said(pool, kind, offering), mentions):
            yield Fresh(pool, kind, offering, _host(snapshot, pool, kind, labels))


def all_offers(snapshot: Snapshot, now: datetime) -> list[Fresh]:
    """Everything that could be bought, before anything is bought."""
    return list(fresh_hosts(snapshot, now, usage(snapshot, ()), mentioned(snapshot, ())))


def _on_sale(
    snapshot: Snapshot, now: datetime, used: Usage
) -> Iterator[tuple[NodePool, InstanceType, Offering]]:
    for pool in snapshot.node_pools:
        if not is_usable(pool):
            continue
        for kind in snapshot.instance_types.get(pool.name, ()):
            if not used.has_room(pool, kind.capacity):
                continue
            for offering in kind.offerings:
                is_left = reservation_left(used, offering) > 0
                if is_left and can_be_had(snapshot, now, pool.name, kind, offering):
                    yield pool, kind, offering


def _host(
    snapshot: Snapshot, pool: NodePool, kind: InstanceType, labels: Mapping[str, str]
) -> Host:
    return new_host(
        snapshot,
        FRESH_NAME,
        labels={**labels, well_known.HOSTNAME: FRESH_NAME},
        taints=pool.taints,
        holds=(kind.allocatable, kind.attach_limits),
    )


def is_strict(snapshot: Snapshot) -> bool:
    """Whether minValues must be reached."""
    return snapshot.policy.min_values_policy == MinValuesPolicy.STRICT


def unmet_min_values(pool: NodePool, kinds: Iterable[InstanceType]) -> list[str]:
    """The minValues of the pool that these types do not reach."""
    listed = tuple(kinds)
    unmet = []
    for one in pool.requirements:
        if one.min_values is None:
            continue
        values: set[str] = set()
        for kind in listed:
            held = kind.requirements.get(one.key)
            values |= set() if held is None or held.complement else held.values
            if one.key == well_known.INSTANCE_TYPE:
                values.add(kind.name)
        reached = sum(one.has(value) for value in values)
        if reached < one.min_values:
            unmet.append(f"{one.key}: {reached} of {one.min_values}")
    return unmet
