"""Claims and Nodes for tests, in a few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    ConditionChange,
    conditions_of_claim,
    hold,
)
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.node import Condition
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.pool import NodeClassRef
from dovetail.model.taints import Taint, Toleration

BORN = datetime(2026, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
NOW = BORN + MINUTE
PROVIDER_ID = "kwok://one"
KWOK = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
UNREGISTERED = Taint(labels.UNREGISTERED_TAINT, "", "NoExecute")
READY = Condition("Ready", "True")


def claim(*said: ConditionChange, at: datetime = BORN, **fields: object) -> ClaimObject:
    """A claim of the pool `default`, of which this was said at that moment."""
    bare = msgspec.structs.replace(
        ClaimObject(
            "one",
            uid="uid-1",
            node_pool="default",
            node_pool_uid="pool-1",
            finalizers=(labels.TERMINATION_FINALIZER,),
            node_class=KWOK,
            created_at=BORN,
        ),
        **fields,
    )
    if not said:
        return bare
    conditions = conditions_of_claim(bare, at).after(said, at)
    return msgspec.structs.replace(bare, conditions=conditions.held)


def launched(*said: ConditionChange, at: datetime = BORN, **fields: object) -> ClaimObject:
    """A claim with an instance."""
    return claim(hold(LAUNCHED), *said, at=at, **{"provider_id": PROVIDER_ID, **fields})


def registered(*said: ConditionChange, at: datetime = BORN, **fields: object) -> ClaimObject:
    """A claim with a Node."""
    return launched(hold(REGISTERED), *said, at=at, **{"node_name": "n1", **fields})


def initialized(*said: ConditionChange, at: datetime = BORN, **fields: object) -> ClaimObject:
    """A claim whose Node takes pods."""
    return registered(hold(INITIALIZED), *said, at=at, **fields)


def node(**fields: object) -> NodeObject:
    """The Node of that claim."""
    return msgspec.structs.replace(
        NodeObject("n1", uid="node-1", provider_id=PROVIDER_ID, conditions=(READY,)), **fields
    )


def view(one: ClaimObject, *nodes: NodeObject, **fields: object) -> ClaimView:
    """What is known of a claim."""
    return msgspec.structs.replace(ClaimView(one, nodes=nodes), **fields)


def said_of(one: ClaimObject, condition: str, now: datetime = NOW) -> Condition:
    """What a claim says of itself."""
    found = conditions_of_claim(one, now).get(condition)
    assert found is not None
    return found


def pod(name: str = "web", /, **fields: object) -> Pod:
    """A pod that runs on the Node."""
    spec_fields = {key: fields.pop(key) for key in list(fields) if key in PodSpec.__struct_fields__}
    spec = msgspec.structs.replace(PodSpec({"pods": 1}), **spec_fields)
    bare = Pod(name, "default", spec, uid=f"uid-{name}", node_name="n1", phase="Running")
    return msgspec.structs.replace(bare, **fields)


DAEMON = Owner("DaemonSet", "logs")
MIRROR = Owner("Node", "n1", api_version="v1")
TOLERATES_ALL = (Toleration(operator="Exists"),)
