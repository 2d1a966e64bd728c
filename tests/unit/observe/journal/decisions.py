"""A few decisions on a small cluster, as a controller would have made them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.observe.journal.records import digest
from dovetail.testing import deployment, node, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def clusters() -> tuple[Snapshot, ...]:
    """One node, then pods that wait, then fewer of them; a node leaves."""
    policy = Policy(disrupts_for=tuple(DisruptionReason), confirm_after=timedelta(0))
    nodes = tuple(
        node(name, pool="default", type="small", cpu=2, is_consolidatable=True)
        for name in ("n1", "n2")
    )
    pods = deployment(6, cpu=1)
    empty = msgspec.structs.replace(snapshot(nodes=nodes), policy=policy)
    waiting = msgspec.structs.replace(empty, pods=pods, revision=2)
    fewer = msgspec.structs.replace(waiting, pods=(pods[0], *pods[2:]), revision=3)
    alone = msgspec.structs.replace(fewer, nodes=nodes[:1], revision=4)
    return empty, waiting, fewer, alone


def decided() -> tuple[Decision, ...]:
    """What was decided upon each of them, a second apart."""
    return tuple(
        Decision(
            number=place + 1,
            now=START + place * SECOND,
            seconds=0.25,
            snapshot=cluster,
            plan=decide(cluster, START + place * SECOND),
        )
        for place, cluster in enumerate(clusters())
    )


def stripped(decision: Decision) -> Decision:
    """A decision as a journal gives it back: without its certificate."""
    plan = msgspec.structs.replace(decision.plan, certificate=Plan().certificate)
    kept = decision.certificate_digest or digest(decision.plan.certificate)
    return msgspec.structs.replace(decision, plan=plan, certificate_digest=kept)
