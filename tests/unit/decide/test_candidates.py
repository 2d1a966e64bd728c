from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.candidates import pending_pods
from dovetail.model.ledger import Ledger, Nomination
from dovetail.model.node import Condition, Node
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import NodeTerm, equality
from dovetail.model.verdict import Problem, Reason

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = PodSpec({"cpu": 100, "pods": 1})
POD = Pod("web", "shop", SPEC, uid="u1", labels={"app": "web"})
LEAVING = Node("old", deleting_at=NOW)
STAYING = Node("new")


def change(**fields: object) -> Pod:
    """The plain pod with some fields changed."""
    return msgspec.structs.replace(POD, **fields)


def respec(**fields: object) -> Pod:
    """The plain pod with some fields of its spec changed."""
    return change(spec=msgspec.structs.replace(SPEC, **fields))


def of_kind(kind: str, **fields: object) -> Pod:
    """The plain pod with an owner of this kind."""
    return change(owner=Owner(kind, "owner"), **fields)


REFUSES_POOLS = NodeTerm((requirement(labels.NODE_POOL, "DoesNotExist"),))


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(POD, True, id="an unbound pod waits"),
        pytest.param(change(phase="Succeeded"), False, id="a pod that has ended does not"),
        pytest.param(change(phase="Failed"), False, id="nor one that has failed"),
        pytest.param(change(deleting_at=NOW), False, id="nor one that is being deleted"),
        pytest.param(of_kind("DaemonSet"), False, id="nor a daemon"),
        pytest.param(of_kind("Node"), False, id="nor a mirror pod"),
        pytest.param(of_kind("ReplicaSet"), True, id="a replica waits"),
        pytest.param(change(node_name="new"), False, id="a bound pod does not wait"),
        pytest.param(
            respec(required_terms=(REFUSES_POOLS,)),
            True,
            id="one that refuses pools may fit a node",
        ),
        pytest.param(respec(scheduler_name=""), True, id="no scheduler name is the default one"),
    ],
)
def test_a_pod_waits_if_nothing_but_a_node_is_missing(pod: Pod, want: bool) -> None:  # noqa: FBT001  a table column
    """Unbound, alive, and not tied to its node by its owner."""
    got = pending_pods(Snapshot(pods=(pod,), nodes=(STAYING,)))
    assert got.pods == ((pod,) if want else ())
    assert got.refused == ()


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(respec(is_gated=True), Reason.SCHEDULING_GATED, id="gates"),
        pytest.param(respec(scheduler_name="volcano"), Reason.OTHER_SCHEDULER, id="scheduler"),
        pytest.param(respec(uses_dynamic_resources=True), Reason.DYNAMIC_RESOURCES, id="claims"),
        pytest.param(
            change(problems=(Problem(Reason.INVALID_POD, "bad operator"),)),
            Reason.INVALID_POD,
            id="what the border found",
        ),
    ],
)
def test_a_pod_that_cannot_be_planned_for_says_why(pod: Pod, want: Reason) -> None:
    """Gates, another scheduler and resource claims are visible reasons."""
    got = pending_pods(Snapshot(pods=(pod,), nodes=(STAYING, LEAVING)))
    assert got.pods == ()
    ((refused, problem),) = got.refused
    assert refused == pod
    assert problem.reason == want
    assert problem.message


def test_a_promised_pod_holds_its_room_on_the_promised_node() -> None:
    """kube-scheduler preempts for it there, so it needs no plan, but its room is taken."""
    pod = change(nominated_node_name="new")
    got = pending_pods(Snapshot(pods=(pod,), nodes=(STAYING,)))
    assert got.pods == ()
    assert got.refused == ()
    assert [(one.key, one.node_name) for one in got.reserved] == [("shop/web", "new")]


@pytest.mark.parametrize("node", ["gone", "old"])
def test_a_pod_promised_a_node_that_is_gone_or_leaving_waits_like_others(node: str) -> None:
    """kube-scheduler does not take its word back, and nobody must wait for ever."""
    pod = change(nominated_node_name=node)
    got = pending_pods(Snapshot(pods=(pod,), nodes=(STAYING, LEAVING)))
    assert (got.pods, got.refused, got.reserved) == ((pod,), (), ())


def test_a_place_is_lost_when_another_pod_takes_the_room() -> None:
    """kube-scheduler binds as it likes; the pod is planned for again at once."""
    node = Node("new", allocatable={"cpu": 2000, "pods": 10})
    pod = respec(requests={"cpu": 1000, "pods": 1})
    small = msgspec.structs.replace(pod, name="small", uid="u2", node_name="new")
    large_spec = msgspec.structs.replace(pod.spec, requests={"cpu": 1500, "pods": 1})
    large = msgspec.structs.replace(small, name="large", spec=large_spec)
    fits = Snapshot(pods=(pod, small), nodes=(node,), ledger=promised("new"))
    assert pending_pods(fits, NOW).pods == ()
    taken = Snapshot(pods=(large, pod), nodes=(node,), ledger=promised("new"))
    assert pending_pods(taken, NOW).pods == (pod,)


def promised(node: str) -> Ledger:
    """An earlier plan gave pod u1 this node."""
    return Ledger(nominations=(Nomination("u1", node, NOW + timedelta(seconds=1)),))


@pytest.mark.parametrize("status", ["", "new"])
def test_a_pod_keeps_the_place_that_an_earlier_plan_gave_it(status: str) -> None:
    """While its node starts nothing else is launched for it, but its room is taken."""
    snapshot = Snapshot(
        pods=(change(nominated_node_name=status),), nodes=(STAYING,), ledger=promised("new")
    )
    got = pending_pods(snapshot, NOW)
    assert (got.pods, got.refused) == ((), ())
    assert [(one.key, one.node_name) for one in got.reserved] == [("shop/web", "new")]


def test_a_place_is_lost_with_time_and_with_its_node() -> None:
    """Then the pod waits again: what stands in its status was our own word, not a preemption."""
    pod = change(nominated_node_name="new")
    late = Snapshot(pods=(pod,), nodes=(STAYING,), ledger=promised("new"))
    assert pending_pods(late, NOW + timedelta(seconds=1)).pods == (pod,)
    gone = msgspec.structs.replace(late, nodes=())
    assert pending_pods(gone, NOW).pods == (pod,)


def test_our_place_outlives_a_preemption_on_a_node_that_is_gone() -> None:
    """kube-scheduler will drop its own word at its next attempt; ours still stands."""
    pod = change(nominated_node_name="gone")
    got = pending_pods(Snapshot(pods=(pod,), nodes=(STAYING,), ledger=promised("new")), NOW)
    assert [one.node_name for one in got.reserved] == ["new"]
    there = Snapshot(pods=(pod,), nodes=(STAYING, Node("gone")), ledger=promised("new"))
    assert [one.node_name for one in pending_pods(there, NOW).reserved] == ["gone"]


def test_a_pod_that_moves_keeps_the_place_it_moves_to() -> None:
    """It is still on the node that leaves."""
    pod = change(node_name="old")
    snapshot = Snapshot(pods=(pod,), nodes=(LEAVING, STAYING), ledger=promised("new"))
    [got] = pending_pods(snapshot, NOW).reserved
    assert got.node_name == "new"


PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
FOR_AN_HOUR = {labels.DO_NOT_DISRUPT: "1h"}


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(change(), True, id="an active pod moves"),
        pytest.param(of_kind("DaemonSet"), False, id="a daemon goes with its node"),
        pytest.param(of_kind("Node"), False, id="so does a mirror pod"),
        pytest.param(change(phase="Failed"), False, id="a pod that has ended needs no room"),
        pytest.param(change(deleting_at=NOW), False, id="nor one that is being deleted"),
        pytest.param(
            of_kind("StatefulSet", deleting_at=NOW), True, id="a stateful pod will come again"
        ),
        pytest.param(change(annotations=PROTECTED), False, id="do-not-disrupt"),
        pytest.param(
            change(annotations=FOR_AN_HOUR, started_at=NOW - timedelta(minutes=59)),
            False,
            id="do-not-disrupt for an hour holds within it",
        ),
        pytest.param(
            change(annotations=FOR_AN_HOUR, started_at=NOW - timedelta(minutes=60)),
            True,
            id="and ends with it",
        ),
        pytest.param(change(annotations=FOR_AN_HOUR), False, id="not started is protected"),
        pytest.param(
            change(annotations={labels.DO_NOT_DISRUPT: "maybe"}), True, id="nonsense is ignored"
        ),
        pytest.param(
            change(annotations={labels.DO_NOT_DISRUPT: "0s"}), True, id="so is an empty span"
        ),
    ],
)
def test_pods_of_a_leaving_node_move_if_they_can(pod: Pod, want: bool) -> None:  # noqa: FBT001  a table column
    """Currently reschedulable pods on leaving nodes need room elsewhere."""
    bound = msgspec.structs.replace(pod, node_name="old")
    got = pending_pods(Snapshot(pods=(bound,), nodes=(LEAVING,)), NOW)
    assert got.pods == ((bound,) if want else ())


def test_without_a_clock_timed_protection_does_not_end() -> None:
    """Nobody can say that the span is over, so it is not."""
    pod = change(annotations=FOR_AN_HOUR, started_at=NOW - timedelta(days=9), node_name="old")
    assert pending_pods(Snapshot(pods=(pod,), nodes=(LEAVING,))).pods == ()


def test_a_node_whose_instance_terminates_is_leaving() -> None:
    """The condition counts like a deletion timestamp."""
    node = Node("old", conditions=(Condition("InstanceTerminating", "True"),))
    pod = change(node_name="old")
    assert pending_pods(Snapshot(pods=(pod,), nodes=(node,))).pods == (pod,)


def budget(name: str = "b", **fields: object) -> DisruptionBudget:
    """A budget over the plain pod."""
    plain = DisruptionBudget(name, "shop", equality({"app": "web"}))
    return msgspec.structs.replace(plain, **fields)


@pytest.mark.parametrize(
    ("budgets", "want"),
    [
        pytest.param((budget(max_unavailable="1"),), True, id="one that allows some"),
        pytest.param((budget(max_unavailable="0"),), False, id="none allowed"),
        pytest.param((budget(max_unavailable="0%"),), False, id="none in a hundred"),
        pytest.param((budget(min_available="100%"),), False, id="all needed"),
        pytest.param((budget(), budget("c")), False, id="two budgets block eviction"),
        pytest.param((budget(max_unavailable="0", namespace="x"),), True, id="elsewhere"),
        pytest.param(
            (budget(max_unavailable="0", selector=equality({"app": "db"})),), True, id="not mine"
        ),
    ],
)
def test_a_budget_that_never_allows_eviction_keeps_a_pod_where_it_is(
    budgets: tuple[DisruptionBudget, ...],
    want: bool,  # noqa: FBT001  a table column
) -> None:
    """Pods that cannot be evicted must not be provisioned for twice (fidelity 18)."""
    pod = change(node_name="old")
    got = pending_pods(Snapshot(pods=(pod,), nodes=(LEAVING,), disruption_budgets=budgets))
    assert got.pods == ((pod,) if want else ())


def test_an_unhealthy_pod_may_be_exempt_from_its_budget() -> None:
    """unhealthyPodEvictionPolicy AlwaysAllow lets pods go that are not ready."""
    pod = change(node_name="old", is_ready=False)
    lenient = budget(max_unavailable="0", always_allows_unhealthy=True)
    snapshot = Snapshot(pods=(pod,), nodes=(LEAVING,), disruption_budgets=(lenient,))
    assert pending_pods(snapshot).pods == (pod,)


def test_pods_of_one_template_share_its_verdict() -> None:
    """All of them wait, or none."""
    gated = respec(is_gated=True)
    other = msgspec.structs.replace(gated, name="web-2")
    got = pending_pods(Snapshot(pods=(gated, other)))
    assert [pod.name for pod, _ in got.refused] == ["web", "web-2"]
