"""Encodes a decision as what differs from the one before it, and decodes it.

A record holds the edits of those parts that changed. Both sides remember the last decision of their
file, part by part; parts that did not change are the very same objects in the next decision.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import GenericAlias
from typing import Final, get_args, get_origin

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Ledger
from dovetail.model.plan import Certificate, Plan
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.observe.journal.edits import Edit, apply_edit, edit

_LISTED: Final = tuple[Requirement, ...]


def _as_plain(value: object) -> object:
    """Requirements as the list that they are made of, any other mapping as a dictionary."""
    if isinstance(value, Requirements):
        return tuple(value.values())
    if isinstance(value, Mapping):
        return dict(value)
    msg = f"a {type(value).__name__} cannot be written down"
    raise TypeError(msg)


def restore(wanted: type, value: object) -> object:
    """Requirements of the list that was written."""
    if wanted is Requirements:
        return Requirements(msgspec.convert(value, _LISTED))
    msg = f"a {wanted.__name__} cannot be read back"
    raise TypeError(msg)


encoder: Final = msgspec.msgpack.Encoder(enc_hook=_as_plain)
"""Writes any noun."""


PODS: Final = "snapshot.pods"
INSTANCE_TYPES: Final = "snapshot.instance_types"
_APART: Final = frozenset({"snapshot.ledger", "plan.certificate"})


class Shape(StrEnum):
    """How a part is cut into lines."""

    LIST = "list"
    MAP = "map"
    ONE = "one"


class JournalPart(msgspec.Struct, frozen=True):
    """A field of the snapshot, its ledger or the plan, and what each of its lines is."""

    home: str
    field: str
    shape: Shape
    line_type: type | GenericAlias

    @property
    def name(self) -> str:
        """How records name it."""
        return f"{self.home}.{self.field}"

    def value(self, snapshot: Snapshot, plan: Plan) -> object:
        """What a decision has there."""
        homes = {"snapshot": snapshot, "ledger": snapshot.ledger, "plan": plan}
        result: object = getattr(homes[self.home], self.field)
        return result

    def lines(self, value: object) -> tuple[object, ...]:
        """The value in lines."""
        if self.shape is Shape.LIST and isinstance(value, Sequence):
            return tuple(value)
        if self.shape is Shape.MAP and isinstance(value, Mapping):
            return tuple(value.items())
        return (value,)

    def whole(self, lines: tuple[object, ...]) -> object:
        """The lines put together again. Raises ValueError if they make no such value."""
        if self.shape is Shape.LIST:
            return lines
        if self.shape is Shape.MAP:
            return dict(line for line in lines if isinstance(line, tuple))
        if len(lines) != 1:
            msg = f"{self.name} has {len(lines)} values instead of one"
            raise ValueError(msg)
        return lines[0]


def _part(home: str, field_info: msgspec.structs.FieldInfo) -> JournalPart:
    origin, inner = get_origin(field_info.type), get_args(field_info.type)
    if origin is tuple and inner[1:] == (...,):
        return JournalPart(home, field_info.name, Shape.LIST, inner[0])
    if origin is Mapping:
        return JournalPart(home, field_info.name, Shape.MAP, GenericAlias(tuple, inner))
    return JournalPart(home, field_info.name, Shape.ONE, field_info.type)


PARTS: Final = tuple(
    part
    for home, noun in (("snapshot", Snapshot), ("ledger", Ledger), ("plan", Plan))
    for part in (_part(home, field) for field in msgspec.structs.fields(noun))
    if part.name not in _APART
)


class Table:
    """What was written so far, by number."""

    def __init__(self) -> None:
        self._number_by_id: dict[int, int] = {}
        self._number_by_line: dict[bytes, int] = {}
        self._held: list[object] = []  # an id means something only while its object lives
        self._fresh: list[msgspec.Raw] = []

    def number(self, noun: object) -> int:
        """The number of a noun; equal ones have the same."""
        known = self._number_by_id.get(id(noun))
        if known is not None:
            return known
        line = encoder.encode(noun)
        number = self._number_by_line.get(line)
        if number is None:
            number = len(self._number_by_line)
            self._number_by_line[line] = number
            self._fresh.append(msgspec.Raw(line))
        self._number_by_id[id(noun)] = number
        self._held.append(noun)
        return number

    def fresh(self) -> tuple[msgspec.Raw, ...]:
        """What is new since the last time that this was asked."""
        taken, self._fresh = tuple(self._fresh), []
        return taken


_MOST_BYTES: Final = 1 << 30  # of one record, unpacked: more is no decision
_NO_TEMPLATE: Final = PodSpec(requests={})
_NO_CERTIFICATE: Final = Certificate()
_Lines = tuple[object, ...]


class RecordError(Exception):
    """Bytes that are no record, or not the one that follows."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """What is new in a decision. Templates and instance types are those not met before."""

    number: int
    now: datetime
    seconds: float
    certificate_digest: str
    templates: tuple[msgspec.Raw, ...]
    instance_types: tuple[msgspec.Raw, ...]
    edits: Mapping[str, Edit]


def digest(certificate: Certificate) -> str:
    """A few letters that only the same certificate has; none for an empty one."""
    if certificate == _NO_CERTIFICATE:
        return ""
    return hashlib.blake2b(msgspec.json.encode(certificate), digest_size=16).hexdigest()


class RecordWriter:
    """Writes the records of one file, each against the one before."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._lines: dict[str, _Lines] = {}
        self._templates = Table()
        self._types = Table()

    def write(self, decision: Decision) -> bytes:
        """The record of a decision, packed."""
        edits = {}
        for part in PARTS:
            edit = self._edit(part, part.value(decision.snapshot, decision.plan))
            if edit is not None:
                edits[part.name] = edit
        record = Record(
            number=decision.number,
            now=decision.now,
            seconds=decision.seconds,
            certificate_digest=decision.certificate_digest or digest(decision.plan.certificate),
            templates=self._templates.fresh(),
            instance_types=self._types.fresh(),
            edits=edits,
        )
        return zlib.compress(encoder.encode(record))

    def _edit(self, part: JournalPart, value: object) -> Edit | None:
        name = part.name
        if name in self._values and self._values[name] is value:
            return None
        lines = part.lines(value)
        result = edit(self._lines.get(name, ()), lines, self._writing(name))
        self._values[name], self._lines[name] = value, lines
        return result

    def _writing(self, name: str) -> Callable[[object], bytes]:
        if name == PODS:
            return self._pod
        return self._write_offers if name == INSTANCE_TYPES else encoder.encode

    def _pod(self, pod: object) -> bytes:
        if not isinstance(pod, Pod):
            raise TypeError(pod)
        own = msgspec.structs.replace(pod, spec=_NO_TEMPLATE)
        return encoder.encode((self._templates.number(pod.spec), own))

    def _write_offers(self, pair: object) -> bytes:
        if not isinstance(pair, tuple):
            raise TypeError(pair)
        pool, types = pair
        return encoder.encode((pool, tuple(self._types.number(item) for item in types)))


_record: Final = msgspec.msgpack.Decoder(Record)
_template: Final = msgspec.msgpack.Decoder(PodSpec, dec_hook=restore)
_type: Final = msgspec.msgpack.Decoder(InstanceType, dec_hook=restore)
_pod: Final = msgspec.msgpack.Decoder(tuple[int, Pod], dec_hook=restore)
_offered: Final = msgspec.msgpack.Decoder(tuple[str, tuple[int, ...]])
_others: Final[Mapping[str, Callable[[msgspec.Raw], object]]] = {
    part.name: msgspec.msgpack.Decoder(part.line_type, dec_hook=restore).decode
    for part in PARTS
    if part.name not in {PODS, INSTANCE_TYPES}
}


class RecordReader:
    """Reads the records of one file, in their order."""

    def __init__(self) -> None:
        self._lines: dict[str, _Lines] = {}
        self._templates: list[PodSpec] = []
        self._types: list[InstanceType] = []
        self._snapshot = Snapshot()
        self._ledger = Ledger()
        self._plan = Plan()

    def decision(self, packed: bytes) -> Decision:
        """The decision of the next record. Raises RecordError."""
        try:
            return self._decision(_record.decode(_unpack(packed)))
        except (zlib.error, msgspec.MsgspecError, ValueError, IndexError, TypeError) as error:
            raise RecordError(str(error)) from error

    def _decision(self, record: Record) -> Decision:
        self._templates += [_template.decode(template) for template in record.templates]
        self._types += [_type.decode(instance_type) for instance_type in record.instance_types]
        homes: dict[str, dict[str, object]] = {"snapshot": {}, "ledger": {}, "plan": {}}
        for part in PARTS:
            made = record.edits.get(part.name)
            if made is not None:
                lines = apply_edit(self._lines.get(part.name, ()), made, self._reader_of(part.name))
                self._lines[part.name] = lines
                homes[part.home][part.field] = part.whole(lines)
        if homes["ledger"]:
            self._ledger = msgspec.structs.replace(self._ledger, **homes["ledger"])
        self._plan = msgspec.structs.replace(self._plan, **homes["plan"])
        self._snapshot = msgspec.structs.replace(
            self._snapshot, ledger=self._ledger, **homes["snapshot"]
        )
        return Decision(
            number=record.number,
            now=record.now,
            seconds=record.seconds,
            snapshot=self._snapshot,
            plan=self._plan,
            certificate_digest=record.certificate_digest,
        )

    def _reader_of(self, name: str) -> Callable[[msgspec.Raw], object]:
        if name == PODS:
            return self._pod
        return self._read_offers if name == INSTANCE_TYPES else _others[name]

    def _pod(self, line: msgspec.Raw) -> Pod:
        template, pod = _pod.decode(line)
        return msgspec.structs.replace(pod, spec=self._templates[template])

    def _read_offers(self, line: msgspec.Raw) -> tuple[str, tuple[InstanceType, ...]]:
        pool, numbers = _offered.decode(line)
        return pool, tuple(self._types[number] for number in numbers)


def _unpack(packed: bytes) -> bytes:
    """What was packed. Raises ValueError rather than fill the memory."""
    unpacking = zlib.decompressobj()
    result = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        msg = f"it is cut off, or larger than {_MOST_BYTES:,} bytes"
        raise ValueError(msg)
    return result
