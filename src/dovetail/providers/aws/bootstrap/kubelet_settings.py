"""Computes the kubelet's settings: as command-line flags, and what families have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address, ip_address
from typing import Final

from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs, UserDataError
from dovetail.providers.aws.bootstrap.registration import node_labels, node_taints

# Quantities, percentages, durations and names of signals; no separator of flags or of maps.
_SETTING: Final = re.compile(r"[A-Za-z0-9._%+/-]+")


def cluster_dns(inputs: BootstrapInputs) -> tuple[str, ...]:
    """The DNS servers of pods: the node class's, or else those of the cluster."""
    return inputs.kubelet.cluster_dns or inputs.dns_ips


def max_pods(inputs: BootstrapInputs) -> int | None:
    """How many pods the node takes: as the node class has it, or else as capacity was computed."""
    chosen = inputs.kubelet.max_pods
    return inputs.max_pods if chosen is None else chosen


def uses_ipv6(inputs: BootstrapInputs) -> bool:
    """Whether the first DNS address is of IPv6. Raises UserDataError for what is no address."""
    addresses = cluster_dns(inputs)
    if not addresses:
        return False
    try:
        return isinstance(ip_address(addresses[0]), IPv6Address)
    except ValueError:
        msg = f"{addresses[0]!r}; expected an IP address"
        raise UserDataError(msg, field="spec.kubelet.clusterDNS") from None


def labels_flag(inputs: BootstrapInputs) -> str:
    """The flag that names the node's labels."""
    return "--node-labels=" + ",".join(
        f"{key}={value}" for key, value in node_labels(inputs).items()
    )


def kubelet_flags(inputs: BootstrapInputs) -> tuple[str, ...]:
    """All settings as flags, sorted. No flag contains a blank, a quote or a line end."""
    kubelet = inputs.kubelet
    numbers = {
        "eviction-max-pod-grace-period": kubelet.eviction_max_pod_grace_period,
        "image-gc-high-threshold": kubelet.image_gc_high_threshold_percent,
        "image-gc-low-threshold": kubelet.image_gc_low_threshold_percent,
        "max-pods": max_pods(inputs),
        "pods-per-core": kubelet.pods_per_core,
    }
    flags = [
        labels_flag(inputs),
        "--register-with-taints=" + ",".join(str(taint) for taint in node_taints(inputs)),
        *_map_flags(inputs),
        *(f"--{name}={number}" for name, number in numbers.items() if number is not None),
    ]
    if kubelet.cpu_cfs_quota is not None:
        flags.append(f"--cpu-cfs-quota={str(kubelet.cpu_cfs_quota).lower()}")
    return tuple(sorted(flags))


def _map_flags(inputs: BootstrapInputs) -> Iterator[str]:
    kubelet = inputs.kubelet
    maps = (
        ("system-reserved", "systemReserved", "=", kubelet.system_reserved),
        ("kube-reserved", "kubeReserved", "=", kubelet.kube_reserved),
        ("eviction-hard", "evictionHard", "<", kubelet.eviction_hard),
        ("eviction-soft", "evictionSoft", "<", kubelet.eviction_soft),
        (
            "eviction-soft-grace-period",
            "evictionSoftGracePeriod",
            "=",
            kubelet.eviction_soft_grace_period,
        ),
    )
    for flag, field, sign, settings in maps:
        if settings:
            pairs = check_map(f"spec.kubelet.{field}", settings).items()
            yield f"--{flag}=" + ",".join(f"{key}{sign}{value}" for key, value in pairs)


def check_map(field: str, settings: Mapping[str, str]) -> dict[str, str]:
    """A map of settings, sorted. Raises UserDataError for what a kubelet would read otherwise."""
    for key, value in settings.items():
        for text in (key, value):
            if not _SETTING.fullmatch(text):
                msg = f"{text!r}; expected a quantity, a percentage or a duration for each name"
                raise UserDataError(msg, field=field)
    return {key: settings[key] for key in sorted(settings)}
