"""Writes conditions, timestamps and owners as kubelets and controllers do."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Final

from dovetail import api
from dovetail.clock import Timer
from dovetail.controllers.workqueue import QueueSettings
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Json
from dovetail.model.backoff import Backoff, Chance

POD: Final = api.KINDS["", "Pod"]
NODE: Final = api.KINDS["", "Node"]
LEASE: Final = api.Kind("coordination.k8s.io", "v1", "Lease", "leases", api.Object)
BINDING: Final = api.Kind("", "v1", "Binding", "bindings", api.Object)
_BACKOFF: Final = Backoff(0.1, 10.0)


def stamp(moment: datetime) -> str:
    """A moment in whole seconds, as most fields have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fine_stamp(moment: datetime) -> str:
    """A moment in microseconds, as leases have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def condition(
    name: str, *, holds: bool, now: datetime, reason: str = "", message: str = ""
) -> dict[str, Json]:
    """One status condition that has just come to be so."""
    said: dict[str, Json] = {"reason": reason, "message": message}
    return {
        "type": name,
        "status": "True" if holds else "False",
        "lastTransitionTime": stamp(now),
        **{key: value for key, value in said.items() if value},
    }


def owner(wire: api.Object, kind: api.Kind, *, controls: bool = True) -> dict[str, Json]:
    """A reference to an object as the owner of another."""
    reference: dict[str, Json] = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": wire.metadata.name,
        "uid": wire.metadata.uid,
    }
    if controls:
        reference |= {"controller": True, "blockOwnerDeletion": True}
    return reference


def is_true(conditions: tuple[api.Condition, ...], name: str) -> bool:
    """Whether that condition is said to hold."""
    return any(item.type == name and item.status == "True" for item in conditions)


def patient(timer: Timer, chance: Chance, n_workers: int) -> QueueSettings:
    """How stand-ins work off what there is to do."""
    return QueueSettings(timer, chance, _BACKOFF, n_workers)


def tolerated(_key: Hashable, error: Exception) -> None:
    """What the API refuses is tried again in silence; whatever else goes wrong is raised."""
    if not isinstance(error, ApiError):
        raise error
