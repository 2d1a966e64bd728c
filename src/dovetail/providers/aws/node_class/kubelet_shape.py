"""Defines the keys of `spec.kubelet` that the API server checks; other keys are let through."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec

from dovetail.api.facts import Facts, Rule, about
from dovetail.api.meta import IntOrString, Wire
from dovetail.providers.aws.node_class import rules
from dovetail.providers.aws.node_class.kubelet_keys import RESOURCES, SIGNALS

_MOST: Final = 2**31 - 1
_NUMBER: Final = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
THRESHOLD: Final = (
    rf"^(([0-9]{{1,2}}(\.[0-9]{{1,2}})?|100(\.0{{1,2}})?)%"
    rf"|\+?{_NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?)$"
)
_GRACE_PERIOD: Final = rf"^\+?(0|({_NUMBER}(ns|us|µs|μs|ms|s|m|h))+)$"
_NO_TEXTS: Final[dict[str, str]] = {}

Threshold = Annotated[
    str, Facts(pattern=THRESHOLD, expected='"0%" to "100%", or a quantity such as "500Mi"')
]
GracePeriod = Annotated[
    str, Facts(pattern=_GRACE_PERIOD, expected='a duration such as "30s" or "1m30s"')
]


class KubeletShape(Wire, frozen=True):
    """The keys of the kubelet's configuration that the controller reads."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.THRESHOLDS_ARE_ORDERED,
        rules.SOFT_EVICTIONS_MATCH,
    )
    cluster_dns: Annotated[
        tuple[str, ...], about("Addresses of the DNS server; only AL2023 takes more than one.")
    ] = msgspec.field(default=(), name="clusterDNS")
    max_pods: Annotated[
        IntOrString | None,
        about(
            "The maximum number of pods on a node, or an expression for it.",
            minimum=0,
            maximum=_MOST,
        ),
    ] = None
    pods_per_core: Annotated[
        int | None,
        about("The maximum number of pods for each core.", minimum=0, maximum=_MOST),
    ] = None
    system_reserved: Annotated[
        dict[str, str],
        about(
            "Resources kept for the operating system: quantities or expressions.",
            max_properties=len(RESOURCES),
            rules=(rules.keys_in(RESOURCES), rules.NOT_NEGATIVE),
        ),
    ] = _NO_TEXTS
    kube_reserved: Annotated[
        dict[str, str],
        about(
            "Resources kept for Kubernetes itself: quantities or expressions.",
            max_properties=len(RESOURCES),
            rules=(rules.keys_in(RESOURCES), rules.NOT_NEGATIVE),
        ),
    ] = _NO_TEXTS
    eviction_hard: Annotated[
        dict[str, Threshold],
        about(
            "Below which free amounts pods are evicted at once.",
            max_properties=len(SIGNALS),
            rules=(rules.keys_in(SIGNALS),),
        ),
    ] = _NO_TEXTS
    eviction_soft: Annotated[
        dict[str, Threshold],
        about(
            "Below which free amounts pods are evicted after a grace period.",
            max_properties=len(SIGNALS),
            rules=(rules.keys_in(SIGNALS),),
        ),
    ] = _NO_TEXTS
    eviction_soft_grace_period: Annotated[
        dict[str, GracePeriod],
        about(
            "How long a soft threshold must be crossed, by the same keys.",
            max_properties=len(SIGNALS),
            rules=(rules.keys_in(SIGNALS),),
        ),
    ] = _NO_TEXTS
    eviction_max_pod_grace_period: Annotated[
        int | None,
        about("The longest grace period of an evicted pod, in seconds.", minimum=0, maximum=_MOST),
    ] = None
    image_gc_high_threshold_percent: Annotated[
        int | None,
        about("The disk usage above which images are removed.", minimum=0, maximum=100),
    ] = msgspec.field(default=None, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: Annotated[
        int | None,
        about("The disk usage down to which images are removed.", minimum=0, maximum=100),
    ] = msgspec.field(default=None, name="imageGCLowThresholdPercent")
    cpu_cfs_quota: Annotated[
        bool | None, about("Whether CPU limits of containers are enforced.")
    ] = msgspec.field(default=None, name="cpuCFSQuota")
