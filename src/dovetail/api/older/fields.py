"""Finds fields that a version does not know, and says which version knows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.inspect import DictType, Field, StructType, Type, UnionType, VarTupleType, type_info

from dovetail.api.decoding import Tree
from dovetail.api.older.draft import Draft, Path, path_text, value_at

_ENVELOPE: Final = ("apiVersion", "kind", "metadata", "status")


def unknown_fields(wire_type: type[msgspec.Struct], tree: Tree) -> Iterator[Path]:
    """The paths of fields that the type does not have, the outermost ones."""
    yield from _unknown(type_info(wire_type), tree, ())


def knows(wire_type: type[msgspec.Struct], path: Path) -> bool:
    """Whether the type has a field at this path."""
    now: Type | None = type_info(wire_type)
    for step in path:
        now = _inner_type(now, step)
        if now is None:
            return False
    return True


def report_unknown(
    draft: Draft,
    wire_type: type[msgspec.Struct],
    *,
    current: type[msgspec.Struct] | None = None,
    others: Mapping[str, type[msgspec.Struct]],
) -> None:
    """Tell of each field that this version does not have. What `current`, the type of v1, has at
    the same place is kept; the rest is dropped from the tree. `others` are types of other versions,
    by their names for messages.
    """
    for path in sorted(unknown_fields(wire_type, draft.source), key=path_text):
        if path[0] in _ENVELOPE:
            continue
        if current is not None and knows(current, path):
            draft.tell(path, "is a field of v1 already; it is kept as it is")
            continue
        if current is not None:  # the tree began as a copy
            _drop(draft.tree, path)
        homes = [name for name, other in others.items() if knows(other, path)]
        origin = (
            f"is a field of {' and '.join(homes)}, not of this version"
            if homes
            else ("is no field of this version")
        )
        draft.tell(
            path,
            f"{origin}: the API server ignored it, and it is left out; "
            "add what it means to the converted object if it is wanted",
        )


def _drop(tree: Tree, path: Path) -> None:
    holder = value_at(tree, path[:-1])
    if isinstance(holder, dict):
        holder.pop(str(path[-1]), None)


def _unknown(expected: Type, tree: Tree, path: Path) -> Iterator[Path]:
    inner = _bare_type(expected)
    if isinstance(inner, StructType) and isinstance(tree, dict):
        known = _fields_by_name(inner)
        for key, value in tree.items():
            if key not in known:
                yield (*path, key)
            elif key != "metadata" or path:
                yield from _unknown(known[key].type, value, (*path, key))
    elif isinstance(inner, VarTupleType) and isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _unknown(inner.item_type, item, (*path, index))


def _inner_type(expected: Type | None, step: str | int) -> Type | None:
    inner = _bare_type(expected) if expected is not None else None
    if isinstance(inner, StructType):
        field = _fields_by_name(inner).get(str(step))
        return field.type if field is not None else None
    if isinstance(inner, VarTupleType) and isinstance(step, int):
        return inner.item_type
    return inner.value_type if isinstance(inner, DictType) else None


def _bare_type(expected: Type) -> Type:
    """The type without its None, and without what only annotates it."""
    if isinstance(expected, msgspec.inspect.Metadata):
        return _bare_type(expected.type)
    if isinstance(expected, UnionType):
        others = [kind for kind in expected.types if not isinstance(kind, msgspec.inspect.NoneType)]
        return _bare_type(others[0]) if len(others) == 1 else expected
    return expected


@lru_cache(maxsize=256)
def _named_of(struct: type) -> dict[str, Field]:
    shape = type_info(struct)
    return (
        {item.encode_name: item for item in shape.fields} if isinstance(shape, StructType) else {}
    )


def _fields_by_name(shape: StructType) -> dict[str, Field]:
    return _named_of(shape.cls)
