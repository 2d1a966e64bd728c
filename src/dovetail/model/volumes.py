"""Defines volume claims, volumes and storage classes, as far as they limit where a pod may run."""

from __future__ import annotations

import msgspec

from dovetail.model.topology import NodeTerm


class VolumeClaim(msgspec.Struct, frozen=True, gc=False):
    """A PersistentVolumeClaim. `storage_class` None means none was named (not even a default)."""

    name: str
    namespace: str
    storage_class: str | None = None
    volume_name: str = ""
    is_lost: bool = False
    is_deleting: bool = False
    is_bind_completed: bool = True


class Volume(msgspec.Struct, frozen=True, gc=False):
    """A PersistentVolume. `terms` are alternatives; host names of local volumes are taken out."""

    name: str
    driver: str = ""
    terms: tuple[NodeTerm, ...] = ()
    is_deleting: bool = False


class StorageClass(msgspec.Struct, frozen=True, gc=False):
    """A StorageClass. `terms` are its allowedTopologies, alternatives; empty allows everything."""

    name: str
    driver: str = ""
    is_immediate: bool = False
    is_default: bool = False
    terms: tuple[NodeTerm, ...] = ()


class PodVolumes(msgspec.Struct, frozen=True, gc=False):
    """What a pod's volumes ask of its node: every list of alternatives must have one that holds.

    `attachments` counts volumes by CSI driver; `claims` are their ids ("namespace/name"), since a
    claim that two pods share is attached to a node once.
    """

    alternatives: tuple[tuple[NodeTerm, ...], ...] = ()
    attachments: tuple[tuple[str, tuple[str, ...]], ...] = ()


NO_VOLUMES = PodVolumes()
