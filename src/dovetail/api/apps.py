"""What do apps, batch and policy store? Workloads, as far as they make pods, and their budgets."""

from __future__ import annotations

from dovetail.api.core import PodTemplateSpec, VolumeClaimTemplate
from dovetail.api.meta import Condition, IntOrString, LabelSelector, Object, ObjectMeta, Wire


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


class JobSpec(Wire, frozen=True):
    """How often something must succeed, and how many may try at once."""

    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobStatus(Wire, frozen=True):
    """How far a job has come."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


class Job(Object, frozen=True):
    """Pods that run to their end."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Wire, frozen=True):
    """What a cron job's jobs are made from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Wire, frozen=True):
    """When what job starts."""

    schedule: str = ""
    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(Object, frozen=True):
    """Jobs by the clock."""

    spec: CronJobSpec = CronJobSpec()


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """Which pods are protected, and how well."""

    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """What the budget allows now, as its controller counted."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0


class PodDisruptionBudget(Object, frozen=True):
    """A limit on how many pods may be evicted. Without a status, none may be counted on."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None
