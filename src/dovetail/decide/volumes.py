"""Says where the volumes of a pod let it run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from dovetail.decide.explain import say
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import NodeTerm
from dovetail.model.verdict import Problem, Reason
from dovetail.model.volumes import NO_VOLUMES, PodVolumes, StorageClass, VolumeClaim


class _ClaimNeeds(msgspec.Struct, frozen=True, gc=False):
    """What one claim asks of a node: one of the terms (none: any node), a slot of the driver."""

    driver: str = ""
    terms: tuple[NodeTerm, ...] = ()


def pod_volumes(pod: Pod, snapshot: Snapshot) -> PodVolumes | Problem:
    """What one pod's volumes ask of its node, or why they cannot be had."""
    return _Claims(snapshot).of_pod(pod)


def volumes_by_pod(
    pods: Iterable[Pod], snapshot: Snapshot
) -> tuple[dict[str, PodVolumes], tuple[tuple[Pod, Problem], ...]]:
    """The same for many pods that have volumes, by pod key, and the pods that cannot have them."""
    claims = _Claims(snapshot)
    needs: dict[str, PodVolumes] = {}
    refused: list[tuple[Pod, Problem]] = []
    for pod in pods:
        if not pod.claim_names:
            continue
        answer = claims.of_pod(pod)
        if isinstance(answer, Problem):
            refused.append((pod, answer))
        else:
            needs[pod.key] = answer
    return needs, tuple(refused)


class _Claims:
    """Answers per claim, remembered: many pods may share one."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._needs_by_claim: dict[str, _ClaimNeeds | Problem] = {}

    def of_pod(self, pod: Pod) -> PodVolumes | Problem:
        """All claims of a pod together; the first problem wins."""
        if not pod.claim_names:
            return NO_VOLUMES
        alternatives: list[tuple[NodeTerm, ...]] = []
        claims_by_driver: dict[str, set[str]] = {}
        for name in sorted(set(pod.claim_names)):
            claim_id = f"{pod.namespace}/{name}"
            needs = self._needs(claim_id)
            if isinstance(needs, Problem):
                return needs
            if needs.terms and needs.terms not in alternatives:
                alternatives.append(needs.terms)
            if needs.driver:
                claims_by_driver.setdefault(needs.driver, set()).add(claim_id)
        return PodVolumes(
            alternatives=tuple(alternatives),
            attachments=tuple(
                (driver, tuple(sorted(claims_by_driver[driver])))
                for driver in sorted(claims_by_driver)
            ),
        )

    def _needs(self, claim_id: str) -> _ClaimNeeds | Problem:
        if claim_id not in self._needs_by_claim:
            claim = self._snapshot.volume_claims.get(claim_id)
            self._needs_by_claim[claim_id] = (
                _missing_claim(claim_id) if claim is None else self._read(claim_id, claim)
            )
        return self._needs_by_claim[claim_id]

    def _read(self, claim_id: str, claim: VolumeClaim) -> _ClaimNeeds | Problem:
        if claim.is_deleting:
            return _unusable(claim_id, "is being deleted", "create the claim again")
        if claim.is_lost:
            return _unusable(claim_id, "has lost its volume", "restore its volume")
        if claim.volume_name:
            return self._bound_needs(claim_id, claim)
        return self._unbound(claim_id, claim)

    def _bound_needs(self, claim_id: str, claim: VolumeClaim) -> _ClaimNeeds | Problem:
        volume = self._snapshot.volumes.get(claim.volume_name)
        if volume is None:
            message = say(Reason.VOLUME_NOT_FOUND, volume=claim.volume_name, claim=claim_id)
            fix = f"create PersistentVolume {claim.volume_name}, or bind the claim to another"
            return Problem(Reason.VOLUME_NOT_FOUND, message, fix)
        if volume.is_deleting:
            problem = f"is bound to PersistentVolume {volume.name}, which is being deleted"
            return _unusable(claim_id, problem, "create the claim again")
        if not claim.is_bind_completed:
            return _unusable(claim_id, "is not fully bound yet", "wait for the binding")
        driver = volume.driver or _driver_of_class(claim, self._snapshot.storage_classes)
        # A term that names nothing was emptied when a local volume's host was taken out of it:
        # as one alternative among others it allows everything.
        if any(not term.expressions and not term.fields for term in volume.terms):
            return _ClaimNeeds(driver)
        return _ClaimNeeds(driver, volume.terms)

    def _unbound(self, claim_id: str, claim: VolumeClaim) -> _ClaimNeeds | Problem:
        classes = self._snapshot.storage_classes
        named = claim.storage_class
        kind = _default_class(classes) if named is None else classes.get(named)
        if kind is None and not named:
            problem = "is not bound and names no storage class"
            return _unusable(claim_id, problem, f"set storageClassName of claim {claim_id}")
        if kind is None:
            message = say(Reason.STORAGE_CLASS_NOT_FOUND, storage_class=named or "", claim=claim_id)
            fix = _class_fix(named or "", classes)
            return Problem(Reason.STORAGE_CLASS_NOT_FOUND, message, fix)
        if kind.is_immediate:
            message = say(Reason.VOLUME_UNBOUND_IMMEDIATE, claim=claim_id, storage_class=kind.name)
            fix = "wait for its volume, or set volumeBindingMode: WaitForFirstConsumer"
            return Problem(Reason.VOLUME_UNBOUND_IMMEDIATE, message, fix)
        return _ClaimNeeds(kind.driver, kind.terms)


def _missing_claim(claim_id: str) -> Problem:
    return Problem(
        Reason.CLAIM_NOT_FOUND,
        say(Reason.CLAIM_NOT_FOUND, claim=claim_id),
        f"create PersistentVolumeClaim {claim_id}",
    )


def _unusable(claim_id: str, problem: str, fix: str) -> Problem:
    message = say(Reason.CLAIM_UNUSABLE, claim=claim_id, what=problem)
    return Problem(Reason.CLAIM_UNUSABLE, message, fix)


def _driver_of_class(claim: VolumeClaim, classes: Mapping[str, StorageClass]) -> str:
    storage_class = classes.get(claim.storage_class or "")
    return storage_class.driver if storage_class else ""


def _default_class(classes: Mapping[str, StorageClass]) -> StorageClass | None:
    """The cluster's default; of several, the first by name."""
    return next((classes[name] for name in sorted(classes) if classes[name].is_default), None)


def _class_fix(name: str, classes: Mapping[str, StorageClass]) -> str:
    if not classes:
        return f"create StorageClass {name}"
    return f"create StorageClass {name}, or use one of {', '.join(sorted(classes)[:5])}"
