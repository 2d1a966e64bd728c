"""Which pods end by themselves, and when? As their deadline says, or as those before them did.

Pods of one Job, and of the Jobs of one CronJob, do the same work: who has started will end about as
long after as the slowest that has ended did.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from dovetail.decide.recall import recalled
from dovetail.model.pod import Pod

SUCCEEDED: Final = "Succeeded"
_LEAST_DIGITS: Final = 8  # a CronJob names its Jobs by the minute, counted since 1970


def expected_end(pod: Pod, pods: tuple[Pod, ...]) -> datetime | None:
    """When a running pod is going to end, as far as anybody can tell from these pods."""
    if not is_job(pod):
        return pod.ends_at
    lasted = _stints(pods).get(_series(pod))
    if lasted is None or pod.started_at is None:
        return pod.ends_at
    told = pod.started_at + lasted
    return told if pod.ends_at is None else min(told, pod.ends_at)


def is_job(pod: Pod) -> bool:
    """Whether it does work that ends."""
    return pod.owner is not None and pod.owner.kind == "Job"


@recalled
def _stints(pods: tuple[Pod, ...]) -> Mapping[str, timedelta]:
    """How long the slowest pod of each series of Jobs took, of those that have ended well."""
    found: dict[str, timedelta] = {}
    for pod in pods:
        if pod.phase == SUCCEEDED and is_job(pod) and pod.started_at and pod.ends_at:
            series, lasted = _series(pod), pod.ends_at - pod.started_at
            found[series] = max(found.get(series, lasted), lasted)
    return found


def _series(pod: Pod) -> str:
    """The Job, or what stands for the CronJob that makes such Jobs."""
    name, _, number = pod.workload.rpartition("-")
    is_minute = number.isdecimal() and len(number) >= _LEAST_DIGITS
    return name if is_minute else pod.workload
