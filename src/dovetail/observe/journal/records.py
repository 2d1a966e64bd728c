"""How does a decision become bytes, given the one before it? And how does it come back?

A record holds the edits of those parts that changed. Both sides remember the last decision of their
file, part by part; parts that did not change are the very same objects in the next decision.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail.model.decision import Decision
from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Ledger
from dovetail.model.plan import Certificate, Plan
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.snapshot import Snapshot
from dovetail.observe.journal.edits import Edit, edit, edited
from dovetail.observe.journal.nouns import encoder, restored
from dovetail.observe.journal.parts import INSTANCE_TYPES, PARTS, PODS, JournalPart
from dovetail.observe.journal.tables import Table

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


def stripped(decision: Decision) -> Decision:
    """A decision as a journal gives it back: without its certificate."""
    plan = msgspec.structs.replace(decision.plan, certificate=_NO_CERTIFICATE)
    found = decision.certificate_digest or digest(decision.plan.certificate)
    return msgspec.structs.replace(decision, plan=plan, certificate_digest=found)


class RecordWriter:
    """Writes the records of one file, each against the one before."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._lines: dict[str, _Lines] = {}
        self._templates = Table()
        self._types = Table()

    def written(self, decision: Decision) -> bytes:
        """The record of a decision, packed."""
        edits = {}
        for part in PARTS:
            found = self._edit(part, part.value(decision.snapshot, decision.plan))
            if found is not None:
                edits[part.name] = found
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
        found = edit(self._lines.get(name, ()), lines, self._writing(name))
        self._values[name], self._lines[name] = value, lines
        return found

    def _writing(self, name: str) -> Callable[[object], bytes]:
        if name == PODS:
            return self._pod
        return self._offered if name == INSTANCE_TYPES else encoder.encode

    def _pod(self, pod: object) -> bytes:
        if not isinstance(pod, Pod):
            raise TypeError(pod)
        own = msgspec.structs.replace(pod, spec=_NO_TEMPLATE)
        return encoder.encode((self._templates.number(pod.spec), own))

    def _offered(self, pair: object) -> bytes:
        if not isinstance(pair, tuple):
            raise TypeError(pair)
        pool, types = pair
        return encoder.encode((pool, tuple(self._types.number(one) for one in types)))


_record: Final = msgspec.msgpack.Decoder(Record)
_template: Final = msgspec.msgpack.Decoder(PodSpec, dec_hook=restored)
_type: Final = msgspec.msgpack.Decoder(InstanceType, dec_hook=restored)
_pod: Final = msgspec.msgpack.Decoder(tuple[int, Pod], dec_hook=restored)
_offered: Final = msgspec.msgpack.Decoder(tuple[str, tuple[int, ...]])
_others: Final[Mapping[str, Callable[[msgspec.Raw], object]]] = {
    part.name: msgspec.msgpack.Decoder(part.line_type, dec_hook=restored).decode
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
            return self._decision(_record.decode(_unpacked(packed)))
        except (zlib.error, msgspec.MsgspecError, ValueError, IndexError, TypeError) as error:
            raise RecordError(str(error)) from error

    def _decision(self, record: Record) -> Decision:
        self._templates += [_template.decode(one) for one in record.templates]
        self._types += [_type.decode(one) for one in record.instance_types]
        homes: dict[str, dict[str, object]] = {"snapshot": {}, "ledger": {}, "plan": {}}
        for part in PARTS:
            made = record.edits.get(part.name)
            if made is not None:
                lines = edited(self._lines.get(part.name, ()), made, self._reading(part.name))
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

    def _reading(self, name: str) -> Callable[[msgspec.Raw], object]:
        if name == PODS:
            return self._pod
        return self._offered if name == INSTANCE_TYPES else _others[name]

    def _pod(self, line: msgspec.Raw) -> Pod:
        template, pod = _pod.decode(line)
        return msgspec.structs.replace(pod, spec=self._templates[template])

    def _offered(self, line: msgspec.Raw) -> tuple[str, tuple[InstanceType, ...]]:
        pool, numbers = _offered.decode(line)
        return pool, tuple(self._types[one] for one in numbers)


def _unpacked(packed: bytes) -> bytes:
    """What was packed. Raises ValueError rather than fill the memory."""
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        msg = f"it is cut off, or larger than {_MOST_BYTES:,} bytes"
        raise ValueError(msg)
    return found
