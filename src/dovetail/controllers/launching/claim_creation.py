"""Turns a planned node into a NodeClaim, exactly once, whether a pod or a disruption needs it.

From the moment that a launch begins its node counts as one to come; what became of it goes into the
ledger. A claim says everything that its provider may choose from, and everything that its node must
get, so that the next leader needs no plan to go on. It also names the run that made it: when the
API does not say whether it took a claim, the claim is read by its name, and if that run is ours, it
is the one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.clock import Timer
from dovetail.controllers.cache import NODE_CLAIM, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.provisioning.reporting import first_names
from dovetail.decide.lifecycle.pool import HASH_VERSION, template_hash
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from dovetail.kube.seam import Body, Json, Kube, Ref
from dovetail.model.backoff import Backoff, Chance
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.model.taints import Taint
from dovetail.state.changes import LaunchDone, LaunchRefused, LaunchStarted
from dovetail.units import duration, quantity

NOMINATED: Final = "Nominated"
_AT_ONCE: Final = 100  # claims that are being made
_RETRY: Final = Backoff(0.5, 10.0)
API_VERSION: Final = "karpenter.sh/v1"
NEVER: Final = "Never"
_TRUE: Final = "true"


class LaunchPurpose(msgspec.Struct, frozen=True):
    """What claims are made for, as metrics have it, and what they say of it in annotations."""

    reason: str
    marks: Mapping[str, str] = {}


PROVISIONING: Final = LaunchPurpose("provisioned")


class ClaimCreation:
    """Creates NodeClaims, up to a number at once."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache, writer: ClaimWriter) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._writer = writer
        self._log = dependencies.log.named("provisioner")
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def begin(self, launch: Launch, now: datetime) -> None:
        """From now on this is a node to come, and its pods are meant for it."""
        self._cache.cluster.apply(LaunchStarted(launch, now))

    async def create(
        self, launch: Launch, pool: NodePool, purpose: LaunchPurpose = PROVISIONING
    ) -> bool:
        """Create the claim of a launch that has begun; whether the API took it."""
        clock, cluster = self._dependencies.clock, self._cache.cluster
        marks = {
            labels.NODE_POOL_HASH: template_hash(pool),
            labels.NODE_POOL_HASH_VERSION: HASH_VERSION,
            **overlay_marks(launch, cluster.instance_types(pool.name)),
            **purpose.marks,
        }
        try:
            async with self._slots:
                made = await self._writer.write(claim_body(launch, pool, marks))
        except ApiError as error:
            cluster.apply(LaunchRefused(launch.name, clock.now()))
            self._log.error("creating nodeclaim", NodeClaim=launch.name, error=str(error))
            return False
        except BaseException:
            # Nobody knows whether the API has it: the watch shows it soon, or it is forgotten.
            cluster.apply(LaunchDone(launch.name, clock.now()))
            raise
        self._report(launch, purpose)
        cluster.apply(LaunchDone(launch.name, clock.now()))
        self._cache.put(NODE_CLAIM, made)
        return True

    def _report(self, launch: Launch, purpose: LaunchPurpose) -> None:
        """Report a claim that was created, before other loops see it."""
        self._dependencies.meters.nodeclaims_created_total.labels(
            reason=purpose.reason,
            nodepool=launch.node_pool,
            min_values_relaxed=str(launch.is_min_values_relaxed).lower(),
        ).inc()
        self._log.info("created nodeclaim", **launch_fields(launch))
        self.report_nomination(launch.pods, f"nodeclaim/{launch.name}")

    def report_nomination(self, pods: tuple[str, ...], where: str) -> None:
        """Say to whoever looks at these pods where they are meant to go."""
        for pod in pods:
            current = self._cache.cluster.pod(pod)
            if current is not None:
                message = f"Pod should schedule on: {where}"
                event = Event("Pod", pod, NOMINATED, message, uid=current.uid)
                self._dependencies.recorder.tell(event)


def launch_fields(launch: Launch) -> dict[str, object]:
    """A launch in the log."""
    return {
        "NodePool": launch.node_pool,
        "NodeClaim": launch.name,
        "requests": quantity.render_all(launch.requests),
        "instance-types": first_names(launch.instance_types),
        "zone": launch.zone,
        "capacity-type": launch.capacity_type,
        "price_per_hour": launch.price_nanousd / 1e9,
        "pods": len(launch.pods),
    }


class TakenNameError(ApiError):
    """Somebody else has a claim of that name. The next plan has other names."""


class ClaimWriter:
    """Makes NodeClaims. `mark` tells this run of the program from every other."""

    def __init__(self, kube: Kube, *, mark: str, timer: Timer, chance: Chance) -> None:
        self._kube = kube
        self._mark = mark
        self._timer = timer
        self._chance = chance

    async def write(self, body: Body) -> msgspec.Raw:
        """Make the claim, and return it as the API has it. Raises ApiError if there is none for
        certain; as long as that is not certain, it asks.
        """
        marked = self._with_mark(body)
        name = _name_in(marked)
        for n_failed in count(1):
            try:
                return await self._create_claim(name, marked)
            except (UnavailableError, TooManyRequestsError):
                await self._timer.sleep(_RETRY.seconds(n_failed, self._chance))
        raise AssertionError  # counting does not end

    async def _create_claim(self, name: str, body: Body) -> msgspec.Raw:
        try:
            return await self._kube.create(NODE_CLAIM, body)
        except AlreadyExistsError:
            raw = await self._read_claim(name)
        claim = api.read(NODE_CLAIM, raw)
        if claim.metadata.annotations.get(labels.MADE_BY_RUN) == self._mark:
            return raw
        msg = f"there is another NodeClaim {name}"
        raise TakenNameError(409, "AlreadyExists", msg)

    async def _read_claim(self, name: str) -> msgspec.Raw:
        try:
            return await self._kube.get(Ref(NODE_CLAIM, name))
        except NotFoundError as error:
            msg = f"NodeClaim {name} is gone again"
            raise TakenNameError(409, error.reason, msg) from None

    def _with_mark(self, body: Body) -> dict[str, Json]:
        meta = body["metadata"]
        metadata = dict(meta) if isinstance(meta, dict) else {}
        annotations = metadata.get("annotations")
        own: dict[str, Json] = {labels.MADE_BY_RUN: self._mark}
        metadata["annotations"] = (annotations if isinstance(annotations, dict) else {}) | own
        return {**body, "metadata": metadata}


def _name_in(body: Body) -> str:
    meta = body["metadata"]
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else ""


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
    chosen = [instance_type for instance_type in types if instance_type.name in names]
    marks = {}
    if any(at.is_overlaid for instance_type in chosen for at in instance_type.offerings):
        marks[labels.PRICE_OVERLAY_APPLIED] = _TRUE
    if any(instance_type.is_overlaid for instance_type in chosen):
        marks[labels.CAPACITY_OVERLAY_APPLIED] = _TRUE
    return marks


def _spec(launch: Launch, pool: NodePool) -> dict[str, Json]:
    ref = pool.node_class
    spec: dict[str, Json] = {
        "nodeClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name},
        "requirements": _requirements(launch, pool),
        "resources": {"requests": {**quantity.render_all(launch.requests)}},
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
    requirements: list[Json] = []
    for key in sorted(both):
        for name, operator, values, min_values in both[key].wire():
            line: dict[str, Json] = {"key": name, "operator": operator.value}
            if values:
                line["values"] = list(values)
            if min_values is not None:
                line["minValues"] = min_values
            requirements.append(line)
    return requirements


def _owner(pool: NodePool) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "NodePool",
        "name": pool.name,
        "uid": pool.uid,
        "blockOwnerDeletion": True,
    }


def _taints(taints: Iterable[Taint]) -> list[Json]:
    result: list[Json] = []
    for taint in taints:
        line: dict[str, Json] = {"key": taint.key, "effect": taint.effect}
        if taint.value:
            line["value"] = taint.value
        result.append(line)
    return result


def _span(span: timedelta | None) -> str:
    return "" if span is None else duration.render(span)


def _texts(texts: Mapping[str, str]) -> dict[str, Json]:
    return {key: texts[key] for key in sorted(texts)}
