"""Provisions volumes, and computes what a pod's volumes require of its node.

A claim that waits for its first consumer gets a volume when its pod is bound: in the node's zone,
as most drivers make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.decide.volumes import pod_volumes
from dovetail.kube.errors import AlreadyExistsError
from dovetail.kube.seam import Body, Json, Kube, Patch, Ref
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Problem
from dovetail.model.volumes import PodVolumes, Volume
from dovetail.state.storage import default_of, listed_claim, storage_class, volume, with_class

CLAIM: Final = api.KINDS["", "PersistentVolumeClaim"]
VOLUME: Final = api.KINDS["", "PersistentVolume"]
CLASS: Final = api.KINDS["storage.k8s.io", "StorageClass"]
_BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes"}


class Storage:
    """All claims, volumes and classes of a cluster."""

    def __init__(self, objects: Iterable[api.Object]) -> None:
        listed = list(objects)
        classes = [item for item in listed if isinstance(item, api.StorageClass)]
        default = default_of(classes)
        claims = [
            with_class(listed_claim(item), default)
            for item in listed
            if isinstance(item, api.PersistentVolumeClaim)
        ]
        volumes = [_volume(item) for item in listed if isinstance(item, api.PersistentVolume)]
        self._snapshot = Snapshot(
            volume_claims={f"{claim.namespace}/{claim.name}": claim for claim in claims},
            volumes={item.name: item for item in volumes},
            storage_classes={class_.metadata.name: storage_class(class_) for class_ in classes},
        )

    def needs_of(self, pod: Pod) -> PodVolumes | Problem:
        """What the pod's volumes ask of its node, or why they cannot be had."""
        return pod_volumes(pod, self._snapshot)

    def attached_claims(self, pods: Iterable[Pod]) -> Mapping[str, frozenset[str]]:
        """The claims that pods on a node have attached there, by driver."""
        result: dict[str, frozenset[str]] = {}
        for pod in pods:
            asked = self.needs_of(pod) if pod.claim_names else None
            if isinstance(asked, PodVolumes):
                for driver, claims in asked.attachments:
                    result[driver] = result.get(driver, frozenset()).union(claims)
        return result

    async def provision(self, kube: Kube, pod: Pod, node: Node) -> None:
        """Make the volumes that waited for this pod. Raises ApiError."""
        for name in sorted(set(pod.claim_names)):
            claim = self._snapshot.volume_claims.get(f"{pod.namespace}/{name}")
            if claim is not None and not claim.volume_name:
                storage_class = self._snapshot.storage_classes.get(claim.storage_class or "")
                driver = storage_class.driver if storage_class is not None else ""
                await _bind_claim(kube, Ref(CLAIM, name, pod.namespace), driver, node)


def _volume(wire: api.PersistentVolume) -> Volume:
    """A volume as kube-scheduler sees it: a local one stays on its host."""
    spec = msgspec.structs.replace(wire.spec, local=None, host_path=None)
    return volume(msgspec.structs.replace(wire, spec=spec))


async def _bind_claim(kube: Kube, ref: Ref, driver: str, node: Node) -> None:
    claim = api.decode(api.PersistentVolumeClaim, await kube.get(ref))
    name = f"pvc-{claim.metadata.uid}"
    zone: Json = {"key": labels.ZONE, "operator": "In", "values": [node.zone]}
    terms: Json = [{"matchExpressions": [zone]}]
    spec: dict[str, Json] = {
        "capacity": {name: str(text) for name, text in claim.spec.resources.requests.items()},
        "accessModes": list(claim.spec.access_modes),
        "storageClassName": claim.spec.storage_class_name or "",
        "csi": {"driver": driver, "volumeHandle": name},
        "claimRef": {"kind": ref.kind.name, "name": ref.name, "namespace": ref.namespace},
        "persistentVolumeReclaimPolicy": "Delete",
    }
    if node.zone:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    body: Body = {"apiVersion": "v1", "kind": VOLUME.name, "metadata": {"name": name}, "spec": spec}
    with suppress(AlreadyExistsError):  # an earlier try came so far
        await kube.create(VOLUME, body)
    bound: Json = {"phase": "Bound"}
    await kube.patch(Ref(VOLUME, name), Patch({"status": bound}, subresource="status"))
    annotations: dict[str, Json] = {**_BOUND}
    meta: Json = {"annotations": annotations}
    await kube.patch(ref, Patch({"metadata": meta, "spec": {"volumeName": name}}))
    await kube.patch(ref, Patch({"status": bound}, subresource="status"))
