"""What does the apps group store? Workloads that keep a number of pods running."""

from __future__ import annotations

from dovetail.api.core import PodTemplateSpec, VolumeClaimTemplate
from dovetail.api.meta import LabelSelector, Object, Wire


class WorkloadSpec(Wire, frozen=True):
    """How many pods, of what, and how they are recognised."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Deployment(Object, frozen=True):
    """Pods that are all alike and may be replaced at will."""

    spec: WorkloadSpec = WorkloadSpec()


class ReplicaSet(Object, frozen=True):
    """One generation of a Deployment's pods."""

    spec: WorkloadSpec = WorkloadSpec()


class Ordinals(Wire, frozen=True):
    """From what number a stateful set counts."""

    start: int = 0


class StatefulSetSpec(WorkloadSpec, frozen=True):
    """As any workload, with storage of their own for each pod."""

    service_name: str = ""
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[VolumeClaimTemplate, ...] = ()


class StatefulSet(Object, frozen=True):
    """Pods that keep their name and their storage."""

    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(Wire, frozen=True):
    """What runs on every node."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Object, frozen=True):
    """A pod for every node that will have it."""

    spec: DaemonSetSpec = DaemonSetSpec()
