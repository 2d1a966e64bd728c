"""Sums the limits of the pods of a node.

No decision reads limits, so no snapshot has them: they are added up here as pods come and go, from
what each template fixes, which is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dovetail import api
from dovetail.model.pod import TERMINAL_PHASES
from dovetail.model.resources import PODS
from dovetail.state.specs import pod_requests

_MOST_TEMPLATES: Final = 1 << 14

Amounts = Mapping[str, int]


class _Share(msgspec.Struct, frozen=True, gc=False):
    """What one pod adds to its node."""

    node: str
    amounts: Amounts
    is_daemon: bool


class NodeLimits(msgspec.Struct, gc=False):
    """The limits of a node's pods, and of those among them that are daemons."""

    pods: dict[str, int] = {}
    daemons: dict[str, int] = {}


NO_LIMITS: Final = NodeLimits()


class PodLimits:
    """The limits on every node."""

    def __init__(self) -> None:
        self._shares: dict[str, _Share] = {}
        self._by_node: dict[str, NodeLimits] = {}
        # By the identity of what pods of a template share, which is kept so that it stays unique.
        self._templates: dict[int, tuple[object, Amounts]] = {}

    def on(self, node: str) -> NodeLimits:
        """The limits on this node."""
        return self._by_node.get(node, NO_LIMITS)

    def see(self, pod: api.Pod) -> None:
        """A pod as it is now."""
        key = pod_key(pod)
        node = pod.spec.node_name
        amounts = {} if not node or pod.status.phase in TERMINAL_PHASES else self._amounts(pod.spec)
        last = self._shares.get(key)
        if last is not None and last.node == node and last.amounts is amounts:
            return
        self.forget(key)
        if amounts:
            is_daemon = any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
            self._shares[key] = share = _Share(node, amounts, is_daemon)
            self._add(share, 1)

    def forget(self, key: str) -> None:
        """A pod is there no more."""
        share = self._shares.pop(key, None)
        if share is not None:
            self._add(share, -1)

    def _add(self, share: _Share, sign: int) -> None:
        sums = self._by_node.setdefault(share.node, NodeLimits({}, {}))
        for amounts in (sums.pods, sums.daemons) if share.is_daemon else (sums.pods,):
            for name, amount in share.amounts.items():
                amounts[name] = amounts.get(name, 0) + sign * amount
                if not amounts[name]:
                    del amounts[name]
        if not sums.pods:
            del self._by_node[share.node]

    def _amounts(self, spec: api.PodSpec) -> Amounts:
        mark = spec.containers
        template = self._templates.get(id(mark))
        if template is None:
            if len(self._templates) >= _MOST_TEMPLATES:
                self._templates.clear()
            template = self._templates[id(mark)] = (mark, _limits(spec))
        return template[1]


def pod_key(pod: api.Pod) -> str:
    """How plans name it."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _limits(spec: api.PodSpec) -> Amounts:
    """What the pod may take: counted as requests are, with limits in their place."""
    try:
        parts = spec.parts()
        swapped = msgspec.structs.replace(
            parts,
            containers=_resized_containers(parts.containers),
            init_containers=_resized_containers(parts.init_containers),
            resources=None if parts.resources is None else _as_requests(parts.resources),
        )
        amounts = pod_requests(swapped, overhead={})
    except (ValueError, api.DecodeError):
        return {}  # a pod that cannot be read is told of elsewhere
    return {name: amount for name, amount in amounts.items() if name != PODS}


def _resized_containers(containers: Iterable[api.Container]) -> tuple[api.Container, ...]:
    return tuple(
        msgspec.structs.replace(container, resources=_as_requests(container.resources))
        for container in containers
    )


def _as_requests(resource_requirements: api.ResourceRequirements) -> api.ResourceRequirements:
    return api.ResourceRequirements(requests=resource_requirements.limits)
