"""Says whether a pod may run on a node as far as the two alone are concerned: kube-scheduler's
filters.

Each says why not in kube-scheduler's words, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.taints import Taint, repelling_taint
from dovetail.model.volumes import NO_VOLUMES, PodVolumes

UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable")
_PODS: Final = "pods"


class Question(msgspec.Struct, frozen=True):
    """A pod that wants to a node, and what is there already."""

    pod: Pod
    node: Node
    there: Sequence[Pod]
    used: Mapping[str, int]
    volumes: PodVolumes = NO_VOLUMES
    attached: Mapping[str, frozenset[str]] = {}  # claims by driver


def objection(question: Question) -> str:
    """Why the node will not do, or nothing."""
    return next((why for each in _FILTERS if (why := each(question))), "")


def _cordon(question: Question) -> str:
    cordoned = question.node.is_unschedulable
    if cordoned and repelling_taint([UNSCHEDULABLE], question.pod.spec.tolerations):
        return "node(s) were unschedulable"
    return ""


def _taints(question: Question) -> str:
    taint = repelling_taint(question.node.taints, question.pod.spec.tolerations)
    return "" if taint is None else f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


def wants(spec: PodSpec, node: Node) -> bool:
    """Whether selector and required affinity accept the node."""
    labels = node.labels
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    terms = spec.required_terms
    return not terms or any(term.matches(labels, node.name) for term in terms)


def _affinity(question: Question) -> str:
    if wants(question.pod.spec, question.node):
        return ""
    return "node(s) didn't match Pod's node affinity/selector"


def _ports(question: Question) -> str:
    taken = [port for pod in question.there for port in pod.spec.host_ports]
    if any(port.conflicts(other) for port in question.pod.spec.host_ports for other in taken):
        return "node(s) didn't have free ports for the requested pod ports"
    return ""


def _resources(question: Question) -> str:
    for name, amount in sorted(question.pod.spec.requests.items()):
        free = question.node.allocatable.get(name, 0) - question.used.get(name, 0)
        if amount > max(free, 0):
            return "Too many pods" if name == _PODS else f"Insufficient {name}"
    return ""


def _volumes(question: Question) -> str:
    node = question.node
    for terms in question.volumes.alternatives:
        if not any(term.matches(node.labels, node.name) for term in terms):
            return "node(s) had volume node affinity conflict"
    for driver, claims in question.volumes.attachments:
        limit = node.attach_limits.get(driver)
        attached = question.attached.get(driver, frozenset())
        if limit is not None and len(attached.union(claims)) > limit:
            return "node(s) exceed max volume count"
    return ""


_FILTERS: Final[tuple[Callable[[Question], str], ...]] = (
    _cordon,
    _taints,
    _affinity,
    _ports,
    _resources,
    _volumes,
)
