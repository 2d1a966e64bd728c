"""What must a cluster be told before it can store our kinds? Their custom resource definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import yaml

from dovetail.api.checks import fields
from dovetail.api.decoding import Tree
from dovetail.api.extension import Column, Definition, Extension
from dovetail.api.facts import Rule
from dovetail.api.kinds import KINDS
from dovetail.api.schema import Schema, of_hint, validations

_READY: Final = '.status.conditions[?(@.type=="Ready")].status'
_AGE: Final = ".metadata.creationTimestamp"


_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")  # of a NodePool
_DEFINITIONS: Final = (
    Definition(
        kind=KINDS["karpenter.sh", "NodePool"],
        description="What nodes may be launched, how many, and when they may go again.",
        category="karpenter",
        columns=(
            Column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
            Column("Nodes", ".status.nodes", "integer"),
            Column("Ready", _READY),
            Column("Age", _AGE, "date"),
            Column("Weight", ".spec.weight", "integer", is_wide=True),
            Column("CPU", ".status.resources.cpu", is_wide=True),
            Column("Memory", ".status.resources.memory", is_wide=True),
        ),
        scale=(".spec.replicas", ".status.nodes"),
    ),
    Definition(
        kind=KINDS["karpenter.sh", "NodeClaim"],
        description="A node that is wanted, from its order to its end.",
        category="karpenter",
        columns=(
            Column("Type", r".metadata.labels.node\.kubernetes\.io/instance-type"),
            Column("Capacity", r".metadata.labels.karpenter\.sh/capacity-type"),
            Column("Zone", r".metadata.labels.topology\.kubernetes\.io/zone"),
            Column("Node", ".status.nodeName"),
            Column("Ready", _READY),
            Column("Age", _AGE, "date"),
            Column("ImageID", ".status.imageID", is_wide=True),
            Column("ID", ".status.providerID", is_wide=True),
            Column("NodePool", r".metadata.labels.karpenter\.sh/nodepool", is_wide=True),
            Column("NodeClass", ".spec.nodeClassRef.name", is_wide=True),
            Column("Drifted", '.status.conditions[?(@.type=="Drifted")].status', is_wide=True),
        ),
    ),
    Definition(
        kind=KINDS["karpenter.sh", "NodeOverlay"],
        description="Prices and capacities that differ from the catalogue's.",
        category="karpenter",
        columns=(
            Column("Ready", _READY),
            Column("Age", _AGE, "date"),
            Column("Weight", ".spec.weight", "integer", is_wide=True),
        ),
        short_names=("overlays",),
    ),
    Definition(
        kind=KINDS["autoscaling.x-k8s.io", "CapacityBuffer"],
        description="Room that is kept free for pods to come.",
        category="autoscaling",
        columns=(
            Column("Strategy", ".spec.provisioningStrategy"),
            Column("PodTemplate", ".status.podTemplateRef.name"),
            Column("Replicas", ".status.replicas", "integer"),
            Column("ConditionsType", ".status.conditions[*].type"),
            Column("ConditionsStatus", ".status.conditions[*].status"),
            Column("ConditionsReason", ".status.conditions[*].reason"),
            Column("Age", _AGE, "date"),
        ),
        short_names=("cb",),
    ),
)


def crds(extensions: Iterable[Extension] = ()) -> list[dict[str, Tree]]:
    """The definitions of our kinds and of those that providers bring, as the API server takes them.

    What providers say of requirements becomes part of the definitions of NodePool and NodeClaim.
    """
    added = tuple(extensions)
    rules = tuple(rule for extension in added for rule in extension.requirement_rules)
    trees = [_definition(definition) for definition in _DEFINITIONS]
    for tree in trees:
        _add_rules(tree, rules)
    return [*trees, *(_definition(kind) for extension in added for kind in extension.node_classes)]


def render(extensions: Iterable[Extension] = ()) -> str:
    """All definitions as one YAML stream, for `kubectl apply -f -`."""
    return stream(crds(extensions))


def stream(trees: Iterable[Tree]) -> str:
    """Objects as one YAML stream."""
    text: str = yaml.dump_all(
        trees, Dumper=_PlainDumper, sort_keys=False, explicit_start=True, width=120
    )
    return text


class _PlainDumper(yaml.SafeDumper):
    """Writes everything out; no anchors, which people find hard to read."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  named as in the base class
        return True


def _definition(definition: Definition) -> dict[str, Tree]:
    kind = definition.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": _names(definition),
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "versions": [_version(definition)],
        },
    }


def _names(definition: Definition) -> Tree:
    kind = definition.kind
    names: dict[str, Tree] = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "categories": [definition.category],
    }
    return names | ({"shortNames": list(definition.short_names)} if definition.short_names else {})


def _version(definition: Definition) -> Tree:
    subresources: dict[str, Tree] = {"status": {}}
    if definition.scale is not None:
        wanted, counted = definition.scale
        subresources["scale"] = {"specReplicasPath": wanted, "statusReplicasPath": counted}
    return {
        "name": definition.kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema(definition)},
        "subresources": subresources,
        "additionalPrinterColumns": [column.tree() for column in definition.columns],
    }


def _schema(definition: Definition) -> Schema:
    """An object's own fields; what every object has is the API server's to describe."""
    own = [field for field in fields(definition.kind.wire_type) if field.name in {"spec", "status"}]
    properties: dict[str, Tree] = {
        "apiVersion": {"type": "string", "description": "Version of this description."},
        "kind": {"type": "string", "description": "What this object is."},
        "metadata": {"type": "object"},
    }
    schema: Schema = {
        "type": "object",
        "description": definition.description,
        "properties": properties | {field.name: of_hint(field.hint) for field in own},
    }
    return schema | ({"required": ["spec"]} if definition.needs_spec else {})


def _add_rules(definition: Tree, rules: tuple[Rule, ...]) -> None:
    """Rules for the keys of requirements, beside those that the keys have already."""
    for path in (_REQUIREMENTS, _REQUIREMENTS[-2:]):
        key = _schema_at(definition, path)
        if rules and key is not None:
            listed = key.setdefault("x-kubernetes-validations", [])
            if isinstance(listed, list):
                listed.extend(validations(rules))


def _schema_at(definition: Tree, path: tuple[str, ...]) -> dict[str, Tree] | None:
    """The schema of the key of a requirement, if this kind has requirements at this path."""
    steps: list[str | int] = ["spec", "versions", 0, "schema", "openAPIV3Schema"]
    for name in path:
        steps += ["properties", name]
    tree: Tree = definition
    for step in (*steps, "items", "properties", "key"):
        if isinstance(tree, dict) and isinstance(step, str):
            tree = tree.get(step)
        elif isinstance(tree, list) and isinstance(step, int):
            tree = tree[step]
        else:
            return None
    return tree if isinstance(tree, dict) else None
