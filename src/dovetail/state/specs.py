"""Converts pod templates to PodSpecs: requests, priority and constraints.

Pods of one template carry the same bytes, so they are recognised by content and share one object:
150,000 pods of 500 templates cost 500 conversions. Labels and owners are shared in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.resources import CPU, MEMORY, PODS, peak, total, without_zeros
from dovetail.model.taints import Toleration
from dovetail.model.verdict import Problem, Reason
from dovetail.state.conversions import (
    affinities,
    host_ports,
    resources,
    spread,
    tolerations,
    with_defaults,
)

_DEFAULT_SCHEDULER: Final = "default-scheduler"
_DEFAULT_GRACE_SECONDS: Final = 30
_NO_STATUS: Final = api.core.PodStatus()

Judged = tuple[PodSpec, tuple[Problem, ...]]
# Content, namespace whose defaults count, what containers were given: all that a spec depends on.
_Key = tuple[bytes, str, bytes]
_ALWAYS: Final = "Always"  # an init container that is restarted is a sidecar
_CONTAINER: Final = "Container"
_HUGE_PAGES: Final = "hugepages-"

Allocated = Mapping[str, Mapping[str, int]]  # what running containers were given, by name
NOT_ALLOCATED: Final[Allocated] = {}
_BUILT_IN: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_NOTHING: Final[Mapping[str, str]] = {}


class Templates:
    """Every template met so far, with what the cluster's defaults make of it."""

    def __init__(
        self,
        *,
        priority_classes: Sequence[api.PriorityClass] = (),
        runtime_classes: Sequence[api.RuntimeClass] = (),
        limit_ranges: Mapping[str, Sequence[api.LimitRange]] | None = None,
    ) -> None:
        self._priorities = Priorities(priority_classes)
        self._runtimes = {item.metadata.name: item for item in runtime_classes}
        self._defaults = {
            namespace: namespace_defaults(limit_range)
            for namespace, limit_range in (limit_ranges or {}).items()
        }
        self._held: dict[_Key, Judged] = {}
        self.shared = SharedSpecs()
        self.n_converted = 0

    @property
    def n_held(self) -> int:
        """How many distinct parts of pods are remembered."""
        return len(self._held) + self.shared.n_held

    def admit(self, spec: api.PodSpec, status: api.core.PodStatus) -> Judged:
        """The spec of a pod that an API server has already filled in."""
        given = allocated_bytes(status)
        return self._judge((_content(spec), "", given), spec, status)

    def make(self, spec: api.PodSpec, namespace: str) -> Judged:
        """The spec of a pod yet to be made, with its namespace's defaults filled in."""
        own = namespace if namespace in self._defaults else ""
        return self._judge((_content(spec), own, b""), spec, _NO_STATUS)

    def _judge(self, key: _Key, spec: api.PodSpec, status: api.core.PodStatus) -> Judged:
        result = self._held.get(key)
        if result is None:
            defaults = self._defaults.get(key[1], NO_DEFAULTS)
            result = self._held[key] = self._convert(spec, defaults, status)
        return result

    def adopt(self, earlier: Templates) -> dict[int, Judged]:
        """Take over every admitted template that `earlier` knows. What other classes make of it is
        returned by the id of the spec that it was; the rest stays the very same.
        """
        self.shared = earlier.shared
        changed: dict[int, Judged] = {}
        for key, entry in earlier._held.items():
            if key[1]:
                continue
            fresh = self._judge(key, api.decode(api.PodSpec, key[0]), _status(key[2]))
            if fresh == entry:
                self._held[key] = entry
            else:
                changed[id(entry[0])] = fresh
        return changed

    def sweep(self, specs: Iterable[PodSpec]) -> None:
        """Forget every template of which nobody has the spec."""
        used = {id(spec) for spec in specs}
        self._held = {key: pair for key, pair in self._held.items() if id(pair[0]) in used}

    def _convert(self, spec: api.PodSpec, defaults: Defaults, status: api.core.PodStatus) -> Judged:
        self.n_converted += 1
        try:
            return self._convert_spec(spec, defaults, status)
        except (ValueError, api.DecodeError) as error:
            # The border checks files; what comes from elsewhere must not stop the rest.
            return PodSpec(requests={"pods": 1}), (Problem(Reason.INVALID_POD, str(error)),)

    def _convert_spec(
        self, spec: api.PodSpec, defaults: Defaults, status: api.core.PodStatus
    ) -> Judged:
        parts = spec.parts()
        runtime = self._runtimes.get(spec.runtime_class_name)
        priority, priority_class, problems = self._priorities.of(spec)
        wishes = affinities(parts.affinity)
        overhead = parts.overhead or (runtime.overhead.pod_fixed if runtime else {})
        return PodSpec(
            requests=pod_requests(
                parts, overhead=overhead, defaults=defaults, allocated=allocated_resources(status)
            ),
            node_selector=_node_selector(parts, runtime),
            required_terms=wishes.required_terms,
            preferred_terms=wishes.preferred_terms,
            tolerations=_tolerations(parts, runtime),
            spread=spread(parts.topology_spread_constraints),
            affinity=wishes.affinity,
            anti_affinity=wishes.anti_affinity,
            preferred_affinity=wishes.preferred_affinity,
            preferred_anti_affinity=wishes.preferred_anti_affinity,
            host_ports=host_ports(parts, on_host_network=spec.host_network),
            priority=priority,
            priority_class=priority_class,
            scheduler_name=spec.scheduler_name or _DEFAULT_SCHEDULER,
            is_gated=bool(parts.scheduling_gates),
            uses_dynamic_resources=_uses_dynamic_resources(parts),
            termination_grace_seconds=_grace(spec.termination_grace_period_seconds),
        ), problems


def _content(spec: api.PodSpec) -> bytes:
    """What the template fixes, as JSON that can be read back: all but node, volumes, deadline."""
    return api.encode(
        msgspec.structs.replace(spec, node_name="", volumes=(), active_deadline_seconds=None)
    )


def allocated_bytes(status: api.core.PodStatus) -> bytes:
    """Equal for pods whose containers were given the same; empty if none was given anything."""
    given = [
        item
        for item in (*status.container_statuses, *status.init_container_statuses)
        if item.allocated_resources or item.resources is not None
    ]
    return api.encode(given) if given else b""


def _status(given: bytes) -> api.core.PodStatus:
    if not given:
        return _NO_STATUS
    statuses = api.decode(tuple[api.core.ContainerStatus, ...], given)
    return api.core.PodStatus(container_statuses=statuses)


def _node_selector(parts: api.PodParts, runtime: api.RuntimeClass | None) -> dict[str, str]:
    asked = {**(runtime.scheduling.node_selector if runtime else {}), **parts.node_selector}
    return {labels.normalize(key): value for key, value in sorted(asked.items())}


def _tolerations(parts: api.PodParts, runtime: api.RuntimeClass | None) -> tuple[Toleration, ...]:
    own = tolerations(parts.tolerations)
    if runtime is None:
        return own
    more = tolerations(runtime.scheduling.tolerations)
    return (*own, *(toleration for toleration in more if toleration not in own))


def _uses_dynamic_resources(parts: api.PodParts) -> bool:
    containers = (*parts.containers, *parts.init_containers)
    return bool(parts.resource_claims) or any(item.resources.claims for item in containers)


def _grace(seconds: int | None) -> int:
    return _DEFAULT_GRACE_SECONDS if seconds is None else seconds


class Defaults(msgspec.Struct, frozen=True):
    """What a namespace's LimitRanges give to containers that ask for nothing."""

    requests: Mapping[str, int] = {}
    limits: Mapping[str, int] = {}


NO_DEFAULTS: Final = Defaults()


def namespace_defaults(limit_ranges: Sequence[api.LimitRange]) -> Defaults:
    """All LimitRanges of one namespace as one; the first by name that says something counts."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for limit_range in sorted(limit_ranges, key=lambda limits: limits.metadata.name):
        for item in limit_range.spec.limits:
            if item.type == _CONTAINER:
                default = with_defaults(resources(item.default), resources(item.max))
                asked = with_defaults(resources(item.default_request), default)
                requests = with_defaults(requests, with_defaults(asked, resources(item.min)))
                limits = with_defaults(limits, default)
    return Defaults(requests, limits) if requests or limits else NO_DEFAULTS


def pod_requests(
    parts: api.PodParts,
    *,
    overhead: api.ResourceList,
    defaults: Defaults = NO_DEFAULTS,
    allocated: Allocated = NOT_ALLOCATED,
) -> dict[str, int]:
    """What the pod takes, `pods: 1` included and zeros left out."""
    amounts = _containers(parts, defaults, allocated)
    if parts.resources is not None:
        amounts = _pod_level(amounts, parts.resources)
    amounts = total((amounts, resources(overhead)))
    return {**without_zeros(amounts), PODS: 1}


def _containers(parts: api.PodParts, defaults: Defaults, allocated: Allocated) -> dict[str, int]:
    running = total(_container(container, defaults, allocated) for container in parts.containers)
    sidecars: dict[str, int] = {}
    moments: list[Mapping[str, int]] = []
    for init_container in parts.init_containers:
        amounts = _container(init_container, defaults, allocated)
        moments.append(total((sidecars, amounts)))
        if init_container.restart_policy == _ALWAYS:
            sidecars = total((sidecars, amounts))
    return peak((total((running, sidecars)), *moments))


def _container(
    container: api.Container, defaults: Defaults, allocated: Allocated
) -> Mapping[str, int]:
    limits = resources(container.resources.limits)
    asked = with_defaults(resources(container.resources.requests), limits)
    asked = with_defaults(asked, defaults.requests)
    given = allocated.get(container.name)
    return asked if given is None else peak((asked, given))


def _pod_level(amounts: dict[str, int], wire: api.ResourceRequirements) -> dict[str, int]:
    limits = {name: item for name, item in resources(wire.limits).items() if _has_pod_level(name)}
    asked = {name: item for name, item in resources(wire.requests).items() if _has_pod_level(name)}
    return {**with_defaults(amounts, limits), **asked}


def _has_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)


def allocated_resources(status: api.core.PodStatus) -> Allocated:
    """What running containers were given, which after a resize may be more than they ask for."""
    result: dict[str, Mapping[str, int]] = {}
    for item in (*status.container_statuses, *status.init_container_statuses):
        actual = item.resources.requests if item.resources is not None else {}
        if item.allocated_resources or actual:
            result[item.name] = peak((resources(item.allocated_resources), resources(actual)))
    return result


class Priorities:
    """The priority classes of a cluster, the two that every cluster has among them."""

    def __init__(self, classes: Iterable[api.PriorityClass]) -> None:
        self._value_by_name = dict(_BUILT_IN)
        self._default = 0
        self._default_name = ""
        # Of several defaults the lowest counts, as in Kubernetes; then the name decides.
        for class_ in sorted(classes, key=lambda item: (-item.value, item.metadata.name)):
            self._value_by_name[class_.metadata.name] = class_.value
            if class_.global_default:
                self._default, self._default_name = class_.value, class_.metadata.name

    def of(self, spec: api.PodSpec) -> tuple[int, str, tuple[Problem, ...]]:
        """A pod's priority, the class it comes from, and what is wrong with that."""
        name = spec.priority_class_name
        if spec.priority is not None:
            return spec.priority, name, ()
        if not name:
            return self._default, self._default_name, ()
        value = self._value_by_name.get(name)
        if value is None:
            return 0, name, (_missing_class(name),)
        return value, name, ()


def _missing_class(name: str) -> Problem:
    return Problem(
        Reason.PRIORITY_CLASS_NOT_FOUND,
        f"PriorityClass {name} does not exist",
        f"create PriorityClass {name}, or name another in priorityClassName",
    )


class SharedSpecs:
    """Labels and owners met so far."""

    def __init__(self) -> None:
        self._labels: dict[bytes, Mapping[str, str]] = {}
        self._owners: dict[api.OwnerReference, Owner] = {}

    def labels(self, own: Mapping[str, str]) -> Mapping[str, str]:
        """The same labels, and the same object for all who have them."""
        return self._labels.setdefault(msgspec.json.encode(own), own) if own else _NOTHING

    def owner(self, reference: api.OwnerReference) -> Owner:
        """The same owner for all who have it."""
        result = self._owners.get(reference)
        if result is None:
            result = Owner(reference.kind, reference.name, reference.uid, reference.api_version)
            self._owners[reference] = result
        return result

    def sweep(self, pods: Iterable[Pod]) -> None:
        """Forget what none of these pods uses."""
        used = {id(part) for pod in pods for part in (pod.labels, pod.annotations, pod.owner)}
        self._labels = {key: label for key, label in self._labels.items() if id(label) in used}
        self._owners = {key: owner for key, owner in self._owners.items() if id(owner) in used}

    @property
    def n_held(self) -> int:
        """How many distinct labels and owners are remembered."""
        return len(self._labels) + len(self._owners)
