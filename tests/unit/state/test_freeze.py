"""The snapshot: everything sorted, nothing beside the point."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from dovetail.model.pod import Owner
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Service, Snapshot
from dovetail.state.freeze import snapshot
from tests.unit.state.conftest import objects_of

Freeze = Callable[[str], Snapshot]


def pod(meta: str = "", spec: str = "", status: str = "") -> str:
    """A pod named p."""
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, {meta}}}\n"
        f"spec: {{{spec} containers: [{{name: c}}]}}\nstatus: {{{status}}}\n"
    )


CLUSTER = """
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop}
spec: {containers: [{name: c}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec: {containers: [{name: c}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: z, namespace: shop}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: y, namespace: shop}
---
apiVersion: v1
kind: Service
metadata: {name: s2, namespace: shop}
spec: {selector: {app: a}}
---
apiVersion: v1
kind: Service
metadata: {name: s1, namespace: shop}
spec: {selector: {app: b}}
---
apiVersion: v1
kind: Service
metadata: {name: external, namespace: shop}
"""


def test_order_of_input_does_not_matter() -> None:
    """The same objects make the same snapshot, down to the order of everything in it."""
    objects = objects_of(CLUSTER)
    want = snapshot(objects, instance_types=lambda _: ())
    assert [one.name for one in want.pods] == ["a", "b", "web-0", "web-1"]
    assert [one.name for one in want.nodes] == ["n1", "n2"]
    assert list(want.volume_claims) == ["shop/b-v", "shop/y", "shop/z"]
    for turn in range(len(objects)):
        turned = [*objects[turn:], *reversed(objects[:turn])]
        got = snapshot(turned, instance_types=lambda _: ())
        assert got == want
        assert repr(got) == repr(want)


def test_namespaces_carry_their_name_as_a_label(freeze: Freeze) -> None:
    """Declared or merely used, as the API server labels them."""
    got = freeze(CLUSTER + pod("namespace: other"))
    assert got.namespaces == {
        "other": {"kubernetes.io/metadata.name": "other"},
        "shop": {"team": "a", "kubernetes.io/metadata.name": "shop"},
    }


def test_services_without_a_selector_select_nobody(freeze: Freeze) -> None:
    """Only those with one can say anything about pods."""
    assert freeze(CLUSTER).services == (
        Service("s1", "shop", {"app": "b"}),
        Service("s2", "shop", {"app": "a"}),
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(pod(), 1, id="waiting"),
        pytest.param(pod(status="phase: Succeeded"), 0, id="over"),
        pytest.param(pod("deletionTimestamp: '2026-01-01T00:00:00Z'"), 0, id="leaving"),
        pytest.param(pod("ownerReferences: [{kind: DaemonSet, name: d}]"), 0, id="a daemon's"),
        pytest.param(pod("ownerReferences: [{kind: Node, name: n}]"), 0, id="a mirror pod"),
        pytest.param(
            pod("deletionTimestamp: '2026-01-01T00:00:00Z'", "nodeName: n,"), 1, id="bound, leaving"
        ),
        pytest.param(
            pod("ownerReferences: [{kind: DaemonSet, name: d}]", "nodeName: n,"),
            1,
            id="a bound daemon's",
        ),
    ],
)
def test_unbound_pods_that_nothing_waits_for_are_left_out(
    freeze: Freeze, text: str, want: int
) -> None:
    """Bound ones take room, whatever they are."""
    assert len(freeze(text).pods) == want


def test_a_listed_pod_keeps_what_makes_it_this_pod(freeze: Freeze) -> None:
    """Identity, place, owner and moments, and annotations that decisions read."""
    [got] = freeze(
        pod(
            "uid: u, labels: {a: b}, annotations: {c: d, karpenter.sh/do-not-disrupt: 'true'}, "
            "creationTimestamp: '2026-01-01T01:00:00+01:00', "
            "ownerReferences: [{kind: X, name: x}, {kind: ReplicaSet, name: r, uid: ru, "
            "apiVersion: apps/v1, controller: true}]",
            "nodeName: n,",
            "phase: Running, startTime: '2026-01-02T00:00:00Z', nominatedNodeName: m, "
            "conditions: [{type: Ready, status: 'False'}]",
        )
    ).pods
    assert (got.key, got.uid, got.labels, got.annotations) == (
        "default/p",
        "u",
        {"a": "b"},
        {"karpenter.sh/do-not-disrupt": "true"},
    )
    assert (got.node_name, got.nominated_node_name, got.phase) == ("n", "m", "Running")
    assert got.owner == Owner("ReplicaSet", "r", "ru", "apps/v1")
    assert got.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert got.started_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert not got.is_ready


def test_a_manifests_pod_gets_its_namespaces_defaults(freeze: Freeze) -> None:
    """A pod without a uid was never near an API server; one with a uid was."""
    limits = (
        "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\n"
        "spec: {limits: [{type: Container, defaultRequest: {cpu: 1}}]}\n"
    )
    assert freeze(pod() + limits).pods[0].spec.requests == {"cpu": 1000, "pods": 1}
    assert freeze(pod("uid: u") + limits).pods[0].spec.requests == {"pods": 1}


def test_pools_are_asked_for_their_types() -> None:
    """By name; policy and revision are passed on."""
    pool = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: x}\nspec: {template: "
        "{spec: {requirements: [], nodeClassRef: {group: g, kind: K, name: n}}}}\n"
    )
    asked: list[str] = []

    def types(of: object) -> tuple[()]:
        asked.append(str(getattr(of, "name", "")))
        return ()

    policy = Policy(effort=3)
    got = snapshot(objects_of(pool), instance_types=types, policy=policy, revision=9)
    assert asked == ["x"]
    assert got.instance_types == {"x": ()}
    assert (got.policy, got.revision) == (policy, 9)
