"""Defines a NodeClaim, its Node and its instance separately, as the laws of a claim's life see
them; `model/node.py` has the three as one, for planning.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from dovetail.model.node import Condition
from dovetail.model.pool import NodeClassRef
from dovetail.model.requirements import Requirement
from dovetail.model.taints import Taint


class ClaimObject(msgspec.Struct, frozen=True, gc=False):
    """A NodeClaim by its own word alone, as decisions about that order for a node see it, and the
    cloud that is asked for it. `uid` makes it one node, however often that cloud is asked.

    `node_pool` is empty for a claim that stands alone. `expire_after` None means never,
    `termination_grace_period` None as long as it takes. `requests`, `capacity` and `allocatable`
    are what was asked for and what the cloud promised.
    """

    name: str
    uid: str = ""
    node_pool: str = ""
    node_pool_uid: str = ""  # of the owner reference; a pool of that name may be another by now
    generation: int = 1
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    node_class: NodeClassRef = NodeClassRef()
    requirements: tuple[Requirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requests: Mapping[str, int] = {}
    termination_grace_period: timedelta | None = None
    expire_after: timedelta | None = timedelta(hours=720)
    provider_id: str = ""
    node_name: str = ""
    image_id: str = ""
    capacity: Mapping[str, int] = {}
    allocatable: Mapping[str, int] = {}
    created_at: datetime | None = None
    deleting_at: datetime | None = None
    last_pod_event_at: datetime | None = None


class NodeObject(msgspec.Struct, frozen=True, gc=False):
    """A Node by its own word alone. `owner_uids` are those of its owner references."""

    name: str
    uid: str = ""
    provider_id: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    finalizers: tuple[str, ...] = ()
    owner_uids: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    capacity: Mapping[str, int] = {}
    allocatable: Mapping[str, int] = {}
    created_at: datetime | None = None
    deleting_at: datetime | None = None

    @property
    def is_ready(self) -> bool:
        """Whether its kubelet says so; one that has not spoken yet is not ready."""
        return any(item.type == "Ready" and item.status == "True" for item in self.conditions)


class InstanceState(StrEnum):
    """What the cloud last said of an instance; UNKNOWN when it was not asked."""

    UNKNOWN = "Unknown"
    RUNNING = "Running"
    TERMINATING = "Terminating"
    GONE = "Gone"


class InstanceRecord(msgspec.Struct, frozen=True, gc=False):
    """An instance in a cloud's list, as far as garbage collection reads it."""

    provider_id: str
    node_claim: str = ""  # empty: the cloud does not say for which claim it runs
    node_claim_uid: str = ""
    created_at: datetime | None = None
    is_terminating: bool = False


class Launching(msgspec.Struct, frozen=True, gc=False):
    """A launch that is under way: the cloud was asked and has not answered yet."""


class Launched(msgspec.Struct, frozen=True, gc=False):
    """A launch that came off: what the cloud has fixed."""

    provider_id: str
    image_id: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    capacity: Mapping[str, int] = {}
    allocatable: Mapping[str, int] = {}


class LaunchFailure(StrEnum):
    """The ways in which a launch can fail, each with a reaction of its own."""

    INSUFFICIENT_CAPACITY = "InsufficientCapacity"
    NODE_CLASS_NOT_READY = "NodeClassNotReady"
    CREATE_ERROR = "CreateError"
    OTHER = "Other"


class LaunchFailed(msgspec.Struct, frozen=True, gc=False):
    """A launch that did not come off. `reason` is the provider's word for the condition."""

    failure: LaunchFailure
    message: str
    reason: str = ""
    n_failures: int = 1  # this one included, for the claim


class HookAnswer(msgspec.Struct, frozen=True, gc=False):
    """What a provider's registration hook said: nothing more to wait for, or when to ask again."""

    name: str
    again_after: timedelta | None = None
    error: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether the node must wait for this hook."""
        return self.again_after is not None or bool(self.error)


class DeviceSlice(msgspec.Struct, frozen=True, gc=False):
    """A ResourceSlice that a driver published for one node; `n_slices` is how many make its pool.

    A pool's slices of older generations are left over.
    """

    driver: str
    pool: str
    generation: int = 1
    n_slices: int = 1


class ClaimView(msgspec.Struct, frozen=True, gc=False):
    """Everything that the next step of one claim depends on, but for the time.

    `nodes` are all Nodes with the claim's provider id. `outcome` is what became of the launch that
    was last tried, None if it is time to try (again). `hooks` holds one answer for each
    registration hook of the provider.
    """

    claim: ClaimObject
    nodes: tuple[NodeObject, ...] = ()
    instance: InstanceState = InstanceState.UNKNOWN
    outcome: Launching | Launched | LaunchFailed | None = None
    hooks: tuple[HookAnswer, ...] = ()
    slices: tuple[DeviceSlice, ...] = ()


class Attachment(msgspec.Struct, frozen=True, gc=False):
    """A VolumeAttachment; `volume_name` is empty when no PersistentVolume is behind it."""

    name: str
    volume_name: str = ""
