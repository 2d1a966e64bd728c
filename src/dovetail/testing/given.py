"""Converts the words of a scenario to the snapshot that it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Ledger, Refusal, Setback
from dovetail.model.node import Node
from dovetail.model.plan import DisruptionReason
from dovetail.model.pod import Pod
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.snapshot import Service, Snapshot
from dovetail.model.topology import NOTHING, NodeTerm, Spread
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim
from dovetail.testing import shorthand
from dovetail.testing.keeping import (
    GivenDeparture,
    GivenDisruptionBudget,
    GivenEnding,
    GivenEvictions,
)
from dovetail.testing.machines import GivenNode, GivenPool, GivenType
from dovetail.testing.pods import GivenPod, GivenSpread, WrittenSelector
from dovetail.units import duration, money

DRIVER = "test.csi.example.com"


def _terms(zones: list[str], alternatives: list[list[str]]) -> tuple[NodeTerm, ...]:
    written = [[f"zone In {zone}"] for zone in zones] + alternatives
    return tuple(shorthand.term(term) for term in written)


class GivenVolume(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A PersistentVolume that is reachable from any of `zones`, or of `node_affinity`'s terms."""

    zones: list[str] = []
    node_affinity: list[list[str]] = []
    driver: str = DRIVER

    def volume(self, name: str) -> Volume:
        """The volume of that name."""
        return Volume(name, self.driver, _terms(self.zones, self.node_affinity))


class GivenClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A PersistentVolumeClaim: bound to `volume`, or waiting for its first pod."""

    volume: str = ""
    storage_class: str | None = None
    namespace: str = "default"
    is_lost: bool = False

    def claim(self, name: str) -> VolumeClaim:
        """The claim of that name."""
        return VolumeClaim(
            name, self.namespace, self.storage_class, self.volume, is_lost=self.is_lost
        )


class GivenStorageClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A StorageClass that makes volumes in any of `zones`; without them, anywhere."""

    zones: list[str] = []
    allowed_topologies: list[list[str]] = []
    driver: str = DRIVER
    is_immediate: bool = False

    def storage_class(self, name: str) -> StorageClass:
        """The class of that name."""
        terms = _terms(self.zones, self.allowed_topologies)
        return StorageClass(name, self.driver, is_immediate=self.is_immediate, terms=terms)


# What a scenario gets that names no types of its own: price is proportional to size, so that
# any plan without waste costs the same and the scenario is about its law alone.
STANDARD_TYPES: Final = {
    "small": GivenType(cpu=2, memory="8Gi", price=0.10),
    "medium": GivenType(cpu=4, memory="16Gi", price=0.20),
    "large": GivenType(cpu=8, memory="32Gi", price=0.40),
}
STANDARD_POOLS: Final = {"default": GivenPool()}


class GivenService(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Service, for the selector that default spread constraints are deduced from."""

    name: str
    selector: dict[str, str]
    namespace: str = "default"


class GivenPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the operator chose."""

    preference_policy: PreferencePolicy = PreferencePolicy.RESPECT
    min_values_policy: MinValuesPolicy = MinValuesPolicy.STRICT
    effort: int = 1
    default_spread: list[GivenSpread] = []
    confirm_after: str = "15s"
    disrupts_for: tuple[DisruptionReason, ...] = (DisruptionReason.EMPTY,)
    replaces_spot_by_spot: bool = False
    keeps_replicas: bool = False
    least_saving: float = 0.0
    most_evictions: int | None = None
    eviction_cost: str = "2h"
    discourages: bool = True
    yields: bool = True
    node_price: float = 0.0

    def policy(self) -> Policy:
        """The policy."""
        return Policy(
            preference_policy=self.preference_policy,
            min_values_policy=self.min_values_policy,
            effort=self.effort,
            default_spread=tuple(_without_selector(spread) for spread in self.default_spread),
            confirm_after=duration.parse(self.confirm_after),
            disrupts_for=self.disrupts_for,
            replaces_spot_by_spot=self.replaces_spot_by_spot,
            keeps_replicas=self.keeps_replicas,
            least_saving_nanousd=money.nanousd(self.least_saving),
            most_evictions=self.most_evictions,
            eviction_cost=duration.parse(self.eviction_cost),
            discourages=self.discourages,
            yields=self.yields,
            node_price_nanousd=money.nanousd(self.node_price),
        )


def _without_selector(given: GivenSpread) -> Spread:
    # The selector of a default constraint is deduced for each pod; it has none of its own.
    return msgspec.structs.replace(given.spread({}), selector=NOTHING)


class GivenRefusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An offering that a provider lately could not deliver."""

    type: str
    zone: str
    until: datetime
    capacity_type: str = "on-demand"


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `given` of a scenario. Everything may be left out.

    `types` and `pools` have a standard set; `catalog` names a built-in catalogue or a file instead
    of `types`. `manifests` are plain Kubernetes objects, read as `dovetail plan` reads them.
    """

    types: dict[str, GivenType] | None = None
    catalog: str = ""
    pools: dict[str, GivenPool] | None = None
    nodes: list[GivenNode] = []
    pods: list[GivenPod] = []
    daemon_sets: list[GivenPod] = []
    volumes: dict[str, GivenVolume] = {}
    claims: dict[str, GivenClaim] = {}
    storage_classes: dict[str, GivenStorageClass] = {}
    namespaces: dict[str, dict[str, str]] = {}
    services: list[GivenService] = []
    owner_selectors: dict[str, WrittenSelector] = {}
    refusals: list[GivenRefusal] = []
    proposals: list[GivenDeparture] = []
    disrupting: list[GivenDeparture] = []
    endings: list[GivenEnding] = []
    evictions: list[GivenEvictions] = []
    setbacks: dict[str, datetime] = {}
    disruption_budgets: list[GivenDisruptionBudget] = []
    policy: GivenPolicy = GivenPolicy()
    manifests: list[dict[str, object]] = []

    def own_types(self) -> tuple[InstanceType, ...]:
        """The instance types that the scenario spells out, or the standard ones."""
        written = STANDARD_TYPES if self.types is None else self.types
        return tuple(written[name].instance_type(name) for name in sorted(written))

    def own_pools(self) -> dict[str, GivenPool]:
        """The pools in shorthand; the standard one if neither form names any."""
        if self.pools is not None:
            return self.pools
        listed = any(manifest.get("kind") == "NodePool" for manifest in self.manifests)
        return {} if listed else dict(STANDARD_POOLS)

    def snapshot(self, types: tuple[InstanceType, ...]) -> Snapshot:
        """The cluster of the shorthand, with these instance types on sale."""
        pools = self.own_pools()
        return Snapshot(
            pods=self._pods(),
            nodes=self._nodes({instance_type.name: instance_type for instance_type in types}),
            node_pools=tuple(pools[name].node_pool(name) for name in sorted(pools)),
            instance_types={name: _on_sale(pool, types) for name, pool in sorted(pools.items())},
            daemon_sets=tuple(
                given.daemon_set() for given in sorted(self.daemon_sets, key=lambda pod: pod.name)
            ),
            volume_claims={
                f"{given.namespace}/{name}": given.claim(name)
                for name, given in sorted(self.claims.items())
            },
            volumes={name: given.volume(name) for name, given in sorted(self.volumes.items())},
            storage_classes={
                name: given.storage_class(name)
                for name, given in sorted(self.storage_classes.items())
            },
            namespaces=self._namespaces(),
            services=tuple(
                Service(service.name, service.namespace, service.selector)
                for service in self.services
            ),
            owner_selectors={
                owner: shorthand.selector(written)
                for owner, written in sorted(self.owner_selectors.items())
            },
            disruption_budgets=tuple(item.disruption_budget() for item in self.disruption_budgets),
            ledger=self._ledger(),
            policy=self.policy.policy(),
        )

    def _pods(self) -> tuple[Pod, ...]:
        bound = [pod for given in self.nodes for pod in given.bound_pods()]
        listed = [pod for given in self.pods for pod in given.pods()]
        return tuple(sorted((*bound, *listed), key=lambda pod: pod.key))

    def _nodes(self, types: Mapping[str, InstanceType]) -> tuple[Node, ...]:
        made = [given.node(types) for given in self.nodes]
        return tuple(sorted(made, key=lambda node: node.name))

    def _namespaces(self) -> dict[str, Mapping[str, str]]:
        used = {given.namespace for given in self.pods}
        used |= {given.namespace for node in self.nodes for given in node.pods}
        return {name: self.namespaces.get(name, {}) for name in sorted({*used, *self.namespaces})}

    def _ledger(self) -> Ledger:
        return Ledger(
            refusals=tuple(
                Refusal(refusal.type, refusal.zone, refusal.capacity_type, refusal.until)
                for refusal in self.refusals
            ),
            proposals=tuple(proposal.proposal() for proposal in self.proposals),
            disrupting=tuple(departure.departure() for departure in self.disrupting),
            later_endings=tuple(given.ending() for given in self.endings),
            evictions=tuple(eviction.count() for eviction in self.evictions),
            setbacks=tuple(Setback(node, until) for node, until in sorted(self.setbacks.items())),
        )


def _on_sale(pool: GivenPool, types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
    if pool.types is None:
        return types
    unknown = sorted(set(pool.types) - {instance_type.name for instance_type in types})
    if unknown:
        msg = f"a pool names instance types that nobody offers: {', '.join(unknown)}"
        raise ValueError(msg)
    return tuple(instance_type for instance_type in types if instance_type.name in pool.types)
