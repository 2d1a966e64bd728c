"""Tests how the definition of EC2NodeClass is named, shown and filled in."""

from __future__ import annotations

from typing import Any

from tests.unit.providers.aws.node_class.definition import definition
from tests.unit.providers.aws.node_class.rows import METADATA, ROWS


def spec_schema() -> dict[str, Any]:
    """The schema of `spec`."""
    (version,) = definition()["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def test_the_definition_has_the_names_of_the_reference() -> None:
    """What users type at kubectl stays."""
    spec = definition()["spec"]
    assert (spec["group"], spec["scope"]) == ("karpenter.k8s.aws", "Cluster")
    assert spec["names"] == {
        "kind": "EC2NodeClass",
        "listKind": "EC2NodeClassList",
        "plural": "ec2nodeclasses",
        "singular": "ec2nodeclass",
        "shortNames": ["ec2nc", "ec2ncs"],
        "categories": ["karpenter"],
    }


def test_kubectl_shows_readiness_age_and_role() -> None:
    """The role only with -o wide; status is written apart."""
    (version,) = definition()["spec"]["versions"]
    columns = [(one["name"], one.get("priority", 0)) for one in version["additionalPrinterColumns"]]
    assert columns == [("Ready", 0), ("Age", 0), ("Role", 1)]
    assert version["subresources"] == {"status": {}}
    assert (version["name"], version["served"], version["storage"]) == ("v1", True, True)


def test_every_field_is_judged_by_cases() -> None:
    """A field without cases would be a field without tests."""
    assert set(spec_schema()["properties"]) == set(ROWS) - {"ebs"}


def test_the_lists_that_a_launch_needs_are_required() -> None:
    """As in the reference."""
    wanted = {"subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms"}
    assert set(spec_schema()["required"]) == wanted


def test_metadata_options_have_safe_defaults() -> None:
    """Tokens are required, and answers travel one hop."""
    options = spec_schema()["properties"]["metadataOptions"]
    assert options["default"] == METADATA
    assert {name: one["default"] for name, one in options["properties"].items()} == METADATA


def test_kubelet_keeps_keys_that_are_not_described() -> None:
    """Families that pass the map through need all of it."""
    kubelet = spec_schema()["properties"]["kubelet"]
    assert kubelet["x-kubernetes-preserve-unknown-fields"] is True
    assert len(kubelet["properties"]) == 12


def test_every_field_is_described() -> None:
    """`kubectl explain` has something to say of each."""
    silent = [
        path for path, schema in fields(definition_schema(), "") if not schema.get("description")
    ]
    assert silent == []


def definition_schema() -> dict[str, Any]:
    """The schemas of `spec` and `status` as properties of one object."""
    (version,) = definition()["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    return {"properties": {name: properties[name] for name in ("spec", "status")}}


def fields(schema: dict[str, Any], at: str) -> list[tuple[str, dict[str, Any]]]:
    """All fields below a schema, with their paths; parts of core Kubernetes types are left out."""
    found = []
    for name, inner in schema.get("properties", {}).items():
        path = f"{at}.{name}".removeprefix(".")
        found += [(path, inner), *fields(inner, path), *fields(inner.get("items", {}), path)]
    return [one for one in found if not one[0].startswith("status.amis.requirements.")]
