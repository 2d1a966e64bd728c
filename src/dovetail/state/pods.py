"""Converts pods that the input lists."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.pod import TERMINAL_PHASES, Owner, Pod, PodSpec
from dovetail.model.verdict import Problem
from dovetail.state.conversions import instant
from dovetail.state.shelf import namespace_of
from dovetail.state.specs import Templates

READ_ANNOTATIONS: Final = (labels.DO_NOT_DISRUPT, labels.MOST_EVICTIONS, labels.DELETION_COST)
_NODE_NAME_FIELD: Final = labels.NODE_NAME_FIELD.encode()
_WAITS: Final = frozenset({"Unschedulable", "SchedulingGated"})
_OWNED_BY_PLACE: Final = frozenset({"DaemonSet", "Node"})


def listed_pod(wire: api.Pod, templates: Templates) -> Pod:
    """A pod that is in the input itself. One without a uid was never near an API server, so that
    its namespace's defaults still have to be filled in.
    """
    meta, status, shared = wire.metadata, wire.status, templates.shared
    namespace = sys.intern(namespace_of(wire))
    asked = _settled_spec(wire)
    spec, problems = (
        templates.admit(asked, status) if meta.uid else templates.make(asked, namespace)
    )
    node_name = sys.intern(wire.spec.node_name)
    chosen = _owner_reference(meta.owner_references)
    return Pod(
        name=meta.name,
        namespace=namespace,
        spec=spec,
        uid=meta.uid or f"{namespace}/{meta.name}",
        labels=shared.labels(meta.labels),
        annotations=shared.labels(_read_annotations(meta.annotations)),
        claim_names=claim_names(wire.spec.volumes, meta.name),
        node_name=node_name,
        nominated_node_name=status.nominated_node_name,
        phase=status.phase or ("Running" if node_name else "Pending"),
        owner=shared.owner(chosen) if chosen else None,
        created_at=instant(meta.creation_timestamp),
        started_at=instant(status.start_time),
        deleting_at=instant(meta.deletion_timestamp),
        ends_at=_ends_at(wire),
        is_ready=_is_ready(status.conditions),
        problems=problems,
    )


class Mould(msgspec.Struct, frozen=True):
    """What all pods made from one workload have in common."""

    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    volumes: tuple[api.core.PodVolume, ...]
    owner: Owner | None
    judged: tuple[PodSpec, tuple[Problem, ...]]
    workload: api.ObjectMeta

    def cast(self, name: str, more_claims: Sequence[str] = ()) -> Pod:
        """One pod of this workload."""
        spec, problems = self.judged
        return Pod(
            name=name,
            namespace=self.namespace,
            spec=spec,
            uid=f"{self.namespace}/{name}",
            labels=self.labels,
            annotations=self.annotations,
            claim_names=(*claim_names(self.volumes, name), *more_claims),
            owner=self.owner,
            created_at=instant(self.workload.creation_timestamp),
            problems=problems,
        )


def mould(
    template: api.PodTemplateSpec, workload: api.Object, templates: Templates, *, kind: str
) -> Mould:
    """The mould of a workload's pods."""
    meta = workload.metadata
    namespace = namespace_of(workload)
    return Mould(
        namespace=namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        volumes=template.spec.volumes,
        owner=Owner(kind, meta.name, meta.uid, workload.api_version) if kind else None,
        judged=templates.make(template.spec, namespace),
        workload=meta,
    )


def claim_names(volumes: Sequence[api.core.PodVolume], pod_name: str) -> tuple[str, ...]:
    """The claims of a pod's volumes, generic ephemeral ones included."""
    return tuple(_claim_names(volumes, pod_name)) if volumes else ()


def _claim_names(volumes: Sequence[api.core.PodVolume], pod_name: str) -> Iterator[str]:
    for volume in volumes:  # most are neither, as every pod mounts its own token
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield f"{pod_name}-{volume.name}"


def _owner_reference(references: Sequence[api.OwnerReference]) -> api.OwnerReference | None:
    """Who is behind a pod: what ties it to its place, else its controller, else the first named."""
    if not references:
        return None
    return min(references, key=lambda ref: (ref.kind not in _OWNED_BY_PLACE, not ref.controller))


def _read_annotations(notes: Mapping[str, str]) -> Mapping[str, str]:
    """Those that decisions read; the others may be long, and different for every pod. What we have
    said ourselves is not read: it follows from decisions.
    """
    if not notes:
        return notes
    read = {key: notes[key] for key in READ_ANNOTATIONS if key in notes}
    if labels.YIELDS in notes and notes[labels.YIELDS] == notes.get(labels.DELETION_COST):
        read.pop(labels.DELETION_COST)
    return read


def _settled_spec(wire: api.Pod) -> api.PodSpec:
    """What the pod still asks for. Every pod of a DaemonSet names its own node; once it is there
    that is left out, so that they all share one spec.
    """
    spec = wire.spec
    if not spec.node_name or _NODE_NAME_FIELD not in bytes(spec.affinity):
        return spec
    if not any(owner.kind == "DaemonSet" for owner in wire.metadata.owner_references):
        return spec
    try:
        asked = api.decode(api.Affinity, spec.affinity)
    except api.DecodeError:  # said when the spec is converted
        return spec
    rest = msgspec.Raw(api.encode(msgspec.structs.replace(asked, node_affinity=None)))
    return msgspec.structs.replace(spec, affinity=rest)


def is_beside_the_point(pod: Pod) -> bool:
    """Whether it takes no room and waits for none: unbound, and over, leaving or tied to a node."""
    if pod.node_name:
        return False
    return pod.is_terminal or pod.deleting_at is not None or pod.is_daemon or pod.is_mirror


def is_unseen(wire: api.Pod) -> bool:
    """Whether kube-scheduler has yet to say that there is no place for it."""
    return not wire.spec.node_name and not any(
        condition.type == "PodScheduled" and condition.reason in _WAITS
        for condition in wire.status.conditions
    )


def _ends_at(wire: api.Pod) -> datetime | None:
    """When the pod has ended, which is when it stopped being ready, or when its deadline ends it.
    What is later than any calendar knows never comes.
    """
    status, seconds = wire.status, wire.spec.active_deadline_seconds
    if status.phase in TERMINAL_PHASES:
        moments = (item.last_transition_time for item in status.conditions if item.type == "Ready")
        return instant(next(moments, None))
    started_at = instant(status.start_time)
    if seconds is None or started_at is None:
        return None
    try:
        return started_at + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _is_ready(conditions: Sequence[api.Condition]) -> bool:
    """As its Ready condition says; without one nothing speaks against it."""
    return all(condition.status == "True" for condition in conditions if condition.type == "Ready")


def live_pod(wire: api.Pod, templates: Templates) -> Pod | None:
    """A pod of a live cluster, if it takes room or waits for some."""
    if is_unseen(wire):
        return None
    pod = listed_pod(wire, templates)
    return None if is_beside_the_point(pod) else pod


def in_order(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """By namespace and name."""
    return tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name)))
