"""Defines what a provider adds to the API: kinds of node classes, and rules for requirements.

All node classes have in common that they say whether they can be used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from dovetail.api.decoding import Tree
from dovetail.api.facts import Rule, about
from dovetail.api.kinds import KINDS, Kind, find
from dovetail.api.meta import Condition, Object, Wire
from dovetail.api.older.door import OlderNodeClasses


class Column(msgspec.Struct, frozen=True):
    """What `kubectl get` shows of an object; `is_wide` columns only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    is_wide: bool = False

    def tree(self) -> Tree:
        """As a definition says it."""
        column: dict[str, Tree] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column | ({"priority": 1} if self.is_wide else {})


class Definition(msgspec.Struct, frozen=True):
    """How a kind is shown and found."""

    kind: Kind
    description: str
    category: str
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    needs_spec: bool = True
    scale: tuple[str, str] | None = None  # where replicas are wanted, and where they are counted


class Extension(msgspec.Struct, frozen=True):
    """What a provider adds to the API: its node classes, rules for the keys of requirements in
    NodePools and NodeClaims, and how manifests of its older kinds are converted.
    """

    node_classes: tuple[Definition, ...] = ()
    requirement_rules: tuple[Rule, ...] = ()
    older: OlderNodeClasses | None = None


def all_kinds(extensions: Iterable[Extension]) -> dict[tuple[str, str], Kind]:
    """All kinds that are understood, with those that providers bring."""
    added = (definition.kind for extension in extensions for definition in extension.node_classes)
    return KINDS | {(kind.group, kind.name): kind for kind in added}


def find_extended(api_version: str, name: str, extensions: Iterable[Extension]) -> Kind | None:
    """The kind of an object: one of ours, or one that a provider brings."""
    kind = find(api_version, name)
    if kind is not None:
        return kind
    return find(api_version, name, all_kinds(extensions))


class NodeClassStatus(Wire, frozen=True):
    """Whether the class can be used."""

    conditions: Annotated[tuple[Condition, ...], about("Whether the class can be used.")] = ()


class NodeClass(Object, frozen=True):
    """A provider's settings of nodes. Its condition Ready says whether nodes can be launched."""

    spec: Wire = Wire()
    status: NodeClassStatus = NodeClassStatus()
