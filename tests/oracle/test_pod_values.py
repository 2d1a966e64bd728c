"""A bound by patterns is accepted where it holds, and not a nanodollar above."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.plan import Certificate, Cost, Plan, PodValue
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import HostPort, PodTerm, Spread, equality
from dovetail.model.volumes import StorageClass, VolumeClaim
from tests.oracle import certificate
from tests.oracle.build import NOW, ask, cluster, kind, launch, offering, plan, pod
from tests.oracle.pod_values import least_price

COUNT = Certificate(is_counted=True)


def big(name: str, cpu: int = 3000, **fields: Any) -> Pod:
    """A pod of 3 cpu, of which a node of 4 cpu takes one."""
    requests = {"cpu": cpu, "pods": 1}
    return pod(name, labels={"app": "web"}, spec=ask(requests=requests, **fields))


P, Q = big("p"), big("q")
APART: dict[str, Any] = {"anti_affinity": (PodTerm(labels.HOSTNAME, equality({"app": "web"})),)}
PORT: dict[str, Any] = {"host_ports": (HostPort(80),)}
EVEN: dict[str, Any] = {"spread": (Spread(labels.HOSTNAME, equality({"app": "web"})),)}


def said(snapshot: Snapshot, stated: Certificate, bound: int, candidate: Plan) -> str:
    """What the checker says of a certificate that states this bound."""
    tried = msgspec.structs.replace(
        candidate,
        certificate=msgspec.structs.replace(stated, bound_nanousd=bound),
        cost=Cost(lower_bound_nanousd=bound),
    )
    return "; ".join(certificate.check(snapshot, NOW, tried))


def values(*pairs: tuple[int, Pod]) -> Certificate:
    """A certificate that states what each pod is worth."""
    return Certificate(pod_values=tuple(PodValue(worth, (one.key,)) for worth, one in pairs))


def apart(*pods: Pod, price: int = 100) -> Plan:
    """A node for each pod."""
    return plan(*(launch(one, name=f"new-{n}", price_nanousd=price) for n, one in enumerate(pods)))


def test_pods_that_never_share_a_node_are_worth_one_each() -> None:
    """Two pods of 3 cpu on nodes of 4 cpu for 100 cost 200."""
    stated = values((100, P), (100, Q))
    assert not said(cluster(P, Q), stated, 200, apart(P, Q))


def test_a_bound_above_the_sum_of_values_is_found() -> None:
    """However right the values are."""
    stated = values((100, P), (99, Q))
    assert "only 199 is" in said(cluster(P, Q), stated, 200, apart(P, Q))


def test_a_bound_above_the_price_is_found() -> None:
    """Nodes as dear as the plan were not looked at, so that values prove no more than its price."""
    stated = values((500, P), (500, Q))
    assert "only 200 is" in said(cluster(P, Q), stated, 201, apart(P, Q))


def test_values_that_exceed_a_node_are_found() -> None:
    """One pod alone, or two that fit together."""
    assert "worth more than the 100" in said(
        cluster(P, Q), values((101, P), (99, Q)), 200, apart(P, Q)
    )
    small = (big("p", 2000), big("q", 2000))
    stated = values((51, small[0]), (50, small[1]))
    assert "worth more than the 100" in said(cluster(*small), stated, 101, apart(*small))
    fair = values((50, small[0]), (50, small[1]))
    assert not said(cluster(*small), fair, 100, apart(*small))


def test_a_dearer_node_that_holds_more_is_looked_at() -> None:
    """A node of 6 cpu for 150 takes both pods of 3 cpu."""
    large = kind("l", holds={"cpu": 6000, "pods": 9}, offerings=(offering(price=150),))
    snapshot = cluster(P, Q, kinds=(kind(), large))
    assert "pool/l" in said(snapshot, values((100, P), (100, Q)), 200, apart(P, Q))
    assert not said(snapshot, values((100, P), (50, Q)), 150, apart(P, Q))


def test_a_node_as_dear_as_the_plan_is_not_looked_at() -> None:
    """For 200 a node may hold what it likes; for 199 it may not."""
    for price, is_right in ((200, True), (199, False)):
        large = kind("l", holds={"cpu": 6000, "pods": 9}, offerings=(offering(price=price),))
        snapshot = cluster(P, Q, kinds=(kind(), large))
        complaint = said(snapshot, values((100, P), (100, Q)), 200, apart(P, Q))
        assert (not complaint) == is_right


def test_a_pod_is_worth_something_once() -> None:
    """Nor may a pod be listed that is not there, or be worth less than nothing."""
    twice = Certificate(pod_values=(PodValue(10, (P.key,)), PodValue(20, (P.key,))))
    assert "p is worth something twice" in said(cluster(P), twice, 20, apart(P))
    assert "q is worth something and is not there" in said(
        cluster(P), values((1, P), (1, Q)), 1, apart(P)
    )
    assert "less than nothing" in said(cluster(P, Q), values((9, P), (-1, Q)), 8, apart(P, Q))


def test_a_pod_that_waits_proves_nothing() -> None:
    """Only placed pods have to be paid for."""
    planned = plan(launch(P), waits=(Q,))
    assert "only 100 is" in said(cluster(P, Q), values((100, P), (100, Q)), 101, planned)
    assert "only 100 is" in said(cluster(P, Q), COUNT, 101, planned)


def test_a_pod_that_an_existing_node_takes_proves_nothing() -> None:
    """It may cost nothing there."""
    node = Node("n1", labels={labels.ZONE: "a"}, allocatable={"cpu": 3000, "pods": 9})
    snapshot = cluster(P, Q, nodes=(node,))
    for stated in (values((100, P), (100, Q)), COUNT):
        assert "only 0 is" in said(snapshot, stated, 1, apart(P, Q))


def test_what_daemon_sets_take_is_not_there() -> None:
    """With 2 cpu taken a node of 4 cpu holds one pod of 2 cpu, not two."""
    daemon = DaemonSet("d", "kube-system", ask(requests={"cpu": 2000}))
    small = (big("p", 2000), big("q", 2000))
    stated = values((100, small[0]), (100, small[1]))
    assert not said(cluster(*small, daemon_sets=(daemon,)), stated, 200, apart(*small))
    assert said(cluster(*small), stated, 200, apart(*small))


@pytest.mark.parametrize(
    ("fields", "is_proven"),
    [
        pytest.param(APART, True, id="anti-affinity"),
        pytest.param(PORT, True, id="a port"),
        pytest.param(EVEN, False, id="a spread: a lone host has the least of all hosts"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_pods_that_exclude_each_other_are_worth_a_node_each(
    fields: dict[str, Any], *, is_proven: bool
) -> None:
    """In both forms; what does not exclude them proves nothing."""
    small = (big("p", 1000, **fields), big("q", 1000, **fields))
    for stated in (values((100, small[0]), (100, small[1])), COUNT):
        assert (not said(cluster(*small), stated, 200, apart(*small))) == is_proven


def test_one_side_is_enough_to_exclude() -> None:
    """A pod that keeps all web pods away is worth a node; the others share one."""
    lonely = pod("lonely", spec=ask(**APART))
    others = (big("p", 1000), big("q", 1000))
    planned = apart(lonely, others[0], others[1])
    stated = values((100, lonely), (50, others[0]), (50, others[1]))
    assert not said(cluster(lonely, *others), stated, 200, planned)
    more = values((100, lonely), (51, others[0]), (50, others[1]))
    assert said(cluster(lonely, *others), more, 200, planned)


def test_volumes_fill_a_node_too() -> None:
    """A node that attaches one volume takes one of two pods with a volume each."""
    slots = msgspec.structs.replace(kind(), attach_limits={"csi": 1})
    claims = {f"default/{name}": VolumeClaim(name, "default", "s") for name in ("x", "y")}
    storage: dict[str, Any] = {
        "volume_claims": claims,
        "storage_classes": {"s": StorageClass("s", "csi")},
    }
    for names, is_proven in ((("x", "y"), True), (("x", "x"), False)):
        pods = [pod(f"p{n}", claim_names=(name,)) for n, name in enumerate(names)]
        stated = values((100, pods[0]), (100, pods[1]))
        for kinds, wanted in (((slots,), is_proven), ((kind(),), False)):
            snapshot = cluster(*pods, kinds=kinds, **storage)
            assert (not said(snapshot, stated, 200, apart(*pods))) == wanted


# ------------------------------------------------------------------ counts


def test_pods_alike_cost_the_least_nodes_that_hold_so_many() -> None:
    """Three pods of 2 cpu: a node for two and one for one."""
    pods = tuple(big(name, 2000) for name in "pqr")
    tiny = kind("s", holds={"cpu": 2000, "pods": 9}, offerings=(offering(price=60),))
    snapshot = cluster(*pods, kinds=(kind(), tiny))
    assert not said(snapshot, COUNT, 160, apart(*pods))
    assert "only 160 is" in said(snapshot, COUNT, 161, apart(*pods))


def test_a_count_proves_no_more_than_the_price() -> None:
    """Where every node costs as much as the plan, its price is the bound."""
    snapshot = cluster(P, kinds=(kind(offerings=(offering(price=300),)),))
    assert not said(snapshot, COUNT, 300, apart(P, price=300))
    assert "only 300 is" in said(snapshot, COUNT, 301, apart(P, price=300))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(big("q", 2999), id="another request"),
        pytest.param(big("q", node_selector={labels.ZONE: "b"}), id="other offers"),
        pytest.param(big("q", **PORT), id="excludes its like"),
    ],
)
def test_pods_that_differ_are_not_counted_together(other: Pod) -> None:
    """A count speaks of one sort only, though the two need a node each."""
    kinds = (kind(offerings=(offering("a"), offering("b"))),)
    snapshot = cluster(P, other, kinds=kinds)
    assert "only 100 is" in said(snapshot, COUNT, 101, apart(P, other))


def test_a_count_may_leave_pods_out() -> None:
    """Two pods of one sort prove what they prove, whatever comes beside them."""
    planned = apart(P, Q, small := big("r", 100))
    assert not said(cluster(P, Q, small), COUNT, 200, planned)
    assert "only 200 is" in said(cluster(P, Q, small), COUNT, 201, planned)


def test_pods_that_ask_for_nothing_share_a_node() -> None:
    """However many there are."""
    pods = tuple(pod(name, spec=ask(requests={})) for name in "pq")
    assert "only 100 is" in said(cluster(*pods), COUNT, 101, apart(*pods))


@pytest.mark.parametrize(
    ("nodes", "count", "want"),
    [
        pytest.param([(3, 10), (2, 6)], 4, 12, id="twice the smaller"),
        pytest.param([(3, 10), (2, 6)], 5, 16, id="one of each"),
        pytest.param([(9, 10), (2, 6)], 1, 6, id="a node may be half empty"),
        pytest.param([(1, 60)], 2, 100, id="never more than the plan"),
        pytest.param([(0, 1)], 2, 100, id="nobody fits"),
    ],
)
def test_the_least_price_is_found(nodes: list[tuple[int, int]], count: int, want: int) -> None:
    """By trying every last node for every number of pods."""
    assert least_price(nodes, count, 100) == want
