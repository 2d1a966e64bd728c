"""Wire objects as the nouns of their lives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail import api, labels
from dovetail.decide.lifecycle.pool import NodeClassState
from dovetail.errors import InputError
from dovetail.model.claim import Attachment, ClaimObject, NodeObject
from dovetail.model.node import Condition
from dovetail.model.pool import NodeClassRef
from dovetail.model.requirements import requirement
from dovetail.model.taints import Effect, Taint
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.kwok.node_class import KWOKNodeClass
from dovetail.state.objects import (
    attachment,
    claim_object,
    node_class_state,
    node_object,
    pool_view,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT_NOON = "2026-01-01T12:00:00Z"
LAUNCHED: dict[str, api.Tree] = {
    "type": "Launched",
    "status": "True",
    "reason": "Launched",
    "message": "",
    "lastTransitionTime": AT_NOON,
    "observedGeneration": 2,
}


def claim_wire(requests: dict[str, api.Tree]) -> api.NodeClaim:
    """A claim with everything that a claim can say."""
    return api.decode(
        api.NodeClaim,
        {
            "metadata": {
                "name": "one",
                "uid": "uid-1",
                "generation": 2,
                "labels": {labels.NODE_POOL: "default"},
                "annotations": {"a": "b"},
                "finalizers": [labels.TERMINATION_FINALIZER],
                "creationTimestamp": AT_NOON,
                "deletionTimestamp": "2026-01-01T13:00:00Z",
                "ownerReferences": [{"kind": "NodePool", "name": "default", "uid": "pool-uid"}],
            },
            "spec": {
                "nodeClassRef": {"group": "g", "kind": "K", "name": "n"},
                "requirements": [{"key": "team", "operator": "In", "values": ["a"]}],
                "taints": [{"key": "t", "effect": "NoSchedule", "value": "v"}],
                "startupTaints": [{"key": "s", "effect": "NoExecute"}],
                "resources": {"requests": requests},
                "terminationGracePeriod": "1h",
                "expireAfter": "Never",
            },
            "status": {
                "providerID": "kwok://one",
                "nodeName": "node",
                "imageID": "image",
                "capacity": {"cpu": "4"},
                "allocatable": {"cpu": "3900m"},
                "conditions": [LAUNCHED],
                "lastPodEventTime": AT_NOON,
            },
        },
    )


def test_a_claim_is_read_whole() -> None:
    """Every field, its conditions with the generation of which they were said."""
    assert claim_object(claim_wire({"cpu": "1500m"})) == ClaimObject(
        name="one",
        uid="uid-1",
        node_pool="default",
        node_pool_uid="pool-uid",
        generation=2,
        labels={labels.NODE_POOL: "default"},
        annotations={"a": "b"},
        finalizers=(labels.TERMINATION_FINALIZER,),
        conditions=(Condition("Launched", "True", "Launched", "", NOON, 2),),
        node_class=NodeClassRef("g", "K", "n"),
        requirements=(requirement("team", "In", ["a"]),),
        taints=(Taint("t", "v"),),
        startup_taints=(Taint("s", "", Effect.NO_EXECUTE),),
        requests={"cpu": 1500},
        termination_grace_period=timedelta(hours=1),
        expire_after=None,
        provider_id="kwok://one",
        node_name="node",
        image_id="image",
        capacity={"cpu": 4000},
        allocatable={"cpu": 3900},
        created_at=NOON,
        deleting_at=NOON + timedelta(hours=1),
        last_pod_event_at=NOON,
    )


def test_a_claim_that_makes_no_sense_says_which_and_why() -> None:
    """Whoever reads it tells so, and goes on."""
    with pytest.raises(InputError, match=r"NodeClaim one: 'much' is not a quantity"):
        claim_object(claim_wire({"cpu": "much"}))


def test_requirements_are_read_under_the_current_names_of_their_labels() -> None:
    """Which is how clouds and pools speak of them."""
    wire = claim_wire({})
    old = api.karpenter.ClaimRequirement("beta.kubernetes.io/arch", "In", ("amd64",))
    spec = msgspec.structs.replace(wire.spec, requirements=(old,))
    found = claim_object(msgspec.structs.replace(wire, spec=spec))
    assert [one.key for one in found.requirements] == [labels.ARCH]


def test_a_node_is_read_whole() -> None:
    """By its own word alone."""
    wire = api.decode(
        api.Node,
        {
            "metadata": {
                "name": "node",
                "uid": "uid-2",
                "labels": {"beta.kubernetes.io/os": "linux"},
                "annotations": {"a": "b"},
                "finalizers": ["f"],
                "creationTimestamp": AT_NOON,
                "ownerReferences": [{"kind": "NodeClaim", "name": "one", "uid": "uid-1"}],
            },
            "spec": {"providerID": "kwok://one", "taints": [{"key": "t", "effect": "NoExecute"}]},
            "status": {
                "capacity": {"cpu": "4"},
                "allocatable": {"cpu": "3900m"},
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": AT_NOON}],
            },
        },
    )
    assert node_object(wire) == NodeObject(
        name="node",
        uid="uid-2",
        provider_id="kwok://one",
        labels={"beta.kubernetes.io/os": "linux"},
        annotations={"a": "b"},
        taints=(Taint("t", "", Effect.NO_EXECUTE),),
        finalizers=("f",),
        owner_uids=("uid-1",),
        conditions=(Condition("Ready", "True", changed_at=NOON),),
        capacity={"cpu": 4000},
        allocatable={"cpu": 3900},
        created_at=NOON,
    )
    strange = api.decode(api.Node, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": ""}}})
    with pytest.raises(InputError, match="Node n: "):
        node_object(strange)


def pool_wire(expire_after: str = "720h") -> api.NodePool:
    """A pool with a status."""
    return api.decode(
        api.NodePool,
        {
            "metadata": {"name": "default", "uid": "u", "generation": 3, "annotations": {"a": "b"}},
            "spec": {
                "template": {
                    "metadata": {"annotations": {"on": "nodes"}},
                    "spec": {
                        "nodeClassRef": {"group": "g", "kind": "K", "name": "n"},
                        "requirements": [],
                        "expireAfter": expire_after,
                    },
                }
            },
            "status": {
                "resources": {"cpu": "4"},
                "nodes": 1,
                "nodeClassObservedGeneration": 5,
                "conditions": [LAUNCHED],
            },
        },
    )


def test_a_pool_is_read_with_its_status() -> None:
    """Its own annotations are not those of its nodes."""
    found = pool_view(pool_wire())
    assert (found.pool.name, found.generation) == ("default", 3)
    assert (found.annotations, found.pool.annotations) == ({"a": "b"}, {"on": "nodes"})
    assert (found.resources, found.n_nodes) == ({"cpu": 4000}, 1)
    assert found.node_class_observed_generation == 5
    assert [one.observed_generation for one in found.conditions] == [2]


def test_a_pool_that_makes_no_sense_is_told_and_not_thrown() -> None:
    """Its status has to say so."""
    found = pool_view(pool_wire("soon"))
    assert found.pool.name == "default"
    assert "'soon' is not a duration" in found.pool.problems[0].message


def test_a_node_class_says_whether_it_is_ready() -> None:
    """Of a kind that nobody knows, nothing is known."""
    ready: dict[str, api.Tree] = {
        "type": "Ready",
        "status": "False",
        "reason": "NoSubnets",
        "message": "none",
    }
    wire = api.decode(
        EC2NodeClass,
        {"metadata": {"name": "n", "generation": 4}, "status": {"conditions": [LAUNCHED, ready]}},
    )
    said = Condition("Ready", "False", "NoSubnets", "none")
    assert node_class_state(wire) == NodeClassState(4, ready=said)
    going = api.decode(KWOKNodeClass, {"metadata": {"name": "n", "deletionTimestamp": AT_NOON}})
    assert node_class_state(going) == NodeClassState(is_deleting=True)
    assert node_class_state(api.Object()) == NodeClassState()


def test_an_attachment_names_its_volume() -> None:
    """If there is a PersistentVolume behind it."""
    wire = api.decode(
        api.VolumeAttachment,
        {"metadata": {"name": "va"}, "spec": {"source": {"persistentVolumeName": "pv"}}},
    )
    assert attachment(wire) == Attachment("va", "pv")
