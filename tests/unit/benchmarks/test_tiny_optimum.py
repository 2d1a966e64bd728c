from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from benchmarks.catalogues import ZONES
from benchmarks.scenarios import tiny
from benchmarks.tiny_optimum import has_host_spread, optimum_nanousd
from benchmarks.tiny_patterns import accepts
from dovetail import labels
from dovetail.decide import decide
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.resources import fits, total
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import PodTerm, Spread, equality

_Node = tuple[str, tuple[Pod, ...]]
_SMALL = {"cpu": 100, "memory": 2**27, "pods": 1}
_ALIKE = equality({"app": "web"})


def _cluster(spec: PodSpec, n_pods: int) -> Snapshot:
    pods = tuple(Pod(f"web-{n}", "bench", spec, labels={"app": "web"}) for n in range(n_pods))
    return msgspec.structs.replace(tiny(0), pods=pods)


def _cheapest(snapshot: Snapshot, zone: str) -> int:
    return min(
        offering.price_nanousd
        for one in snapshot.instance_types["default"]
        for offering in one.offerings
        if offering.zone == zone
    )


def test_a_small_pod_costs_the_cheapest_offering() -> None:
    """Nothing to combine, nothing to weigh."""
    snapshot = _cluster(PodSpec(requests=_SMALL), 1)
    assert optimum_nanousd(snapshot) == min(_cheapest(snapshot, zone) for zone in ZONES)


def test_a_zone_spread_buys_a_node_in_every_zone() -> None:
    """Three pods with skew 1 stand in three zones, whatever zones cost."""
    snapshot = _cluster(PodSpec(requests=_SMALL, spread=(Spread(labels.ZONE, _ALIKE),)), 3)
    assert optimum_nanousd(snapshot) == sum(_cheapest(snapshot, zone) for zone in ZONES)


def test_pods_that_exclude_each_other_buy_a_node_each() -> None:
    """Also more of one offering than there are types."""
    spec = PodSpec(requests=_SMALL, anti_affinity=(PodTerm(labels.HOSTNAME, _ALIKE),))
    snapshot = _cluster(spec, 9)
    assert optimum_nanousd(snapshot) == 9 * min(_cheapest(snapshot, zone) for zone in ZONES)


def test_a_host_spread_allows_as_many_pods_on_a_node_as_its_skew() -> None:
    """An empty node could always be added, so the least loaded one counts as empty."""
    spread = Spread(labels.HOSTNAME, _ALIKE, max_skew=2)
    snapshot = _cluster(PodSpec(requests=_SMALL, spread=(spread,)), 5)
    assert optimum_nanousd(snapshot) == 3 * min(_cheapest(snapshot, zone) for zone in ZONES)


def test_pods_that_keep_together_do_not_use_free_room_in_two_zones() -> None:
    """Two pinned nodes have room for one pod each; apart would be cheaper, together is the rule."""
    apart = PodSpec(requests={"cpu": 1000, "memory": 2**27, "pods": 1})
    together = msgspec.structs.replace(apart, affinity=(PodTerm(labels.ZONE, _ALIKE),))
    assert _with_pinned_hosts(apart) < _with_pinned_hosts(together)


def test_a_pod_that_wishes_for_company_follows_it_into_a_dear_zone() -> None:
    """It needs a node of its own, and cheaper zones are empty of the pod it wants."""
    follower = PodSpec(
        requests=_SMALL,
        affinity=(PodTerm(labels.ZONE, equality({"app": "leader"})),),
        anti_affinity=(PodTerm(labels.HOSTNAME, equality({"app": "leader"})),),
    )
    snapshot = _cluster(follower, 1)
    dearest = max(ZONES, key=lambda zone: _cheapest(snapshot, zone))
    pinned = PodSpec(requests=_SMALL, node_selector={labels.ZONE: dearest})
    leader = Pod("leader-0", "bench", pinned, labels={"app": "leader"})
    both = msgspec.structs.replace(snapshot, pods=(leader, *snapshot.pods))
    assert optimum_nanousd(both) == 2 * _cheapest(snapshot, dearest)


def _with_pinned_hosts(spec: PodSpec) -> int:
    """The optimum of two such pods beside a large one in each of two zones."""
    snapshot = _cluster(spec, 2)
    hosts = tuple(
        Pod(
            f"host-{zone}",
            "bench",
            PodSpec(
                requests={"cpu": 14_500, "memory": 2**27, "pods": 1},
                node_selector={labels.ZONE: zone},
            ),
        )
        for zone in ZONES[:2]
    )
    return optimum_nanousd(msgspec.structs.replace(snapshot, pods=(*hosts, *snapshot.pods)))


def test_a_pod_that_fits_nowhere_has_no_optimum() -> None:
    """It is said, not guessed."""
    snapshot = _cluster(PodSpec(requests={"cpu": 10**6, "memory": 1, "pods": 1}), 1)
    with pytest.raises(ValueError, match="no optimum"):
        optimum_nanousd(snapshot)


@pytest.mark.parametrize("step", [pytest.param(1, id="neighbours"), pytest.param(3, id="thirds")])
@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_is_the_cheapest_of_all_ways_to_place_five_pods(seed: int, step: int) -> None:
    """Every partition into nodes, every zone for every node, judged rule by rule."""
    whole = tiny(seed)
    few = msgspec.structs.replace(whole, pods=whole.pods[::step][:5])
    assert optimum_nanousd(few) == min(_prices(few))


def _prices(snapshot: Snapshot) -> Iterator[int]:
    ordinals = tuple(range(len(snapshot.pods)))
    mixes = [mix for size in ordinals for mix in itertools.combinations(ordinals, size + 1)]
    price = {
        (zone, mix): _price(snapshot, (zone, tuple(snapshot.pods[index] for index in mix)))
        for zone in ZONES
        for mix in mixes
    }
    for mixes_used in _partitions(ordinals):
        for zones in itertools.product(ZONES, repeat=len(mixes_used)):
            prices = [price[bought] for bought in zip(zones, mixes_used, strict=True)]
            nodes = [
                (zone, tuple(snapshot.pods[index] for index in mix))
                for zone, mix in zip(zones, mixes_used, strict=True)
            ]
            known = [one for one in prices if one is not None]
            if len(known) == len(prices) and _is_legal(nodes):
                yield sum(known)


def _partitions(pods: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    if not pods:
        yield []
        return
    first, rest = pods[0], pods[1:]
    for blocks in _partitions(rest):
        yield [(first,), *blocks]
        for index, block in enumerate(blocks):
            yield [*blocks[:index], (first, *block), *blocks[index + 1 :]]


def _price(snapshot: Snapshot, node: _Node) -> int | None:
    """The cheapest offering in the node's zone that takes all its pods; None if there is none."""
    zone, pods = node
    requests = total(pod.spec.requests for pod in pods)
    return min(
        (
            offering.price_nanousd
            for one in snapshot.instance_types["default"]
            for offering in one.offerings
            if offering.zone == zone
            and fits(requests, one.allocatable)
            and all(accepts(one, offering, pod.spec) for pod in pods)
        ),
        default=None,
    )


def _is_legal(nodes: Sequence[_Node]) -> bool:
    pods_by_zone = {
        zone: [pod for held, pods in nodes if held == zone for pod in pods] for zone in ZONES
    }
    return all(_stands_well(pod, pods, zone, pods_by_zone) for zone, pods in nodes for pod in pods)


def _stands_well(
    pod: Pod, neighbours: Sequence[Pod], zone: str, pods_by_zone: dict[str, list[Pod]]
) -> bool:
    return (
        all(
            not term.selector.matches(other.labels)
            for term in pod.spec.anti_affinity
            for other in neighbours
            if other is not pod
        )
        and all(_is_even(pod, one, neighbours, pods_by_zone) for one in pod.spec.spread)
        and all(_has_company(pod, term, zone, pods_by_zone) for term in pod.spec.affinity)
    )


def _is_even(
    pod: Pod, spread: Spread, neighbours: Sequence[Pod], pods_by_zone: dict[str, list[Pod]]
) -> bool:
    if spread.topology_key == labels.HOSTNAME:
        return sum(spread.selector.matches(one.labels) for one in neighbours) <= spread.max_skew
    pinned = pod.spec.node_selector.get(labels.ZONE)
    counts = Counter({zone: 0 for zone in ZONES if pinned in {None, zone}})
    for zone, pods in pods_by_zone.items():
        if zone in counts:
            counts[zone] = sum(spread.selector.matches(one.labels) for one in pods)
    return max(counts.values()) - min(counts.values()) <= spread.max_skew


def _has_company(pod: Pod, term: PodTerm, zone: str, pods_by_zone: dict[str, list[Pod]]) -> bool:
    """Another pod meant stands in the zone, or there is no other and it means itself."""
    others = {
        held: sum(term.selector.matches(one.labels) for one in pods if one is not pod)
        for held, pods in pods_by_zone.items()
    }
    if term.selector.matches(pod.labels):
        return sum(others.values()) == others[zone]
    return others[zone] > 0


def test_only_spreads_over_host_names_let_a_plan_cost_less() -> None:
    """The optimum takes such a spread for a cap; spreads over zones are exact."""
    hosts = PodSpec(requests=_SMALL, spread=(Spread(labels.HOSTNAME, _ALIKE),))
    zones = PodSpec(requests=_SMALL, spread=(Spread(labels.ZONE, _ALIKE),))
    assert has_host_spread(_cluster(hosts, 2))
    assert not has_host_spread(_cluster(zones, 2))


@pytest.mark.parametrize("number", [356, 857, 865, 1189])
def test_zones_of_several_groups_move_together(number: int) -> None:
    """Clusters of which the plan was 6 to 9 % above the optimum while groups moved one by one."""
    cluster = tiny(number)
    plan = decide(cluster, datetime(2026, 1, 1, tzinfo=UTC))
    assert plan.cost.new_nanousd == optimum_nanousd(cluster)
