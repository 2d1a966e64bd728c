"""What does a cluster look like, in a few lines? Only what is not as plain as can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot


def describe(snapshot: Snapshot) -> str:
    """The cluster, a line for each thing in it."""
    return "\n".join(_lines(snapshot))


def described(plan: Plan) -> str:
    """The plan, a line for each decision."""
    lines = [
        f"launch {one.name} {one.instance_type} {one.zone}/{one.capacity_type} "
        f"{one.price_nanousd} or {one.instance_types[1:]}: {', '.join(one.pods)}"
        for one in plan.launches
    ]
    lines += [f"nominate {one.node}: {', '.join(one.pods)}" for one in plan.nominations]
    lines += [f"waits {one.pod}: {one.summary}" for one in plan.unschedulable]
    for move in plan.disruptions:
        lines.append(f"{move.reason} {', '.join(move.nodes)} saves {move.saving_nanousd}")
        lines += [f"  to {one.node}: {', '.join(one.pods)}" for one in move.places]
        lines += [
            f"  new {one.name} {one.instance_type} {one.zone}/{one.capacity_type} "
            f"{one.price_nanousd}: {', '.join(one.pods)}"
            for one in move.replacements
        ]
    lines += [f"stays {one.node}: {one.reason}" for one in plan.blocked]
    lines += [f"proposes {one.node}: {one.reason} since {one.since}" for one in plan.proposals]
    return "\n".join([*lines, f"order {plan.binding_order}", _short(plan.certificate)])


def _lines(snapshot: Snapshot) -> Iterator[str]:
    for pool in snapshot.node_pools:
        yield f"pool {_differs(pool, NodePool(pool.name))}"
        for kind in snapshot.instance_types.get(pool.name, ()):
            offers = ", ".join(
                f"{one.zone}/{one.capacity_type} {one.price_nanousd}"
                + ("" if one.is_available else " (gone)")
                for one in kind.offerings
            )
            yield f"  type {kind.name} {_short(kind.allocatable)}: {offers}"
    for node in snapshot.nodes:
        yield f"node {_differs(node, Node(node.name))}"
    for daemon in snapshot.daemon_sets:
        yield f"daemon {daemon.name} {_differs(daemon.spec, PodSpec({}))}"
    for pod in snapshot.pods:
        rest = _differs(pod, Pod(pod.name, pod.namespace, pod.spec, uid=pod.uid, owner=pod.owner))
        yield f"pod {pod.key} {rest} {_differs(pod.spec, PodSpec({}))}"
    for claim in snapshot.volume_claims.values():
        yield f"claim {claim.namespace}/{claim.name} {claim.storage_class} {claim.volume_name}"
    for volume in snapshot.volumes.values():
        yield f"volume {volume.name} {_short(volume.terms)}"
    yield f"policy {_short(snapshot.policy)} ledger {_short(snapshot.ledger)}"


def _differs(thing: msgspec.Struct, plain: msgspec.Struct) -> str:
    """The fields in which a thing is not plain."""
    return " ".join(
        f"{name}={_short(getattr(thing, name))}"
        for name in thing.__struct_fields__
        if name in ("name", "requests") or getattr(thing, name) != getattr(plain, name)
        if name not in ("spec", "created_at", "uid")
    )


def _short(value: object) -> str:
    match value:
        case Requirement():
            return f"<{value}>"
        case msgspec.Struct():
            shown = {
                name: getattr(value, name)
                for name in value.__struct_fields__
                if getattr(value, name) not in ((), None, "", False)
            }
            return f"{type(value).__name__}({_short(shown)})"
        case dict():
            return "{" + " ".join(f"{key}:{_short(one)}" for key, one in value.items()) + "}"
        case tuple() | frozenset() | list():
            return "[" + _joined(value) + "]"
        case _:
            return str(value)


def _joined(values: Iterable[object]) -> str:
    return ", ".join(_short(one) for one in values)
