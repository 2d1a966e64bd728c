"""Custom resource definitions are compared with ours."""

from __future__ import annotations

import pytest

from dovetail.migration.definitions import absent_fields
from tests.unit.migration.clusters import Tree, findings, healthy, older

POOLS = "CustomResourceDefinition nodepools.karpenter.sh"


def with_versions(*versions: Tree, stored: tuple[str, ...] = ("v1",)) -> list[Tree]:
    """A healthy cluster without objects, whose NodePools are defined in these versions."""
    trees = [tree for tree in healthy() if tree["kind"] == "CustomResourceDefinition"]
    for tree in trees:
        if tree["metadata"]["name"] == "nodepools.karpenter.sh":
            (own,) = tree["spec"]["versions"]
            tree["spec"]["versions"] = [{**own, **version} for version in versions]
            tree["status"] = {"storedVersions": list(stored)}
    return trees


async def test_v1_must_be_served() -> None:
    """Dovetail reads nothing else."""
    old = {"name": "v1beta1", "served": True, "storage": True}
    (got,) = await findings(with_versions({"served": False, "storage": False}, old))
    assert (got.object, got.field, got.severity) == (POOLS, "spec.versions", "error")
    assert "v1 is not served, only v1beta1" in got.message
    assert "dovetail crds --provider kwok" in got.remedy


async def test_objects_must_be_stored_as_v1() -> None:
    """Both served is a migration half done."""
    old = {"name": "v1beta1", "served": True, "storage": True}
    got = await findings(with_versions({"storage": False}, old, stored=("v1beta1",)))
    assert [(item.field, str(item.severity)) for item in got] == [
        ("status.storedVersions", "error"),
        ("spec.versions", "warning"),
    ]
    assert "stored as v1beta1, not as v1" in got[1].message
    assert "kubectl patch customresourcedefinition nodepools.karpenter.sh" in got[0].remedy


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("nodepools.karpenter.sh", "error"),
        ("nodeoverlays.karpenter.sh", "note"),
        ("capacitybuffers.autoscaling.x-k8s.io", "note"),
    ],
)
async def test_a_definition_that_is_missing_is_named(name: str, severity: str) -> None:
    """Kinds behind a feature gate can be done without."""
    trees = [
        tree
        for tree in healthy()
        if tree["kind"] == "CustomResourceDefinition" and tree["metadata"]["name"] != name
    ]
    (got,) = await findings(trees)
    assert (got.object, got.severity) == (f"CustomResourceDefinition {name}", severity)
    assert got.message.startswith("is not installed")


def fields_of(*names: str) -> Tree:
    """A schema with these fields."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


def test_absent_fields_are_found_at_any_depth() -> None:
    """In objects, lists and maps; of a field that is absent only its own path."""
    ours: Tree = {
        "properties": {
            "spec": {
                "properties": {
                    "list": {"items": fields_of("a", "b")},
                    "map": {"additionalProperties": fields_of("c")},
                    "new": fields_of("d"),
                }
            }
        }
    }
    theirs: Tree = {
        "properties": {
            "spec": {
                "properties": {
                    "list": {"items": fields_of("a")},
                    "map": {"additionalProperties": fields_of("x")},
                }
            }
        }
    }
    assert list(absent_fields(ours, theirs)) == ["spec.list[].b", "spec.map.c", "spec.new"]
    assert list(absent_fields(ours, ours)) == []


def test_a_schema_that_keeps_unknown_fields_lacks_none() -> None:
    """Nothing is dropped there."""
    theirs: Tree = {"properties": {}, "x-kubernetes-preserve-unknown-fields": True}
    assert list(absent_fields(fields_of("a"), theirs)) == []


async def test_a_kind_whose_v1_is_not_served_has_older_objects() -> None:
    """Each is named, so that it can be converted."""
    (definition, item) = older("NodePool", "v1beta1")
    trees = [tree for tree in healthy() if tree["kind"] == "CustomResourceDefinition"]
    others = [tree for tree in trees if tree["metadata"]["name"] != "nodepools.karpenter.sh"]
    got = await findings([*others, definition, item])
    assert ("NodePool older", "apiVersion") in {(each.object, each.field) for each in got}
