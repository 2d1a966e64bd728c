"""The live memory: one writer, and what each change could matter to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail import api
from dovetail.model.ledger import Nomination, Refusal
from dovetail.model.plan import Launch
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import (
    NOTHING,
    Catalogued,
    Disrupting,
    DisruptionEnded,
    Evicted,
    LaunchDone,
    LaunchRefused,
    LaunchStarted,
    Nominated,
    Observed,
    Refused,
    Touched,
    Vanished,
    Withdrawn,
)
from dovetail.state.cluster import Cluster
from tests.laws.happenings import CATALOGUES
from tests.unit.state.heard import NODE_CLASS, TYPE, claim, node, observed, pod, vanished

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WINDOW = 20 * SECOND
POOL = observed(
    "NodePool",
    "p",
    spec={"template": {"spec": {"requirements": [], "nodeClassRef": NODE_CLASS}}},
)
LAUNCH = Launch(
    name="p-1",
    node_pool="p",
    instance_type="s",
    zone="a",
    capacity_type="reserved",
    price_nanousd=1,
    instance_types=("s", "l"),
    requests={},
    pods=("default/a", "default/b"),
    labels={TYPE: "s", "zone": "a", "karpenter.sh/nodepool": "p"},
    requirements=(
        Requirement(TYPE, False, frozenset({"s", "l"})),
        Requirement("zone", False, frozenset({"a"})),
    ),
    allocatable={"cpu": 1000},
    reservation_id="r-1",
)


def cluster(*changes: Observed | Catalogued | LaunchStarted | Nominated) -> Cluster:
    """A cluster to which these have happened."""
    found = Cluster()
    for one in changes:
        found.apply(one)
    return found


def promises(snapshot: Snapshot) -> dict[str, str]:
    """The node of each nominated pod, by uid."""
    return {one.pod_uid: one.node for one in snapshot.ledger.nominations}


@pytest.mark.parametrize(
    ("before", "change", "want"),
    [
        pytest.param([], pod("a"), Touched.PENDING, id="a pod waits"),
        pytest.param([], pod("a", "n"), Touched.NODES, id="a pod runs"),
        pytest.param([pod("a")], pod("a"), NOTHING, id="told again"),
        pytest.param([pod("a")], pod("a", annotations={"x": "y"}), NOTHING, id="nobody reads it"),
        pytest.param([pod("a")], pod("a", "n"), Touched.NODES, id="a pod is bound"),
        pytest.param([pod("a")], vanished("Pod", "a"), Touched.PENDING, id="waits no more"),
        pytest.param([pod("a", "n")], vanished("Pod", "a"), Touched.NODES, id="room is free"),
        pytest.param([], vanished("Pod", "a"), NOTHING, id="never heard of"),
        pytest.param(
            [], observed("Pod", "a"), NOTHING, id="kube-scheduler has not looked at it yet"
        ),
        pytest.param([], node("n"), Touched.NODES, id="a node"),
        pytest.param([node("n")], node("n"), NOTHING, id="a node's heartbeat"),
        pytest.param([node("n")], vanished("Node", "n"), Touched.NODES, id="a node goes"),
        pytest.param([], claim("c"), Touched.NODES, id="a claim"),
        pytest.param([claim("c")], vanished("NodeClaim", "c"), Touched.NODES, id="a claim goes"),
        pytest.param([], observed("CSINode", "n"), Touched.NODES, id="drivers"),
        pytest.param([], POOL, Touched.POOLS, id="a pool"),
        pytest.param([POOL], vanished("NodePool", "p"), Touched.POOLS, id="a pool goes"),
        pytest.param([], Catalogued("p", CATALOGUES[0]), Touched.POOLS, id="a catalogue"),
        pytest.param(
            [Catalogued("p", CATALOGUES[0])],
            Catalogued("p", tuple(CATALOGUES[0])),
            NOTHING,
            id="the same catalogue",
        ),
        pytest.param([], observed("StorageClass", "s"), Touched.PENDING, id="a storage class"),
        pytest.param([], observed("PodDisruptionBudget", "b"), Touched.NODES, id="a budget"),
        pytest.param([], observed("PodTemplate", "t"), NOTHING, id="no buffer refers to it"),
        pytest.param(
            [observed("CapacityBuffer", "b")],
            observed("PodTemplate", "t"),
            Touched.PENDING,
            id="a buffer might refer to it",
        ),
        pytest.param([], observed("Job", "j"), NOTHING, id="a kind that nothing reads"),
    ],
)
def test_a_change_says_what_it_could_matter_to(
    before: list[Observed], change: Observed | Vanished | Catalogued, want: Touched
) -> None:
    """So that nobody decides anew about nothing."""
    assert cluster(*before).apply(change) == want


def test_a_launch_is_a_node_to_come_before_anybody_has_heard_of_it() -> None:
    """As its claim will be: open labels are left out, room is what any of its types has."""
    known = cluster(POOL, Catalogued("p", CATALOGUES[0]), pod("a"), LaunchStarted(LAUNCH, NOW))
    snapshot = known.snapshot(NOW)
    [got] = snapshot.nodes
    assert (got.name, got.node_claim, got.node_pool) == ("p-1", "p-1", "p")
    assert got.labels == {"zone": "a", "karpenter.sh/nodepool": "p"}
    assert (got.allocatable["cpu"], got.capacity["cpu"]) == (4000, 8000)
    assert not got.is_initialized
    assert promises(snapshot) == {"uid-a": "p-1"}
    assert snapshot.ledger.reserved_by_id == {"r-1": 1}


def test_a_launch_of_types_that_are_listed_no_more_has_the_room_it_was_planned_with() -> None:
    """Better than none."""
    [got] = cluster(LaunchStarted(LAUNCH, NOW)).snapshot(NOW).nodes
    assert (got.capacity["cpu"], got.allocatable["cpu"]) == (1000, 1000)


def test_a_claim_takes_the_place_of_its_launch() -> None:
    """There is one node, and it goes when the claim goes."""
    known = cluster(LaunchStarted(LAUNCH, NOW), claim("p-1", is_launched=False))
    assert [one.name for one in known.snapshot(NOW).nodes] == ["p-1"]
    assert known.snapshot(NOW).ledger.reserved_by_id == {"r-1": 1}
    known.apply(claim("p-1"))
    assert known.snapshot(NOW).ledger.reserved_by_id == {}
    known.apply(vanished("NodeClaim", "p-1"))
    assert known.snapshot(NOW).nodes == ()
    known.apply(LaunchDone("p-1", NOW))
    assert known.snapshot(NOW).nodes == ()


def test_a_claim_that_never_shows_up_is_given_up() -> None:
    """It came and went while nobody watched."""
    known = cluster(LaunchStarted(LAUNCH, NOW))
    known.apply(LaunchDone("p-1", NOW))
    assert len(known.snapshot(NOW + 14 * SECOND).nodes) == 1
    assert known.snapshot(NOW + 15 * SECOND).nodes == ()


def test_a_failed_launch_leaves_its_pods_waiting() -> None:
    """Its node is not counted on; if the claim is still there, it is leaving."""
    known = cluster(pod("a"), LaunchStarted(LAUNCH, NOW))
    assert known.apply(LaunchRefused("p-1", NOW)) == Touched.NODES | Touched.PENDING
    assert known.snapshot(NOW).nodes == ()
    assert known.snapshot(NOW).ledger == Snapshot().ledger
    known.apply(claim("p-1"))
    known.apply(LaunchRefused("p-1", NOW))
    assert [one.deleting_at for one in known.snapshot(NOW).nodes] == [NOW]


def test_a_promise_lasts_while_its_node_starts_and_a_while_after() -> None:
    """And follows the node from the claim's name to its own."""
    known = cluster(pod("a"), pod("b"), LaunchStarted(LAUNCH, NOW), claim("p-1"))
    late = NOW + timedelta(minutes=5)
    assert promises(known.snapshot(late)) == {"uid-a": "p-1", "uid-b": "p-1"}
    known.apply(node("n", claim="p-1", is_initialized=False))
    assert promises(known.snapshot(late)) == {"uid-a": "n", "uid-b": "n"}
    known.apply(node("n", claim="p-1"))
    ready = late + timedelta(minutes=5)
    assert known.snapshot(ready).ledger.nominations == (
        Nomination("uid-a", "n", ready + WINDOW),
        Nomination("uid-b", "n", ready + WINDOW),
    )
    assert len(promises(known.snapshot(ready + 19 * SECOND))) == 2
    assert promises(known.snapshot(ready + 20 * SECOND)) == {}


def test_a_promise_of_a_node_that_is_there_lasts_twice_the_batch_window() -> None:
    """A later promise takes the place of an earlier one."""
    known = cluster(pod("a"), node("n"), node("m"))
    known.snapshot(NOW)
    known.apply(Nominated("n", ("default/a", "default/unheard-of"), NOW))
    assert known.snapshot(NOW).ledger.nominations == (Nomination("uid-a", "n", NOW + WINDOW),)
    known.apply(Nominated("m", ("default/a",), NOW + SECOND))
    [got] = known.snapshot(NOW).ledger.nominations
    assert got == Nomination("uid-a", "m", NOW + SECOND + WINDOW)
    assert promises(known.snapshot(NOW + 21 * SECOND)) == {}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(pod("a", "n"), id="the pod is bound"),
        pytest.param(pod("a", "elsewhere"), id="the pod is bound elsewhere"),
        pytest.param(vanished("Pod", "a"), id="the pod is gone"),
        pytest.param(pod("a", uid="another"), id="the pod is another"),
        pytest.param(vanished("Node", "n"), id="the node is gone"),
        pytest.param(
            observed("Node", "n", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            id="the node is leaving",
        ),
        pytest.param(Withdrawn(("default/a",)), id="it is taken back"),
    ],
)
def test_a_promise_ends_with_what_it_was_about(change: Observed | Vanished | Withdrawn) -> None:
    """Whatever comes first."""
    known = cluster(pod("a"), node("n"))
    known.apply(Nominated("n", ("default/a",), NOW))
    known.apply(change)
    assert promises(known.snapshot(NOW)) == {}


def test_room_kept_for_a_buffer_is_promised_too() -> None:
    """Its pods do not exist, but they are planned for like others."""
    template = observed("PodTemplate", "t", template={"spec": {"containers": []}})
    buffer = observed("CapacityBuffer", "b", spec={"podTemplateRef": {"name": "t"}, "replicas": 2})
    known = cluster(template, buffer, pod("a"), node("n"))
    keys = tuple(one.key for one in known.snapshot(NOW).pods)
    assert keys == ("default/a", "default/capacity-buffer-b-0", "default/capacity-buffer-b-1")
    known.apply(Nominated("n", keys, NOW))
    assert promises(known.snapshot(NOW)) == {"uid-a": "n", "uid-b-0": "n", "uid-b-1": "n"}


def test_a_pod_that_will_move_keeps_its_promise_until_it_does() -> None:
    """It is bound all the while, to a node that is leaving, however long that drains."""
    known = cluster(pod("a", "old"), node("old"), node("n"))
    known.apply(Disrupting(("old",), "Drifted", NOW))
    known.apply(Nominated("n", ("default/a",), NOW))
    known.apply(pod("a", "old", labels={"x": "y"}))
    assert promises(known.snapshot(NOW + 59 * 60 * SECOND)) == {"uid-a": "n"}
    known.apply(vanished("Pod", "a"))
    assert promises(known.snapshot(NOW)) == {}


def test_a_pod_that_stays_after_all_is_promised_nothing() -> None:
    """The disruption of its node was called off."""
    known = cluster(pod("a", "old"), node("old"), node("n"))
    known.apply(Disrupting(("old",), "Drifted", NOW))
    known.apply(Nominated("n", ("default/a",), NOW))
    assert promises(known.snapshot(NOW)) == {"uid-a": "n"}
    known.apply(DisruptionEnded(("old",)))
    assert promises(known.snapshot(NOW)) == {}


def test_our_own_word_in_a_status_is_not_taken_for_preemption() -> None:
    """Even when it is stale; then it is to be withdrawn. Somebody else's is left alone."""
    known = cluster(pod("a"), pod("b"), node("n"))
    known.apply(Nominated("n", ("default/a",), NOW))
    assert known.apply(pod("a", promised="n")) == NOTHING
    known.apply(pod("b", promised="n"))
    assert [one.nominated_node_name for one in known.snapshot(NOW).pods] == ["", "n"]
    assert known.book.stale() == ()
    later = NOW + timedelta(minutes=1)
    assert [one.nominated_node_name for one in known.snapshot(later).pods] == ["", "n"]
    assert known.book.stale() == (("default/a", "n"),)
    known.apply(pod("a"))
    assert known.book.stale() == ()


def test_a_refused_offering_is_remembered_for_three_minutes() -> None:
    """By instance type, zone and capacity type."""
    known = cluster()
    assert known.apply(Refused("s", "a", "spot", NOW)) == Touched.PENDING
    until = NOW + timedelta(minutes=3)
    assert known.snapshot(NOW).ledger.refusals == (Refusal("s", "a", "spot", until),)
    assert known.snapshot(until).ledger.refusals == ()


def test_an_evicted_pod_is_leaving_before_the_watch_says_so() -> None:
    """When its grace is over; a pod of the same name but another uid is not meant."""
    known = cluster(pod("a", "n"))
    assert known.apply(Evicted("default/a", "another", NOW)) == NOTHING
    assert known.apply(Evicted("default/a", "uid-a", NOW)) == Touched.NODES
    assert known.apply(Evicted("default/a", "uid-a", NOW + SECOND)) == NOTHING
    assert [one.deleting_at for one in known.snapshot(NOW).pods] == [NOW + 30 * SECOND]


def test_an_object_that_makes_no_sense_is_left_out_and_named() -> None:
    """Until it does make sense; the others go on."""
    known = cluster(node("n"))
    strange = observed("Node", "m", status={"capacity": {"cpu": "plenty"}})
    assert known.apply(strange) == NOTHING
    [(kind, key, message)] = known.problems()
    assert (kind, key) == ("Node", ("default", "m"))
    assert "plenty" in message
    assert [one.name for one in known.snapshot(NOW).nodes] == ["n"]
    known.apply(node("m"))
    assert known.problems() == ()


def test_a_list_shows_what_has_vanished_unseen() -> None:
    """Every kind can be asked what is remembered of it."""
    known = cluster(pod("a"), node("n"), observed("Service", "s", spec={"selector": {"a": "b"}}))
    names = {one.name: known.keys(one) for one in api.KINDS.values()}
    assert {kind: held for kind, held in names.items() if held} == {
        "Pod": {("default", "a")},
        "Node": {("default", "n")},
        "Service": {("default", "s")},
    }


def test_looking_at_a_cluster_numbers_no_revision() -> None:
    """A page is open for a week and looks ten times a minute, while a decision is made every hour.
    A controller that starts then takes a revision that was never used.
    """
    known, now, used = cluster(), NOW, list[int]()
    for _ in range(7 * 24):
        now += timedelta(hours=1)
        used.append(known.snapshot(now).revision)
        for _ in range(600):
            assert known.view(now).revision == used[-1]
    assert len(set(used)) == len(used)
    assert cluster().snapshot(now + SECOND).revision > max(used)


def test_a_revision_is_never_used_twice() -> None:
    """Not within a second, not after a restart, not when the clock is set back."""
    known = cluster()
    first = known.snapshot(NOW).revision
    assert known.snapshot(NOW).revision == first + 1
    assert known.snapshot(NOW - timedelta(hours=1)).revision == first + 2
    assert cluster().snapshot(NOW + 3 * SECOND).revision == first + 3


def test_a_node_that_starts_does_not_count_beside_its_own_claim() -> None:
    """Until the claim says which node it is, the node would be taken for another one."""
    known = cluster(claim("c", is_launched=False), node("n", claim="c", is_initialized=False))
    assert [one.name for one in known.snapshot(NOW).nodes] == ["c"]
    known.apply(claim("c"))
    assert [one.name for one in known.snapshot(NOW).nodes] == ["n"]


def test_work_grows_with_what_changed() -> None:
    """One pod among many costs one conversion, one template however many pods."""
    known = cluster(POOL)
    for number in range(500):
        known.apply(pod(f"pod-{number}", f"n{number % 50}"))
    for number in range(50):
        known.apply(node(f"n{number}"))
    first = known.snapshot(NOW)
    before = known.conversions()
    assert (before.pods, before.pod_specs, before.nodes) == (500, 1, 50)
    known.apply(pod("pod-7", "n1"))
    known.apply(vanished("Node", "n3"))
    second = known.snapshot(NOW)
    after = known.conversions()
    assert (after.pods, after.pod_specs, after.nodes) == (501, 1, 50)
    assert sum(a is not b for a, b in zip(first.pods, second.pods, strict=True)) == 1
    assert second.node_pools is first.node_pools
    assert second.nodes == tuple(one for one in first.nodes if one.name != "n3")


def test_what_no_pod_has_any_more_is_swept_out() -> None:
    """However many come and go."""
    known = cluster()
    for number in range(6000):
        known.apply(pod("a", "n", labels={"n": str(number)}))
        if number % 100 == 0:
            known.snapshot(NOW)
    assert known.n_shared < 2500
    assert known.snapshot(NOW).pods[0].labels == {"n": "5999"}


def test_what_a_buffer_comes_to_is_known_with_what_it_refers_to() -> None:
    """And what its status says of that changes nothing."""
    spec: api.Tree = {"podTemplateRef": {"name": "t"}, "replicas": 1}
    buffer = observed("CapacityBuffer", "b", spec=spec)
    known = cluster(buffer)
    [lost] = known.buffers()
    assert (lost.pods, lost.problem) == ((), "PodTemplateNotFound")
    template: api.Tree = {"spec": {"containers": []}}
    known.apply(observed("PodTemplate", "t", template=template, meta={"generation": 3}))
    [found] = known.buffers()
    assert (found.namespace, found.name, len(found.pods)) == ("default", "b", 1)
    assert (found.template, found.template_generation, found.problem) == ("t", 3, None)
    said = observed("CapacityBuffer", "b", spec=spec, status={"replicas": 1})
    assert known.apply(said) == NOTHING
    assert known.buffers() == (found,)
