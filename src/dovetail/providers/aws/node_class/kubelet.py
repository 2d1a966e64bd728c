"""Reads `spec.kubelet` of an EC2NodeClass and resolves it for one instance type.

One path feeds both the overhead of nodes in decisions and the configuration of real nodes, so that
both agree. Values are resolved in two steps: `maxPods` first, then the reserved resources, whose
expressions see the number of pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.providers.aws.node_class.expression_parser import ExpressionError, Value, ValueType
from dovetail.providers.aws.node_class.expressions import Expression, compile_source
from dovetail.providers.aws.node_class.kubelet_keys import MANAGED
from dovetail.providers.aws.node_class.kubelet_rules import (
    EXPRESSION_EVALUATION_FAILED,
    EXPRESSION_INVALID,
    EXPRESSIONS_DISABLED,
    INVALID_CONFIGURATION,
    UNSUPPORTED_CONFIGURATION,
    KubeletError,
    check_values,
    is_expression,
    parse_count,
)

__all__ = [
    "EXPRESSIONS_DISABLED",
    "EXPRESSION_EVALUATION_FAILED",
    "EXPRESSION_INVALID",
    "INVALID_CONFIGURATION",
    "UNSUPPORTED_CONFIGURATION",
    "Kubelet",
    "KubeletError",
    "KubeletFacts",
    "ResolvedKubelet",
    "check_family",
    "parse_kubelet",
    "resolve_kubelet",
    "without_expressions",
]

VARIABLES: Final[Mapping[str, ValueType]] = {
    "vcpus": ValueType.INT,
    "memory_mib": ValueType.INT,
    "default_enis": ValueType.INT,
    "ips_per_eni": ValueType.INT,
    "max_pods": ValueType.INT,
    "instance_type": ValueType.STRING,
}
_MOST: Final = 2**31 - 1
_RESERVED: Final = ("systemReserved", "kubeReserved")
_MAX_PODS: Final = "maxPods"
_PODS_PER_CORE: Final = "podsPerCore"
_CLUSTER_DNS: Final = "clusterDNS"
# The suffix of what an expression gives for a resource, and the multiple it is rounded up to.
_UNITS: Final = {
    "cpu": ("m", 10),
    "memory": ("Mi", 16),
    "ephemeral-storage": ("Gi", 1),
    "pid": ("", 1),
}
_ANY_KEY: Final = "AL2023"
_EXEMPT: Final = "Custom"
_WITHOUT_PODS_PER_CORE: Final = "Bottlerocket"


class Kubelet(msgspec.Struct, frozen=True):
    """A valid `spec.kubelet`; its expressions are compiled, but not evaluated yet.

    `expressions` has them by field, such as `maxPods` or `kubeReserved.memory`.
    """

    tree: Mapping[str, object] = msgspec.field(default_factory=dict)
    expressions: Mapping[str, Expression] = msgspec.field(default_factory=dict)


class KubeletFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What expressions see of an instance type; `max_pods` is the default of the AMI family."""

    instance_type: str
    vcpus: int
    memory_mib: int
    default_enis: int
    ips_per_eni: int
    max_pods: int


class ResolvedKubelet(msgspec.Struct, frozen=True, kw_only=True):
    """The kubelet settings of one instance type: no expressions are left, maps are sorted.

    `raw` is the whole map, for families that pass it through.
    """

    cluster_dns: tuple[str, ...] = ()
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: Mapping[str, str] = msgspec.field(default_factory=dict)
    kube_reserved: Mapping[str, str] = msgspec.field(default_factory=dict)
    eviction_hard: Mapping[str, str] = msgspec.field(default_factory=dict)
    eviction_soft: Mapping[str, str] = msgspec.field(default_factory=dict)
    eviction_soft_grace_period: Mapping[str, str] = msgspec.field(default_factory=dict)
    eviction_max_pod_grace_period: int | None = None
    image_gc_high_threshold_percent: int | None = None
    image_gc_low_threshold_percent: int | None = None
    cpu_cfs_quota: bool | None = None
    raw: Mapping[str, object] = msgspec.field(default_factory=dict)


class _Managed(msgspec.Struct, frozen=True, rename="camel"):
    """The keys that user data and decisions read; `expressions` are resolved."""

    cluster_dns: tuple[str, ...] = msgspec.field(default=(), name="clusterDNS")
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: dict[str, str] = {}
    kube_reserved: dict[str, str] = {}
    eviction_hard: dict[str, str] = {}
    eviction_soft: dict[str, str] = {}
    eviction_soft_grace_period: dict[str, str] = {}
    eviction_max_pod_grace_period: int | None = None
    image_gc_high_threshold_percent: int | None = msgspec.field(
        default=None, name="imageGCHighThresholdPercent"
    )
    image_gc_low_threshold_percent: int | None = msgspec.field(
        default=None, name="imageGCLowThresholdPercent"
    )
    cpu_cfs_quota: bool | None = msgspec.field(default=None, name="cpuCFSQuota")


def parse_kubelet(tree: Mapping[str, object] | None, *, has_gate: bool = True) -> Kubelet:
    """Read `spec.kubelet`; without the gate NodeClassCEL, expressions are refused.

    Raises KubeletError with the field, what was expected and the reason of the condition:
    first for structure and values, then for the gate, then for expressions that do not compile.
    """
    stated = {key: value for key, value in sorted((tree or {}).items()) if value is not None}
    check_values(stated)
    sources = _sources(stated)
    if sources and not has_gate:
        field, source = next(iter(sources.items()))
        message = (
            f"{source!r} is an expression; expected a number, or the feature gate NodeClassCEL "
            "(--aws-feature-gates NodeClassCEL=true)"
        )
        raise KubeletError(field, message, reason=EXPRESSIONS_DISABLED)
    return Kubelet(
        _normal_form(stated), {field: _expression(field, sources[field]) for field in sources}
    )


def without_expressions(tree: Mapping[str, object] | None) -> dict[str, object]:
    """What remains of `spec.kubelet` where expressions are disabled: its static values."""
    settings = dict(tree or {})
    dropped = _sources(settings)
    if _MAX_PODS in dropped:
        del settings[_MAX_PODS]
    for key in _RESERVED:
        values = settings.get(key)
        if isinstance(values, dict):
            settings[key] = {
                name: value for name, value in values.items() if f"{key}.{name}" not in dropped
            }
    return settings


def check_family(kubelet: Kubelet, family: str) -> None:
    """Check that an AMI family can apply these settings. Raises KubeletError."""
    if family in {_ANY_KEY, _EXEMPT}:
        return
    for key in kubelet.tree:
        if key not in MANAGED:
            message = f"cannot be set with {family}; expected the AMI family {_ANY_KEY}"
            raise KubeletError(key, message, reason=UNSUPPORTED_CONFIGURATION)
    if family == _WITHOUT_PODS_PER_CORE and _PODS_PER_CORE in kubelet.tree:
        message = f"cannot be set with {family}; expected maxPods instead"
        raise KubeletError(_PODS_PER_CORE, message, reason=UNSUPPORTED_CONFIGURATION)
    addresses = kubelet.tree.get(_CLUSTER_DNS)
    if isinstance(addresses, list) and len(addresses) > 1:
        message = f"has {len(addresses)} addresses; expected one with {family}"
        raise KubeletError(_CLUSTER_DNS, message, reason=UNSUPPORTED_CONFIGURATION)


def resolve_kubelet(kubelet: Kubelet, facts: KubeletFacts) -> ResolvedKubelet:
    """The settings for one instance type. Raises KubeletError if an expression has no value."""
    resolved = dict(kubelet.tree)
    variables: dict[str, Value] = msgspec.structs.asdict(facts)
    if _MAX_PODS in kubelet.expressions:
        resolved[_MAX_PODS] = _number(kubelet, _MAX_PODS, variables)
    pods = resolved.get(_MAX_PODS)
    if isinstance(pods, int):
        variables["max_pods"] = pods
    for key in _RESERVED:
        if key in resolved:
            resolved[key] = _reserved_amounts(kubelet, key, variables)
    managed = msgspec.convert({key: resolved[key] for key in MANAGED if key in resolved}, _Managed)
    return ResolvedKubelet(**msgspec.structs.asdict(managed), raw=resolved)


# ---- expressions


def _sources(tree: Mapping[str, object]) -> dict[str, str]:
    """The text of every expression, by field."""
    sources: dict[str, str] = {}
    pods = tree.get(_MAX_PODS)
    if isinstance(pods, str) and parse_count(pods) is None:
        sources[_MAX_PODS] = pods
    for key in _RESERVED:
        values = tree.get(key)
        if isinstance(values, dict):
            sources |= {
                f"{key}.{name}": text
                for name, text in sorted(values.items())
                if isinstance(text, str) and is_expression(text)
            }
    return sources


def _expression(field: str, source: str) -> Expression:
    try:
        return compile_source(source, VARIABLES)
    except ExpressionError as error:
        raise KubeletError(field, f"{source!r} {error}", reason=EXPRESSION_INVALID) from None


def _number(kubelet: Kubelet, field: str, variables: Mapping[str, Value]) -> int:
    expression = kubelet.expressions[field]
    try:
        number = expression.whole_number(variables)
    except ExpressionError as error:
        raise _failure(field, expression.source, str(error), variables) from None
    if number > _MOST:
        message = f"gives {number}; expected at most {_MOST}"
        raise _failure(field, expression.source, message, variables)
    return number


def _failure(field: str, source: str, message: str, variables: Mapping[str, Value]) -> KubeletError:
    problem = f"{source!r} {message}, for instance type {variables['instance_type']}"
    return KubeletError(field, problem, reason=EXPRESSION_EVALUATION_FAILED)


def _reserved_amounts(kubelet: Kubelet, key: str, variables: Mapping[str, Value]) -> dict[str, str]:
    values = kubelet.tree[key]
    assert isinstance(values, dict)  # noqa: S101  checked when it was read
    resolved = {}
    for name, text in sorted(values.items()):
        field = f"{key}.{name}"
        if field in kubelet.expressions:
            suffix, multiple = _UNITS[name]
            number = _number(kubelet, field, variables)
            resolved[name] = f"{-(-number // multiple) * multiple}{suffix}"
        else:
            resolved[name] = text
    return resolved


def _normal_form(tree: Mapping[str, object]) -> dict[str, object]:
    """The same with sorted maps, and a number of pods that was written as text as a number."""
    plain = {
        key: dict(sorted(value.items())) if isinstance(value, dict) else value
        for key, value in tree.items()
    }
    pods = plain.get(_MAX_PODS)
    count = parse_count(pods) if isinstance(pods, str) else None
    return plain if count is None else plain | {_MAX_PODS: count}
