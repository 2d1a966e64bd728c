"""Finds what is to be reported besides the plan: pools that can launch or disrupt nothing, and pods
whose preferences raise the price.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from dovetail import labels
from dovetail.decide.disrupt.budgets import allowances
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.decide.nodes import census, with_memory
from dovetail.decide.pools import eligible_pools, pools_by_name
from dovetail.model.instance import InstanceType
from dovetail.model.plan import DisruptionReason
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.policy import MinValuesPolicy, PreferencePolicy
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot

NO_COMPATIBLE_TYPES: Final = "NoCompatibleInstanceTypes"
DISRUPTION_BLOCKED: Final = "DisruptionBlocked"
_TOLD_FOR: Final = timedelta(minutes=1)


def pool_events(snapshot: Snapshot, now: datetime) -> Iterator[Event]:
    """What users should know of their pools."""
    is_strict = snapshot.policy.min_values_policy == MinValuesPolicy.STRICT
    reasons = _problems_by_pool(snapshot.node_pools, snapshot.instance_types)
    for pool in eligible_pools(snapshot)[0]:
        nothing_fits, too_few = reasons[pool.name]
        message = nothing_fits or (too_few if is_strict else "")
        if message:
            yield _event(pool, NO_COMPATIBLE_TYPES, message, EventType.WARNING)
    yield from _blocked_pools(snapshot, now)


def _blocked_pools(snapshot: Snapshot, now: datetime) -> Iterator[Event]:
    if not any(node.is_initialized for node in snapshot.nodes):
        return  # budgets count initialized nodes only
    pools = pools_by_name(snapshot.node_pools)
    for reason in DisruptionReason:
        for name, allowance in allowances(snapshot, reason, now).items():
            if allowance.n_nodes and not allowance.n_allowed:
                message = f"Budgets allow no node to be disrupted for reason {reason}"
                yield _event(pools[name], DISRUPTION_BLOCKED, message, dedupe=(reason,))


def impeding_pods(snapshot: Snapshot) -> tuple[Pod, ...]:
    """Waiting pods that would rather be apart: once bound, they may keep nodes from being
    consolidated.
    """
    if snapshot.policy.preference_policy != PreferencePolicy.RESPECT:
        return ()
    known: dict[int, bool] = {}  # by template
    pods = []
    for pod in census(snapshot.pods).unbound:
        key = id(pod.spec)
        if key not in known:
            known[key] = _would_rather_be_apart(pod.spec)
        if known[key]:
            pods.append(pod)
    return tuple(pods)


def _would_rather_be_apart(spec: PodSpec) -> bool:
    return bool(spec.preferred_anti_affinity) or any(not spread.is_hard for spread in spec.spread)


@with_memory
def _problems_by_pool(
    pools: tuple[NodePool, ...], types_by_pool: Mapping[str, tuple[InstanceType, ...]]
) -> Mapping[str, tuple[str, str]]:
    """For each pool that nothing fits it, if so, and that too little does for its minValues."""
    return {pool.name: _wants(pool, types_by_pool.get(pool.name, ())) for pool in pools}


def _wants(pool: NodePool, types: tuple[InstanceType, ...]) -> tuple[str, str]:
    wanted = Requirements(pool.requirements) & Requirements.of_labels(pool.labels)
    fitting = [instance_type for instance_type in types if _fits(instance_type, wanted)]
    if not fitting:
        stated = ", ".join(str(requirement) for requirement in wanted.sorted())
        return (
            f"No available instance type satisfies the requirements of the NodePool: {stated}",
            "",
        )
    for requirement in wanted.sorted():
        n_values = len(_values(fitting, requirement.key, wanted)) if requirement.min_values else 0
        if requirement.min_values and n_values < requirement.min_values:
            return "", (
                f"minValues {requirement.min_values} of {requirement.key} cannot be met: the "
                f"matching instance types that are available have {n_values}"
            )
    return "", ""


def _fits(kind: InstanceType, wanted: Requirements) -> bool:
    return kind.requirements.intersects(wanted) and any(
        offering.is_available and offering.requirements.intersects(wanted)
        for offering in kind.offerings
    )


def _values(types: list[InstanceType], key: str, wanted: Requirements) -> set[str]:
    """The values of a label that these types can bring."""
    if key == labels.INSTANCE_TYPE:
        return {instance_type.name for instance_type in types}
    requirements = [
        requirements[key]
        for item in types
        for requirements in (item.requirements, *(at.requirements for at in item.offerings))
        if key in requirements
    ]
    return {
        value
        for requirement in requirements
        if not requirement.complement
        for value in requirement.values
        if wanted[key].has(value)
    }


def _event(
    pool: NodePool,
    reason: str,
    message: str,
    kind: EventType = EventType.NORMAL,
    dedupe: tuple[str, ...] = (),
) -> Event:
    return Event(
        "NodePool",
        pool.name,
        reason,
        message,
        type=kind,
        uid=pool.uid,
        dedupe=dedupe,
        dedupe_for=_TOLD_FOR,
    )
