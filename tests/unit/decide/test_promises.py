"""Room that an earlier plan promised is kept for whom it was promised to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail.decide.candidates import pending_pods, promised_by_node
from dovetail.decide.disrupt.probe import Stuck, ground_of, probe
from dovetail.model.ledger import Departure, Ledger, Nomination
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.testing import node, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def cluster(*pods: Pod, promised: dict[str, str], until: datetime = LATER) -> Snapshot:
    """Node old is being disrupted, free has 2 cpu; these pods were promised these nodes."""
    plain = snapshot(
        pods,
        nodes=[node("old", cpu="2"), node("free", cpu="2"), node("other", cpu="2")],
        node_pools=[],
    )
    uids = {one.name: one.uid for one in pods}
    ledger = Ledger(
        nominations=tuple(
            Nomination(uids[name], where, until) for name, where in sorted(promised.items())
        ),
        disrupting=(Departure("old", "Drifted", NOW),),
    )
    return msgspec.structs.replace(plain, ledger=ledger)


def names(found: Snapshot) -> dict[str, list[str]]:
    """The pods for which nodes keep room."""
    return {
        where: [one.name for one in pods] for where, pods in promised_by_node(found, NOW).items()
    }


def test_room_is_kept_for_pods_that_wait_and_for_pods_that_move() -> None:
    """Not for those whose node stays, nor for those that are ending."""
    pods = (
        pod("waits"),
        pod("moves", node="old"),
        pod("stays", node="other"),
        msgspec.structs.replace(pod("ends", node="old"), deleting_at=NOW),
    )
    promised = dict.fromkeys(("waits", "moves", "stays", "ends"), "free")
    assert names(cluster(*pods, promised=promised)) == {"free": ["waits", "moves"]}
    assert names(cluster(*pods, promised={})) == {}
    assert names(cluster(*pods, promised=promised, until=NOW)) == {}


def test_a_promise_to_a_pod_that_moves_ends_when_others_took_its_room() -> None:
    """It is planned for again."""
    pods = (pod("moves", node="old", cpu="1500m"), pod("taker", node="free", cpu="1"))
    found = cluster(*pods, promised={"moves": "free"})
    assert names(found) == {}
    assert [one.name for one in pending_pods(found, NOW).pods] == ["moves"]


def test_promised_room_is_not_given_to_others_who_move() -> None:
    """Two pods cannot move to where one has been promised a place."""
    pods = (pod("moves", node="old", cpu="1500m"), pod("next", node="other", cpu="1"))
    ground = ground_of(cluster(*pods, promised={"moves": "free"}), NOW, is_saving=False)
    assert isinstance(probe(ground, ("other",)), Stuck)
    free = ground_of(cluster(*pods, promised={}), NOW, is_saving=False)
    assert not isinstance(probe(free, ("other",)), Stuck)
