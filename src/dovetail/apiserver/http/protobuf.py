"""Decodes protocol buffers, which kubectl sends for objects that it makes itself.

Fields are found by their numbers (`surface.json`). A message holds zeros and empty texts for much
that was never said; they are left out, but for those few where nothing is not the same as zero.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from dovetail.apiserver.http.kinds import message
from dovetail.apiserver.trees import Obj
from dovetail.kube.seam import Json

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"
_TEXT: Final = ("string", "bytes")
_MEANT_AS_ZERO: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "automountServiceAccountToken",
        "backoffLimit",
        "completions",
        "gracePeriodSeconds",
        "minReplicas",
        "orphanDependents",
        "parallelism",
        "replicas",
        "revisionHistoryLimit",
        "terminationGracePeriodSeconds",
        "value",
    }
)
_MOST_NESTED: Final = 64


class ProtobufError(ValueError):
    """The bytes are no message, or one of a type that is not known."""


def object_of(data: bytes) -> Obj:
    """The object in an envelope. Raises ProtobufError."""
    if not data.startswith(_MAGIC):
        msg = "the body is no envelope of Kubernetes"
        raise ProtobufError(msg)
    envelope = dict(_fields(data[len(_MAGIC) :]))
    type_meta = dict(_fields(_bytes(envelope.get(1, b""))))
    version, kind = (_bytes(type_meta.get(number, b"")).decode() for number in (1, 2))
    return {
        "apiVersion": version,
        "kind": kind,
        **_message(_type_name(version, kind), _bytes(envelope.get(2, b"")), 0),
    }


def _type_name(version: str, kind: str) -> str:
    if kind in {"DeleteOptions", "Status"}:
        return f"{_META}.{kind}"
    group, _, number = version.rpartition("/")
    return f"k8s.io.api.{group.partition('.')[0] or 'core'}.{number}.{kind}"


def _message(name: str, data: bytes, depth: int) -> Obj:
    known = message(name)
    if known is None or depth > _MOST_NESTED:
        msg = f"messages of type {name} are not known"
        raise ProtobufError(msg)
    made: Obj = {}
    for number, raw in _fields(data):
        field, kind, how = known.get(number, ("", "", ""))
        if how == "map":
            entry = dict(_fields(_bytes(raw)))
            key = _bytes(entry.get(1, b"")).decode()
            part = made.setdefault(field, {})
            if isinstance(part, dict):
                part[key] = _value(kind, entry.get(2, b""), depth)
        elif how == "repeated":
            several = made.setdefault(field, [])
            if isinstance(several, list):
                several.append(_value(kind, raw, depth))
        elif how:
            _put(made, field, _value(kind, raw, depth))
    return made


def _put(made: Obj, field: str, value: Json) -> None:
    """Set a field, unless it was never said."""
    if value not in ("", 0, None) or (field in _MEANT_AS_ZERO and value is not None):
        made[field] = value


def _value(kind: str, raw: int | bytes, depth: int) -> Json:
    if kind == "string":
        return _bytes(raw).decode()
    if kind == "bytes":
        return base64.b64encode(_bytes(raw)).decode()
    if kind == "bool":
        return bool(raw)
    if "." not in kind and isinstance(raw, int):
        return raw - (1 << 64) if raw >> 63 else raw
    read = _SPECIAL.get(kind.rpartition(".")[2]) if kind.startswith(_MACHINERY) else None
    data = _bytes(raw)
    return read(data) if read is not None else _message(kind, data, depth + 1)


def _int_or_string(raw: bytes) -> Json:
    fields = dict(_fields(raw))
    return _bytes(fields.get(3, b"")).decode() if fields.get(1) == 1 else int(fields.get(2, 0) or 0)


def _time(raw: bytes) -> Json:
    fields = dict(_fields(raw))
    seconds = fields.get(1, 0)
    if not isinstance(seconds, int) or not 0 < seconds < 1 << 40:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(raw: bytes) -> Json:
    tree: Json = msgspec.json.decode(_bytes(dict(_fields(raw)).get(1, b"null")))
    return tree


_MACHINERY: Final = "k8s.io.apimachinery."
_SPECIAL: Final = {
    "Quantity": lambda raw: _bytes(dict(_fields(raw)).get(1, b"0")).decode(),
    "IntOrString": _int_or_string,
    "Time": _time,
    "MicroTime": _time,
    "RawExtension": _json,
    "FieldsV1": _json,
}


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        msg = "a number stands where a text or a message should be"
        raise ProtobufError(msg)
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Every field of a message: its number, and its value as it is written."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        match tag & 7:
            case 0:
                value, place = _varint(data, place)
                yield tag >> 3, value
            case 2:
                size, place = _varint(data, place)
                if size > len(data) - place:
                    msg = "a field is longer than its message"
                    raise ProtobufError(msg)
                yield tag >> 3, data[place : place + size]
                place += size
            case 1 | 5 as wire:
                place += 8 if wire == 1 else 4
            case _:
                msg = "a field is of no known kind"
                raise ProtobufError(msg)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    msg = "a number does not end"
    raise ProtobufError(msg)
