"""Adds default topology spread to pods, and limits nominations where a hard spread counts.

kube-scheduler gives pods without constraints of their own the cluster's defaults, with a selector
deduced from the Services and the controller that select the pod. Nothing deduced, nothing added.

It counts a node's nominated pods as if they ran there, but only for that node. Where a hard spread
counts many of them, one zone seems full while the others, whose nominated pods are not counted,
seem empty, and no pod of the group can be bound anywhere. As many as its maxSkew allows never seem
too many. So of pods that a hard spread counts each node gets that many nominations at a time; the
others are left to the scheduler, which spreads them itself, or follow when those are bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Service, Snapshot
from dovetail.model.topology import LabelSelector, Spread, equality

_CONTROLLER_OVERRIDES: Final = "ReplicationController"
# Read from manifests, a Deployment stands for the ReplicaSet that it would make.
_CONTROLLER_ADDS: Final = frozenset({"ReplicaSet", "StatefulSet", "Deployment"})
_Counted = tuple[str, LabelSelector]  # the namespace, and who is counted there


def with_default_spread(pods: Iterable[Pod], snapshot: Snapshot) -> tuple[Pod, ...]:
    """The same pods, in order, with default constraints where they have none of their own.

    Pods that shared a spec and get the same selector share the new spec too.
    """
    defaults = snapshot.policy.default_spread
    if not defaults:
        return tuple(pods)
    deduction = _Deduction(snapshot, defaults)
    return tuple(deduction.with_defaults(pod) for pod in pods)


class _Deduction:
    """Selectors and specs deduced so far."""

    def __init__(self, snapshot: Snapshot, defaults: tuple[Spread, ...]) -> None:
        self._owner_selectors = snapshot.owner_selectors
        self._defaults = defaults
        self._services: dict[str, list[Service]] = {}
        for service in snapshot.services:
            if service.selector:
                self._services.setdefault(service.namespace, []).append(service)
        self._selectors: dict[tuple[str, str, frozenset[tuple[str, str]]], LabelSelector] = {}
        # The old spec is kept beside the new one, so that its id is not given to another.
        self._specs: dict[tuple[int, LabelSelector], tuple[PodSpec, PodSpec]] = {}

    def with_defaults(self, pod: Pod) -> Pod:
        """The pod with its defaults."""
        if pod.spec.spread:
            return pod
        selector = self._selector(pod)
        if not selector.expressions:
            return pod
        return msgspec.structs.replace(pod, spec=self._spec(pod.spec, selector))

    def _spec(self, spec: PodSpec, selector: LabelSelector) -> PodSpec:
        key = (id(spec), selector)
        if key not in self._specs:
            spread = tuple(
                msgspec.structs.replace(default, selector=selector) for default in self._defaults
            )
            self._specs[key] = (spec, msgspec.structs.replace(spec, spread=spread))
        return self._specs[key][1]

    def _selector(self, pod: Pod) -> LabelSelector:
        key = (pod.namespace, _owner_key(pod), frozenset(pod.labels.items()))
        if key not in self._selectors:
            self._selectors[key] = self._deduce(pod)
        return self._selectors[key]

    def _deduce(self, pod: Pod) -> LabelSelector:
        by_label: dict[str, str] = {}
        for service in self._services.get(pod.namespace, ()):
            if service.selector.items() <= pod.labels.items():
                by_label.update(service.selector)
        own = self._own_expressions(pod)
        if pod.owner is not None and pod.owner.kind == _CONTROLLER_OVERRIDES:
            for requirement in own:
                by_label.pop(requirement.key, None)
        expressions = dict.fromkeys((*equality(by_label).expressions, *own))
        return LabelSelector(tuple(sorted(expressions, key=Requirement.sort_key)))

    def _own_expressions(self, pod: Pod) -> tuple[Requirement, ...]:
        owner = pod.owner
        if owner is None or (
            owner.kind not in _CONTROLLER_ADDS and owner.kind != _CONTROLLER_OVERRIDES
        ):
            return ()
        selector = self._owner_selectors.get(owner.uid) if owner.uid else None
        if selector is None:
            selector = self._owner_selectors.get(f"{owner.kind}/{pod.namespace}/{owner.name}")
        return () if selector is None or selector.nothing else selector.expressions


def _owner_key(pod: Pod) -> str:
    owner = pod.owner
    return "" if owner is None else owner.uid or f"{owner.kind}/{owner.name}"


class Steerable:
    """Tells who may be nominated, given the pods that wait."""

    def __init__(self, waiting: Iterable[Pod] = ()) -> None:
        self._most: dict[_Counted, int] = {}  # at once, for one node
        seen: set[tuple[str, int]] = set()
        for pod in waiting:
            template = (pod.namespace, id(pod.spec))
            if template in seen:
                continue
            seen.add(template)
            for spread in pod.spec.spread:
                if spread.is_hard:
                    key = (pod.namespace, spread.selector)
                    self._most[key] = min(self._most.get(key, spread.max_skew), spread.max_skew)

    def is_counted(self, pod: Pod) -> bool:
        """Whether anybody's hard spread counts this pod."""
        return bool(self._counted_by(pod))

    def choose(self, pods: Iterable[Pod], told: Iterable[Pod] = ()) -> list[Pod]:
        """Of pods that are meant for one node, those that may be nominated beside the ones that it
        was told of already.
        """
        n_told: Counter[_Counted] = Counter()
        for pod in told:
            n_told.update(self._counted_by(pod))
        result = []
        for pod in pods:
            counting = self._counted_by(pod)
            if all(n_told[pair] < self._most[pair] for pair in counting):
                n_told.update(counting)
                result.append(pod)
        return result

    def _counted_by(self, pod: Pod) -> list[_Counted]:
        return [
            (namespace, selector)
            for namespace, selector in self._most
            if pod.namespace == namespace and selector.matches(pod.labels)
        ]
