"""Writes HCL, the language of Terraform."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import msgspec

from dovetail.providers.aws.installation.policies import Document

_INDENT: Final = "  "


class Raw(msgspec.Struct, frozen=True):
    """An expression as it is written in HCL."""

    text: str


class HclBlock(msgspec.Struct, frozen=True):
    """A block: its kind and labels, then its arguments, then the blocks in it."""

    kind: str
    labels: tuple[str, ...] = ()
    arguments: tuple[tuple[str, Document | Raw], ...] = ()
    blocks: tuple[HclBlock, ...] = ()


def written(blocks: Sequence[HclBlock]) -> str:
    """The blocks as a file."""
    return "\n".join(_block(block, "") for block in blocks)


def encoded(document: Document) -> Raw:
    """A document as JSON text, which Terraform writes. Templates in it are filled in."""
    return Raw(f"jsonencode({_expression(document, _INDENT)})")


def _block(block: HclBlock, indent: str) -> str:
    head = " ".join((block.kind, *(json.dumps(label) for label in block.labels)))
    if not block.arguments and not block.blocks:
        return f"{indent}{head} {{}}\n"
    inner = indent + _INDENT
    width = max((len(name) for name, _ in block.arguments), default=0)
    lines = [f"{inner}{name:{width}} = {_value(value, inner)}" for name, value in block.arguments]
    parts = [*lines, *(_block(each, inner).rstrip("\n") for each in block.blocks)]
    return "\n".join((f"{indent}{head} {{", *parts, f"{indent}}}", ""))


def _value(value: Document | Raw, indent: str) -> str:
    return value.text if isinstance(value, Raw) else _expression(value, indent)


def _expression(value: Document, indent: str) -> str:
    inner = indent + _INDENT
    match value:
        case list():
            return _enclosed("[", [f"{_expression(item, inner)}," for item in value], "]", indent)
        case dict():
            items = [f"{_key(key)} = {_expression(value[key], inner)}" for key in value]
            return _enclosed("{", items, "}", indent)
        case str() if value.startswith("${") and value.count("${") == 1 and value.endswith("}"):
            return value[2:-1]
        case _:
            return json.dumps(value)


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else json.dumps(key)


def _enclosed(start: str, items: Sequence[str], end: str, indent: str) -> str:
    lines = [f"{indent}{_INDENT}{item}" for item in items]
    return "\n".join((start, *lines, f"{indent}{end}"))
