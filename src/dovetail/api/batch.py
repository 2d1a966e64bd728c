"""What does the batch group store? Jobs, and jobs by the clock."""

from __future__ import annotations

from dovetail.api.core import PodTemplateSpec
from dovetail.api.meta import Condition, LabelSelector, Object, ObjectMeta, Wire


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
