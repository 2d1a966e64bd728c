from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable

import pytest

from benchmarks.catalogues import CPUS
from benchmarks.scenarios import (
    SCENARIOS,
    diverse,
    fleet,
    odd,
    plain,
    production,
    reference,
    tiny,
    wide_fleet,
    wide_on_demand,
    wide_plain,
)
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.pod import PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import fits
from dovetail.model.snapshot import Snapshot

N_PODS = 2_000


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_as_many_pods_as_it_was_asked_for(name: str) -> None:
    """Sizes add up, and no two pods share a name."""
    snapshot = SCENARIOS[name](N_PODS, 1)
    assert len({pod.key for pod in snapshot.pods}) == len(snapshot.pods)
    assert sum(not pod.node_name for pod in snapshot.pods) == N_PODS


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_seed_fixes_the_whole_cluster_and_another_seed_makes_another(name: str) -> None:
    """Same seed, same snapshot: results of two runs can be compared."""
    make = SCENARIOS[name]
    assert make(300, 7) == make(300, 7)
    assert make(300, 7).pods != make(300, 8).pods


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_pod_fits_some_type_that_its_selectors_allow(name: str) -> None:
    """A row that left pods unplaced would measure nothing, so none is impossible alone."""
    snapshot = SCENARIOS[name](N_PODS, 1)
    for spec in {id(pod.spec): pod.spec for pod in snapshot.pods}.values():
        pools = [pool for pool in snapshot.node_pools if _is_for(spec, pool)]
        assert any(_runs(spec, one, pool) for pool in pools for one in _types(snapshot, pool)), spec


@pytest.mark.parametrize("seed", range(25))
def test_a_tiny_cluster_is_tiny_and_each_of_its_pods_has_a_home(seed: int) -> None:
    """6 to 25 pods, 8 types; every pod fits a type that its selector allows."""
    snapshot = tiny(seed)
    assert 6 <= len(snapshot.pods) <= 25
    assert len(snapshot.instance_types["default"]) == 8
    for pod in snapshot.pods:
        [pool] = snapshot.node_pools
        assert any(_runs(pod.spec, one, pool) for one in _types(snapshot, pool))


@pytest.mark.parametrize(
    ("name", "n_nodes"), [("host_surge", 1_000), ("zone_surge", 1_000), ("crowd", 1_060)]
)
def test_pods_that_are_there_fit_their_nodes_and_fill_them(name: str, n_nodes: int) -> None:
    """In a surge to the last, in a crowd but for a sixth."""
    snapshot = SCENARIOS[name](10, 1)
    assert len(snapshot.nodes) == n_nodes
    used: Counter[str] = Counter()
    for pod in snapshot.pods:
        used[pod.node_name] += pod.spec.requests["cpu"]
    for node in snapshot.nodes:
        left = node.allocatable["cpu"] - used[node.name]
        assert 0 <= left <= (0.16 if name == "crowd" else 0.001) * node.allocatable["cpu"]


@pytest.mark.parametrize("make", [wide_plain, wide_fleet, wide_on_demand])
def test_wide_pools_take_every_machine_and_their_pods_ask_as_in_production(
    make: Callable[[int], Snapshot],
) -> None:
    """3 to 4 GiB a core at the median, and no word about kinds of machines."""
    snapshot = make(N_PODS)
    specs = {id(pod.spec): pod.spec for pod in snapshot.pods}.values()
    ratios = [spec.requests["memory"] / spec.requests["cpu"] * 1000 / 2**30 for spec in specs]
    assert 3 <= statistics.median(ratios) <= 4
    said = {one.key for pool in snapshot.node_pools for one in pool.requirements}
    assert said <= {labels.CAPACITY_TYPE}


def test_pools_of_production_have_no_giants() -> None:
    """Machines of up to 64 cpus; the pods are those of wide pools."""
    snapshot = production(N_PODS)
    assert snapshot.pods == wide_fleet(N_PODS).pods
    for pool in snapshot.node_pools:
        allowed = Requirements(pool.requirements)
        sizes = [
            one.capacity["cpu"] // 1000
            for one in _types(snapshot, pool)
            if allowed[CPUS].intersects(one.requirements[CPUS])
        ]
        assert max(sizes) == 64


def test_pods_of_the_reference_mix_that_want_company_want_that_of_their_own_kind() -> None:
    """A fifth of them; where others are wanted, they may never come."""
    shy = [pod for pod in reference(N_PODS).pods if pod.spec.affinity]
    assert len(shy) == N_PODS // 5
    for pod in shy:
        [term] = pod.spec.affinity
        assert term.selector.matches(pod.labels)


def test_pods_of_a_deployment_share_one_spec_where_deployments_exist() -> None:
    """As decoded from a cluster: grouping them costs an identity comparison."""
    for make in (plain, odd, fleet):
        pods = make(N_PODS).pods
        assert len({id(pod.spec) for pod in pods}) == len({pod.labels["app"] for pod in pods})


def test_deployments_are_heavy_tailed_and_none_holds_more_than_a_fiftieth() -> None:
    """Most deployments are small, most pods belong to large ones."""
    sizes = sorted(Counter(pod.labels["app"] for pod in plain(N_PODS).pods).values())
    assert sizes[-1] <= N_PODS // 50
    assert sizes[len(sizes) // 2] <= 5
    assert sum(size for size in sizes if size >= 20) > N_PODS / 3


def test_odd_requests_hardly_ever_repeat() -> None:
    """The worst case for grouping: nearly as many shapes as deployments."""
    specs = {id(pod.spec): pod.spec for pod in odd(20_000).pods}.values()
    shapes = {(spec.requests["cpu"], spec.requests["memory"]) for spec in specs}
    assert len(shapes) > 0.95 * len(specs)


def test_a_fleet_keeps_its_shares_of_constraints() -> None:
    """A quarter spreads over zones, a tenth excludes itself from nodes, and so on."""
    n_pods = 20_000
    percents = {
        kind: 100 * count / n_pods
        for kind, count in Counter(
            kind for pod in fleet(n_pods).pods for kind in _kinds(pod.spec)
        ).items()
    }
    want = {
        "zone spread": 25,
        "anti-affinity": 10,
        "zone affinity": 4,
        "host spread": 3,
        "selector": 10,
        "category": 5,
        "toleration": 5,
    }
    assert percents == pytest.approx(want, abs=1)


def test_the_diverse_mix_is_a_fifth_of_each_kind_and_shares_no_spec() -> None:
    """Plain, zone spread, host spread, zone affinity, host anti-affinity."""
    pods = diverse(1_000).pods
    assert len({id(pod.spec) for pod in pods}) == 1_000
    kinds = Counter(kind for pod in pods for kind in _kinds(pod.spec))
    names = ("zone spread", "host spread", "zone affinity", "anti-affinity")
    assert kinds == dict.fromkeys(names, 200)


def _kinds(spec: PodSpec) -> list[str]:
    hard = {one.topology_key for one in spec.spread if one.is_hard}
    claims = {
        "zone spread": labels.ZONE in hard,
        "host spread": labels.HOSTNAME in hard,
        "anti-affinity": bool(spec.anti_affinity),
        "zone affinity": bool(spec.affinity),
        "selector": bool(spec.node_selector),
        "category": bool(spec.required_terms),
        "toleration": bool(spec.tolerations),
    }
    return [kind for kind, is_so in claims.items() if is_so]


def _types(snapshot: Snapshot, pool: NodePool) -> tuple[InstanceType, ...]:
    return snapshot.instance_types[pool.name]


def _is_for(spec: PodSpec, pool: NodePool) -> bool:
    wanted = {**pool.labels, **spec.node_selector}
    return all(wanted[key] == value for key, value in pool.labels.items())


def _runs(spec: PodSpec, one: InstanceType, pool: NodePool) -> bool:
    said = one.requirements & tuple(Requirements.of_labels(pool.labels).values())
    alternatives: list[tuple[Requirement, ...]] = [term.expressions for term in spec.required_terms]
    wishes = [
        Requirements.of_labels(spec.node_selector) & expressions
        for expressions in alternatives or [()]
    ]
    return fits(spec.requests, one.allocatable) and any(map(said.compatible, wishes))
