"""Defines the flags of a request for a NodePool, and makes a request of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from dovetail.api.decoding import FieldProblem, Tree

_PANEL: Final = "Request"

Value = str | int | list[str] | None


def _flag(name: str, metavar: str, text: str) -> object:
    return typer.Option(
        name, metavar=metavar, help=text, show_default=False, rich_help_panel=_PANEL
    )


Name = Annotated[str, _flag("--name", "NAME", "Name of the NodePool.")]
Provider = Annotated[
    str, _flag("--provider", "NAME", "Provider that launches the nodes. Default: aws.")
]
Cpu = Annotated[str, _flag("--cpu", "AMOUNT", "Most vCPU of all nodes together, such as 64.")]
Memory = Annotated[
    str, _flag("--memory", "AMOUNT", "Most memory of all nodes together, such as 256Gi.")
]
Gpus = Annotated[int | None, _flag("--gpus", "N", "Most GPUs of all nodes together.")]
Families = Annotated[
    list[str], _flag("--family", "NAME", "Instance family such as m7g; may be given several times.")
]
Architectures = Annotated[
    list[str], _flag("--arch", "NAME", "amd64 or arm64. Default: that of the families, or amd64.")
]
LeastCpu = Annotated[str, _flag("--min-node-cpu", "AMOUNT", "Least vCPU of one node.")]
MostCpu = Annotated[str, _flag("--max-node-cpu", "AMOUNT", "Most vCPU of one node.")]
LeastMemory = Annotated[str, _flag("--min-node-memory", "AMOUNT", "Least memory of one node.")]
MostMemory = Annotated[str, _flag("--max-node-memory", "AMOUNT", "Most memory of one node.")]
Spot = Annotated[
    str, _flag("--spot", "WHEN", "Spot instances: never, allowed or only. Default: never.")
]
Zones = Annotated[
    list[str], _flag("--zone", "NAME", "Zone such as us-west-2a; may be given several times.")
]
Labels = Annotated[
    list[str], _flag("--label", "KEY=VALUE", "Label of all nodes; may be given several times.")
]
Taints = Annotated[
    list[str],
    _flag("--taint", "KEY=VALUE:EFFECT", "Taint of all nodes; may be given several times."),
]
QuietHours = Annotated[
    list[str],
    _flag(
        "--quiet-hours",
        "HOURS",
        "Hours in UTC without consolidation and replacement after drift, such as "
        "'mon-fri 08:00-18:00'; may be given several times.",
    ),
]
Weight = Annotated[
    int | None, _flag("--weight", "N", "1 to 100; pools of higher weight are used first.")
]
NodeClass = Annotated[
    str,
    _flag(
        "--node-class",
        "NAME",
        "Name of the node class: an existing one, unless --role and --cluster describe a new one.",
    ),
]
Role = Annotated[str, _flag("--role", "NAME", "New node class on AWS: IAM role of the nodes.")]
ClusterTag = Annotated[
    str,
    _flag(
        "--cluster",
        "NAME",
        "New node class on AWS: value of the tag karpenter.sh/discovery of subnets and security "
        "groups.",
    ),
]
Image = Annotated[
    str, _flag("--image", "ALIAS", "New node class on AWS: image. Default: al2023@latest.")
]
Disk = Annotated[
    str, _flag("--disk", "SIZE", "New node class on AWS: size of the root volume, such as 100Gi.")
]

# The flag of each field of a request; fields of the same list share one.
FLAG_OF: Final = {
    "name": "--name",
    "provider": "--provider",
    "cpu": "--cpu",
    "memory": "--memory",
    "gpus": "--gpus",
    "families": "--family",
    "architectures": "--arch",
    "cpuPerNode": "--min-node-cpu, --max-node-cpu",
    "cpuPerNode.min": "--min-node-cpu",
    "cpuPerNode.max": "--max-node-cpu",
    "memoryPerNode": "--min-node-memory, --max-node-memory",
    "memoryPerNode.min": "--min-node-memory",
    "memoryPerNode.max": "--max-node-memory",
    "spot": "--spot",
    "zones": "--zone",
    "labels": "--label",
    "taints": "--taint",
    "quietHours": "--quiet-hours",
    "weight": "--weight",
    "nodeClass": "--node-class, --role, --cluster",
    "nodeClass.name": "--node-class",
    "nodeClass.role": "--role",
    "nodeClass.cluster": "--cluster",
    "nodeClass.image": "--image",
    "nodeClass.disk": "--disk",
}


# The parameters of the command whose field has another name.
_FIELD_OF: Final = {
    "min_node_cpu": "cpuPerNode.min",
    "max_node_cpu": "cpuPerNode.max",
    "min_node_memory": "memoryPerNode.min",
    "max_node_memory": "memoryPerNode.max",
    "quiet_hours": "quietHours",
    "node_class": "nodeClass.name",
    "role": "nodeClass.role",
    "cluster": "nodeClass.cluster",
    "image": "nodeClass.image",
    "disk": "nodeClass.disk",
}


def by_field(parameters: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters of the command that belong to the request, by field in a fixed order."""
    values = {_FIELD_OF.get(name, name): value for name, value in parameters.items()}
    return {field: values[field] for field in FLAG_OF if field in values}


def tree_of(given: Mapping[str, Value]) -> dict[str, Tree]:
    """A request from the values of flags by field; a path such as cpuPerNode.min is a field too."""
    tree: dict[str, Tree] = {}
    inner_trees: dict[str, dict[str, Tree]] = {}
    for path, value in given.items():
        if value is None or value in ("", []):
            continue
        name, _, inner = path.partition(".")
        if inner:
            tree[name] = inner_tree = inner_trees.setdefault(name, {})
            inner_tree[inner] = _read(name, value)
        else:
            tree[name] = _read(name, value)
    return tree


def _read(name: str, value: Value) -> Tree:
    if not isinstance(value, list):
        return value
    if name == "labels":
        return _labels(value)
    if name == "taints":
        return [taint_of(item) for item in value]
    return list(_split(value, at_commas=name != "quietHours"))


def _labels(values: Sequence[str]) -> dict[str, Tree]:
    try:
        return labels_of(values)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--label") from None


def labels_of(values: Sequence[str]) -> dict[str, Tree]:
    """Labels as KEY=VALUE. Raises ValueError."""
    by_key: dict[str, Tree] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or key in by_key:
            reason = f"{key!r} is there twice" if equals else f"{text!r} has no value"
            msg = f"{reason}; expected KEY=VALUE, each key once"
            raise ValueError(msg)
        by_key[key] = value
    return by_key


def _split(values: Sequence[str], *, at_commas: bool) -> list[str]:
    """`--family m7g,c7g` is as good as two flags; hours have commas of their own."""
    return [part for value in values for part in (value.split(",") if at_commas else [value])]


def taint_of(text: str) -> dict[str, Tree]:
    """A taint as kubectl spells it: KEY=VALUE:EFFECT or KEY:EFFECT."""
    rest, _, effect = text.partition(":")
    key, _, value = rest.partition("=")
    stated = {"key": key, "value": value, "effect": effect}
    return {name: part for name, part in stated.items() if part}


def flag_message(problem: FieldProblem) -> str:
    """A problem of a request, with the flag in the place of the field."""
    names = [_flag_of(field) for field in problem.field.split(", ")]
    return f"{', '.join(dict.fromkeys(names))}: {problem.message}"


def _flag_of(field: str) -> str:
    """The flag of a field; for an item of a list also which, counting from 0."""
    if field in FLAG_OF:
        return FLAG_OF[field]
    name = re.split(r"[.\[]", field)[0]
    return f"{FLAG_OF[name]}{field[len(name) :]}" if name in FLAG_OF else field
