from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from dovetail import labels
from dovetail.model.pod import DaemonSet, Owner
from dovetail.model.resources import total
from dovetail.model.taints import Taint, tolerates
from dovetail.model.volumes import PodVolumes
from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.groups import Group
from dovetail.solve.launching.decode import node_labels
from dovetail.solve.puzzle import canonical
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import empty_attempt, encoded, lottery, random_puzzle


def seeds(n_seeds: int = 60) -> Iterator[tuple[int, Encoded]]:
    """Random puzzles."""
    for seed in range(n_seeds):
        yield seed, encode(random_puzzle(seed))


def carried(enc: Encoded, offer: int) -> dict[str, str]:
    """The labels of a new node of this offer, once it runs."""
    found = node_labels(empty_attempt(enc), enc.market.offers[offer])
    return {**found, **dict.fromkeys(labels.SIMULATION_ONLY, "true")}


def admits(group: Group, held: Mapping[str, str], name: str, taints: tuple[Taint, ...]) -> bool:
    """Whether pods of the group may run on a node of this name with these labels and taints."""
    spec = group.spec
    asked = {labels.normalize(key): value for key, value in spec.node_selector.items()}
    if any(held.get(key) != value for key, value in asked.items()):
        return False
    alternatives = [spec.required_terms] if spec.required_terms else []
    return tolerates(taints, spec.tolerations) and all(
        any(term.matches(held, name) for term in terms)
        for terms in (*alternatives, *group.volumes.alternatives)
    )


def test_offers_are_accepted_as_their_labels_and_taints_say() -> None:
    """Group by group and offer by offer, as kube-scheduler would look at the node."""
    n_refused = 0
    for seed, enc in seeds():
        for offer in range(enc.n_offers):
            held = carried(enc, offer)
            taints = enc.market.pools[enc.market.offers[offer].pool].taints
            for number, group in enumerate(enc.groups):
                want = admits(group, held, "", taints)
                n_refused += not want
                assert enc.mask_go(number)[offer] == want, f"seed {seed}"
    assert n_refused > 500


def test_nodes_are_accepted_as_their_labels_and_taints_say() -> None:
    """Those that a pool owns will have been initialized by then."""
    n_accepted = 0
    for seed, enc in seeds(120):
        for place, one in enumerate(enc.problem.nodes):
            started = dict.fromkeys(labels.SIMULATION_ONLY, "true") if one.node_pool else {}
            held = {**started, **one.labels}
            for number, group in enumerate(enc.groups):
                want = admits(group, held, one.name, one.taints)
                n_accepted += want
                assert enc.mask_gn(number)[place] == want, f"seed {seed}"
    assert n_accepted > 200


def test_every_pod_is_in_one_group_that_asks_for_what_it_asks_for() -> None:
    """Counts, priorities and requests are those of its spec."""
    for seed, enc in seeds():
        keys = [one.key for group in enc.groups for one in group.pods]
        assert sorted(keys) == sorted(one.key for one in enc.problem.pods), f"seed {seed}"
        for number, group in enumerate(enc.groups):
            assert enc.count_g[number] == len(group.pods)
            for one in group.pods:
                asked = dict(zip(enc.resources, enc.requests_gr[number].tolist(), strict=True))
                held = {name: asked[name] for name in one.spec.requests}
                assert held == dict(one.spec.requests), f"seed {seed}"
                assert enc.priority_g[number] == one.spec.priority


def test_a_new_node_has_what_its_type_has_less_what_its_daemon_sets_take() -> None:
    """For all resources that any pod asks for."""
    for seed, enc in seeds():
        for offer, one in enumerate(enc.market.offers):
            held, taints = carried(enc, offer), enc.market.pools[one.pool].taints
            daemons = total(
                daemon.spec.requests
                for daemon in enc.problem.daemon_sets
                if _runs(daemon, held, taints)
            )
            kind = enc.market.types[one.type]
            for place, name in enumerate(enc.resources):
                if name.startswith("attach/"):
                    want = kind.attach_limits.get(name.removeprefix("attach/"), int(UNLIMITED))
                else:
                    want = kind.allocatable.get(name, 0) - daemons.get(name, 0)
                assert enc.cap_or[offer, place] == want, f"seed {seed}"
                assert enc.overhead_or[offer, place] == daemons.get(name, 0), f"seed {seed}"


def _runs(daemon: DaemonSet, held: Mapping[str, str], taints: tuple[Taint, ...]) -> bool:
    group = Group(daemon.spec, (daemon.namespace, ()), PodVolumes(), (), {}, b"")
    return admits(group, held, "", taints)


def test_the_order_of_parts_and_pods_does_not_show() -> None:
    """The same arrays, whatever was listed first."""
    for seed in range(40):
        held = random_puzzle(seed)
        chance = lottery(seed)
        other = canonical(
            msgspec.structs.replace(
                held,
                pods=tuple(chance.sample(held.pods, len(held.pods))),
                bound=tuple(chance.sample(held.bound, len(held.bound))),
                nodes=tuple(chance.sample(held.nodes, len(held.nodes))),
                node_pools=tuple(chance.sample(held.node_pools, len(held.node_pools))),
            )
        )
        want, got = encode(held), encode(other)
        names = ("requests_gr", "count_g", "cap_or", "price_o", "free_nr", "cell_o", "cell_n")
        for name in names:
            assert getattr(want, name).tolist() == getattr(got, name).tolist(), f"seed {seed}"
        for number in range(len(want.groups)):
            assert want.groups[number].pods == got.groups[number].pods, f"seed {seed}"
            assert (want.mask_go(number) == got.mask_go(number)).all(), f"seed {seed}"
            assert (want.mask_gn(number) == got.mask_gn(number)).all(), f"seed {seed}"


def test_resources_are_cpu_memory_pods_and_what_waiting_pods_ask_for() -> None:
    """Others do not matter, though a machine may have them."""
    gpu = instance_type("gpu", price=1.0, resources={"nvidia.com/gpu": 4, "other": 1})
    assert encoded([pod()], gpu).resources == ("cpu", "memory", "pods")
    asks = pod(requests={"nvidia.com/gpu": 1, "hugepages-2Mi": 0})
    assert encoded([asks], gpu).resources == ("cpu", "memory", "pods", "nvidia.com/gpu")


def test_a_node_has_left_what_nobody_on_it_takes() -> None:
    """Neither its pods, nor daemon pods that are still to come; pods elsewhere do not count."""
    template = pod("agent", cpu="250m")
    daemon = DaemonSet("agent", "default", template.spec, template.labels)
    running = msgspec.structs.replace(
        pod("agent-1", cpu="250m", node="n1"), owner=Owner("DaemonSet", "agent")
    )
    enc = encoded(
        [pod()],
        nodes=(node("n1", cpu=4), node("n2", cpu=4)),
        bound=(running, *deployment(2, cpu=1, node="n1"), pod("lost", cpu=1, node="gone")),
        daemon_sets=(daemon,),
    )
    assert enc.free_nr[:, 0].tolist() == [4000 - 250 - 2000, 4000 - 250]
    assert (enc.overhead_or[:, 0] == 250).all()


def test_a_reservation_has_what_was_not_taken_of_it() -> None:
    """Everything else is without end, and nothing is less than none."""
    offerings = [
        {
            "zone": zone,
            "price": 0.001,
            "capacity_type": "reserved",
            "reservation_id": f"cr-{zone}",
            "reservation_capacity": 3,
        }
        for zone in ("a", "b")
    ]
    kind = instance_type("r", price=0.1, zones=("a",), offerings=offerings)
    enc = encoded([pod()], kind, reserved_by_id={"cr-a": 1, "cr-b": 5})
    supply = {
        one.offering.reservation_id: int(enc.supply_o[place])
        for place, one in enumerate(enc.market.offers)
    }
    assert supply == {"": int(UNLIMITED), "cr-a": 2, "cr-b": 0}


def test_cells_are_combinations_of_the_topology_keys_in_use() -> None:
    """Without any, all offers are in one cell; nodes without the label are in one of their own."""
    assert set(encoded([pod()]).cell_o.tolist()) == {0}
    bare = msgspec.structs.replace(node("bare"), labels={})
    enc = encoded(
        [pod(spread=[{"topology_key": "zone"}])], nodes=(bare, node("n1", zone="b"), node("n2"))
    )
    zones = [one.offering.zone for one in enc.market.offers]
    by_cell = dict(zip(enc.cell_o.tolist(), zones, strict=True))
    assert [by_cell[cell] for cell in enc.cell_o.tolist()] == zones
    assert sorted(by_cell.values()) == ["a", "b"]
    assert [by_cell.get(cell) for cell in enc.cell_n.tolist()] == [None, "b", "a"]
    assert int(enc.ties.domains_ck[enc.cell_n[0], 0]) == -1


def test_a_domain_that_nodes_make_can_be_joined_by_new_ones() -> None:
    """A pool that takes any rack may launch into the racks that are there."""
    racks = [node(name, labels={"rack": name}) for name in ("r1", "r2")]
    enc = encoded([pod(spread=[{"topology_key": "rack"}])], nodes=tuple(racks))
    assert (enc.ties.domains_ck[enc.cell_o] == -1).all()
    pools = (node_pool(requirements=["rack Exists"]),)
    joined = encoded([pod(spread=[{"topology_key": "rack"}])], nodes=tuple(racks), node_pools=pools)
    domains = set(joined.ties.domains_ck[joined.cell_o, 0].tolist())
    assert set(joined.ties.domains_ck[joined.cell_n, 0].tolist()) < domains


def test_a_cell_is_divided_where_a_spread_counts_only_some_of_its_nodes() -> None:
    """A pod that runs on large machines only does not count small ones of its zone."""
    picky = deployment(
        2,
        node_selector={"instance-type": "large"},
        labels={"app": "x"},
        spread=[{"topology_key": "zone"}],
    )
    plain = deployment(2, "plain", labels={"app": "x"})
    enc = encoded([*picky, *plain])
    assert len(np.unique(enc.cell_o)) == 4
    assert len(np.unique(encoded(plain).cell_o)) == 1


def test_a_node_that_starts_will_have_been_initialized_once_pods_run_there() -> None:
    """Only if a pool owns it; what it says of itself counts first."""
    asked = pod(node_selector={labels.INITIALIZED: "true"})
    nodes = (
        node("denies", pool="default", labels={labels.INITIALIZED: "false"}),
        node("foreign"),
        node("starts", pool="default", stage="starting"),
    )
    enc = encoded([asked], nodes=nodes)
    assert labels.INITIALIZED not in nodes[2].labels
    assert enc.mask_gn(0).tolist() == [False, False, True]
    assert enc.mask_go(0).all()
