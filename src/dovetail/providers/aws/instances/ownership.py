"""Tells for which NodeClaim an instance runs.

All instances of a fleet request have the same tags, so the claims say whose instance is whose: by
their provider id, or while that is not written yet, by the mark of the request and their ordinal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dovetail.providers.aws.instances.described import Ec2Instance
from dovetail.providers.aws.launching.marks import ClaimRecord


class ClaimOwner(msgspec.Struct, frozen=True, gc=False):
    """A claim by name and UID."""

    name: str = ""
    uid: str = ""


def owners(
    instances: Sequence[Ec2Instance], claims: Iterable[ClaimRecord]
) -> dict[str, ClaimOwner]:
    """The owner of each instance that has one, by the id of the instance.

    `instances` must hold all of each fleet request, terminated ones as well: the ordinal of a claim
    counts them.
    """
    records = tuple(claims)
    by_provider_id = {record.provider_id: record for record in records if record.provider_id}
    by_place = {(record.token, record.ordinal): record for record in records if record.token}
    owner_by_id: dict[str, ClaimOwner] = {}
    n_seen: dict[str, int] = {}
    for instance in sorted(instances, key=lambda item: item.id):
        token = instance.token
        ordinal = n_seen.get(token, 0)
        n_seen[token] = ordinal + 1
        claim = by_provider_id.get(instance.provider_id)
        if claim is None and token:
            claim = by_place.get((token, ordinal))
        if claim is not None and claim.provider_id in ("", instance.provider_id):
            owner_by_id[instance.id] = ClaimOwner(claim.name, claim.uid)
    return owner_by_id
