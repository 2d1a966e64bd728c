"""Writes the user data of Bottlerocket: the user's TOML with our keys in `settings.kubernetes`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs, UserDataError
from dovetail.providers.aws.bootstrap.kubelet_settings import check_map, cluster_dns, max_pods
from dovetail.providers.aws.bootstrap.registration import node_labels, node_taints
from dovetail.providers.aws.bootstrap.toml_text import toml_text

_MOUNT: Final = "000-mount-instance-storage"
_DIRECTORIES: Final = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
_BINDS_BY_ITSELF: Final = (1, 46, 0)  # from this version on, `bind` knows the directories
_VERSION: Final = re.compile(r"(?:^|[-@])v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+]|$)")
_LATEST: Final = "latest"

# Settings of Bottlerocket for Kubernetes that users may give; others are left out.
_KNOWN: Final = frozenset(
    {
        "allowed-unsafe-sysctls",
        "api-server",
        "authentication-mode",
        "bootstrap-token",
        "cloud-provider",
        "cluster-certificate",
        "cluster-dns-ip",
        "cluster-domain",
        "cluster-name",
        "container-log-max-files",
        "container-log-max-size",
        "cpu-cfs-quota-enforced",
        "cpu-manager-policy",
        "cpu-manager-policy-options",
        "cpu-manager-reconcile-period",
        "credential-providers",
        "device-ownership-from-security-context",
        "event-burst",
        "event-qps",
        "eviction-hard",
        "eviction-max-pod-grace-period",
        "eviction-soft",
        "eviction-soft-grace-period",
        "hostname-override",
        "hostname-override-source",
        "ids-per-pod",
        "image-gc-high-threshold-percent",
        "image-gc-low-threshold-percent",
        "kube-api-burst",
        "kube-api-qps",
        "kube-reserved",
        "log-level",
        "max-parallel-image-pulls",
        "max-pods",
        "memory-manager-policy",
        "memory-manager-reserved-memory",
        "node-ip",
        "node-labels",
        "node-taints",
        "pod-infra-container-image",
        "pod-pids-limit",
        "provider-id",
        "registry-burst",
        "registry-qps",
        "reserved-cpus",
        "seccomp-default",
        "serialize-image-pulls",
        "server-certificate",
        "server-key",
        "server-tls-bootstrap",
        "shutdown-grace-period",
        "shutdown-grace-period-for-critical-pods",
        "single-process-oom-kill",
        "standalone-mode",
        "static-pods",
        "system-reserved",
        "topology-manager-policy",
        "topology-manager-policy-options",
        "topology-manager-scope",
    }
)


def bottlerocket(inputs: BootstrapInputs) -> str:
    """The user's settings, and ours over them."""
    settings = _table(_parse(inputs.custom or ""), "settings")
    theirs = _table(settings, "settings", "kubernetes")
    kubernetes = {key: value for key, value in theirs.items() if key in _KNOWN}
    users_labels = _table(kubernetes, "settings.kubernetes", "node-labels")
    settings["kubernetes"] = {
        **kubernetes,
        **_kubernetes(inputs),
        "node-labels": {**users_labels, **node_labels(inputs)},
    }
    if inputs.instance_store_policy == "RAID0":
        commands = _table(settings, "settings", "bootstrap-commands")
        settings["bootstrap-commands"] = {**commands, _MOUNT: _mount(inputs)}
    return toml_text({"settings": settings})


def ignored_settings(custom: str | None) -> tuple[str, ...]:
    """Which of the user's settings are left out, sorted, for a warning. Raises UserDataError."""
    tree = _parse(custom or "")
    kubernetes = _table(_table(tree, "settings"), "settings", "kubernetes")
    unknown = (f"settings.kubernetes.{key}" for key in kubernetes.keys() - _KNOWN)
    return tuple(sorted((*unknown, *(tree.keys() - {"settings"}))))


def _kubernetes(inputs: BootstrapInputs) -> dict[str, object]:
    kubelet = inputs.kubelet
    high, low = kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent
    settings: dict[str, object] = {
        "api-server": inputs.cluster_endpoint or None,
        "cluster-certificate": inputs.ca_bundle or None,
        "cluster-dns-ip": next(iter(cluster_dns(inputs)), None),
        "cluster-name": inputs.cluster_name,
        "cpu-cfs-quota-enforced": kubelet.cpu_cfs_quota,
        "eviction-max-pod-grace-period": kubelet.eviction_max_pod_grace_period,
        "image-gc-high-threshold-percent": None if high is None else str(high),
        "image-gc-low-threshold-percent": None if low is None else str(low),
        "max-pods": max_pods(inputs),
        "node-taints": _taints(inputs),
        **_maps(inputs),
    }
    return {key: value for key, value in settings.items() if value is not None}


def _maps(inputs: BootstrapInputs) -> dict[str, object]:
    kubelet = inputs.kubelet
    maps = (
        ("eviction-hard", "evictionHard", kubelet.eviction_hard),
        ("eviction-soft", "evictionSoft", kubelet.eviction_soft),
        (
            "eviction-soft-grace-period",
            "evictionSoftGracePeriod",
            kubelet.eviction_soft_grace_period,
        ),
        ("kube-reserved", "kubeReserved", kubelet.kube_reserved),
        ("system-reserved", "systemReserved", kubelet.system_reserved),
    )
    return {key: check_map(f"spec.kubelet.{name}", given) for key, name, given in maps if given}


def _taints(inputs: BootstrapInputs) -> dict[str, list[str]]:
    by_key: dict[str, list[str]] = {}
    for taint in node_taints(inputs):
        by_key.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
    return by_key


def _mount(inputs: BootstrapInputs) -> dict[str, object]:
    """Sets up the instance store at every boot, and boots only if that succeeds."""
    storage = ["apiclient", "ephemeral-storage"]
    directories = [] if _binds_by_itself(inputs) else ["--dirs", *_DIRECTORIES]
    return {
        "commands": [[*storage, "init"], [*storage, "bind", *directories]],
        "essential": True,
        "mode": "always",
    }


def _binds_by_itself(inputs: BootstrapInputs) -> bool:
    """Whether the image is known to be new enough: by alias, else by name terms, else by names."""
    terms = inputs.ami_selector_terms
    aliases = [term.alias for term in terms if term.alias]
    if aliases:
        return all(
            alias.endswith(f"@{_LATEST}") or _is_new(alias.partition("@")[2]) for alias in aliases
        )
    by_name = [term.name for term in terms if _VERSION.search(term.name)]
    names = by_name or inputs.image_names
    return bool(names) and all(_is_new(name) for name in names)


def _is_new(text: str) -> bool:
    matched = _VERSION.search(text)
    return matched is not None and tuple(map(int, matched.groups())) >= _BINDS_BY_ITSELF


def _parse(custom: str) -> dict[str, object]:
    try:
        return tomllib.loads(custom)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        msg = f"malformed TOML: {reason}; expected settings of Bottlerocket"
        raise UserDataError(msg) from None


def _table(tree: Mapping[str, object], *path: str) -> dict[str, object]:
    """A copy of the table of that name, the last of the path; empty if there is none."""
    table = tree.get(path[-1], {})
    if not isinstance(table, dict):
        msg = f"{'.'.join(path)} is not a table; expected settings of Bottlerocket"
        raise UserDataError(msg)
    return dict(table)
