"""What does a pod's template ask for? One PodSpec for each distinct template, worked out once.

Pods of one template carry the same bytes, so they are recognised by content and share one object:
150,000 pods of 500 templates cost 500 conversions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.pod import PodSpec
from dovetail.model.taints import Toleration
from dovetail.model.verdict import Problem, Reason
from dovetail.state.constraints import affinities, host_ports, spread, tolerations
from dovetail.state.priorities import Priorities
from dovetail.state.requests import (
    NO_DEFAULTS,
    Defaults,
    allocated_resources,
    namespace_defaults,
    pod_requests,
)
from dovetail.state.sharing import Shared

_DEFAULT_SCHEDULER: Final = "default-scheduler"
_DEFAULT_GRACE_SECONDS: Final = 30
_NO_STATUS: Final = api.core.PodStatus()

Judged = tuple[PodSpec, tuple[Problem, ...]]
# Content, namespace whose defaults count, what containers were given: all that a spec depends on.
_Key = tuple[bytes, str, bytes]


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
        self._runtimes = {one.metadata.name: one for one in runtime_classes}
        self._defaults = {
            namespace: namespace_defaults(held) for namespace, held in (limit_ranges or {}).items()
        }
        self._held: dict[_Key, Judged] = {}
        self.shared = Shared()
        self.n_converted = 0

    @property
    def n_held(self) -> int:
        """How many distinct parts of pods are remembered."""
        return len(self._held) + self.shared.n_held

    def admitted(self, spec: api.PodSpec, status: api.core.PodStatus) -> Judged:
        """The spec of a pod that an API server has already filled in."""
        given = allocated_bytes(status)
        return self._judged((_content(spec), "", given), spec, status)

    def made(self, spec: api.PodSpec, namespace: str) -> Judged:
        """The spec of a pod yet to be made, with its namespace's defaults filled in."""
        own = namespace if namespace in self._defaults else ""
        return self._judged((_content(spec), own, b""), spec, _NO_STATUS)

    def _judged(self, key: _Key, spec: api.PodSpec, status: api.core.PodStatus) -> Judged:
        held = self._held.get(key)
        if held is None:
            defaults = self._defaults.get(key[1], NO_DEFAULTS)
            held = self._held[key] = self._convert(spec, defaults, status)
        return held

    def adopt(self, earlier: Templates) -> dict[int, Judged]:
        """Take over every admitted template that `earlier` knows. What other classes make of it is
        returned by the id of the spec that it was; the rest stays the very same.
        """
        self.shared = earlier.shared
        changed: dict[int, Judged] = {}
        for key, held in earlier._held.items():
            if key[1]:
                continue
            fresh = self._judged(key, api.decode(api.PodSpec, key[0]), _status(key[2]))
            if fresh == held:
                self._held[key] = held
            else:
                changed[id(held[0])] = fresh
        return changed

    def sweep(self, specs: Iterable[PodSpec]) -> None:
        """Forget every template of which nobody has the spec."""
        used = {id(spec) for spec in specs}
        self._held = {key: one for key, one in self._held.items() if id(one[0]) in used}

    def _convert(self, spec: api.PodSpec, defaults: Defaults, status: api.core.PodStatus) -> Judged:
        self.n_converted += 1
        try:
            return self._converted(spec, defaults, status)
        except (ValueError, api.DecodeError) as error:
            # The border checks files; what comes from elsewhere must not stop the rest.
            return PodSpec(requests={"pods": 1}), (Problem(Reason.INVALID_POD, str(error)),)

    def _converted(
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
        one
        for one in (*status.container_statuses, *status.init_container_statuses)
        if one.allocated_resources or one.resources is not None
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
    return (*own, *(one for one in more if one not in own))


def _uses_dynamic_resources(parts: api.PodParts) -> bool:
    containers = (*parts.containers, *parts.init_containers)
    return bool(parts.resource_claims) or any(one.resources.claims for one in containers)


def _grace(seconds: int | None) -> int:
    return _DEFAULT_GRACE_SECONDS if seconds is None else seconds
