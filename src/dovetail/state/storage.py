"""Converts volume claims, volumes and classes, and makes the claims that pods will bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.requirements import Requirement, requirement
from dovetail.model.topology import NodeTerm
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim
from dovetail.state.conversions import node_term
from dovetail.state.shelf import Inventory, namespace_of

_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_EBS: Final = "ebs.csi.aws.com"
_GCE: Final = "pd.csi.storage.gke.io"
_AZURE_DISK: Final = "disk.csi.azure.com"
# Drivers that were once part of Kubernetes, by the name that does their work today.
_TRANSLATED: Final = {
    "kubernetes.io/aws-ebs": _EBS,
    "kubernetes.io/gce-pd": _GCE,
    "kubernetes.io/azure-disk": _AZURE_DISK,
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
_BOUND_PHASES: Final = ("", "Bound")  # without a status nothing speaks against it
_ZONE_SEPARATOR: Final = "__"


def storage_class(wire: api.StorageClass) -> StorageClass:
    """A storage class."""
    return StorageClass(
        name=wire.metadata.name,
        driver=_TRANSLATED.get(wire.provisioner, wire.provisioner),
        is_immediate=wire.volume_binding_mode != "WaitForFirstConsumer",
        is_default=any(wire.metadata.annotations.get(key) == "true" for key in _DEFAULT_CLASS),
        terms=tuple(
            NodeTerm(
                tuple(
                    requirement(match_label_expression.key, "In", match_label_expression.values)
                    for match_label_expression in term.match_label_expressions
                )
            )
            for term in wire.allowed_topologies
            if term.match_label_expressions
        ),
    )


def default_of(classes: Iterable[api.StorageClass]) -> str | None:
    """The class of claims that name none: of several defaults the newest, then by name."""
    defaults = [class_ for class_ in classes if storage_class(class_).is_default]
    if not defaults:
        return None
    newest = min(defaults, key=lambda item: (-_age_key(item), item.metadata.name))
    return newest.metadata.name


def _age_key(wire: api.Object) -> float:
    created_at = wire.metadata.creation_timestamp
    return created_at.timestamp() if created_at else 0.0


def volume(wire: api.PersistentVolume) -> Volume:
    """A volume, with the terms that its node must satisfy."""
    return Volume(
        name=wire.metadata.name,
        driver=_driver(wire.spec),
        terms=_terms(wire),
        is_deleting=wire.metadata.deletion_timestamp is not None,
    )


def _driver(spec: api.core.PersistentVolumeSpec) -> str:
    if spec.csi is not None:
        return spec.csi.driver
    in_tree = (
        (spec.aws_elastic_block_store, _EBS),
        (spec.gce_persistent_disk, _GCE),
        (spec.azure_disk, _AZURE_DISK),
    )
    return next((driver for source, driver in in_tree if source is not None), "")


def _terms(wire: api.PersistentVolume) -> tuple[NodeTerm, ...]:
    """Alternatives. Where a volume is tied to a host, another host can take its place, so host
    names are taken out; an alternative that asks for nothing else frees the whole volume.
    """
    affinity = wire.spec.node_affinity
    required = affinity.required if affinity is not None else None
    zones = tuple(_zone_labels(wire.metadata.labels))
    terms = [node_term(term) for term in required.node_selector_terms] if required else [NodeTerm()]
    if wire.spec.local is not None or wire.spec.host_path is not None:
        terms = [_without_hosts(term) for term in terms]
    terms = [NodeTerm((*term.expressions, *zones), term.fields) for term in terms]
    is_free = any(not term.expressions and not term.fields for term in terms)
    return () if is_free else tuple(terms)


def _without_hosts(term: NodeTerm) -> NodeTerm:
    kept = tuple(expression for expression in term.expressions if expression.key != labels.HOSTNAME)
    return NodeTerm(kept)


def _zone_labels(own: Mapping[str, str]) -> Iterator[Requirement]:
    """Zone and region labels bind a volume too; several zones are written with two underscores."""
    by_key = {labels.normalize(key): value for key, value in own.items()}
    for key in (labels.REGION, labels.ZONE):
        if key in by_key:
            yield Requirement(key, False, frozenset(by_key[key].split(_ZONE_SEPARATOR)))


def listed_claim(wire: api.PersistentVolumeClaim) -> VolumeClaim:
    """A claim, with the class that it names itself."""
    meta = wire.metadata
    return VolumeClaim(
        name=meta.name,
        namespace=namespace_of(wire),
        storage_class=wire.spec.storage_class_name,
        volume_name=wire.spec.volume_name,
        is_lost=wire.status.phase == "Lost",
        is_deleting=meta.deletion_timestamp is not None,
        is_bind_completed=_BIND_COMPLETED in meta.annotations or wire.status.phase in _BOUND_PHASES,
    )


def with_class(claim: VolumeClaim, default: str | None) -> VolumeClaim:
    """The claim with the cluster's default class, if that is the one it will get."""
    if default is None or claim.storage_class is not None or claim.volume_name:
        return claim
    return msgspec.structs.replace(claim, storage_class=default)


class Claims:
    """Every claim, listed or to be made with its pod, by "namespace/name"."""

    def __init__(self, inventory: Inventory) -> None:
        self._default_class = default_of(inventory.all(api.StorageClass))
        self.by_key: dict[str, VolumeClaim] = {}
        for wire in inventory.all(api.PersistentVolumeClaim):
            claim = with_class(listed_claim(wire), self._default_class)
            self.by_key[f"{claim.namespace}/{claim.name}"] = claim

    def expect(self, namespace: str, name: str, template: api.VolumeClaimTemplate) -> None:
        """A claim that will be made with its pod, unless it is there already."""
        key = f"{namespace}/{name}"
        if key not in self.by_key:
            spec = template.spec
            claim = VolumeClaim(name, namespace, spec.storage_class_name, spec.volume_name)
            self.by_key[key] = with_class(claim, self._default_class)

    def expect_ephemeral(
        self, namespace: str, pod: str, volumes: Iterable[api.core.PodVolume]
    ) -> None:
        """The claims of a pod's generic ephemeral volumes."""
        for item in volumes:
            if item.ephemeral is not None:
                self.expect(namespace, f"{pod}-{item.name}", item.ephemeral.volume_claim_template)

    def sorted(self) -> dict[str, VolumeClaim]:
        """By namespace and name."""
        return dict(sorted(self.by_key.items()))
