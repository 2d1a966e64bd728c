"""kubectl describe shows what was told, on a real API server."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from dovetail.clock import LoopTimer, SystemClock
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.observe.events import Recorder
from tests.conformance.kube.real import HttpServer
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.xdist_group("controlplane")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "described"}}
POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "described"},
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {
                    "group": "karpenter.kwok.sh",
                    "kind": "KWOKNodeClass",
                    "name": "x",
                },
                "requirements": [],
            }
        }
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "described", "namespace": "kube-public"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "described"},
}


def made(plane: ControlPlane, tree: Mapping[str, object]) -> str:
    """The uid of the object, which is there now."""
    text = plane.kubectl("create", "-f", "-", "-o", "json", given=json.dumps(tree))
    uid: str = json.loads(text)["metadata"]["uid"]
    return uid


async def test_kubectl_describe_shows_what_was_told(plane: ControlPlane) -> None:
    """Of a Node, a NodePool and a pod; also when nobody told the uid."""
    made(plane, NODE)
    pool_uid, pod_uid = made(plane, POOL), made(plane, POD)
    try:
        async with HttpServer(plane).open() as kube:
            recorder = Recorder(kube, SystemClock(), LoopTimer())
            recorder.tell(Event("Node", "described", "FailedDraining", "said of the Node"))
            recorder.tell(Event("NodePool", "described", "Ready", "said of it", uid=pool_uid))
            recorder.tell(
                Event(
                    "Pod",
                    "kube-public/described",
                    "FailedScheduling",
                    "said of the pod",
                    EventType.WARNING,
                    uid=pod_uid,
                )
            )
            await recorder.close()
        assert "said of the Node" in plane.kubectl("describe", "node", "described")
        assert "said of it" in plane.kubectl("describe", "nodepool", "described")
        shown = plane.kubectl("describe", "pod", "described", "-n", "kube-public")
        assert "Warning  FailedScheduling" in shown
        assert "karpenter  said of the pod" in shown
    finally:
        plane.kubectl("delete", "pod/described", "-n", "kube-public", "--force")
        plane.kubectl("delete", "node/described", "nodepool/described")
