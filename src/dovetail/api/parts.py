"""What does a pod's template say, fully typed? The parts that `PodSpec` keeps undecoded.

Pods of one template share these, so they are decoded once per template (see `PodSpec.content`).
"""

from __future__ import annotations

import msgspec

from dovetail.api.meta import (
    NO_LABELS,
    NO_RESOURCES,
    LabelSelector,
    ResourceList,
    Wire,
)


class ResourceClaimName(Wire, frozen=True):
    """A container's use of one of its pod's resource claims."""

    name: str = ""


class ResourceRequirements(Wire, frozen=True):
    """What a container, a pod or a volume claim asks for."""

    requests: ResourceList = NO_RESOURCES
    limits: ResourceList = NO_RESOURCES
    claims: tuple[ResourceClaimName, ...] = ()


class ContainerPort(Wire, frozen=True):
    """A port of a container; only those with a host port matter to scheduling."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Wire, frozen=True):
    """A container, as far as it takes room on a node."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class Toleration(Wire, frozen=True):
    """A taint that a pod puts up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSelectorRequirement(Wire, frozen=True):
    """One expression of a node selector term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire, frozen=True):
    """Expressions that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Wire, frozen=True):
    """A node selector term that is wished for."""

    preference: NodeSelectorTerm
    weight: int = 0


class NodeAffinity(Wire, frozen=True):
    """Which nodes a pod needs, and which it would like."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Wire, frozen=True):
    """The pods meant, and how far "together" reaches."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A pod affinity term that is wished for."""

    pod_affinity_term: PodAffinityTerm
    weight: int = 0


class PodAffinity(Wire, frozen=True):
    """Which pods a pod needs near it (or, as anti-affinity, away from it)."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Wire, frozen=True):
    """All of a pod's affinities."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    """How evenly pods must lie over the values of a label."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(Wire, frozen=True):
    """Something that must be lifted before a pod may be scheduled."""

    name: str = ""


class PodResourceClaim(Wire, frozen=True):
    """A dynamically allocated device that a pod needs."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodParts(Wire, frozen=True):
    """Everything of a pod that its template fixes and scheduling reads."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    node_selector: dict[str, str] = NO_LABELS
    overhead: ResourceList = NO_RESOURCES
    resources: ResourceRequirements | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
