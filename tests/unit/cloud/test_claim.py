"""NodeClaims as clouds see them."""

from __future__ import annotations

import pytest

from dovetail import api, labels
from dovetail.cloud.claim import NodeClaim, node_claim
from dovetail.errors import InputError
from dovetail.model.pool import NodeClassRef
from dovetail.model.requirements import Requirement
from dovetail.model.taints import Taint

WIRE: api.Tree = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {
        "name": "default-1",
        "uid": "u-1",
        "labels": {labels.NODE_POOL: "default"},
        "annotations": {"a": "b"},
    },
    "spec": {
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": [
            {"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        ],
        "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}},
        "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
        "startupTaints": [{"key": "warming", "effect": "NoExecute"}],
    },
}


def test_a_claim_carries_all_that_a_cloud_needs() -> None:
    """Quantities as integers, labels by their current names, the UID that makes it one."""
    claim = node_claim(api.decode(api.NodeClaim, WIRE))
    assert claim == NodeClaim(
        name="default-1",
        uid="u-1",
        node_class=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"),
        requirements=(Requirement(labels.ARCH, False, frozenset({"amd64"})),),
        requests={"cpu": 1500, "memory": 2**30},
        labels={labels.NODE_POOL: "default"},
        annotations={"a": "b"},
        taints=(Taint("dedicated", "gpu", "NoSchedule"),),
        startup_taints=(Taint("warming", "", "NoExecute"),),
    )
    assert claim.node_pool == "default"
    assert NodeClaim("by-hand", "u-2").node_pool == ""


def test_a_claim_that_no_server_would_store_is_named() -> None:
    """So that one bad claim is told from the rest."""
    requirement = api.karpenter.ClaimRequirement(key="x", operator="Gt", values=("many",))
    spec = api.karpenter.NodeClaimSpec(
        node_class_ref=api.karpenter.NodeClassReference("g", "k", "n"), requirements=(requirement,)
    )
    wire = api.NodeClaim(metadata=api.ObjectMeta(name="odd"), spec=spec)
    with pytest.raises(InputError, match="node claim odd: x: Gt takes exactly one integer"):
        node_claim(wire)
