"""Laws of the live memory: what it says is what its objects say, however they came about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dovetail import api
from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Nomination
from dovetail.model.plan import Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state import freeze
from dovetail.state.changes import Catalogued, Change, Observed, Vanished
from dovetail.state.cluster import Cluster
from dovetail.state.fleet import expected_node
from dovetail.state.nodes import Joints, NodeReport
from tests.laws.happenings import history
from tests.laws.strategies import seeded

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Naive:
    """Remembers every object as it came, and works everything out anew."""

    def __init__(self) -> None:
        self._objects: dict[tuple[type[api.Object], str, str], api.Object] = {}
        self._types: dict[str, tuple[InstanceType, ...]] = {}

    def apply(self, change: Change) -> None:
        """Take in a change."""
        match change:
            case Observed():
                meta = change.object.metadata
                self._objects[type(change.object), meta.namespace, meta.name] = change.object
            case Vanished():
                self._objects.pop((change.kind.wire_type, change.namespace, change.name), None)
                if change.kind.wire_type is api.NodePool:  # one of its name may be another
                    self._types.pop(change.name, None)
            case Catalogued():
                self._types[change.node_pool] = change.instance_types
            case _:
                raise AssertionError(change)

    def snapshot(self, revision: int) -> Snapshot:
        """Everything, from scratch."""

        def types(pool: NodePool) -> tuple[InstanceType, ...]:
            return self._types.get(pool.name, ())

        return freeze.snapshot(
            self._objects.values(), instance_types=types, revision=revision, is_live=True
        )


def told(changes: Iterable[Change], chance: Random) -> None:
    """Tell both, and ask both now and then."""
    cluster, naive = Cluster(), Naive()
    for change in changes:
        cluster.apply(change)
        naive.apply(change)
        if chance.random() < 0.2:
            got = cluster.snapshot(NOW)
            assert got == naive.snapshot(got.revision)
    got = cluster.snapshot(NOW)
    assert got == naive.snapshot(got.revision)


@settings(
    max_examples=60,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # a shorter seed is no shorter history
    suppress_health_check=list(HealthCheck),
)
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_memory_equals_what_its_objects_say(chance: Random, n_changes: int) -> None:
    """After any sequence of changes, as hypothesis chooses them."""
    told(history(chance, n_changes), chance)


def test_memory_equals_what_its_objects_say_after_long_histories() -> None:
    """The same, with seeds and more changes."""
    for seed in range(40):
        chance = Random(seed)
        told(history(chance, 300), chance)


def test_what_nothing_touched_is_the_very_same_object() -> None:
    """A solver recognises parts by identity, so asking twice gives the same parts."""
    chance = Random(1)
    cluster = Cluster()
    for change in history(chance, 400):
        cluster.apply(change)
    first, second = cluster.snapshot(NOW), cluster.snapshot(NOW)
    assert second.revision == first.revision + 1
    for field in first.__struct_fields__:
        if field != "revision":
            assert getattr(second, field) is getattr(first, field), field


def test_what_is_told_again_touches_nothing() -> None:
    """Neither the same version of an object nor another one that reads the same."""
    cluster = Cluster()
    last: dict[tuple[type[api.Object], str, str], api.Object] = {}
    for change in history(Random(2), 400):
        cluster.apply(change)
        if isinstance(change, Observed):
            meta = change.object.metadata
            last[type(change.object), meta.namespace, meta.name] = change.object
    for one in last.values():
        cluster.apply(Observed(one))
    before = cluster.conversions()
    assert not any(cluster.apply(Observed(one)) for one in last.values())
    assert cluster.conversions().nodes == before.nodes
    assert not any(cluster.apply(Observed(_renumbered(one))) for one in last.values())


def test_what_was_decided_is_not_decided_again() -> None:
    """While planned nodes start, nothing more is launched for the pods that they are meant for."""
    for seed in range(80):
        before = seeded(seed)
        plan = decide(before, NOW)
        again = decide(_under_way(before, plan), NOW)
        assert again.launches == (), f"seed {seed}"


def _under_way(before: Snapshot, plan: Plan) -> Snapshot:
    """The cluster once the plan is being carried out and nothing has come of it yet."""
    types = before.instance_types
    ordered = {one.name: expected_node(one, types[one.node_pool]) for one in plan.launches}
    coming = Joints().nodes(NodeReport({}, ordered, {}, types))
    uids = {pod.key: pod.uid for pod in before.pods}
    placed = [(one.name, one.pods) for one in plan.launches]
    placed += [(one.node, one.pods) for one in plan.nominations]
    until = NOW + timedelta(seconds=20)
    used = dict(before.ledger.reserved_by_id)
    for one in plan.launches:
        used[one.reservation_id] = used.get(one.reservation_id, 0) + bool(one.reservation_id)
    ledger = msgspec.structs.replace(
        before.ledger,
        nominations=tuple(
            Nomination(uids[pod], node, until) for node, pods in placed for pod in pods
        ),
        reserved_by_id=used,
    )
    nodes = tuple(sorted((*before.nodes, *coming), key=lambda node: node.name))
    return msgspec.structs.replace(before, nodes=nodes, ledger=ledger, revision=2)


def _renumbered(wire: api.Object) -> api.Object:
    meta = msgspec.structs.replace(wire.metadata, resource_version="another")
    return msgspec.structs.replace(wire, metadata=meta)
