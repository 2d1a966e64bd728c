"""Who makes volumes where no storage driver is installed? A stand-in for a provisioner.

It does what a driver's provisioner does for claims that wait for their first consumer: once
kube-scheduler has chosen a node, a volume is made in the node's zone; kube-controller-manager binds
the two.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.controlplane.plane import ControlPlane
from tests.e2e.live import objects
from tests.e2e.manifests import ZONE, Tree, listed, requirement

DRIVER = "disks.dovetail.test"
CLASS = "dovetail-disks"
_SELECTED = "volume.kubernetes.io/selected-node"
_PERIOD_SECONDS = 0.5


def storage_class(labels: dict[str, str]) -> Tree:
    """Disks that are made where their first consumer goes."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS, "labels": labels},
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(name: str) -> Tree:
    """A disk that is wanted."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": CLASS,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


@contextmanager
def provisioning(plane: ControlPlane, namespace: str, labels: dict[str, str]) -> Iterator[None]:
    """Make volumes for the claims of a namespace, for as long as the block lasts."""
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(_PERIOD_SECONDS):
            _provision(plane, namespace, labels)

    worker = threading.Thread(target=work, name="provisioner")
    worker.start()
    try:
        yield
    finally:
        is_over.set()
        worker.join()


def _provision(plane: ControlPlane, namespace: str, labels: dict[str, str]) -> None:
    claims = objects(plane, "persistentvolumeclaims", "-n", namespace)
    waiting = [
        one
        for one in claims
        if "volumeName" not in one["spec"] and _SELECTED in one["metadata"].get("annotations", {})
    ]
    if not waiting:
        return
    zones = {
        one["metadata"]["name"]: one["metadata"]["labels"].get(ZONE, "")
        for one in objects(plane, "nodes")
    }
    made = [
        _volume(one, zones[one["metadata"]["annotations"][_SELECTED]], labels) for one in waiting
    ]
    plane.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(listed(made)))


def _volume(wanted: dict[str, Any], zone: str, labels: dict[str, str]) -> Tree:
    meta = wanted["metadata"]
    terms = [{"matchExpressions": [requirement(ZONE, "In", zone)]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{meta['uid']}", "labels": labels},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "storageClassName": CLASS,
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
            },
            "csi": {"driver": DRIVER, "volumeHandle": meta["uid"]},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
