"""What does the core group store? Pods, nodes, volumes, namespaces and what shapes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeVar

import msgspec

from dovetail.api.decoding import decode_at, encode, join
from dovetail.api.facts import A_QUALIFIED_NAME, QUALIFIED_NAME, about
from dovetail.api.meta import (
    ABSENT,
    NO_LABELS,
    NO_RESOURCES,
    Condition,
    Object,
    ObjectMeta,
    ResourceList,
    Wire,
)
from dovetail.api.parts import (
    Affinity,
    Container,
    ContainerPort,
    NodeSelector,
    PodParts,
    PodResourceClaim,
    PodSchedulingGate,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)


class Taint(Wire, frozen=True):
    """A mark on a node that keeps pods away."""

    key: Annotated[
        str,
        about(
            "What the taint is called.",
            pattern=QUALIFIED_NAME,
            min_length=1,
            expected=A_QUALIFIED_NAME,
        ),
    ]
    effect: Annotated[
        str,
        about(
            "What it does to pods that do not tolerate it.",
            enum=("NoSchedule", "PreferNoSchedule", "NoExecute"),
        ),
    ]
    value: Annotated[
        str,
        about(
            "What the taint says, beyond its name.",
            pattern=QUALIFIED_NAME,
            expected=A_QUALIFIED_NAME,
        ),
    ] = ""
    time_added: Annotated[datetime | None, about("When the taint was put on.")] = None


class RawContainer(Wire, frozen=True):
    """A container whose template-fixed parts are left undecoded. Volume mounts, which name each
    pod's own token volume, are passed over, so that pods of one template stay equal.
    """

    name: str = ""
    resources: msgspec.Raw = ABSENT
    ports: msgspec.Raw = ABSENT
    restart_policy: str = ""


class ClaimVolumeSource(Wire, frozen=True):
    """A volume that is an existing claim."""

    claim_name: str = ""
    read_only: bool = False


class VolumeClaimSpec(Wire, frozen=True):
    """What a claim asks for. No storage class at all is not the same as the empty one."""

    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()


class VolumeClaimTemplate(Wire, frozen=True):
    """A claim to be made for a pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeClaimSpec = VolumeClaimSpec()


class EphemeralVolumeSource(Wire, frozen=True):
    """A volume whose claim is made with the pod, named POD-VOLUME."""

    volume_claim_template: VolumeClaimTemplate = VolumeClaimTemplate()


class PodVolume(Wire, frozen=True):
    """A volume of a pod, as far as it involves a claim."""

    name: str = ""
    persistent_volume_claim: ClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None


class PodSpec(Wire, frozen=True):
    """A pod's wishes. What its template fixes is kept as it came, to be compared by content and
    decoded once per template: `content` tells templates apart, `parts` decodes one.
    """

    containers: tuple[RawContainer, ...] = ()
    init_containers: tuple[RawContainer, ...] = ()
    affinity: msgspec.Raw = ABSENT
    tolerations: msgspec.Raw = ABSENT
    topology_spread_constraints: msgspec.Raw = ABSENT
    node_selector: msgspec.Raw = ABSENT
    overhead: msgspec.Raw = ABSENT
    resources: msgspec.Raw = ABSENT
    scheduling_gates: msgspec.Raw = ABSENT
    resource_claims: msgspec.Raw = ABSENT
    priority: int | None = None
    priority_class_name: str = ""
    scheduler_name: str = ""
    runtime_class_name: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    host_network: bool = False
    restart_policy: str = ""
    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()

    def content(self) -> bytes:
        """Equal for pods whose template-fixed parts are equal: everything but node, volumes
        and deadline.
        """
        return encode(
            (
                self.containers,
                self.init_containers,
                self.affinity,
                self.tolerations,
                self.topology_spread_constraints,
                self.node_selector,
                self.overhead,
                self.resources,
                self.scheduling_gates,
                self.resource_claims,
                self.priority,
                self.priority_class_name,
                self.scheduler_name,
                self.runtime_class_name,
                self.termination_grace_period_seconds,
                self.host_network,
                self.restart_policy,
            )
        )

    def parts(self, field: str = "spec") -> PodParts:
        """What the template fixes, typed. Raises DecodeError with a path below `field`."""
        return PodParts(
            containers=_containers(self.containers, join(field, "containers")),
            init_containers=_containers(self.init_containers, join(field, "initContainers")),
            affinity=_part(field, "affinity", self.affinity, Affinity),
            tolerations=_list(field, "tolerations", self.tolerations, Toleration),
            topology_spread_constraints=_list(
                field,
                "topologySpreadConstraints",
                self.topology_spread_constraints,
                TopologySpreadConstraint,
            ),
            node_selector=_part(field, "nodeSelector", self.node_selector, dict[str, str]) or {},
            overhead=_part(field, "overhead", self.overhead, ResourceList) or {},
            resources=_part(field, "resources", self.resources, ResourceRequirements),
            scheduling_gates=_list(
                field, "schedulingGates", self.scheduling_gates, PodSchedulingGate
            ),
            resource_claims=_list(field, "resourceClaims", self.resource_claims, PodResourceClaim),
        )


def _containers(raw: tuple[RawContainer, ...], field: str) -> tuple[Container, ...]:
    return tuple(
        Container(
            name=part.name,
            resources=_part(f"{field}[{at}]", "resources", part.resources, ResourceRequirements)
            or ResourceRequirements(),
            ports=_list(f"{field}[{at}]", "ports", part.ports, ContainerPort),
            restart_policy=part.restart_policy,
        )
        for at, part in enumerate(raw)
    )


T = TypeVar("T")


def _part(field: str, name: str, raw: msgspec.Raw, wire_type: type[T]) -> T | None:
    if _is_absent(raw):
        return None
    return decode_at(join(field, name), wire_type, raw)


def _list(field: str, name: str, raw: msgspec.Raw, item: type[T]) -> tuple[T, ...]:
    if _is_absent(raw):
        return ()
    return decode_at(join(field, name), tuple[item, ...], raw)  # type: ignore[valid-type]  # item is a type held in a variable


def _is_absent(raw: msgspec.Raw) -> bool:
    return bytes(raw) in {b"", b"null"}


class ContainerStatus(Wire, frozen=True):
    """What a running container was given, which a resize may have changed."""

    name: str = ""
    allocated_resources: ResourceList = NO_RESOURCES
    resources: ResourceRequirements | None = None


class PodStatus(Wire, frozen=True):
    """How a pod is doing."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: datetime | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object, frozen=True):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(Wire, frozen=True):
    """What a workload's pods are made from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class PodTemplate(Object, frozen=True):
    """A template on its own."""

    template: PodTemplateSpec = PodTemplateSpec()


class ReplicationControllerSpec(Wire, frozen=True):
    """How many of what."""

    replicas: int | None = None
    selector: dict[str, str] = NO_LABELS
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicationController(Object, frozen=True):
    """The oldest of the workloads."""

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class NodeSpec(Wire, frozen=True):
    """What is wanted of a node."""

    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False


class NodeStatus(Wire, frozen=True):
    """How a node is doing."""

    capacity: ResourceList = NO_RESOURCES
    allocatable: ResourceList = NO_RESOURCES
    conditions: tuple[Condition, ...] = ()


class Node(Object, frozen=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Phase(Wire, frozen=True):
    """A status of which only the phase is read."""

    phase: str = ""


class PersistentVolumeClaim(Object, frozen=True):
    """A claim to storage."""

    spec: VolumeClaimSpec = VolumeClaimSpec()
    status: Phase = Phase()


class CSIVolumeSource(Wire, frozen=True):
    """A volume that a CSI driver attaches."""

    driver: str = ""
    volume_handle: str = ""


class VolumeSource(Wire, frozen=True):
    """A volume of some built-in kind; that it is there is all that matters."""


class VolumeNodeAffinity(Wire, frozen=True):
    """From where a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True):
    """What a volume is, and from where it can be reached."""

    csi: CSIVolumeSource | None = None
    local: VolumeSource | None = None
    host_path: VolumeSource | None = None
    aws_elastic_block_store: VolumeSource | None = None
    gce_persistent_disk: VolumeSource | None = None
    azure_disk: VolumeSource | None = None
    node_affinity: VolumeNodeAffinity | None = None
    storage_class_name: str = ""


class PersistentVolume(Object, frozen=True):
    """A piece of storage."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()


class Namespace(Object, frozen=True):
    """A namespace; its labels are what selectors read."""

    status: Phase = Phase()


class ServiceSpec(Wire, frozen=True):
    """Which pods a service sends to."""

    selector: dict[str, str] = NO_LABELS


class Service(Object, frozen=True):
    """A service."""

    spec: ServiceSpec = ServiceSpec()


class LimitRangeItem(Wire, frozen=True):
    """Defaults and bounds for one kind of thing in a namespace."""

    type: str = ""
    default: ResourceList = NO_RESOURCES
    default_request: ResourceList = NO_RESOURCES
    min: ResourceList = NO_RESOURCES
    max: ResourceList = NO_RESOURCES


class LimitRangeSpec(Wire, frozen=True):
    """All defaults and bounds."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Object, frozen=True):
    """What containers of a namespace get when they ask for nothing."""

    spec: LimitRangeSpec = LimitRangeSpec()
