"""Writes on NodeClaims which fleet request launches them, before that request is sent.

A mark names the client token of the request, the ordinal of the claim in its batch, the claim that
was marked last (the head), and holds the request itself. Whoever finds the mark can repeat the
request, which launches nothing that was launched before, and deals the same instance to the claim.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from gzip import compress, decompress
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.kube.errors import ConflictError, InvalidError, NotFoundError
from dovetail.kube.seam import Json, Kube, Patch, PatchType, Ref, Scope
from dovetail.model.claim import ClaimObject
from dovetail.providers.aws.launching import keys
from dovetail.state.objects import claim_object

NODE_CLAIM: Final = api.KINDS[labels.GROUP, "NodeClaim"]
_PAGE: Final = 500
_TRIES: Final = 5  # at writing a claim that others write as well
Request = dict[str, Json]


class FleetMark(msgspec.Struct, frozen=True, gc=False):
    """Which instance of which fleet request is the claim's. `head` names a claim by its UID."""

    token: str
    ordinal: int
    head: str
    request: str  # as `encode` writes it

    @property
    def n_instances(self) -> int:
        """How many instances the request asks for, one for each claim of its batch."""
        target = decode(self.request).get("TargetCapacitySpecification")
        total = target.get("TotalTargetCapacity") if isinstance(target, dict) else None
        return total if isinstance(total, int) else 0


class MarkedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim as the API has it; the version is empty while only the watch has shown it."""

    claim: ClaimObject
    resource_version: str = ""

    @property
    def mark(self) -> FleetMark | None:
        """The mark that it carries."""
        return mark_of(self.claim.annotations)


class MarkWritten(msgspec.Struct, frozen=True, gc=False):
    """The claim carries the mark now."""

    claim: MarkedClaim


class MarkTaken(msgspec.Struct, frozen=True, gc=False):
    """Somebody else has marked the claim first."""

    claim: MarkedClaim


class ClaimGone(msgspec.Struct, frozen=True, gc=False):
    """The claim is deleted, or is being deleted."""


MarkOutcome = MarkWritten | MarkTaken | ClaimGone


class ClaimRecord(msgspec.Struct, frozen=True, gc=False):
    """What the end of a launch needs to know of one claim among all."""

    name: str
    uid: str
    resource_version: str = ""
    token: str = ""
    ordinal: int = 0
    provider_id: str = ""
    refused_token: str = ""
    is_deleting: bool = False
    is_tagged: bool = False
    node_name: str = ""
    node_class: str = ""
    labels: Mapping[str, str] = {}


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class _ClassRef(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_class_ref: _ClassRef = _ClassRef()


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    provider_id: str = msgspec.field(default="", name="providerID")
    node_name: str = ""


class _Claim(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_reader: Final = msgspec.json.Decoder(_Claim)


def encode(request: Mapping[str, Json]) -> str:
    """A request as text; the same request gives the same text."""
    return b64encode(compress(msgspec.json.encode(request, order="sorted"), mtime=0)).decode()


def decode(text: str) -> Request:
    """The request that was written as this text."""
    request: Request = msgspec.json.decode(decompress(b64decode(text)))
    return request


def mark_of(annotations: Mapping[str, str]) -> FleetMark | None:
    """The mark among these annotations, if there is one that can be read."""
    token, ordinal, head = _place(annotations)
    request = annotations.get(keys.FLEET_REQUEST, "")
    if not token or not ordinal.isdigit() or not request:
        return None
    return FleetMark(token, int(ordinal), head, request)


def _place(annotations: Mapping[str, str]) -> tuple[str, str, str]:
    token, _, rest = annotations.get(keys.FLEET, "").partition("/")
    ordinal, _, head = rest.partition("/")
    return token, ordinal, head


def annotations_of(mark: FleetMark) -> dict[str, str]:
    """The annotations that hold the mark."""
    return {
        keys.FLEET: f"{mark.token}/{mark.ordinal}/{mark.head}",
        keys.FLEET_REQUEST: mark.request,
    }


class Marks:
    """Reads and writes marks through the API."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def write(self, marked: MarkedClaim, mark: FleetMark) -> MarkOutcome:
        """Put the mark on the claim in place of the one that it is known to carry, if any."""
        expected = marked.mark
        if not marked.resource_version and marked.claim.annotations:
            try:
                return _outcome(
                    marked, await self._kube.patch(_ref(marked), _guarded_patch(marked, mark))
                )
            except NotFoundError:
                return ClaimGone()
            except (InvalidError, ConflictError):
                pass  # the watch was behind: read the claim
        return await self._write_fresh(marked, mark, expected)

    async def _write_fresh(
        self, marked: MarkedClaim, mark: FleetMark, expected: FleetMark | None
    ) -> MarkOutcome:
        for _ in range(_TRIES):
            try:
                fresh = marked if marked.resource_version else await self.read(marked.claim)
                if fresh is None:
                    return ClaimGone()
                is_refused = fresh.claim.annotations.get(keys.REFUSED_FLEET) == mark.token
                if is_refused or fresh.mark not in (expected, mark):
                    return MarkTaken(fresh)
                return _outcome(
                    marked, await self._kube.patch(_ref(marked), _versioned_patch(fresh, mark))
                )
            except NotFoundError:
                return ClaimGone()
            except ConflictError:
                marked = MarkedClaim(marked.claim)  # somebody wrote in between: read again
        msg = f"NodeClaim {marked.claim.name} was changed by others {_TRIES} times in a row"
        raise ConflictError(409, "Conflict", msg)

    async def read(self, claim: ClaimObject) -> MarkedClaim | None:
        """The claim as the API has it now; None if it is gone, or going."""
        try:
            raw = await self._kube.get(Ref(NODE_CLAIM, claim.name))
        except NotFoundError:
            return None
        fresh = _marked_claim(raw)
        is_same = fresh.claim.uid == claim.uid and fresh.claim.deleting_at is None
        return fresh if is_same else None

    async def refuse(self, head: ClaimRecord, token: str) -> bool:
        """Note on the head of a batch that its token must not be sent; whether that was in time."""
        body: dict[str, Json] = {
            "metadata": {
                "resourceVersion": head.resource_version,
                "annotations": {keys.REFUSED_FLEET: token},
            }
        }
        try:
            await self._kube.patch(Ref(NODE_CLAIM, head.name), Patch(body))
        except (ConflictError, NotFoundError):
            return False
        return True

    async def records(self) -> tuple[ClaimRecord, ...]:
        """Every NodeClaim that the API has, as far as fleets are concerned."""
        records: list[ClaimRecord] = []
        token = ""
        while True:
            page = await self._kube.list(Scope(NODE_CLAIM), limit=_PAGE, token=token)
            records.extend(_record(_reader.decode(raw)) for raw in page.items)
            token = page.token
            if not token:
                return tuple(records)


def _ref(marked: MarkedClaim) -> Ref:
    return Ref(NODE_CLAIM, marked.claim.name)


def _guarded_patch(marked: MarkedClaim, mark: FleetMark) -> Patch:
    """A patch that fails if the claim is another, or has other annotations than we know of."""
    operations: list[Json] = [
        {"op": "test", "path": "/metadata/uid", "value": marked.claim.uid},
        {"op": "test", "path": "/metadata/annotations", "value": dict(marked.claim.annotations)},
    ]
    for key, value in annotations_of(mark).items():
        path = f"/metadata/annotations/{key.replace('/', '~1')}"
        operations.append({"op": "add", "path": path, "value": value})
    return Patch(operations, PatchType.JSON)


def _versioned_patch(fresh: MarkedClaim, mark: FleetMark) -> Patch:
    annotations: dict[str, Json] = {**annotations_of(mark)}
    return Patch(
        {"metadata": {"resourceVersion": fresh.resource_version, "annotations": annotations}}
    )


def _outcome(marked: MarkedClaim, raw: msgspec.Raw) -> MarkOutcome:
    after = _marked_claim(raw)
    if after.claim.uid != marked.claim.uid or after.claim.deleting_at is not None:
        return ClaimGone()
    return MarkWritten(after)


def _marked_claim(raw: msgspec.Raw) -> MarkedClaim:
    wire = api.decode(api.NodeClaim, raw)
    return MarkedClaim(claim_object(wire), wire.metadata.resource_version)


def _record(claim: _Claim) -> ClaimRecord:
    meta = claim.metadata
    token, ordinal, _ = _place(meta.annotations)
    return ClaimRecord(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        token=token if ordinal.isdigit() else "",
        ordinal=int(ordinal) if ordinal.isdigit() else 0,
        provider_id=claim.status.provider_id,
        refused_token=meta.annotations.get(keys.REFUSED_FLEET, ""),
        is_deleting=meta.deletion_timestamp is not None,
        is_tagged=meta.annotations.get(keys.TAGGED) == "true",
        node_name=claim.status.node_name,
        node_class=claim.spec.node_class_ref.name,
        labels=meta.labels,
    )
