"""Which pods are there? Those that the input lists, from wire types to nouns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dovetail import api
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.verdict import Problem
from dovetail.state.amounts import instant
from dovetail.state.inventory import namespace_of
from dovetail.state.specs import Templates

_OWNED_BY_PLACE: Final = frozenset({"DaemonSet", "Node"})


def listed_pod(wire: api.Pod, templates: Templates) -> Pod:
    """A pod that is in the input itself. One without a uid was never near an API server, so that
    its namespace's defaults still have to be filled in.
    """
    meta, status = wire.metadata, wire.status
    namespace = namespace_of(wire)
    spec, problems = (
        templates.admitted(wire.spec, status) if meta.uid else templates.made(wire.spec, namespace)
    )
    node_name = wire.spec.node_name
    return Pod(
        name=meta.name,
        namespace=namespace,
        spec=spec,
        uid=meta.uid or f"{namespace}/{meta.name}",
        labels=meta.labels,
        annotations=meta.annotations,
        claim_names=claim_names(wire.spec.volumes, meta.name),
        node_name=node_name,
        nominated_node_name=status.nominated_node_name,
        phase=status.phase or ("Running" if node_name else "Pending"),
        owner=owner(meta.owner_references),
        created_at=instant(meta.creation_timestamp),
        started_at=instant(status.start_time),
        deleting_at=instant(meta.deletion_timestamp),
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
        judged=templates.made(template.spec, namespace),
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


def owner(references: Sequence[api.OwnerReference]) -> Owner | None:
    """Who is behind a pod: what ties it to its place, else its controller, else the first named."""
    if not references:
        return None
    chosen = min(references, key=lambda one: (one.kind not in _OWNED_BY_PLACE, not one.controller))
    return Owner(chosen.kind, chosen.name, chosen.uid, chosen.api_version)


def _is_ready(conditions: Sequence[api.Condition]) -> bool:
    """As its Ready condition says; without one nothing speaks against it."""
    return all(one.status == "True" for one in conditions if one.type == "Ready")
