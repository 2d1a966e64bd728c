"""Defines the fields of older kinds: Provisioner v1alpha5, NodePool and NodeClaim v1beta1."""

from __future__ import annotations

import msgspec

from dovetail.api.meta import Quantity, Wire

NO_TEXTS: dict[str, str] = {}


class OlderTaint(Wire, frozen=True):
    """A taint."""

    key: str
    effect: str = ""
    value: str | None = None
    time_added: str | None = None


class OlderRequirement(Wire, frozen=True):
    """A requirement of v1alpha5."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class BetaRequirement(OlderRequirement, frozen=True):
    """A requirement of v1beta1."""

    min_values: int | None = None


class OlderKubelet(Wire, frozen=True):
    """Configuration of the kubelet in a Provisioner, NodePool or NodeClaim."""

    cluster_dns: tuple[str, ...] | None = msgspec.field(default=None, name="clusterDNS")
    container_runtime: str | None = None
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: dict[str, Quantity] | None = None
    kube_reserved: dict[str, Quantity] | None = None
    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] | None = None
    eviction_soft_grace_period: dict[str, str] | None = None
    eviction_max_pod_grace_period: int | None = None
    image_gc_high_threshold_percent: int | None = msgspec.field(
        default=None, name="imageGCHighThresholdPercent"
    )
    image_gc_low_threshold_percent: int | None = msgspec.field(
        default=None, name="imageGCLowThresholdPercent"
    )
    cpu_cfs_quota: bool | None = msgspec.field(default=None, name="cpuCFSQuota")


class OlderReference(Wire, frozen=True):
    """A reference to a node template or a node class."""

    name: str = ""
    kind: str = ""
    api_version: str = ""


class OlderLimits(Wire, frozen=True):
    """Limits of a Provisioner; `unready` was counted in v1alpha4."""

    resources: dict[str, Quantity] | None = None
    unready: Quantity | None = None


class OlderConsolidation(Wire, frozen=True):
    """Whether nodes of a Provisioner are consolidated."""

    enabled: bool | None = None


class ProvisionerSpec(Wire, frozen=True):
    """The spec of a Provisioner, with the lists that came before `requirements`."""

    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    taints: tuple[OlderTaint, ...] | None = None
    startup_taints: tuple[OlderTaint, ...] | None = None
    requirements: tuple[OlderRequirement, ...] | None = None
    kubelet_configuration: OlderKubelet | None = None
    provider: dict[str, object] | None = None
    provider_ref: OlderReference | None = None
    ttl_seconds_after_empty: int | None = None
    ttl_seconds_until_expired: int | None = None
    consolidation: OlderConsolidation | None = None
    limits: OlderLimits | None = None
    weight: int | None = None
    architectures: tuple[str, ...] | None = None
    operating_systems: tuple[str, ...] | None = None
    instance_types: tuple[str, ...] | None = None
    zones: tuple[str, ...] | None = None


class OlderMeta(Wire, frozen=True):
    """The metadata that matters here; all others are passed over."""

    name: str = ""
    labels: dict[str, str] = NO_TEXTS
    annotations: dict[str, str] = NO_TEXTS


class Provisioner(Wire, frozen=True):
    """A Provisioner."""

    metadata: OlderMeta
    spec: ProvisionerSpec = ProvisionerSpec()


class BetaTemplateSpec(Wire, frozen=True):
    """What nodes of a NodePool v1beta1 are like."""

    taints: tuple[OlderTaint, ...] | None = None
    startup_taints: tuple[OlderTaint, ...] | None = None
    requirements: tuple[BetaRequirement, ...] = ()
    kubelet: OlderKubelet | None = None
    node_class_ref: OlderReference | None = None
    resources: dict[str, object] | None = None


class BetaTemplate(Wire, frozen=True):
    """What a NodePool v1beta1 makes its nodes from."""

    metadata: OlderMeta = OlderMeta()
    spec: BetaTemplateSpec = BetaTemplateSpec()


class BetaBudget(Wire, frozen=True):
    """A disruption budget of v1beta1."""

    nodes: str | None = None
    schedule: str | None = None
    duration: str | None = None


class BetaDisruption(Wire, frozen=True):
    """When nodes of a NodePool v1beta1 are disrupted."""

    consolidation_policy: str | None = None
    consolidate_after: str | None = None
    expire_after: str | None = None
    budgets: tuple[BetaBudget, ...] | None = None


class BetaPoolSpec(Wire, frozen=True):
    """The spec of a NodePool v1beta1."""

    template: BetaTemplate = BetaTemplate()
    disruption: BetaDisruption | None = None
    limits: dict[str, Quantity] | None = None
    weight: int | None = None


class BetaPool(Wire, frozen=True):
    """A NodePool v1beta1."""

    metadata: OlderMeta
    spec: BetaPoolSpec = BetaPoolSpec()


class BetaClaim(Wire, frozen=True):
    """A NodeClaim v1beta1."""

    metadata: OlderMeta
    spec: BetaTemplateSpec = BetaTemplateSpec()
