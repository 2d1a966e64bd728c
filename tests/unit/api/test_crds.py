from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import dovetail.api.facts
from dovetail.api.crds import crds, render
from dovetail.api.facts import Rule
from dovetail.providers.kwok.plugin import PLUGIN

KWOK = (PLUGIN.extension,)

rules = dovetail.api.facts
BY_NAME: dict[str, Any] = {
    one["spec"]["names"]["kind"]: one for one in json.loads(json.dumps(crds(KWOK)))
}


def _version(kind: str) -> Any:
    (version,) = BY_NAME[kind]["spec"]["versions"]
    return version


def _at(kind: str, path: str) -> Any:
    """The schema at a path such as "spec.requirements[].key"; `{}` enters a map's values."""
    schema = _version(kind)["schema"]["openAPIV3Schema"]
    for step in re.findall(r"\w+|\[\]|\{\}", path):
        if step == "[]":
            schema = schema["items"]
        elif step == "{}":
            schema = schema["additionalProperties"]
        else:
            schema = schema["properties"][step]
    return schema


def _schemas(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _schemas(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from _schemas(schema[name], f"{path}[]")


ALL = [
    (kind, path, schema)
    for kind in BY_NAME
    for path, schema in _schemas(_version(kind)["schema"]["openAPIV3Schema"])
]
NUMBERS = ("minimum", "maximum", "maxLength", "minLength", "maxItems", "maxProperties")


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (
            "NodePool",
            (
                "template.metadata.labels template.metadata.annotations template.spec.taints "
                "template.spec.startupTaints template.spec.requirements template.spec.nodeClassRef "
                "template.spec.terminationGracePeriod template.spec.expireAfter "
                "disruption.consolidateAfter disruption.consolidationPolicy disruption.budgets "
                "limits weight replicas"
            ),
        ),
        (
            "NodeClaim",
            (
                "taints startupTaints requirements resources.requests nodeClassRef "
                "terminationGracePeriod expireAfter"
            ),
        ),
        ("NodeOverlay", "requirements priceAdjustment price capacity weight"),
        (
            "CapacityBuffer",
            (
                "provisioningStrategy podTemplateRef.name scalableRef.apiGroup scalableRef.kind "
                "scalableRef.name replicas percentage limits"
            ),
        ),
        ("KWOKNodeClass", "nodeRegistrationDelay"),
    ],
)
def test_every_field_of_the_spec_is_described(kind: str, want: str) -> None:
    """As users know it from the reference."""
    for path in want.split():
        assert _at(kind, f"spec.{path}")["description"]


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        ("NodePool", "resources nodes nodeClassObservedGeneration conditions"),
        (
            "NodeClaim",
            "nodeName providerID imageID capacity allocatable conditions lastPodEventTime",
        ),
        ("NodeOverlay", "conditions"),
        (
            "CapacityBuffer",
            "podTemplateRef podTemplateGeneration replicas provisioningStrategy conditions",
        ),
        ("KWOKNodeClass", "conditions"),
    ],
)
def test_every_field_of_the_status_is_described(kind: str, want: str) -> None:
    """Neither more nor fewer."""
    assert set(_at(kind, "status")["properties"]) == set(want.split())


@pytest.mark.parametrize(
    ("kind", "path", "want"),
    [
        ("NodePool", "spec.template.metadata.labels", {"maxProperties": 100}),
        ("NodePool", "spec.template.metadata.labels{}", {"maxLength": 63}),
        ("NodePool", "spec.template.spec.requirements", {"maxItems": 100}),
        ("NodePool", "spec.template.spec.requirements[].key", {"maxLength": 316}),
        ("NodePool", "spec.template.spec.requirements[].values[]", {"maxLength": 63}),
        ("NodePool", "spec.template.spec.requirements[].minValues", {"minimum": 1, "maximum": 50}),
        ("NodePool", "spec.template.spec.taints[].key", {"minLength": 1}),
        ("NodePool", "spec.template.spec.nodeClassRef.group", {"pattern": "^[^/]*$"}),
        ("NodePool", "spec.template.spec.expireAfter", {"default": "720h"}),
        (
            "NodePool",
            "spec.template.spec.terminationGracePeriod",
            {"pattern": "^([0-9]+(s|m|h))+$"},
        ),
        ("NodePool", "spec.disruption", {"default": {"consolidateAfter": "0s"}}),
        ("NodePool", "spec.disruption.consolidateAfter", {"default": "0s"}),
        (
            "NodePool",
            "spec.disruption.consolidationPolicy",
            {
                "default": "WhenEmptyOrUnderutilized",
                "enum": ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"],
            },
        ),
        ("NodePool", "spec.disruption.budgets", {"maxItems": 50, "default": [{"nodes": "10%"}]}),
        (
            "NodePool",
            "spec.disruption.budgets[].nodes",
            {"default": "10%", "pattern": "^((100|[0-9]{1,2})%|[0-9]+)$"},
        ),
        (
            "NodePool",
            "spec.disruption.budgets[].reasons",
            {"maxItems": 50, "x-kubernetes-list-type": "set"},
        ),
        (
            "NodePool",
            "spec.disruption.budgets[].reasons[]",
            {"enum": ["Underutilized", "Empty", "Drifted"]},
        ),
        ("NodePool", "spec.limits{}", {"x-kubernetes-int-or-string": True}),
        ("NodePool", "spec.weight", {"minimum": 1, "maximum": 100}),
        ("NodePool", "spec.replicas", {"minimum": 0}),
        ("NodePool", "status.nodes", {"default": 0}),
        ("NodeClaim", "spec.expireAfter", {"default": "720h"}),
        ("NodeClaim", "spec.requirements", {"maxItems": 100}),
        (
            "NodeClaim",
            "status.conditions[]",
            {"required": ["type", "status", "lastTransitionTime"]},
        ),
        ("NodeOverlay", "spec.requirements", {"maxItems": 100}),
        ("NodeOverlay", "spec.price", {"pattern": r"^\d+(\.\d+)?$"}),
        ("NodeOverlay", "spec.weight", {"minimum": 1, "maximum": 10000}),
        (
            "CapacityBuffer",
            "spec.provisioningStrategy",
            {"default": "buffer.x-k8s.io/active-capacity"},
        ),
        ("CapacityBuffer", "spec.replicas", {"minimum": 0}),
        ("CapacityBuffer", "spec.percentage", {"minimum": 0}),
    ],
)
def test_bounds_patterns_and_defaults_are_stated(
    kind: str, path: str, want: dict[str, object]
) -> None:
    """So that the API server refuses and fills in what the reference's does."""
    schema = _at(kind, path)
    assert {name: schema.get(name) for name in want} == want


@pytest.mark.parametrize(
    ("kind", "path", "want"),
    [
        ("NodePool", "spec", ["template"]),
        ("NodePool", "spec.template", ["spec"]),
        ("NodePool", "spec.template.spec", ["nodeClassRef", "requirements"]),
        ("NodePool", "spec.template.spec.nodeClassRef", ["group", "kind", "name"]),
        ("NodePool", "spec.template.spec.requirements[]", ["key", "operator"]),
        ("NodePool", "spec.disruption.budgets[]", ["nodes"]),
        ("NodeClaim", "spec", ["nodeClassRef", "requirements"]),
        ("NodeOverlay", "spec", ["requirements"]),
    ],
)
def test_what_must_be_there_is_required(kind: str, path: str, want: list[str]) -> None:
    """Neither more nor fewer."""
    assert _at(kind, path)["required"] == want


RULES = [(name, rule) for name, rule in vars(rules).items() if isinstance(rule, Rule)]
STATED = {
    (one["rule"], one["message"])
    for _, _, schema in ALL
    for one in schema.get("x-kubernetes-validations", [])
}


@pytest.mark.parametrize(("name", "rule"), RULES, ids=[name for name, _ in RULES])
def test_every_rule_is_stated(name: str, rule: Rule) -> None:
    """No rule is checked only here."""
    assert (rule.cel, rule.message) in STATED, name


@pytest.mark.parametrize(
    ("kind", "path", "want"),
    [
        ("NodePool", "spec", 3),
        ("NodePool", "spec.template.metadata.labels", 3),
        ("NodePool", "spec.template.spec.requirements[].key", 4),
        ("NodePool", "spec.template.spec.requirements[]", 3),
        ("NodePool", "spec.template.spec.nodeClassRef", 2),
        ("NodePool", "spec.disruption.budgets[]", 1),
        ("NodeClaim", "spec", 1),
        ("NodeClaim", "spec.requirements[].key", 3),
        ("NodeOverlay", "spec", 1),
        ("NodeOverlay", "spec.requirements[]", 4),
        ("NodeOverlay", "spec.capacity", 1),
        ("CapacityBuffer", "spec", 2),
    ],
)
def test_rules_stand_where_they_belong(kind: str, path: str, want: int) -> None:
    """On the smallest part that they speak of."""
    assert len(_at(kind, path)["x-kubernetes-validations"]) == want


@pytest.mark.parametrize(
    ("kind", "name", "want"),
    [
        ("NodePool", "columns", "NodeClass Nodes Ready Age Weight* CPU* Memory*"),
        (
            "NodeClaim",
            "columns",
            "Type Capacity Zone Node Ready Age ImageID* ID* NodePool* NodeClass* Drifted*",
        ),
        ("NodeOverlay", "columns", "Ready Age Weight*"),
        (
            "CapacityBuffer",
            "columns",
            "Strategy PodTemplate Replicas ConditionsType ConditionsStatus ConditionsReason Age",
        ),
        ("NodePool", "short", ""),
        ("NodeOverlay", "short", "overlays"),
        ("CapacityBuffer", "short", "cb"),
        ("KWOKNodeClass", "short", "kwoknc kwokncs"),
        ("NodePool", "categories", "karpenter"),
        ("NodeClaim", "categories", "karpenter"),
        ("NodeOverlay", "categories", "karpenter"),
        ("CapacityBuffer", "categories", "autoscaling"),
    ],
)
def test_kubectl_shows_and_finds_objects_as_users_know(kind: str, name: str, want: str) -> None:
    """Columns in order, those with a star only when wide."""
    names = BY_NAME[kind]["spec"]["names"]
    columns = [
        column["name"] + ("*" if column.get("priority") else "")
        for column in _version(kind)["additionalPrinterColumns"]
    ]
    shown = {
        "columns": columns,
        "short": names.get("shortNames", []),
        "categories": names["categories"],
    }
    assert shown[name] == want.split()


def test_only_capacity_buffers_are_namespaced() -> None:
    """All else concerns the whole cluster."""
    scopes = {kind: one["spec"]["scope"] for kind, one in BY_NAME.items()}
    assert {kind for kind, scope in scopes.items() if scope == "Namespaced"} == {"CapacityBuffer"}


def test_pools_scale_and_every_kind_has_a_status() -> None:
    """`kubectl scale nodepool` sets the replicas of a static pool."""
    assert _version("NodePool")["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.nodes",
    }
    assert all("status" in _version(kind)["subresources"] for kind in BY_NAME)


def test_a_kwok_node_class_is_ready_from_the_start() -> None:
    """Nothing has to be prepared for nodes that only pretend."""
    (condition,) = _at("KWOKNodeClass", "status")["default"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    assert set(_at("KWOKNodeClass", "status.conditions[]")["required"]) <= set(condition)


@pytest.mark.parametrize(
    ("kind", "path", "schema"), ALL, ids=[f"{kind}{path}" for kind, path, _ in ALL]
)
def test_schemas_are_structural(kind: str, path: str, schema: Any) -> None:
    """A type everywhere (or int-or-string), nothing by reference, bounds only where they apply."""
    assert "$ref" not in schema, (kind, path)
    if schema.get("x-kubernetes-int-or-string"):
        assert "type" not in schema
        return
    assert schema["type"] in {"object", "array", "string", "integer", "boolean"}
    assert ("items" in schema) == (schema["type"] == "array")
    assert not ("properties" in schema and "additionalProperties" in schema)
    assert all(isinstance(schema.get(name, 0), int) for name in NUMBERS)
    if "default" in schema and "pattern" in schema:
        assert re.search(schema["pattern"], schema["default"])
    assert set(schema.get("required", [])) <= set(schema.get("properties", {}))


@pytest.mark.parametrize("kind", BY_NAME)
def test_every_field_says_what_it_is_for(kind: str) -> None:
    """`kubectl explain` has an answer everywhere."""
    mute = [
        path
        for owner, path, schema in ALL
        if owner == kind and path and not path.endswith("[]") and "description" not in schema
    ]
    assert mute == [".metadata"]


def test_the_stream_reads_back_as_the_definitions() -> None:
    """One document for each, without anchors."""
    assert list(yaml.safe_load_all(render(KWOK))) == json.loads(json.dumps(crds(KWOK)))
    assert "&id" not in render(KWOK)
