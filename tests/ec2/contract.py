"""Judges answers by botocore's service model: every member that is sent must be in it.

botocore itself ignores members that it does not know. This walks the answer instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

from botocore.model import ListShape, OperationModel, Shape, StructureShape

_NUMBERS = {"integer": int, "long": int, "float": float, "double": float}
# Not members of the result, but around every one.
_AROUND = {"requestId", "ResponseMetadata"}
# Values that EC2 sends although the model does not list them, or does not list them yet.
_SENT_ALL_THE_SAME = {
    "DescribeImages.imagesSet.platform": {"windows"},
    "DescribeInstanceTypes.instanceTypeSet.processorInfo.supportedFeatures": {
        "metal-compatibility"
    },
}


def violations(operation: OperationModel, body: bytes) -> list[str]:
    """What of an answer is not in the model, or not of the type that the model says."""
    shape = operation.output_shape
    if operation.service_model.metadata["protocol"] in ("json", "rest-json"):
        tree = json.loads(body or b"{}")
        return list(_in_json(shape, tree, operation.name)) if shape is not None else []
    root = ET.fromstring(body)  # noqa: S314 -- of our own server
    nodes = list(root)
    if operation.service_model.metadata["protocol"] == "query":
        nodes = list(next((one for one in nodes if _tag(one).endswith("Result")), []))
    members = [node for node in nodes if _tag(node) not in _AROUND]
    return list(_in_structure(shape, members, operation.name))


def _tag(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


@cache
def _members_by_tag(shape: StructureShape) -> dict[str, Shape]:
    return {
        member.serialization.get("name", name): member for name, member in shape.members.items()
    }


def _in_structure(
    shape: StructureShape | None, nodes: list[ET.Element], path: str
) -> Iterator[str]:
    named = _members_by_tag(shape) if shape is not None else {}
    for node in nodes:
        tag = _tag(node)
        if tag not in named:
            yield f"{path}.{tag} is not in the model"
        else:
            yield from _in_xml(named[tag], node, f"{path}.{tag}")


def _in_xml(shape: Shape, node: ET.Element, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        yield from _in_structure(shape, list(node), path)
    elif isinstance(shape, ListShape):
        item = shape.member.serialization.get("name") or "member"
        for child in node:
            if _tag(child) != item:
                yield f"{path} has <{_tag(child)}> for <{item}>"
            yield from _in_xml(shape.member, child, path)
    else:
        yield from _scalar(shape, node.text or "", path)


def _scalar(shape: Shape, text: str, path: str) -> Iterator[str]:
    if shape.type_name == "boolean" and text not in ("true", "false"):
        yield f"{path} is no boolean: {text}"
    number = _NUMBERS.get(shape.type_name)
    try:
        if number:
            number(text)
    except ValueError:
        yield f"{path} is no {shape.type_name}: {text}"
    allowed = getattr(shape, "enum", [])
    if allowed and text not in allowed and text not in _SENT_ALL_THE_SAME.get(path, ()):
        yield f"{path} is none of {allowed}: {text}"


def _in_json(shape: Shape, tree: Any, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        for name, value in tree.items():
            if name not in shape.members:
                yield f"{path}.{name} is not in the model"
            elif value is not None:
                yield from _in_json(shape.members[name], value, f"{path}.{name}")
    elif isinstance(shape, ListShape):
        for value in tree:
            yield from _in_json(shape.member, value, path)
    elif shape.type_name == "string" and not isinstance(tree, str):
        yield f"{path} is no string: {tree}"
