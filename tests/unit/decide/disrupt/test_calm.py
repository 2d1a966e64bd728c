"""Who is left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.disrupt.calm import changes_at, overtaxed_workload, unrest
from dovetail.decide.disrupt.candidates import scene_of
from dovetail.decide.evictions import with_evictions
from dovetail.model.ledger import EvictionCount, Ledger
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker
from dovetail.testing import node, node_pool, pod, snapshot
from dovetail.testing.given import STANDARD_TYPES

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
LONG_AGO = NOW - 100 * HOUR
TYPES = tuple(given.instance_type(name) for name, given in STANDARD_TYPES.items())
LARGE = node("n1", pool="default", type="large", types=TYPES)  # 8 cpu for $0.40
WEB = "Deployment/default/web"


def found(*pods: Pod, **fields: object) -> Blocked | None:
    """What keeps the pods of the node quiet, in a cluster of these pods."""
    cluster = msgspec.structs.replace(snapshot(pods, nodes=[LARGE]), **fields)
    return unrest(LARGE, scene_of(cluster, Plan(), NOW))


def revision(name: str, made_from: str, *, minutes: float = 60, **words: object) -> Pod:
    """A pod of Deployment web, made so long ago."""
    at = NOW - timedelta(minutes=minutes)
    return pod(
        name,
        labels={"app": "web", labels.POD_TEMPLATE_HASH: made_from},
        owner=f"ReplicaSet/web-{made_from}",
        **{"node": "n1", "created_at": at.isoformat(), "started_at": at.isoformat(), **words},
    )


def member(name: str, made_from: str, *, minutes: float = 60) -> Pod:
    """A pod of StatefulSet db."""
    at = (NOW - timedelta(minutes=minutes)).isoformat()
    held = {labels.CONTROLLER_REVISION_HASH: made_from}
    owner = "StatefulSet/db"
    return pod(name, labels=held, owner=owner, node="n1", created_at=at, started_at=at)


def worker(name: str, *, job: str = "sums", minutes: float = 60, **words: object) -> Pod:
    """A pod of a Job that started so long ago."""
    at = (NOW - timedelta(minutes=minutes)).isoformat()
    return pod(name, owner=f"Job/{job}", **{"node": "n1", "started_at": at, **words})


# ------------------------------------------------------------------ unrest


def test_a_quiet_node_is_not_left_alone() -> None:
    """Old pods of one revision are no reason."""
    assert found(revision("a", "one"), revision("b", "one"), member("c", "one")) is None


@pytest.mark.parametrize(
    ("pods", "until"),
    [
        pytest.param(
            (revision("a", "one"), revision("b", "two", minutes=4)), NOW + 6 * MINUTE, id="begun"
        ),
        pytest.param(
            (revision("a", "one", minutes=4), revision("b", "two", node="")),
            NOW + 6 * MINUTE,
            id="pods that wait are part of it",
        ),
        pytest.param((revision("a", "one"), revision("b", "two", minutes=11)), None, id="stuck"),
        pytest.param(
            (revision("a", "one"), revision("b", "two", minutes=4, phase="Succeeded")),
            None,
            id="only active pods count",
        ),
        pytest.param(
            (member("a", "one"), member("b", "two", minutes=9)), NOW + MINUTE, id="a StatefulSet"
        ),
    ],
)
def test_a_rollout_under_way_is_left_alone(pods: tuple[Pod, ...], until: datetime | None) -> None:
    """For as long as a Deployment gives itself by default after its newest pod."""
    got = found(*pods)
    assert (got and (got.reason, got.until)) == (until and (Blocker.ROLLOUT, until))


def test_a_rollout_elsewhere_is_no_reason() -> None:
    """Only workloads of which the node runs a pod count."""
    assert (
        found(
            member("a", "one"),
            revision("b", "one", node="n2"),
            revision("c", "two", node="n2", minutes=4),
        )
        is None
    )


@pytest.mark.parametrize(
    ("pods", "until"),
    [
        pytest.param(
            (worker("a", ends_at=(NOW + 4 * MINUTE).isoformat()),), NOW + 4 * MINUTE, id="deadline"
        ),
        pytest.param((worker("a", ends_at=(NOW + HOUR).isoformat()),), None, id="far away"),
        pytest.param((worker("a", ends_at=(NOW - MINUTE).isoformat()),), None, id="overdue"),
        pytest.param(
            (
                worker("a", minutes=27),
                worker("b", minutes=90, phase="Succeeded", ends_at=(NOW - HOUR).isoformat()),
            ),
            NOW + 3 * MINUTE,
            id="as long as its sibling took",
        ),
        pytest.param(
            (
                worker("a", job="nightly-29400000", minutes=28),
                worker(
                    "b",
                    job="nightly-29398560",
                    minutes=90,
                    phase="Succeeded",
                    ends_at=(NOW - HOUR).isoformat(),
                ),
            ),
            NOW + 2 * MINUTE,
            id="as long as the Job before it took",
        ),
        pytest.param(
            (
                worker("a", minutes=27),
                worker("b", minutes=90, phase="Failed", ends_at=(NOW - HOUR).isoformat()),
            ),
            None,
            id="a failure says nothing",
        ),
    ],
)
def test_a_pod_that_ends_soon_is_waited_for(pods: tuple[Pod, ...], until: datetime | None) -> None:
    """By its deadline, or by how long others took."""
    got = found(*pods)
    assert (got and (got.reason, got.until)) == (until and (Blocker.ENDS_SOON, until))


def test_a_node_that_was_just_filled_is_left_alone() -> None:
    """For a minute after the last pod has started; daemons do not count."""
    fresh = revision("a", "one", minutes=0.5)
    got = found(fresh)
    assert got == Blocked(
        "n1", Blocker.JUST_FILLED, "Pod default/a has just started on it.", NOW + MINUTE / 2
    )
    assert found(revision("a", "one", minutes=1)) is None
    assert found(pod("d", node="n1", owner="DaemonSet/d", started_at=NOW.isoformat())) is None


# ------------------------------------------------------------------ evictions a day


def limited(n_evictions: int, *, hours: float = 1, **fields: object) -> dict[str, object]:
    """A cluster in which pods of web were evicted so often, so long ago, twice a day allowed."""
    counted = EvictionCount(WEB, NOW - timedelta(hours=hours), n_evictions)
    return {
        "policy": Policy(most_evictions=2),
        "ledger": Ledger(evictions=(counted,)),
        **fields,
    }


def test_a_workload_that_was_evicted_often_enough_is_left_alone() -> None:
    """Each pod twice a day makes four times for two pods; hours count until they are a day old."""
    pods = (revision("a", "one"), revision("b", "one", node="n2"))
    assert found(*pods, **limited(3)) is None
    got = found(*pods, **limited(4))
    assert got is not None
    assert got.reason is Blocker.EVICTED_OFTEN
    assert got.until == NOW + 24 * HOUR
    assert "Deployment/default/web may be evicted at most 4 times a day" in got.message
    assert found(*pods, **limited(4, hours=24)) is not None
    assert found(*pods, **limited(4, hours=25)) is None


def test_a_pod_may_say_how_often_it_goes() -> None:
    """Its own word counts more than its pool's, and that more than the operator's."""
    strict = node_pool(most_evictions=1)
    plain = revision("a", "one")
    told = revision("a", "one", annotations={labels.MOST_EVICTIONS: "5"})
    odd = revision("a", "one", annotations={labels.MOST_EVICTIONS: "many"})
    assert found(plain, **limited(1)) is None
    assert found(plain, **limited(1, node_pools=(strict,))) is not None
    assert found(told, **limited(4, node_pools=(strict,))) is None
    assert found(odd, **limited(1, node_pools=(strict,))) is not None


def test_a_pod_that_may_never_be_evicted_never_is() -> None:
    """Time does not change that."""
    got = found(revision("a", "one", annotations={labels.MOST_EVICTIONS: "0"}))
    assert got is not None
    assert (got.reason, got.until) == (Blocker.EVICTED_OFTEN, None)


def test_evictions_of_one_plan_add_up() -> None:
    """Two moves of a plan may not do together what each of them may do alone."""
    pods = (revision("a", "one"), revision("b", "one", node="n2"))
    cluster: Snapshot = msgspec.structs.replace(snapshot(pods, nodes=[LARGE]), **limited(3))
    assert overtaxed_workload(pods[:1], cluster, NOW) is None
    later = msgspec.structs.replace(cluster, ledger=with_evictions(cluster.ledger, pods[:1], NOW))
    assert overtaxed_workload(pods[1:], later, NOW) is not None
    assert overtaxed_workload(pods, cluster, NOW) is not None


def test_without_a_limit_nobody_counts() -> None:
    """By default every move that pays is made."""
    assert found(revision("a", "one"), ledger=Ledger(evictions=limited_counts())) is None


def limited_counts() -> tuple[EvictionCount, ...]:
    """A great many evictions."""
    return (EvictionCount(WEB, NOW, 1000),)


# ------------------------------------------------------------------ what grows dearer


def test_a_pod_that_nears_its_end_is_known_beforehand() -> None:
    """Five minutes before it ends it is left alone."""
    ending = worker("a", minutes=100, ends_at=(NOW + 9 * MINUTE).isoformat())
    assert changes_at([ending], snapshot([ending], nodes=[LARGE]), NOW) == NOW + 4 * MINUTE
