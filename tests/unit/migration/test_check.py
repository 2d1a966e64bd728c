"""A cluster in order has no findings, and each of many planted mistakes is found by name."""

from __future__ import annotations

from datetime import timedelta

from dovetail.migration.findings import Severity, is_clean
from tests.unit.migration import clusters
from tests.unit.migration.clusters import NOW, Tree, findings, healthy


async def test_a_cluster_in_order_has_no_findings() -> None:
    """Whatever is reported is worth reading."""
    assert await findings(healthy()) == ()


def changed(trees: list[Tree], kind: str, name: str, change: Tree) -> list[Tree]:
    """The same objects, of which one has other parts."""
    assert any((tree["kind"], tree["metadata"]["name"]) == (kind, name) for tree in trees)
    return [
        {**tree, **change} if (tree["kind"], tree["metadata"]["name"]) == (kind, name) else tree
        for tree in trees
    ]


def with_mistakes() -> list[Tree]:
    """Twelve mistakes in one cluster."""
    trees = [
        tree
        for tree in healthy()
        if tree["metadata"]["name"] != "kwoknodeclasses.karpenter.kwok.sh"
    ]
    claims = next(t for t in trees if t["metadata"]["name"] == "nodeclaims.karpenter.sh")
    schema = claims["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["terminationGracePeriod"]
    hook = {"clientConfig": {"service": {"namespace": "kube-system", "name": "karpenter"}}}
    claims["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook}
    stored = {"storedVersions": ["v1beta1", "v1"]}
    trees = changed(trees, "CustomResourceDefinition", "nodepools.karpenter.sh", {"status": stored})
    invalid = clusters.pool("invalid")
    invalid["spec"]["weight"] = 1000
    drifted = clusters.claim("drifted", "kwok://node-2")
    drifted["metadata"]["annotations"]["karpenter.sh/nodepool-hash"] = "1"
    return [
        *trees,
        clusters.webhook(),
        clusters.karpenter("scaling"),
        invalid,
        drifted,
        clusters.node("node-2", "kwok://node-2"),
        clusters.claim("lonely", "kwok://node-3"),
        clusters.node("stray", "kwok://node-4"),
        clusters.claim("orphan", "kwok://node-5", "gone"),
        clusters.node("node-5", "kwok://node-5", "gone"),
        *clusters.older(),
    ]


async def test_every_planted_mistake_is_named() -> None:
    """With object and field, and with a remedy each."""
    got = await findings(with_mistakes(), lambda right: right["resource"] == "deployments")
    assert {(item.object, item.field, str(item.severity)) for item in got} == {
        ("CustomResourceDefinition kwoknodeclasses.karpenter.kwok.sh", "", "error"),
        ("CustomResourceDefinition nodepools.karpenter.sh", "status.storedVersions", "error"),
        ("CustomResourceDefinition nodeclaims.karpenter.sh", "spec.versions[v1].schema", "warning"),
        (
            "CustomResourceDefinition nodeclaims.karpenter.sh",
            "spec.conversion.webhook.clientConfig.service",
            "error",
        ),
        (
            "ValidatingWebhookConfiguration validation.webhook.karpenter.sh",
            "webhooks[0].clientConfig.service",
            "error",
        ),
        ("Deployment scaling/karpenter", "spec.replicas", "error"),
        ("NodePool invalid", "spec.weight", "error"),
        ("NodeClaim drifted", "metadata.annotations.karpenter.sh/nodepool-hash", "warning"),
        ("NodeClaim lonely", "status.providerID", "warning"),
        ("Node stray", "spec.providerID", "warning"),
        ("NodeClaim orphan", "metadata.labels.karpenter.sh/nodepool", "warning"),
        ("Node node-5", "metadata.labels.karpenter.sh/nodepool", "warning"),
        ("Provisioner older", "apiVersion", "error"),
        ("deployments.apps", "verbs", "error"),
    }
    assert all(item.remedy and item.message for item in got)
    ranks = [list(Severity).index(item.severity) for item in got]
    assert ranks == sorted(ranks)
    assert not is_clean(got)


async def test_karpenter_beside_us_is_only_a_note() -> None:
    """Both compete for one lease."""
    held = clusters.lease("kube-system", NOW)
    (got,) = await findings([*healthy(), clusters.karpenter(), held])
    assert (got.object, got.severity) == ("Deployment kube-system/karpenter", Severity.NOTE)
    assert is_clean([got])
    assert await findings([*healthy(), clusters.karpenter(replicas=0)]) == ()


async def test_a_lease_elsewhere_counts_while_it_is_renewed() -> None:
    """Whatever the controller is called that holds it."""
    held = clusters.lease("default", NOW - timedelta(seconds=10))
    (got,) = await findings([*healthy(), held])
    assert (got.object, got.field, got.severity) == (
        "Lease default/karpenter-leader-election",
        "spec.holderIdentity",
        Severity.ERROR,
    )
    assert "karpenter-abc" in got.message
    expired = clusters.lease("default", NOW - timedelta(seconds=16))
    assert await findings([*healthy(), expired]) == ()
