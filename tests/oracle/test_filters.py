"""Each plain filter refuses what kube-scheduler refuses, and nothing else."""

from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import HostPort, NodeTerm
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim
from tests.oracle.build import ask, host, pod, world
from tests.oracle.scheduler import refusal
from tests.oracle.world import Host


def verdict(candidate: Pod, on: Host, *bound: Pod, snapshot: Snapshot | None = None) -> str | None:
    """Why the pod may not run on the node, alone in the world with these pods on it."""
    return refusal(world(on, snapshot=snapshot, **{on.name: list(bound)}), candidate, on)


def cpu(amount: int) -> PodSpec:
    """A pod that asks for so many millicores."""
    return ask(requests={"cpu": amount, "pods": 1})


def test_a_pod_fits_to_the_last_millicore_and_not_beyond() -> None:
    """Requests of bound pods and the new one may add up to allocatable exactly."""
    on = host(allocatable={"cpu": 1000, "pods": 9})
    assert verdict(pod(spec=cpu(600)), on, pod("q", spec=cpu(400))) is None
    assert verdict(pod(spec=cpu(601)), on, pod("q", spec=cpu(400))) == "cpu: wants 601, 600 free"


def test_the_number_of_pods_is_a_resource() -> None:
    """A node takes no more pods than it says."""
    on = host(allocatable={"cpu": 9000, "pods": 1})
    assert verdict(pod(), on) is None
    assert verdict(pod(), on, pod("q")) is not None


def test_a_resource_that_the_node_does_not_name_is_not_there() -> None:
    """Unknown extended resources never fit, and asking for none of it is fine."""
    assert verdict(pod(spec=ask(requests={"example.com/x": 1})), host()) is not None
    assert verdict(pod(spec=ask(requests={"example.com/x": 0})), host()) is None


def test_daemon_sets_to_come_keep_their_room() -> None:
    """What a daemon set will take is not free."""
    daemon = DaemonSet("d", "kube-system", ask(requests={"cpu": 500, "pods": 1}))
    on = host(allocatable={"cpu": 1000, "pods": 9}, daemons=(daemon,))
    assert verdict(pod(spec=cpu(500)), on) is None
    assert verdict(pod(spec=cpu(501)), on) is not None


@pytest.mark.parametrize(
    ("taint", "toleration", "passes"),
    [
        (Taint("k", "v", "NoSchedule"), None, False),
        (Taint("k", "v", "NoExecute"), None, False),
        (Taint("k", "v", "PreferNoSchedule"), None, True),
        (Taint("k", "v"), Toleration("k", "Equal", "v"), True),
        (Taint("k", "v"), Toleration("k", "Equal", "w"), False),
        (Taint("k", "v"), Toleration("k", "Exists"), True),
        (Taint("k", "v"), Toleration("", "Exists"), True),
        (Taint("k", "v"), Toleration("", "Equal", "v"), False),
        (Taint("k", "v"), Toleration("k", "Exists", "", "NoExecute"), False),
        (Taint("k", "v"), Toleration("k", "Exists", "", "NoSchedule"), True),
        (Taint("k", "5"), Toleration("k", "Gt", "4"), True),
        (Taint("k", "5"), Toleration("k", "Gt", "5"), False),
        (Taint("k", "5"), Toleration("k", "Lt", "6"), True),
        (Taint("k", "5"), Toleration("k", "Lt", "5"), False),
        (Taint("k", "five"), Toleration("k", "Gt", "4"), False),
    ],
    ids=str,
)
def test_hard_taints_must_be_tolerated(
    taint: Taint,
    toleration: Toleration | None,
    passes: bool,  # noqa: FBT001  a table column
) -> None:
    """Key, operator, value and effect all count; a soft taint never filters."""
    candidate = pod(spec=ask(tolerations=(toleration,) if toleration else ()))
    assert (verdict(candidate, host(taints=(taint,))) is None) is passes


def test_a_cordoned_node_takes_only_who_tolerates_the_cordon() -> None:
    """Unschedulable behaves like a taint."""
    on = host(is_unschedulable=True)
    assert verdict(pod(), on) == "cordoned"
    tolerant = ask(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),))
    assert verdict(pod(spec=tolerant), on) is None


def test_the_node_selector_wants_every_label() -> None:
    """One missing or different value is enough to refuse."""
    on = host(labels={"team": "red"})
    assert verdict(pod(spec=ask(node_selector={"team": "red"})), on) is None
    assert verdict(pod(spec=ask(node_selector={"team": "blue"})), on) == "node affinity"
    assert verdict(pod(spec=ask(node_selector={"rack": "1"})), on) == "node affinity"


@pytest.mark.parametrize(
    ("operator", "values", "label", "passes"),
    [
        ("In", ["5"], "5", True),
        ("In", ["4"], "5", False),
        ("In", ["4"], None, False),
        ("NotIn", ["4"], "5", True),
        ("NotIn", ["5"], "5", False),
        ("NotIn", ["5"], None, True),
        ("Exists", [], "5", True),
        ("Exists", [], None, False),
        ("DoesNotExist", [], "5", False),
        ("DoesNotExist", [], None, True),
        ("Gt", ["4"], "5", True),
        ("Gt", ["5"], "5", False),
        ("Gt", ["4"], None, False),
        ("Lt", ["6"], "5", True),
        ("Lt", ["6"], "six", False),
        ("Gte", ["5"], "5", True),
        ("Lte", ["4"], "5", False),
    ],
)
def test_node_affinity_judges_each_operator(
    operator: str,
    values: list[str],
    label: str | None,
    passes: bool,  # noqa: FBT001  a table column
) -> None:
    """Expressions are judged on the node's own label."""
    terms = (NodeTerm((requirement("k", operator, values),)),)
    on = host(labels={} if label is None else {"k": label})
    assert (verdict(pod(spec=ask(required_terms=terms)), on) is None) is passes


def test_one_required_term_is_enough_and_an_empty_one_selects_nothing() -> None:
    """Terms are alternatives; a term without expressions matches no node."""
    zone_a = NodeTerm((requirement(labels.ZONE, "In", ["a"]),))
    zone_b = NodeTerm((requirement(labels.ZONE, "In", ["b"]),))
    assert verdict(pod(spec=ask(required_terms=(zone_b, zone_a))), host()) is None
    assert verdict(pod(spec=ask(required_terms=(zone_b,))), host()) is not None
    assert verdict(pod(spec=ask(required_terms=(NodeTerm(),))), host()) is not None


def test_match_fields_select_by_node_name() -> None:
    """metadata.name in matchFields is the node's name."""
    named = (NodeTerm(fields=(requirement("metadata.name", "In", ["n"]),)),)
    assert verdict(pod(spec=ask(required_terms=named)), host("n")) is None
    assert verdict(pod(spec=ask(required_terms=named)), host("other")) is not None


@pytest.mark.parametrize(
    ("ours", "theirs", "clash"),
    [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80), HostPort(80, "UDP"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.2"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80), True),
        (HostPort(80, "TCP", "::"), HostPort(80, "TCP", "10.0.0.2"), True),
    ],
)
def test_a_host_port_is_taken_once(
    ours: HostPort,
    theirs: HostPort,
    clash: bool,  # noqa: FBT001  a table column
) -> None:
    """Same port and protocol clash on the same address or on a wildcard."""
    other = pod("q", spec=ask(host_ports=(theirs,)))
    assert (verdict(pod(spec=ask(host_ports=(ours,))), host(), other) is not None) is clash
    daemon = DaemonSet("d", "kube-system", ask(requests={}, host_ports=(theirs,)))
    refused = verdict(pod(spec=ask(host_ports=(ours,))), host(daemons=(daemon,)))
    assert (refused is not None) is clash


ZONE_A = NodeTerm((requirement(labels.ZONE, "In", ["a"]),))
ZONE_B = NodeTerm((requirement(labels.ZONE, "In", ["b"]),))


def storage(claim: VolumeClaim, volume: Volume | None = None) -> Snapshot:
    """A claim `default/data`, its volume, and two storage classes."""
    return Snapshot(
        volume_claims={"default/data": claim},
        volumes={volume.name: volume} if volume else {},
        storage_classes={
            "zonal": StorageClass("zonal", "csi", terms=(ZONE_A,)),
            "eager": StorageClass("eager", "csi", is_immediate=True),
            "plain": StorageClass("plain", "csi", is_default=True),
        },
    )


@pytest.mark.parametrize(
    ("terms", "passes"),
    [
        pytest.param((ZONE_A,), True, id="volume here"),
        pytest.param((ZONE_B,), False, id="volume elsewhere"),
        pytest.param((ZONE_B, ZONE_A), True, id="one alternative is here"),
        pytest.param((), True, id="volume anywhere"),
        pytest.param((ZONE_B, NodeTerm()), True, id="an emptied term allows everything"),
    ],
)
def test_a_bound_volume_fixes_the_zone(
    terms: tuple[NodeTerm, ...],
    passes: bool,  # noqa: FBT001  a table column
) -> None:
    """The node must be where one of the volume's alternatives is."""
    claim = VolumeClaim("data", "default", "plain", "pv")
    found = storage(claim, Volume("pv", "csi", terms))
    candidate = pod(claim_names=("data",))
    assert (verdict(candidate, host(), snapshot=found) is None) is passes


def test_an_unbound_claim_goes_where_its_class_allows() -> None:
    """AllowedTopologies count for volumes that are made where the pod runs."""
    found = storage(VolumeClaim("data", "default", "zonal"))
    candidate = pod(claim_names=("data",))
    assert verdict(candidate, host(zone="a"), snapshot=found) is None
    assert verdict(candidate, host(zone="b"), snapshot=found) == "volume topology"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(Snapshot(), id="no claim"),
        pytest.param(storage(VolumeClaim("data", "default", "eager")), id="immediate, unbound"),
        pytest.param(storage(VolumeClaim("data", "default", "none")), id="no class"),
        pytest.param(storage(VolumeClaim("data", "default", "plain", "pv")), id="no volume"),
        pytest.param(storage(VolumeClaim("data", "default", "plain", is_lost=True)), id="lost"),
    ],
)
def test_an_unusable_claim_keeps_the_pod_waiting(found: Snapshot) -> None:
    """Without its claim, class or volume a pod binds nowhere."""
    assert verdict(pod(claim_names=("data",)), host(), snapshot=found) == "unusable claim"


def test_a_claim_without_a_class_takes_the_default() -> None:
    """An unbound claim that names no class is served by the default class."""
    found = storage(VolumeClaim("data", "default", None))
    assert verdict(pod(claim_names=("data",)), host(), snapshot=found) is None


def test_a_node_attaches_only_so_many_volumes_and_a_shared_one_once() -> None:
    """Unique claims per driver count against the limit."""
    found = Snapshot(
        volume_claims={
            f"default/{name}": VolumeClaim(name, "default", "plain") for name in ("x", "y")
        },
        storage_classes={"plain": StorageClass("plain", "csi")},
    )
    on = host(attach_limits={"csi": 1})
    holder = pod("q", claim_names=("x",))
    assert verdict(pod(claim_names=("x",)), on, holder, snapshot=found) is None
    assert verdict(pod(claim_names=("y",)), on, holder, snapshot=found) is not None
    assert verdict(pod(claim_names=("y",)), host(), holder, snapshot=found) is None
