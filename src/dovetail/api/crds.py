"""What must a cluster be told before it can store our kinds? Their custom resource definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import yaml

from dovetail.api.checks import fields
from dovetail.api.decoding import Tree
from dovetail.api.kinds import KINDS, Kind
from dovetail.api.schema import Schema, of_hint

_READY: Final = '.status.conditions[?(@.type=="Ready")].status'
_AGE: Final = ".metadata.creationTimestamp"


class Column(msgspec.Struct, frozen=True):
    """What `kubectl get` shows of an object; `is_wide` columns only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    is_wide: bool = False

    def tree(self) -> Tree:
        """As a definition says it."""
        said: dict[str, Tree] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return said | ({"priority": 1} if self.is_wide else {})


class Definition(msgspec.Struct, frozen=True):
    """How one of our kinds is shown and found."""

    group: str
    name: str
    description: str
    category: str
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    needs_spec: bool = True
    scale: tuple[str, str] | None = None  # where replicas are wanted, and where they are counted


_DEFINITIONS: Final = (
    Definition(
        group="karpenter.sh",
        name="NodePool",
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
        group="karpenter.sh",
        name="NodeClaim",
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
        group="karpenter.sh",
        name="NodeOverlay",
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
        group="autoscaling.x-k8s.io",
        name="CapacityBuffer",
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
    Definition(
        group="karpenter.kwok.sh",
        name="KWOKNodeClass",
        description="Settings of nodes that only pretend to run.",
        category="karpenter",
        columns=(Column("Age", _AGE, "date"),),
        short_names=("kwoknc", "kwokncs"),
        needs_spec=False,
    ),
)


def crds() -> list[dict[str, Tree]]:
    """The definitions of all our kinds, as the API server takes them."""
    return [_definition(one, KINDS[one.group, one.name]) for one in _DEFINITIONS]


def render() -> str:
    """All definitions as one YAML stream, for `kubectl apply -f -`."""
    return stream(crds())


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


def _definition(said: Definition, kind: Kind) -> dict[str, Tree]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": _names(said, kind),
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "versions": [_version(said, kind)],
        },
    }


def _names(said: Definition, kind: Kind) -> Tree:
    names: dict[str, Tree] = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "categories": [said.category],
    }
    return names | ({"shortNames": list(said.short_names)} if said.short_names else {})


def _version(said: Definition, kind: Kind) -> Tree:
    subresources: dict[str, Tree] = {"status": {}}
    if said.scale is not None:
        wanted, counted = said.scale
        subresources["scale"] = {"specReplicasPath": wanted, "statusReplicasPath": counted}
    return {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema(said, kind)},
        "subresources": subresources,
        "additionalPrinterColumns": [one.tree() for one in said.columns],
    }


def _schema(said: Definition, kind: Kind) -> Schema:
    """An object's own fields; what every object has is the API server's to describe."""
    own = [one for one in fields(kind.wire_type) if one.name in {"spec", "status"}]
    properties: dict[str, Tree] = {
        "apiVersion": {"type": "string", "description": "Version of this description."},
        "kind": {"type": "string", "description": "What this object is."},
        "metadata": {"type": "object"},
    }
    schema: Schema = {
        "type": "object",
        "description": said.description,
        "properties": properties | {one.name: of_hint(one.hint) for one in own},
    }
    return schema | ({"required": ["spec"]} if said.needs_spec else {})
