"""What user data tells an instance about joining: cluster, labels, taints, kubelet settings.

Nothing here or beside it uses the code that writes user data: it is read by the rules of the
programs on the machine image (nodeadm, bootstrap.sh, Bottlerocket, EKS's PowerShell script), so
that a wrong document gives no node.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

Tree = dict[str, Any]

_OWN_DOMAINS = ("kubernetes.io", "k8s.io")
_SETTABLE_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_SETTABLE = {
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
}
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class NotJoinedError(Exception):
    """The instance does not become a node; the message says why."""


@dataclass(frozen=True)
class ClusterFacts:
    """The cluster that instances have to join: what user data must say of it."""

    name: str
    endpoint: str
    ca_bundle: str
    cidr: str = ""


@dataclass(frozen=True)
class JoinRequest:
    """What the machine's programs made of the user data."""

    cluster: ClusterFacts
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Tree, ...] = ()
    dns: tuple[str, ...] = ()
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: dict[str, str] = field(default_factory=dict)
    kube_reserved: dict[str, str] = field(default_factory=dict)
    eviction_hard: dict[str, str] = field(default_factory=dict)
    others: Tree = field(default_factory=dict)  # settings that do not show in a Node
    uses_instance_store: bool = False


def taint(text: str) -> Tree:
    """A taint as kubelet's flag has it: `key=value:effect` or `key:effect`."""
    body, colon, effect = text.rpartition(":")
    key, _, value = body.partition("=")
    if not colon or not key or effect not in EFFECTS:
        msg = f"kubelet: invalid taint {text!r}"
        raise NotJoinedError(msg)
    return {"key": key, "effect": effect} | ({"value": value} if value else {})


def pairs(text: str, sign: str = "=") -> dict[str, str]:
    """A map as a flag has it: `a=1,b=2`."""
    entries: dict[str, str] = {}
    for entry in filter(None, text.split(",")):
        key, found, value = entry.partition(sign)
        if not found or not key:
            msg = f"kubelet: malformed pair {entry!r}"
            raise NotJoinedError(msg)
        entries[key] = value
    return entries


def checked(request: JoinRequest, cluster: ClusterFacts) -> JoinRequest:
    """The request, if kubelet starts with it and reaches this cluster. Raises NotJoinedError."""
    for name in ("name", "endpoint", "ca_bundle", "cidr"):
        wanted, got = getattr(cluster, name), getattr(request.cluster, name)
        if got != wanted and (got or name != "cidr"):
            msg = f"cluster {name}: got {got!r}, the cluster has {wanted!r}"
            raise NotJoinedError(msg)
    unknown = sorted(key for key in request.labels if not _may_set(key))
    if unknown:
        msg = f"kubelet: may not set labels {', '.join(unknown)}"
        raise NotJoinedError(msg)
    identities = [(one["key"], one["effect"]) for one in request.taints]
    if len(set(identities)) < len(identities):
        msg = "the API server refuses a node with a taint twice"
        raise NotJoinedError(msg)
    return request


def from_flags(flags: dict[str, list[str]], request: JoinRequest) -> JoinRequest:
    """The request with kubelet's flags; labels add up, of everything else the last one wins."""
    last = {name: values[-1] for name, values in flags.items()}
    unknown = sorted(last.keys() - _FLAGS)
    if unknown:
        msg = f"kubelet: unknown flag {unknown[0]}"
        raise NotJoinedError(msg)
    labels = dict(request.labels)
    for text in flags.get("node-labels", ()):
        labels |= pairs(text)
    taints = last.get("register-with-taints")
    return replace(
        request,
        labels=labels,
        taints=tuple(map(taint, taints.split(","))) if taints else request.taints,
        max_pods=_number(last, "max-pods", request.max_pods),
        pods_per_core=_number(last, "pods-per-core", request.pods_per_core),
        system_reserved=request.system_reserved | pairs(last.get("system-reserved", "")),
        kube_reserved=request.kube_reserved | pairs(last.get("kube-reserved", "")),
        eviction_hard=request.eviction_hard | pairs(last.get("eviction-hard", ""), "<"),
        others=request.others | {name: last[name] for name in sorted(last.keys() & _OTHER_FLAGS)},
    )


_OTHER_FLAGS = {
    "cpu-cfs-quota",
    "eviction-max-pod-grace-period",
    "eviction-soft",
    "eviction-soft-grace-period",
    "image-gc-high-threshold",
    "image-gc-low-threshold",
}
_FLAGS = _OTHER_FLAGS | {
    "eviction-hard",
    "kube-reserved",
    "max-pods",
    "node-labels",
    "pods-per-core",
    "register-with-taints",
    "system-reserved",
}


def flags_of(words: list[str]) -> dict[str, list[str]]:
    """Values by flag, of `--name=value` and `--name value`."""
    flags: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        name, found, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name:
            msg = f"kubelet: unexpected argument {word!r}"
            raise NotJoinedError(msg)
        flags.setdefault(name, []).append(value if found else next(rest, ""))
    return flags


def _number(flags: dict[str, str], name: str, otherwise: int | None) -> int | None:
    text = flags.get(name)
    if text is None:
        return otherwise
    if not text.isdecimal():
        msg = f"kubelet: --{name} has {text!r}, which is not a number"
        raise NotJoinedError(msg)
    return int(text)


def _may_set(key: str) -> bool:
    domain = key.rpartition("/")[0]
    below = [domain == own or domain.endswith(f".{own}") for own in _OWN_DOMAINS]
    settable = [domain == own or domain.endswith(f".{own}") for own in _SETTABLE_DOMAINS]
    return not any(below) or key in _SETTABLE or any(settable)
