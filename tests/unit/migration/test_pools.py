"""NodePools and node classes that are invalid here, or have another effect."""

from __future__ import annotations

from dovetail.migration.findings import is_clean
from tests.unit.migration.clusters import Tree, findings, healthy, pool


def second() -> Tree:
    """A pool beside the healthy one."""
    return pool("second")


async def test_a_pool_without_its_node_class_launches_nothing() -> None:
    """The class is named."""
    tree = second()
    tree["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "missing"
    (got,) = await findings([*healthy(), tree])
    assert (got.object, got.field) == (
        "NodePool second",
        "spec.template.spec.nodeClassRef.name",
    )
    assert "KWOKNodeClass missing does not exist" in got.message


async def test_a_pool_of_another_provider_is_ignored() -> None:
    """Its kind and ours are named."""
    tree = second()
    ref = {"group": "example.com", "kind": "OtherClass", "name": "default"}
    tree["spec"]["template"]["spec"]["nodeClassRef"] = ref
    (got,) = await findings([*healthy(), tree])
    assert (got.object, got.severity) == ("NodePool second", "error")
    assert "OtherClass.example.com is no node class of provider kwok" in got.message
    assert "KWOKNodeClass.karpenter.kwok.sh" in got.message


async def test_a_budget_without_reasons_limits_nothing() -> None:
    """It is allowed, and probably not meant."""
    tree = second()
    tree["spec"]["disruption"]["budgets"] = [{"nodes": "1"}, {"nodes": "0", "reasons": []}]
    (got,) = await findings([*healthy(), tree])
    assert (got.field, got.severity) == ("spec.disruption.budgets[1].reasons", "warning")


async def test_what_needs_a_feature_gate_is_a_note() -> None:
    """It was behind one in Karpenter too."""
    tree = second()
    tree["spec"]["replicas"] = 2
    del tree["spec"]["disruption"]
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "cheap"},
        "spec": {"requirements": [], "price": "1"},
    }
    got = await findings([*healthy(), tree, overlay])
    assert [(item.object, item.field) for item in got] == [
        ("NodeOverlay cheap", ""),
        ("NodePool second", "spec.replicas"),
    ]
    assert is_clean(got)
    assert "settings.featureGates.staticCapacity=true" in got[1].remedy


async def test_a_pool_that_cannot_be_read_is_named() -> None:
    """And the others are checked as ever."""
    tree = second()
    tree["spec"]["weight"] = "heavy"
    (got,) = await findings(healthy(), unchecked=(tree,))
    assert (got.object, got.severity) == ("NodePool second", "error")
    assert "spec.weight" in got.message
