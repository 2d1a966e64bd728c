"""A workload stands for its replicas, less those already listed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail.model.snapshot import Snapshot

Freeze = Callable[[str], Snapshot]

TEMPLATE = "template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c}]}}"


def deployment(replicas: str = "replicas: 3", meta: str = "name: web") -> str:
    """A Deployment."""
    return (
        f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{{meta}}}\n"
        f"spec: {{{replicas}, selector: {{matchLabels: {{app: a}}}}, {TEMPLATE}}}\n"
    )


def replica_set(name: str, *, owner: str = "", replicas: int = 2, revision: int = 1) -> str:
    """A ReplicaSet, perhaps of a Deployment, whose pods carry a hash."""
    owners = f"ownerReferences: [{{kind: Deployment, name: {owner}}}], " if owner else ""
    return (
        f"---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{{owners}name: {name}, "
        f"annotations: {{deployment.kubernetes.io/revision: '{revision}'}}}}\n"
        f"spec: {{replicas: {replicas}, template: {{metadata: {{labels: {{hash: {name}}}}}, "
        "spec: {containers: [{name: c}]}}}\n"
    )


def pod(name: str, *, owner: str, template_hash: str = "", more: str = "") -> str:
    """A pod that "kind/name" owns."""
    kind, _, owner_name = owner.partition("/")
    label = f"labels: {{pod-template-hash: {template_hash}}}, " if template_hash else ""
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {label}{more} "
        f"ownerReferences: [{{kind: {kind}, name: {owner_name}, controller: true}}]}}\n"
        "spec: {nodeName: n, containers: [{name: c}]}\n"
    )


def job(spec: str = "", status: str = "", kind: str = "Job") -> str:
    """A Job."""
    return (
        f"---\napiVersion: batch/v1\nkind: {kind}\nmetadata: {{name: work}}\n"
        f"spec: {{{spec} {TEMPLATE}}}\nstatus: {{{status}}}\n"
    )


def names(snapshot: Snapshot) -> list[str]:
    """The names of pods that were made."""
    return [one.name for one in snapshot.pods if not one.node_name]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(deployment(), ["web-0", "web-1", "web-2"], id="a Deployment"),
        pytest.param(deployment("replicas: 0"), [], id="no replicas"),
        pytest.param(deployment("paused: false"), ["web-0"], id="one replica unless stated"),
        pytest.param(
            deployment(meta="name: web, deletionTimestamp: '2026-01-01T00:00:00Z'"),
            [],
            id="a Deployment on its way out",
        ),
        pytest.param(replica_set("rs"), ["rs-0", "rs-1"], id="a ReplicaSet of its own"),
        pytest.param(
            replica_set("rs", owner="gone"), ["rs-0", "rs-1"], id="its Deployment is not listed"
        ),
        pytest.param(
            deployment() + replica_set("web-x", owner="web"),
            ["web-0", "web-1", "web-2"],
            id="a ReplicaSet of a listed Deployment stands for nothing",
        ),
        pytest.param(
            deployment()
            + replica_set("web-x", owner="web")
            + pod("p", owner="ReplicaSet/web-x")
            + pod("web-0", owner="ReplicaSet/web-x"),
            ["web-1"],
            id="pods of its ReplicaSet are there, one has taken a name",
        ),
        pytest.param(
            deployment() + pod("p", owner="ReplicaSet/web-5f", template_hash="5f"),
            ["web-0", "web-1"],
            id="a ReplicaSet that is not listed is known by its pods' hash",
        ),
        pytest.param(
            deployment() + pod("p", owner="ReplicaSet/other-5f", template_hash="5f"),
            ["web-0", "web-1", "web-2"],
            id="pods of another Deployment do not count",
        ),
        pytest.param(
            deployment()
            + pod(
                "p",
                owner="ReplicaSet/web-5f",
                template_hash="5f",
                more="deletionTimestamp: '2026-01-01T00:00:00Z',",
            ),
            ["web-0", "web-1", "web-2"],
            id="a pod on its way out is replaced",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\n"
            f"spec: {{replicas: 2, selector: {{app: a}}, {TEMPLATE}}}\n"
            + pod("p", owner="ReplicationController/rc"),
            ["rc-0"],
            id="a ReplicationController",
        ),
        pytest.param(job(), ["work-0"], id="a Job"),
        pytest.param(job("parallelism: 3,"), ["work-0", "work-1", "work-2"], id="a work queue"),
        pytest.param(
            job("parallelism: 3, completions: 2,"), ["work-0", "work-1"], id="few completions"
        ),
        pytest.param(
            job("parallelism: 3, completions: 5,", "succeeded: 4"), ["work-0"], id="nearly done"
        ),
        pytest.param(
            job("parallelism: 2, completions: 5,") + pod("p", owner="Job/work"),
            ["work-0"],
            id="one of a Job's pods runs",
        ),
        pytest.param(job("suspend: true,"), [], id="a suspended Job"),
        pytest.param(
            job(status="conditions: [{type: Complete, status: 'True'}]"), [], id="a finished Job"
        ),
        pytest.param(
            job(status="conditions: [{type: Failed, status: 'True'}]"), [], id="a failed Job"
        ),
    ],
)
def test_only_missing_pods_are_made(freeze: Freeze, text: str, want: list[str]) -> None:
    """As many as are wanted and not there, under names that are free."""
    assert names(freeze(text)) == want


@pytest.mark.parametrize(
    ("meta", "spec", "want"),
    [
        pytest.param("", "", ["run-0", "run-1"], id="a manifest stands for one run"),
        pytest.param(", uid: u", "", [], id="in a cluster its Jobs are listed themselves"),
        pytest.param("", "suspend: true, ", [], id="suspended"),
    ],
)
def test_a_cron_job_stands_for_one_run_of_its_manifest(
    freeze: Freeze, meta: str, spec: str, want: list[str]
) -> None:
    """What its author wants to know; a cluster's dump must not count it twice."""
    text = (
        f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: run{meta}}}\n"
        f"spec: {{{spec}schedule: '@daily', "
        f"jobTemplate: {{spec: {{parallelism: 2, {TEMPLATE}}}}}}}\n"
    )
    assert names(freeze(text)) == want


def test_made_pods_carry_what_their_template_says(freeze: Freeze) -> None:
    """Labels, owner and one shared spec."""
    first, second, _ = freeze(deployment(meta="name: web, namespace: shop, uid: u1")).pods
    assert first.spec is second.spec
    assert (first.key, first.labels, first.phase) == ("shop/web-0", {"app": "a"}, "Pending")
    assert first.owner is not None
    assert (first.owner.kind, first.owner.name, first.owner.uid) == ("Deployment", "web", "u1")


def test_missing_pods_are_of_the_newest_generation(freeze: Freeze) -> None:
    """The ReplicaSet of the highest revision says what the next pods are labelled with."""
    text = (
        deployment("replicas: 1")
        + replica_set("web-old", owner="web", revision=9)
        + replica_set("web-new", owner="web", revision=10)
    )
    [made] = freeze(text).pods
    assert made.labels == {"hash": "web-new"}


STATEFUL = (
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
    "spec:\n  replicas: 3\n  ordinals: {start: 1}\n"
    f"  {TEMPLATE}\n"
    "  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast}}]\n"
)


def test_a_stateful_set_keeps_names_and_claims(freeze: Freeze) -> None:
    """Ordinals from its start, less those listed; a claim that is not there will be made."""
    text = (
        STATEFUL
        + pod("db-2", owner="StatefulSet/db")
        + "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-1}\n"
        "spec: {storageClassName: slow, volumeName: v}\n"
    )
    snapshot = freeze(text)
    made = [one for one in snapshot.pods if not one.node_name]
    assert [(one.name, one.claim_names) for one in made] == [
        ("db-1", ("data-db-1",)),
        ("db-3", ("data-db-3",)),
    ]
    claims = {key: one.storage_class for key, one in snapshot.volume_claims.items()}
    assert claims == {"default/data-db-1": "slow", "default/data-db-3": "fast"}


def test_a_listed_pod_of_a_stateful_set_gets_its_claim_too(freeze: Freeze) -> None:
    """Its volumes name the claim, which its set would make."""
    text = STATEFUL + (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: db-1, "
        "ownerReferences: [{kind: StatefulSet, name: db}]}\nspec: {containers: [{name: c}], "
        "volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-1}}]}\n"
    )
    assert freeze(text).volume_claims["default/data-db-1"].storage_class == "fast"


def test_a_daemon_set_makes_no_pods_but_is_known(freeze: Freeze) -> None:
    """With the tolerations that its controller adds to every pod it makes."""
    text = (
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: logs, namespace: sys, uid: d}\n"
        "spec: {template: {metadata: {labels: {app: logs}}, spec: {hostNetwork: true, "
        "priorityClassName: system-node-critical, tolerations: [{operator: Exists, key: x}], "
        "containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}\n"
    )
    snapshot = freeze(text)
    assert snapshot.pods == ()
    [found] = snapshot.daemon_sets
    assert (found.name, found.namespace, found.labels) == ("logs", "sys", {"app": "logs"})
    assert found.spec.requests == {"cpu": 1000, "pods": 1}
    assert found.spec.priority == 2_000_001_000
    assert [one.key.rpartition("/")[2] for one in found.spec.tolerations] == [
        "x",
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
        "network-unavailable",
    ]


def test_selectors_of_controllers_are_known_by_name_and_uid(freeze: Freeze) -> None:
    """Default spread constraints are deduced from them."""
    snapshot = freeze(
        deployment(meta="name: web, uid: u1")
        + "---\napiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\n"
        f"spec: {{replicas: 0, selector: {{app: a}}, {TEMPLATE}}}\n"
    )
    assert sorted(snapshot.owner_selectors) == [
        "Deployment/default/web",
        "ReplicationController/default/rc",
        "u1",
    ]
    assert all(one.matches({"app": "a"}) for one in snapshot.owner_selectors.values())
    assert not any(one.matches({"app": "b"}) for one in snapshot.owner_selectors.values())
