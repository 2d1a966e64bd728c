"""Does a NodeOverlay count, and if not, why? Said in its status (spec/core.md 1.4, 7.3)."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.writing import STATUS, condition_list
from dovetail.decide.lifecycle.conditions import (
    VALIDATION_SUCCEEDED,
    Conditions,
    complete,
    fail,
    hold,
)
from dovetail.kube.seam import Body, Patch, Ref, Writer
from dovetail.state.amounts import instant
from dovetail.state.objects import conditions

NODE_OVERLAY: Final = api.KINDS["karpenter.sh", "NodeOverlay"]


class Finding(msgspec.Struct, frozen=True):
    """What was found of an overlay; without a reason it counts."""

    reason: str = ""
    message: str = ""


async def write_finding(
    kube: Writer, wire: api.NodeOverlay, finding: Finding, now: datetime
) -> None:
    """Write it down, unless the status says so already. Raises ConflictError, NotFoundError."""
    meta = wire.metadata
    held = Conditions(
        (VALIDATION_SUCCEEDED,),
        meta.generation or 1,
        instant(meta.creation_timestamp),
        meta.deletion_timestamp is not None,
        conditions(wire.status.conditions),
    )
    change = (
        fail(VALIDATION_SUCCEEDED, finding.reason, finding.message)
        if finding.reason
        else hold(VALIDATION_SUCCEEDED)
    )
    after = complete(held, now).after((change,), now)
    if after.held == held.held:
        return
    body: Body = {
        "metadata": {"resourceVersion": meta.resource_version},
        STATUS: {"conditions": condition_list(after.held)},
    }
    await kube.patch(Ref(NODE_OVERLAY, meta.name), Patch(body, subresource=STATUS))
