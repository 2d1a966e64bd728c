"""A node that somebody else launched becomes ours with a NodeClaim that says it is launched."""

from __future__ import annotations

from dovetail import labels
from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.kube.seam import Body, Json, Patch, Ref
from tests.unit.controllers.claiming import seeing_to_claims
from tests.unit.controllers.worlds import MINUTE, World, said

PROVIDER_ID = "kwok://older"
LAUNCHED: Json = {
    "type": "Launched",
    "status": "True",
    "reason": "Launched",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
TAINT: Json = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


async def test_a_node_is_adopted_by_a_claim_that_names_its_instance() -> None:
    """Nothing is launched; the Node keeps its labels and gets those of the claim, and no taint is
    put on it that the claim does not have.
    """
    world = World()
    node: Body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "older", "labels": {"karpenter.sh/provisioner-name": "default"}},
        "spec": {"providerID": PROVIDER_ID, "taints": [TAINT]},
    }
    await world.api.create(NODE, node)
    await world.ready("older")
    amounts: Json = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    sizes: Body = {"status": {"capacity": amounts, "allocatable": amounts}}
    await world.api.patch(Ref(NODE, "older"), Patch(sizes, subresource="status"))
    await world.claim("older", taints=[TAINT])
    status: Body = {"status": {"providerID": PROVIDER_ID, "conditions": [LAUNCHED]}}
    await world.api.patch(Ref(NODE_CLAIM, "older"), Patch(status, subresource="status"))
    async with seeing_to_claims(world):
        await world.time.advance(MINUTE)
        claim = await world.read_claim("older")
        got = {kind: status for kind, (status, _) in said(claim).items()}
        assert (got["Launched"], got["Registered"], got["Initialized"]) == ("True",) * 3
        assert claim.status.node_name == "older"
        adopted = await world.read_node("older")
        assert adopted.metadata.labels[labels.NODE_POOL] == "default"
        assert adopted.metadata.labels["karpenter.sh/provisioner-name"] == "default"
        assert [taint.key for taint in adopted.spec.taints] == ["nvidia.com/gpu"]
        assert labels.TERMINATION_FINALIZER in adopted.metadata.finalizers
        assert await world.names(NODE) == ["older"]
        assert await world.cloud.list() == ()
