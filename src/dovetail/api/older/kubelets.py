"""Moves the kubelet's configuration from NodePools to their node classes.

v1 has it in the node class. Where pools with different configurations share a class, the class
is cloned, one clone for each further configuration, named after the class and the first such pool.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from dovetail.api.decoding import encode
from dovetail.api.older.draft import Draft, Fields, as_fields

_FIELD: Final = "spec.kubelet"
_REFERENCE: Final = "spec.template.spec.nodeClassRef"
_SHOWN: Final = 300


class ClassKey(msgspec.Struct, frozen=True):
    """Names a node class."""

    group: str
    kind: str
    name: str


def class_key(draft: Draft) -> ClassKey:
    """The class that an object of a node class is."""
    group = str(draft.tree.get("apiVersion", "")).partition("/")[0]
    return ClassKey(group, str(draft.tree.get("kind", "")), draft.name)


def move_kubelets(pools: Iterable[Draft], classes: Sequence[Draft]) -> list[tuple[Draft, Draft]]:
    """Set `spec.kubelet` of classes. Returns clones, each with the class that it is a clone of."""
    by_key = {class_key(node_class): node_class for node_class in classes}
    users: dict[ClassKey, list[Draft]] = {}
    for pool in sorted(pools, key=lambda pool: pool.name):
        users.setdefault(_class_key(pool), []).append(pool)
    clones: list[tuple[Draft, Draft]] = []
    for key, sharing in sorted(users.items(), key=lambda item: msgspec.structs.astuple(item[0])):
        node_class = by_key.get(key)
        if node_class is None:
            _tell_absent(key, sharing)
            continue
        taken = {
            other.name for other in by_key if (other.group, other.kind) == (key.group, key.kind)
        }
        for clone in _shared_out(node_class, sharing, taken):
            by_key[class_key(clone)] = clone
            clones.append((clone, node_class))
    return clones


def _class_key(pool: Draft) -> ClassKey:
    given = as_fields(pool.at(_REFERENCE))
    return ClassKey(*(str(given.get(field, "")) for field in ("group", "kind", "name")))


def _tell_absent(key: ClassKey, sharing: Iterable[Draft]) -> None:
    for pool in sharing:
        if pool.kubelet:
            shown = encode(pool.kubelet).decode()
            pool.tell(
                pool.kubelet_field,
                f"v1 has it in the node class: {key.kind} {key.name} is not among the manifests; "
                f"convert both together, or write its spec.kubelet: {shown[:_SHOWN]}",
            )


def _shared_out(node_class: Draft, sharing: Sequence[Draft], taken: set[str]) -> list[Draft]:
    """Give each configuration a class; the clones that this takes."""
    own = as_fields(node_class.at(_FIELD))
    groups: dict[bytes, list[Draft]] = {}
    for pool in sharing:
        groups.setdefault(_content(pool.kubelet or own), []).append(pool)
    keeps = _content(own) if own or _content({}) in groups else next(iter(groups))
    clones = []
    for content, pools in groups.items():
        kubelet = pools[0].kubelet or own
        if content == keeps:
            if kubelet and not own:
                node_class.put(_FIELD, kubelet)
            continue
        clone = _clone(node_class, f"{node_class.name}-{pools[0].name}", taken)
        clone.put(_FIELD, kubelet)
        clones.append(clone)
        for pool in pools:
            pool.put(f"{_REFERENCE}.name", clone.name, f"{_REFERENCE}.name")
            pool.tell(
                pool.kubelet_field or _REFERENCE,
                f"pools with another kubelet share {node_class.name}: this pool refers to "
                f"{clone.name}, a clone with its kubelet",
            )
    return clones


def _content(kubelet: Fields) -> bytes:
    return msgspec.json.encode(kubelet, order="deterministic")


def _clone(node_class: Draft, wanted: str, taken: set[str]) -> Draft:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    taken.add(name)
    clone = Draft(node_class.source, node_class.tree)
    clone.moves = copy.copy(node_class.moves)
    clone.put("metadata.name", name)
    clone.remove(_FIELD)
    return clone
