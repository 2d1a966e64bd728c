"""What does the storage group store? Classes of volumes, and what nodes can attach."""

from __future__ import annotations

import msgspec

from dovetail.api.meta import Object, Wire


class TopologySelectorRequirement(Wire, frozen=True):
    """A label and the values allowed for it."""

    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire, frozen=True):
    """Labels that must all be as listed."""

    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(Object, frozen=True):
    """How volumes are made, and where."""

    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Wire, frozen=True):
    """How many volumes fit; None means that the driver knows no limit."""

    count: int | None = None


class CSINodeDriver(Wire, frozen=True):
    """A driver on a node."""

    name: str
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Wire, frozen=True):
    """The drivers on a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object, frozen=True):
    """What storage a node can attach; named as the node."""

    spec: CSINodeSpec = CSINodeSpec()


class VolumeAttachmentSource(Wire, frozen=True):
    """Which volume is attached."""

    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Wire, frozen=True):
    """What is attached where, by whom."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Wire, frozen=True):
    """Whether it is done."""

    attached: bool = False


class VolumeAttachment(Object, frozen=True):
    """A volume on a node."""

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
