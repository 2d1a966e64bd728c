"""Tracks which manager has set which fields, as `managedFields` stores it.

A path is what FieldsV1 calls it: `f:` and a field's name, `k:` and the keys of a list's item, `v:`
and the value of a set's. A list that is not merged is one field, however long.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from dovetail.apiserver.traits import SET, Keys, Lists
from dovetail.apiserver.trees import Obj, at, canonical, items, mapping, part, put, text
from dovetail.kube.seam import Json

Path = tuple[str, ...]
Owner = tuple[str, str, str]  # manager, operation, subresource
Owned = dict[Owner, set[Path]]

APPLY: Final = "Apply"
UPDATE: Final = "Update"
_SELF: Final = "."
_MAPS: Final = frozenset(
    f"f:{name}"
    for name in ("annotations", "binaryData", "data", "hard", "labels", "limits", "nodeSelector",
                 "requests")
)  # fmt: skip
_IDENTITY: Final = ("apiVersion", "kind")
# Nobody owns what makes the object this one, or what only the server writes.
_NOBODYS: Final = frozenset(
    ("f:metadata", f"f:{name}")
    for name in (
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
    )
) | {("f:metadata",)}


def paths(tree: Obj, lists: Lists, *, with_maps: bool = False) -> set[Path]:
    """Every field of an object that somebody can own.

    Whoever applies owns the entries of a map, whoever updates the map besides: `with_maps`.
    """
    owned: set[Path] = set()
    own = {key: value for key, value in tree.items() if key not in _IDENTITY}
    for key, value in own.items():
        _walk(value, (f"f:{key}",), lists, owned)
    if with_maps:
        owned |= {
            path[:-1]
            for path in owned
            if len(path) > 1 and path[-2] in _MAPS and path[-1].startswith("f:")
        }
    return {path for path in owned if path[:2] not in _NOBODYS}


def _walk(value: Json, path: Path, lists: Lists, paths: set[Path]) -> None:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _walk(inner, (*path, f"f:{key}"), lists, paths)
        return
    keys = lists.keys(names(path), value) if isinstance(value, list) else None
    if keys is None:
        paths.add(path)
        return
    for item in items(value):
        inside = (*path, item_step(item, keys))
        paths.add(inside)
        if isinstance(item, dict):
            _walk(item, inside, lists, paths)


def names(path: Path) -> tuple[str, ...]:
    """The names of the fields on a path, items left out."""
    return tuple(step[2:] for step in path if step.startswith("f:"))


def path_text(path: Path) -> str:
    """A path as messages write it."""
    told = ""
    for step in path:
        kind, rest = step[:2], step[2:]
        if kind == "f:":
            told += f".{rest}"
        elif kind == "k:":
            keys = msgspec.json.decode(rest)
            pairs = ",".join(
                f"{key}={canonical(value).decode()}" for key, value in sorted(keys.items())
            )
            told += f"[{pairs}]"
        else:
            told += f"[={rest}]"
    return told


def item_step(item: Json, keys: Keys) -> str:
    """How a path names an item of a list."""
    if keys == SET:
        return "v:" + canonical(item).decode()
    tree = mapping(item)
    known = {key: tree.get(key, "TCP" if key == "protocol" else None) for key in keys}
    return "k:" + canonical(known).decode()


def value_at(tree: Json, path: Path, lists: Lists) -> Json:
    """What stands at a path, or None."""
    result = tree
    for place, step in enumerate(path):
        if step.startswith("f:"):
            result = mapping(result).get(step[2:])
        else:
            result = _item(items(result), step, lists.keys(names(path[:place]), items(result)))
    return result


def _item(entries: list[Json], step: str, keys: Keys | None) -> Json:
    return next((row for row in entries if keys is not None and item_step(row, keys) == step), None)


def remove(tree: Obj, path: Path, lists: Lists) -> None:
    """Take a field out, and the mappings that held nothing else."""
    parent = value_at(tree, path[:-1], lists)
    if isinstance(parent, dict):
        parent.pop(path[-1][2:], None)
        if not parent and len(path) > 1 and path[-2].startswith("f:"):
            remove(tree, path[:-1], lists)
    elif isinstance(parent, list):
        keys = lists.keys(names(path[:-1]), parent)
        gone = _item(parent, path[-1], keys)
        if gone is not None:
            parent.remove(gone)


def read(tree: Obj) -> Owned:
    """Who owns what, by an object's own account."""
    return {
        (text(item, "manager"), text(item, "operation"), text(item, "subresource")): set(
            _paths_of(mapping(at(item, "fieldsV1")), ())
        )
        for item in items(at(tree, "metadata", "managedFields"))
    }


def _paths_of(fields: Obj, before: Path) -> Iterable[Path]:
    for step, inner in fields.items():
        if step == _SELF:
            yield before
        elif inner:
            yield from _paths_of(mapping(inner), (*before, step))
        else:
            yield (*before, step)


class Stamp(msgspec.Struct, frozen=True):
    """When a change was made, and in which version of the API."""

    time: str
    api_version: str


def write(tree: Obj, owned: Owned, stamp: Stamp) -> None:
    """Note who owns what. Whoever owns the same as before keeps the time of that."""
    before = read(tree)
    times = {
        (text(row, "manager"), text(row, "operation"), text(row, "subresource")): text(row, "time")
        for row in items(at(tree, "metadata", "managedFields"))
    }
    entries: list[Obj] = []
    for owner in sorted(owned):
        if not owned[owner]:
            continue
        is_same = before.get(owner) == owned[owner]
        entry: Obj = {
            "manager": owner[0],
            "operation": owner[1],
            "apiVersion": stamp.api_version,
            "time": times[owner] if is_same else stamp.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": _fields_of(owned[owner]),
        }
        put(entry, "subresource", owner[2] or None)
        entries.append(entry)
    entries.sort(key=lambda entry: (text(entry, "operation"), text(entry, "time")))
    put(part(tree, "metadata"), "managedFields", list[Json](entries) or None)


def begin(tree: Obj, owner: Owner, lists: Lists, stamp: Stamp) -> None:
    """Note that all of a new object belongs to whoever made it, but for its status."""
    made = {key: value for key, value in tree.items() if key != "status"}
    write(tree, {owner: paths(made, lists, with_maps=True)}, stamp)


def _fields_of(paths: set[Path]) -> Obj:
    fields: Obj = {}
    for path in sorted(paths):
        part(fields, *path)
    for path in paths:
        inner = part(fields, *path)
        if inner:
            inner[_SELF] = {}
    return fields
