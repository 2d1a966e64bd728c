"""CapacityBuffers: virtual pods that room is kept for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail import api, labels
from dovetail.model.snapshot import Snapshot
from dovetail.state.buffers import MOST_PODS, n_pods

Freeze = Callable[[str], Snapshot]

TEMPLATE = (
    "template: {metadata: {labels: {app: a}, annotations: {x: y}}, spec: "
    "{priorityClassName: gone, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], "
    "containers: [{name: c, resources: {requests: {cpu: 500m}}}]}}"
)
POD_TEMPLATE = f"---\napiVersion: v1\nkind: PodTemplate\nmetadata: {{name: t}}\n{TEMPLATE}\n"


def workload(kind: str = "Deployment", replicas: str = "replicas: 0") -> str:
    """A workload named w."""
    return (
        f"---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\n"
        f"spec: {{{replicas}, {TEMPLATE}}}\n"
    )


def buffer(spec: str, meta: str = "") -> str:
    """A CapacityBuffer named b."""
    return (
        "---\napiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\n"
        f"metadata: {{name: b{meta}}}\nspec: {{{spec}}}\n"
    )


def kept(snapshot: Snapshot) -> list[str]:
    """The names of virtual pods."""
    return [one.name for one in snapshot.pods if labels.BUFFER_FAKE_POD in one.annotations]


TEMPLATE_REF = "podTemplateRef: {name: t}"
SCALABLE_REF = "scalableRef: {apiGroup: apps, kind: Deployment, name: w}"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, replicas: 2"), 2, id="a number"),
        pytest.param(
            POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, limits: {{cpu: 1800m, memory: 1}}"),
            3,
            id="limits alone",
        ),
        pytest.param(
            POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, limits: {{memory: 1Gi}}"),
            0,
            id="limits on what the pods do not ask for",
        ),
        pytest.param(
            POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, replicas: 9, limits: {{cpu: 1}}"),
            2,
            id="a number within limits",
        ),
        pytest.param(buffer(f"{TEMPLATE_REF}, replicas: 2"), 0, id="no such template"),
        pytest.param(
            workload(replicas="replicas: 5") + buffer(f"{SCALABLE_REF}, percentage: 30"),
            2,
            id="a share is rounded up",
        ),
        pytest.param(
            workload(replicas="replicas: 10")
            + buffer(f"{SCALABLE_REF}, percentage: 20, replicas: 1"),
            2,
            id="the larger of share and number",
        ),
        pytest.param(
            workload() + buffer(f"{SCALABLE_REF}, percentage: 50"), 0, id="a share of nothing"
        ),
        pytest.param(
            workload("StatefulSet")
            + buffer("scalableRef: {apiGroup: apps, kind: StatefulSet, name: w}, replicas: 1"),
            1,
            id="of a StatefulSet",
        ),
        pytest.param(
            workload("ReplicaSet")
            + buffer("scalableRef: {kind: ReplicaSet, name: w}, replicas: 1"),
            1,
            id="of a ReplicaSet",
        ),
        pytest.param(
            workload() + buffer("scalableRef: {kind: Widget, name: w}, replicas: 1"),
            0,
            id="of something else",
        ),
        pytest.param(
            workload()
            + buffer("scalableRef: {apiGroup: x, kind: Deployment, name: w}, replicas: 1"),
            0,
            id="of another group",
        ),
        pytest.param(
            POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, replicas: 2, provisioningStrategy: other"),
            0,
            id="kept by somebody else",
        ),
        pytest.param(
            POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, replicas: 1", ", namespace: other"),
            0,
            id="a template of another namespace",
        ),
    ],
)
def test_a_buffer_stands_for_as_many_pods_as_it_keeps_room_for(
    freeze: Freeze, text: str, want: int
) -> None:
    """Number, share and limits, as the specification counts them."""
    assert kept(freeze(text)) == [f"capacity-buffer-b-{at}" for at in range(want)]


def test_virtual_pods_come_last_and_hold_nothing(freeze: Freeze) -> None:
    """The lowest priority there is, no volumes, and annotations that say whose they are and
    nothing else: the template's are about pods.
    """
    [got] = freeze(POD_TEMPLATE + buffer(f"{TEMPLATE_REF}, replicas: 1", ", uid: u")).pods
    assert (got.uid, got.labels, got.claim_names) == ("u-0", {"app": "a"}, ())
    assert got.spec.priority == -(2**31)
    assert got.spec.requests == {"cpu": 500, "pods": 1}
    assert got.problems == ()
    assert got.owner is None
    assert got.annotations == {
        labels.BUFFER_FAKE_POD: "true",
        labels.BUFFER_NAME: "b",
        labels.BUFFER_NAMESPACE: "default",
    }


def test_a_limit_alone_does_not_make_pods_without_end() -> None:
    """However large the limit and however small the pod."""
    spec = api.autoscaling.CapacityBufferSpec(limits={"cpu": "1E"})
    assert n_pods(spec, 0, {"cpu": 1}) == MOST_PODS
