"""Makes the older OpenAPI document, in which kubectl reads whether the server checks fields.

It wants that one as protocol buffers. Here is just enough of it, written by hand: for each kind the
path at which it is patched, the parameters that are taken there, and which kind it is.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from dovetail.apiserver.http.kinds import OFFERED, Offered

CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PARAMETERS: Final = ("dryRun", "fieldValidation")
_GVK: Final = "x-kubernetes-group-version-kind"


def _sized(number: int, data: bytes) -> bytes:
    """A field that says how long it is: text, or a message."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


@cache
def document() -> bytes:
    """The whole document."""
    info = _sized(1, b"Kubernetes") + _sized(2, b"v1")
    paths = b"".join(_sized(2, _path(item)) for item in OFFERED)
    return _sized(1, b"2.0") + _sized(2, info) + _sized(8, paths)


def _path(one: Offered) -> bytes:
    kind = one.kind
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    within = "/namespaces/{namespace}" if kind.is_namespaced else ""
    name = f"{root}{within}/{kind.plural}/{{name}}"
    patch = b"".join(_sized(8, _parameter(each)) for each in PARAMETERS) + _sized(13, _meant(one))
    return _sized(1, name.encode()) + _sized(2, _sized(8, patch))


def _parameter(name: str) -> bytes:
    """A parameter of the query, in the boxes that tell it from those of other places."""
    query = _sized(2, b"query") + _sized(4, name.encode())
    return _sized(1, _sized(2, _sized(3, query)))


def _meant(one: Offered) -> bytes:
    kind = one.kind
    message = f'group: "{kind.group}"\nkind: {kind.name}\nversion: {kind.version}\n'
    return _sized(1, _GVK.encode()) + _sized(2, _sized(2, message.encode()))
