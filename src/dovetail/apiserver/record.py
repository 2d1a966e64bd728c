"""Stores one object: its JSON, with what selectors and owners are looked up by."""

from __future__ import annotations

from functools import cache

import msgspec

from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import Obj, at, decoded, encoded, items, labels_of, part, text
from dovetail.kube.seam import Json


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of an object. `owners` are the uids of those it belongs to."""

    raw: msgspec.Raw
    version: int
    uid: str
    labels: dict[str, str]
    fields: dict[str, str]
    owners: tuple[str, ...] = ()
    is_going: bool = False

    def tree(self) -> Obj:
        """The object, to change at will."""
        return decoded(self.raw)


def stored(tree: Obj, traits: Traits, version: int) -> Stored:
    """A tree as it is kept, marked with its version."""
    metadata = part(tree, "metadata")
    metadata["resourceVersion"] = str(version)
    owners = tuple(text(item, "uid") for item in items(metadata.get("ownerReferences")))
    return Stored(
        raw=encoded(tree),
        version=version,
        uid=text(metadata, "uid"),
        labels=labels_of(metadata, "labels"),
        fields=_fields(tree, traits),
        owners=owners,
        is_going="deletionTimestamp" in metadata,
    )


def stamped(one: Stored, version: int) -> msgspec.Raw:
    """The object as it last was, marked with the version in which it went."""
    tree = one.tree()
    part(tree, "metadata")["resourceVersion"] = str(version)
    return encoded(tree)


def _fields(tree: Obj, traits: Traits) -> dict[str, str]:
    fields = {
        "metadata.name": text(tree, "metadata", "name"),
        "metadata.namespace": text(tree, "metadata", "namespace"),
    }
    for path, absent in traits.fields.items():
        fields[path] = _plain(at(tree, *_steps(path)), absent)
    return fields


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _plain(value: Json, absent: str) -> str:
    match value:
        case None:
            return absent
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            return ""
