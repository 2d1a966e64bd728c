"""What does a planned node look like as a NodeClaim?

A claim says everything that its provider may choose from, and everything that its node must get, so
that whoever finds it later (after a restart, or another replica) needs no plan to go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from dovetail import labels
from dovetail.kube.seam import Body, Json
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.model.taints import Taint
from dovetail.units import duration, quantity

API_VERSION: Final = "karpenter.sh/v1"
NEVER: Final = "Never"
_TRUE: Final = "true"


def claim_body(launch: Launch, pool: NodePool, marks: Mapping[str, str]) -> Body:
    """The NodeClaim for a launch. `marks` are annotations: hashes that tell whether a pool changed,
    and what overlays did.
    """
    annotations = {**pool.annotations, **marks}
    if launch.is_min_values_relaxed:
        annotations[labels.MIN_VALUES_RELAXED] = _TRUE
    return {
        "apiVersion": API_VERSION,
        "kind": "NodeClaim",
        "metadata": {
            "name": launch.name,
            "labels": _texts(_labels(launch, pool)),
            "annotations": _texts(annotations),
            # Held from the start, which spares the claim a write before its launch.
            "finalizers": [labels.TERMINATION_FINALIZER],
            "ownerReferences": [_owner(pool)],
        },
        "spec": _spec(launch, pool),
    }


def overlay_marks(launch: Launch, types: Iterable[InstanceType]) -> dict[str, str]:
    """Annotations that say whether an overlay changed what the claim may be launched as: providers
    know neither its prices nor its resources.
    """
    names = frozenset(launch.instance_types)
    chosen = [one for one in types if one.name in names]
    marks = {}
    if any(at.is_overlaid for one in chosen for at in one.offerings):
        marks[labels.PRICE_OVERLAY_APPLIED] = _TRUE
    if any(one.is_overlaid for one in chosen):
        marks[labels.CAPACITY_OVERLAY_APPLIED] = _TRUE
    return marks


def _spec(launch: Launch, pool: NodePool) -> dict[str, Json]:
    ref = pool.node_class
    spec: dict[str, Json] = {
        "nodeClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name},
        "requirements": _requirements(launch, pool),
        "resources": {
            "requests": {
                name: quantity.render(name, amount) for name, amount in launch.requests.items()
            }
        },
        "expireAfter": _span(pool.expire_after) or NEVER,
    }
    if pool.taints:
        spec["taints"] = _taints(pool.taints)
    if pool.startup_taints:
        spec["startupTaints"] = _taints(pool.startup_taints)
    if pool.termination_grace_period is not None:
        spec["terminationGracePeriod"] = _span(pool.termination_grace_period)
    return spec


def _labels(launch: Launch, pool: NodePool) -> dict[str, str]:
    """The pool's own, who it belongs to, and values chosen for labels that the pool leaves open."""
    ref = pool.node_class
    chosen = {
        requirement.key: launch.labels[requirement.key]
        for requirement in pool.requirements
        if requirement.key in launch.labels and not labels.is_well_known(requirement.key)
    }
    return {
        **pool.labels,
        **chosen,
        labels.NODE_POOL: pool.name,
        f"{ref.group}/{ref.kind.lower()}": ref.name,
    }


def _requirements(launch: Launch, pool: NodePool) -> list[Json]:
    """What the pool asks of its nodes, narrowed to what would hold the planned pods."""
    both = Requirements(pool.requirements) & Requirements(launch.requirements)
    found: list[Json] = []
    for key in sorted(both):
        for name, operator, values, min_values in both[key].wire():
            line: dict[str, Json] = {"key": name, "operator": operator.value}
            if values:
                line["values"] = list(values)
            if min_values is not None:
                line["minValues"] = min_values
            found.append(line)
    return found


def _owner(pool: NodePool) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "NodePool",
        "name": pool.name,
        "uid": pool.uid,
        "blockOwnerDeletion": True,
    }


def _taints(taints: Iterable[Taint]) -> list[Json]:
    found: list[Json] = []
    for one in taints:
        line: dict[str, Json] = {"key": one.key, "effect": one.effect}
        if one.value:
            line["value"] = one.value
        found.append(line)
    return found


def _span(span: timedelta | None) -> str:
    return "" if span is None else duration.render(span)


def _texts(texts: Mapping[str, str]) -> dict[str, Json]:
    return {key: texts[key] for key in sorted(texts)}
