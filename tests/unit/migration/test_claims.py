"""NodeClaims that would drift, by the steps of the controller."""

from __future__ import annotations

from dovetail import labels
from tests.unit.migration.clusters import (
    OLD,
    Tree,
    claim,
    definitions,
    findings,
    healthy,
    node,
    node_class,
    pool,
    stamped,
)


def cluster(claimed: Tree, pooled: Tree | None = None) -> list[Tree]:
    """A healthy cluster with another claim, or another pool."""
    return [*definitions(), pooled or stamped(pool()), node_class(), claimed, node()]


async def test_a_claim_that_no_longer_satisfies_its_pool_drifts() -> None:
    """By its labels."""
    tree = claim()
    tree["metadata"]["labels"]["kubernetes.io/os"] = "windows"
    (got,) = await findings(cluster(tree))
    assert (got.field, got.severity) == ("metadata.labels", "warning")
    assert "RequirementsDrifted" in got.message


async def test_a_pool_that_changed_since_its_hash_was_written_makes_claims_drift() -> None:
    """The hash is computed, not read: nobody wrote it after the change."""
    tree = stamped(pool())
    tree["spec"]["template"]["spec"]["expireAfter"] = "24h"
    (got,) = await findings(cluster(claim(), tree))
    assert got.field == f"metadata.annotations.{labels.NODE_POOL_HASH}"
    assert "NodePoolDrifted" in got.message


async def test_claims_of_a_pool_with_an_older_hash_version_do_not_drift() -> None:
    """The controller writes new hashes on both."""
    old = {labels.NODE_POOL_HASH: "1", labels.NODE_POOL_HASH_VERSION: "v2"}
    tree, pooled = claim(), pool()
    tree["metadata"]["annotations"] = dict(old)
    pooled["metadata"]["annotations"] = dict(old)
    assert await findings(cluster(tree, pooled)) == ()


async def test_an_older_hash_version_below_a_new_one_is_noted() -> None:
    """Nobody writes it anew, and nobody compares it."""
    tree = claim()
    tree["metadata"]["annotations"][labels.NODE_POOL_HASH_VERSION] = "v2"
    (got,) = await findings(cluster(tree))
    assert (got.field, got.severity) == (
        f"metadata.annotations.{labels.NODE_POOL_HASH_VERSION}",
        "note",
    )


async def test_a_claim_that_karpenter_marked_is_named() -> None:
    """The provider decides again."""
    tree = claim()
    mark = {"type": "Drifted", "status": "True", "reason": "AMIDrift", "message": ""}
    tree["status"]["conditions"].append({**mark, "lastTransitionTime": OLD})
    (got,) = await findings(cluster(tree))
    assert (got.object, got.field) == ("NodeClaim claim-1", "status.conditions[Drifted]")


async def test_a_claim_with_another_hash_of_its_node_class_drifts() -> None:
    """If both hashes are of one version."""
    key = "karpenter.kwok.sh/kwoknodeclass-hash"
    stated = {key: "1", f"{key}-version": "v1"}
    tree, item = claim(), node_class()
    tree["metadata"]["annotations"] |= stated
    item["metadata"]["annotations"] = {**stated, key: "2"}
    trees = [*definitions(), stamped(pool()), item, tree, node()]
    (got,) = await findings(trees)
    assert got.field == f"metadata.annotations.{key}"
    assert "NodeClassDrift" in got.message
    tree["metadata"]["annotations"][f"{key}-version"] = "v0"
    assert await findings(trees) == ()


async def test_a_claim_that_is_not_launched_is_launched_by_us() -> None:
    """That is worth knowing beforehand."""
    tree = claim("new", "")
    tree["status"] = {"conditions": []}
    (got,) = await findings([*healthy(), tree])
    assert (got.object, got.field) == ("NodeClaim new", "status.providerID")
    assert "launches an instance" in got.message


async def test_a_node_of_a_provisioner_is_not_managed() -> None:
    """The label tells."""
    tree = node("old", "kwok://old")
    tree["metadata"]["labels"] = {"karpenter.sh/provisioner-name": "default"}
    (got,) = await findings([*healthy(), tree])
    assert (got.object, got.severity) == ("Node old", "warning")


async def test_a_node_of_nobody_is_none_of_our_business() -> None:
    """Node groups stay as they are."""
    tree = node("other", "kwok://other")
    tree["metadata"]["labels"] = {}
    assert await findings([*healthy(), tree]) == ()
