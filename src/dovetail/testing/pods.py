"""Defines what a scenario says of a pod, with defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from dovetail.model.pod import DaemonSet, Owner, Pod, PodSpec
from dovetail.model.resources import PODS, without_zeros
from dovetail.model.topology import NodePolicy, PodTerm, Spread
from dovetail.model.verdict import Problem, Reason
from dovetail.testing import shorthand

Quantity = str | int | float
WrittenSelector = dict[str, str] | list[str]

_HARD: Final = "DoNotSchedule"
_SOFT: Final = "ScheduleAnyway"


class GivenSpread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topology spread constraint; without a selector it is about the pod's own labels."""

    topology_key: str = "zone"
    selector: WrittenSelector | None = None
    max_skew: int = 1
    min_domains: int = 1
    when_unsatisfiable: str = _HARD
    node_affinity_policy: str = NodePolicy.HONOR
    node_taints_policy: str = NodePolicy.IGNORE
    match_label_keys: list[str] = []

    def spread(self, own_labels: dict[str, str]) -> Spread:
        """The constraint."""
        if self.when_unsatisfiable not in (_HARD, _SOFT):
            msg = f"when_unsatisfiable is {_HARD} or {_SOFT}, not {self.when_unsatisfiable}"
            raise ValueError(msg)
        written = own_labels if self.selector is None else self.selector
        return Spread(
            topology_key=shorthand.key(self.topology_key),
            selector=shorthand.selector(written),
            max_skew=self.max_skew,
            min_domains=self.min_domains,
            is_hard=self.when_unsatisfiable == _HARD,
            node_affinity_policy=self.node_affinity_policy,
            node_taints_policy=self.node_taints_policy,
            match_label_keys=tuple(self.match_label_keys),
        )


class GivenPodTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An affinity or anti-affinity term; `weight` counts only where it is preferred."""

    topology_key: str = "hostname"
    selector: WrittenSelector | None = None
    namespaces: list[str] = []
    namespace_selector: WrittenSelector | None = None
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []
    weight: int = 100

    def term(self, own_labels: dict[str, str]) -> PodTerm:
        """The term."""
        written = own_labels if self.selector is None else self.selector
        reach = self.namespace_selector
        return PodTerm(
            topology_key=shorthand.key(self.topology_key),
            selector=shorthand.selector(written),
            namespaces=tuple(self.namespaces),
            namespace_selector=None if reach is None else shorthand.selector(reach),
            match_label_keys=tuple(self.match_label_keys),
            mismatch_label_keys=tuple(self.mismatch_label_keys),
        )


class GivenPreference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A preferred node affinity term."""

    term: list[str]
    weight: int = 100


class GivenPod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pod, or with `replicas` that many of one template, named NAME-0, NAME-1 and so on.

    Without `labels` its label is `app: NAME`. With `node` it runs there; without, it waits.
    `problems` are what the border would have found wrong with it.
    """

    name: str
    namespace: str = "default"
    replicas: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] = {}
    cpu: Quantity = "100m"
    memory: Quantity = "128Mi"
    requests: dict[str, Quantity] = {}
    node_selector: dict[str, str] = {}
    node_affinity: list[list[str]] = []
    preferred_node_affinity: list[GivenPreference] = []
    tolerations: list[str] = []
    spread: list[GivenSpread] = []
    affinity: list[GivenPodTerm] = []
    anti_affinity: list[GivenPodTerm] = []
    preferred_affinity: list[GivenPodTerm] = []
    preferred_anti_affinity: list[GivenPodTerm] = []
    host_ports: list[str | int] = []
    claims: list[str] = []
    priority: int = 0
    owner: str = ""
    node: str = ""
    nominated_node: str = ""
    scheduler_name: str = "default-scheduler"
    is_gated: bool = False
    uses_dynamic_resources: bool = False
    phase: str = ""
    problems: dict[Reason, str] = {}
    is_ready: bool = True
    created_at: datetime | None = None
    started_at: datetime | None = None
    deleting_at: datetime | None = None
    ends_at: datetime | None = None

    @property
    def own_labels(self) -> dict[str, str]:
        """The labels its pods carry."""
        return {"app": self.name} if self.labels is None else self.labels

    def spec(self) -> PodSpec:
        """What its template fixes."""
        own = self.own_labels
        asked = {"cpu": self.cpu, "memory": self.memory, **self.requests, PODS: 1}
        return PodSpec(
            requests=without_zeros(shorthand.resources(asked)),
            node_selector=shorthand.keys(self.node_selector),
            required_terms=tuple(shorthand.term(term) for term in self.node_affinity),
            preferred_terms=tuple(
                (node_term.weight, shorthand.term(node_term.term))
                for node_term in self.preferred_node_affinity
            ),
            tolerations=tuple(shorthand.toleration(text) for text in self.tolerations),
            spread=tuple(spread.spread(own) for spread in self.spread),
            affinity=tuple(pod_term.term(own) for pod_term in self.affinity),
            anti_affinity=tuple(pod_term.term(own) for pod_term in self.anti_affinity),
            preferred_affinity=tuple(
                (pod_term.weight, pod_term.term(own)) for pod_term in self.preferred_affinity
            ),
            preferred_anti_affinity=tuple(
                (pod_term.weight, pod_term.term(own)) for pod_term in self.preferred_anti_affinity
            ),
            host_ports=tuple(shorthand.host_port(port) for port in self.host_ports),
            priority=self.priority,
            scheduler_name=self.scheduler_name,
            is_gated=self.is_gated,
            uses_dynamic_resources=self.uses_dynamic_resources,
        )

    def pods(self, *, node: str = "") -> tuple[Pod, ...]:
        """All its replicas, sharing one spec; on `node` if it is named."""
        spec, bound_to = self.spec(), node or self.node
        return tuple(self._pod(name, spec, bound_to) for name in self._names())

    def daemon_set(self) -> DaemonSet:
        """The same words as a daemon set."""
        uid = f"DaemonSet/{self.namespace}/{self.name}"
        return DaemonSet(self.name, self.namespace, self.spec(), self.own_labels, uid)

    def _names(self) -> list[str]:
        if self.replicas is None:
            return [self.name]
        return [f"{self.name}-{ordinal}" for ordinal in range(self.replicas)]

    def _pod(self, name: str, spec: PodSpec, bound_to: str) -> Pod:
        return Pod(
            name=name,
            namespace=self.namespace,
            spec=spec,
            uid=f"{self.namespace}/{name}",
            labels=self.own_labels,
            annotations=self.annotations,
            claim_names=tuple(claim.replace("NAME", name) for claim in self.claims),
            node_name=bound_to,
            nominated_node_name=self.nominated_node,
            phase=self.phase or ("Running" if bound_to else "Pending"),
            owner=self._owner(),
            created_at=self.created_at,
            started_at=self.started_at,
            deleting_at=self.deleting_at,
            ends_at=self.ends_at,
            is_ready=self.is_ready,
            problems=tuple(Problem(reason, text) for reason, text in self.problems.items()),
        )

    def _owner(self) -> Owner | None:
        if not self.owner:
            return None
        kind, _, name = self.owner.partition("/")
        return Owner(kind=kind, name=name, uid=f"{kind}/{self.namespace}/{name}")
