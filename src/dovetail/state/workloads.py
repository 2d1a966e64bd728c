"""Makes the pods that a workload will have, less those already listed.

Made pods are named NAME-0, NAME-1 and so on. A CronJob that comes from a cluster stands for
nothing, since its Jobs are listed themselves; one that was never near an API server (it has no
uid) stands for one run, because that is what its author wants to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.pod import TERMINAL_PHASES, DaemonSet, Pod
from dovetail.model.taints import Toleration
from dovetail.model.topology import LabelSelector, equality
from dovetail.state.conversions import label_selector
from dovetail.state.pods import mould
from dovetail.state.shelf import Inventory, namespace_of
from dovetail.state.specs import Templates
from dovetail.state.storage import Claims

_REVISION: Final = "deployment.kubernetes.io/revision"
_NO_SCHEDULE: Final = "NoSchedule"
_NO_EXECUTE: Final = "NoExecute"
# What the DaemonSet controller adds to every pod it makes.
_DAEMON_TOLERATIONS: Final = tuple(
    Toleration(f"node.kubernetes.io/{key}", "Exists", "", effect)
    for key, effect in (
        ("not-ready", _NO_EXECUTE),
        ("unreachable", _NO_EXECUTE),
        ("disk-pressure", _NO_SCHEDULE),
        ("memory-pressure", _NO_SCHEDULE),
        ("pid-pressure", _NO_SCHEDULE),
        ("unschedulable", _NO_SCHEDULE),
    )
)
_HOST_NETWORK_TOLERATION: Final = Toleration(
    "node.kubernetes.io/network-unavailable", "Exists", "", _NO_SCHEDULE
)


class Workload(msgspec.Struct, frozen=True):
    """Anything that keeps a number of pods of one template."""

    kind: str
    object: api.Object
    template: api.PodTemplateSpec
    n_wanted: int
    claim_templates: tuple[api.VolumeClaimTemplate, ...] = ()
    first_ordinal: int = 0


def workloads(inventory: Inventory) -> Iterator[Workload]:
    """Every workload that stands for pods, in order."""
    yield from _deployments(inventory)
    yield from _replica_sets(inventory)
    for item in inventory.all(api.ReplicationController):
        yield Workload(
            "ReplicationController", item, item.spec.template, _replicas(item.spec.replicas)
        )
    for stateful in inventory.all(api.StatefulSet):
        yield Workload(
            "StatefulSet",
            stateful,
            stateful.spec.template,
            _replicas(stateful.spec.replicas),
            stateful.spec.volume_claim_templates,
            stateful.spec.ordinals.start,
        )
    for job in inventory.all(api.Job):
        yield Workload("Job", job, job.spec.template, _job_pods(job.spec, job.status))
    for cron in inventory.all(api.CronJob):
        if not cron.metadata.uid and not cron.spec.suspend:
            spec = cron.spec.job_template.spec
            yield Workload("Job", cron, spec.template, _job_pods(spec, api.apps.JobStatus()))


def _replicas(stated: int | None) -> int:
    return 1 if stated is None else stated


def _deployments(inventory: Inventory) -> Iterator[Workload]:
    sets = inventory.by_namespace(api.ReplicaSet)
    for item in inventory.all(api.Deployment):
        own = [own_set for own_set in sets.get(namespace_of(item), ()) if _is_owned(own_set, item)]
        template = item.spec.template
        if own:  # the newest generation, whose template carries the hash that pods are told by
            template = max(own, key=_generation).spec.template
        yield Workload("Deployment", item, template, _replicas(item.spec.replicas))


def _generation(wire: api.ReplicaSet) -> tuple[int, str]:
    revision = wire.metadata.annotations.get(_REVISION, "")
    return (int(revision) if revision.isdecimal() else 0, wire.metadata.name)


def _replica_sets(inventory: Inventory) -> Iterator[Workload]:
    deployments = inventory.by_namespace(api.Deployment)
    for item in inventory.all(api.ReplicaSet):
        owners = deployments.get(namespace_of(item), ())
        if not any(_is_owned(item, deployment) for deployment in owners):
            yield Workload("ReplicaSet", item, item.spec.template, _replicas(item.spec.replicas))


def _is_owned(wire: api.ReplicaSet, by: api.Deployment) -> bool:
    return any(
        owner.kind == "Deployment"
        and owner.name == by.metadata.name
        and (not owner.uid or not by.metadata.uid or owner.uid == by.metadata.uid)
        for owner in wire.metadata.owner_references
    )


def _job_pods(spec: api.apps.JobSpec, status: api.apps.JobStatus) -> int:
    """How many may run now: no more than are still to succeed."""
    is_over = any(
        condition.type in ("Complete", "Failed") and condition.status == "True"
        for condition in status.conditions
    )
    if is_over or spec.suspend:
        return 0
    n_parallel = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return 0 if status.succeeded else n_parallel
    return max(0, min(n_parallel, spec.completions - status.succeeded))


class Listed:
    """The pods that the input lists, by who owns them."""

    def __init__(self, pods: Iterable[api.Pod], replica_sets: Iterable[api.ReplicaSet]) -> None:
        self._deployments = {
            (namespace_of(replica_set), replica_set.metadata.name): owner.name
            for replica_set in replica_sets
            for owner in replica_set.metadata.owner_references
            if owner.kind == "Deployment"
        }
        self._names: set[tuple[str, str]] = set()
        self._n_by_owner: dict[tuple[str, str, str], int] = {}
        for pod in pods:
            namespace = namespace_of(pod)
            self._names.add((namespace, pod.metadata.name))
            if pod.status.phase not in TERMINAL_PHASES and not pod.metadata.deletion_timestamp:
                self._count(pod, namespace)

    def _count(self, pod: api.Pod, namespace: str) -> None:
        for owner_reference in pod.metadata.owner_references:
            key = (owner_reference.kind, namespace, owner_reference.name)
            self._n_by_owner[key] = self._n_by_owner.get(key, 0) + 1
            if owner_reference.kind == "ReplicaSet":
                deployment = self._deployment(pod, namespace, owner_reference.name)
                key = ("Deployment", namespace, deployment)
                self._n_by_owner[key] = self._n_by_owner.get(key, 0) + 1

    def _deployment(self, pod: api.Pod, namespace: str, replica_set: str) -> str:
        """Who stands behind a replica set; one that is not listed is known by its pods' hash."""
        template_hash = pod.metadata.labels.get(labels.POD_TEMPLATE_HASH, "")
        guess = replica_set.removesuffix(f"-{template_hash}") if template_hash else ""
        return self._deployments.get((namespace, replica_set), guess)

    def n_owned(self, kind: str, namespace: str, name: str) -> int:
        """How many pods a workload has already."""
        return self._n_by_owner.get((kind, namespace, name), 0)

    def has(self, namespace: str, name: str) -> bool:
        """Whether a pod of this name is listed."""
        return (namespace, name) in self._names


def made_pods(
    inventory: Inventory, pods: Iterable[api.Pod], templates: Templates, claims: Claims
) -> Iterator[Pod]:
    """Every pod that a workload lacks beside the listed `pods`; its claims are expected."""
    listed = Listed(pods, inventory.all(api.ReplicaSet))
    for workload in workloads(inventory):
        if workload.object.metadata.deletion_timestamp is not None:
            continue
        ordinals = _missing_ordinals(workload, listed)
        shape = mould(workload.template, workload.object, templates, kind=workload.kind)
        for ordinal in ordinals:
            name = f"{workload.object.metadata.name}-{ordinal}"
            claims.expect_ephemeral(shape.namespace, name, shape.volumes)
            yield shape.cast(name, _stateful_claims(workload, name, shape.namespace, claims))


def _missing_ordinals(workload: Workload, listed: Listed) -> list[int]:
    """The ordinals of pods that are yet to be made; their names are still free."""
    meta = workload.object.metadata
    namespace = namespace_of(workload.object)
    if workload.kind == "StatefulSet":  # these keep their names, so each is there or is not
        all_ordinals = range(workload.first_ordinal, workload.first_ordinal + workload.n_wanted)
        return [item for item in all_ordinals if not listed.has(namespace, f"{meta.name}-{item}")]
    n_missing = workload.n_wanted - listed.n_owned(workload.kind, namespace, meta.name)
    free = (item for item in count() if not listed.has(namespace, f"{meta.name}-{item}"))
    return list(islice(free, max(0, n_missing)))


def _stateful_claims(
    workload: Workload, pod: str, namespace: str, claims: Claims
) -> tuple[str, ...]:
    names = []
    for template in workload.claim_templates:
        name = f"{template.metadata.name}-{pod}"
        claims.expect(namespace, name, template)
        names.append(name)
    return tuple(names)


def expect_claims_of_listed(inventory: Inventory, pods: Iterable[api.Pod], claims: Claims) -> None:
    """The claims that listed pods bring along: ephemeral volumes, and those of stateful sets."""
    stateful = {
        (namespace_of(item), item.metadata.name): item.spec.volume_claim_templates
        for item in inventory.all(api.StatefulSet)
    }
    for pod in pods:
        if not pod.spec.volumes:
            continue
        namespace, name = namespace_of(pod), pod.metadata.name
        claims.expect_ephemeral(namespace, name, pod.spec.volumes)
        for owner in pod.metadata.owner_references:
            for template in stateful.get((namespace, owner.name), ()):
                claims.expect(namespace, f"{template.metadata.name}-{name}", template)


def daemon_sets(inventory: Inventory, templates: Templates) -> tuple[DaemonSet, ...]:
    """Every DaemonSet, with the tolerations that its controller adds."""
    return tuple(
        daemon_set(item, templates)
        for item in inventory.all(api.DaemonSet)
        if item.metadata.deletion_timestamp is None
    )


def daemon_set(wire: api.DaemonSet, templates: Templates) -> DaemonSet:
    """One DaemonSet."""
    template = wire.spec.template
    namespace = namespace_of(wire)
    spec, _ = templates.make(template.spec, namespace)
    more = _DAEMON_TOLERATIONS
    if template.spec.host_network:
        more = (*more, _HOST_NETWORK_TOLERATION)
    added = tuple(toleration for toleration in more if toleration not in spec.tolerations)
    return DaemonSet(
        name=wire.metadata.name,
        namespace=namespace,
        spec=msgspec.structs.replace(spec, tolerations=(*spec.tolerations, *added)),
        labels=template.metadata.labels,
        uid=wire.metadata.uid,
    )


Selecting = api.Deployment | api.ReplicaSet | api.StatefulSet | api.ReplicationController
Selection = tuple[tuple[str, ...], LabelSelector]  # the keys of a controller, and whom it selects


def owner_selectors(inventory: Inventory) -> dict[str, LabelSelector]:
    """The pod selector of every controller that default spread constraints are deduced from."""
    selecting: tuple[Selecting, ...] = (
        *inventory.all(api.Deployment),
        *inventory.all(api.ReplicaSet),
        *inventory.all(api.StatefulSet),
        *inventory.all(api.ReplicationController),
    )
    return selectors_by_key(selection(item) for item in selecting)


def selectors_by_key(selections: Iterable[Selection]) -> dict[str, LabelSelector]:
    """All of them by key."""
    by_key = {key: selector for keys, selector in selections for key in keys}
    return dict(sorted(by_key.items()))


def selection(wire: Selecting) -> Selection:
    """Whom one controller selects, under its uid and under its name."""
    selector = (
        equality(wire.spec.selector)
        if isinstance(wire, api.ReplicationController)
        else label_selector(wire.spec.selector)
    )
    named = f"{type(wire).__name__}/{namespace_of(wire)}/{wire.metadata.name}"
    return ((named, wire.metadata.uid) if wire.metadata.uid else (named,)), selector
