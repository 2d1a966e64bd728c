"""What may be done to the world for the sake of one claim, node or pod? Each as an imperative."""

from __future__ import annotations

from datetime import datetime

import msgspec


class CreateInstance(msgspec.Struct, frozen=True, gc=False):
    """Launch an instance for this claim. Asking twice gives the same instance."""

    claim: str
    uid: str


class DeleteInstance(msgspec.Struct, frozen=True, gc=False):
    """Terminate this instance; once more says whether it is gone."""

    provider_id: str
    claim: str = ""


class DeleteClaim(msgspec.Struct, frozen=True, gc=False):
    """Delete this claim. `reason` is the disrupted metric's; empty: no disruption to count. It goes
    because its Node has this `condition`, if there is one.
    """

    claim: str
    uid: str
    reason: str = ""
    condition: str = ""


class DeleteNode(msgspec.Struct, frozen=True, gc=False):
    """Delete this Node; its finalizer keeps it until it is drained."""

    node: str
    uid: str


class EnqueueEviction(msgspec.Struct, frozen=True, gc=False):
    """See to it that this pod leaves, by `deadline` at the latest if there is one.

    A pod that is queued already keeps the earlier deadline. `reason` is said in its event.
    """

    pod: str
    uid: str
    node: str
    deadline: datetime | None = None
    reason: str = ""


class EvictPod(msgspec.Struct, frozen=True, gc=False):
    """Ask the eviction API to take this very pod away."""

    pod: str
    uid: str


class DeletePod(msgspec.Struct, frozen=True, gc=False):
    """Delete this very pod, whatever protects it, with so much time to end."""

    pod: str
    uid: str
    grace_seconds: int


class ForgetEviction(msgspec.Struct, frozen=True, gc=False):
    """This pod needs no more seeing to."""

    pod: str
    uid: str


class RetryEviction(msgspec.Struct, frozen=True, gc=False):
    """Come back to this pod later; it has failed so often by now."""

    pod: str
    uid: str
    n_failures: int


class NoteRegistration(msgspec.Struct, frozen=True, gc=False):
    """Remember for the pool whether a node of it came up (`health.py`)."""

    node_pool: str
    node_pool_uid: str
    is_success: bool
    reason: str = ""
    message: str = ""


Action = (
    CreateInstance
    | DeleteInstance
    | DeleteClaim
    | DeleteNode
    | EnqueueEviction
    | EvictPod
    | DeletePod
    | ForgetEviction
    | RetryEviction
    | NoteRegistration
)
