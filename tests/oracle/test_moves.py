"""The judge of moves finds what is wrong, one law at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.ledger import EvictionCount, Ledger
from dovetail.model.plan import Disrupt, DisruptionReason, Nominate, Plan
from dovetail.model.pod import Owner
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.testing import instance_type, node, node_pool, pod, snapshot
from tests.oracle.build import NOW
from tests.oracle.check import check as check_all
from tests.oracle.moves import check

TYPES = (
    instance_type("small", cpu=2, price=0.1, spot=0.05),
    instance_type("large", cpu=8, price=0.4, spot=0.2),
)
KEPT: dict[str, Any] = {
    "is_consolidatable": True,
    "annotations": {"karpenter.sh/do-not-disrupt": "true"},
}
POLICY = Policy(disrupts_for=tuple(DisruptionReason), confirm_after=timedelta(0))


def cluster(
    policy: Policy = POLICY,
    wish: str = "WhenEmptyOrUnderutilized",
    b: dict[str, Any] | None = None,
    **a: Any,
) -> Snapshot:
    """Two nodes with a pod each; `a` and `b` say more of them, `wish` what their pool wants."""
    words = {"is_consolidatable": True, "drifted_at": NOW.isoformat(), **a}
    made = snapshot(
        nodes=[
            node("a", **{"pool": "default", "type": "large", "types": TYPES, **words}),
            node("b", pool="default", type="small", types=TYPES, **{**KEPT, **(b or {})}),
        ],
        node_pools=[node_pool(budgets=[{"nodes": "100%"}], consolidation_policy=wish)],
        types=TYPES,
        pods=[pod("p", node="a", cpu=1), pod("q", node="b", cpu="500m")],
    )
    return msgspec.structs.replace(made, policy=policy)


def moved(reason: str = "Underutilized", **words: Any) -> Plan:
    """Take node a away, its pod to b."""
    right = {
        "pods": ("default/p",),
        "places": (Nominate("b", ("default/p",)),),
        "saving_nanousd": 10**8,
    }
    return Plan(disruptions=(Disrupt(reason, ("a",), **{**right, **words}),))


def replaced(given: Snapshot, **words: Any) -> Plan:
    """Take node a away as decided where b has no room, with the replacement said otherwise."""
    full = msgspec.structs.replace(given, pods=(*given.pods, pod("r", node="b", cpu=1)))
    plan = decide(full, NOW)
    (one,) = plan.disruptions
    new = msgspec.structs.replace(one.replacements[0], **words)
    return Plan(disruptions=(msgspec.structs.replace(one, replacements=(new,)),))


def test_nothing_is_wrong_with_pods_that_find_room() -> None:
    """By hand for both reasons, and as decided."""
    for reason in ("Drifted", "Underutilized"):
        assert check(cluster(), NOW, moved(reason)) == []
    assert check_all(cluster(), NOW, decide(cluster(), NOW)) == []


@pytest.mark.parametrize(
    ("given", "plan", "says"),
    [
        pytest.param(cluster(), moved(pods=()), "moves []", id="forgets a pod"),
        pytest.param(cluster(), moved(places=()), "places []", id="gives it no place"),
        pytest.param(
            cluster(),
            moved(places=(Nominate("a", ("default/p",)),)),
            "does not stay",
            id="moves it to where it was",
        ),
        pytest.param(
            cluster(b={"is_consolidatable": False}), moved(), "not quiet", id="to a busy node"
        ),
        pytest.param(
            cluster(b={"stage": "starting"}), moved("Drifted"), "not started", id="to a new node"
        ),
        pytest.param(cluster(drifted_at=None), moved("Drifted"), "not Drifted", id="not drifted"),
        pytest.param(
            cluster(is_consolidatable=False), moved(), "not Consolidatable", id="not quiet"
        ),
        pytest.param(cluster(wish="WhenEmpty"), moved(), "pool wants it", id="only when empty"),
        pytest.param(cluster(pool=""), moved("Drifted"), "no claim", id="not ours"),
        pytest.param(cluster(type=""), moved(), "its price", id="of unknown price"),
        pytest.param(
            cluster(policy=msgspec.structs.replace(POLICY, confirm_after=timedelta(1))),
            moved(),
            "unconfirmed",
            id="seen just now",
        ),
        pytest.param(
            msgspec.structs.replace(cluster(), pods=(*cluster().pods, pod("r", node="b", cpu=1))),
            moved(),
            "does not bind",
            id="no room",
        ),
    ],
)
def test_what_is_wrong_is_said(given: Snapshot, plan: Plan, says: str) -> None:
    """One law broken at a time."""
    assert any(says in line for line in check(given, NOW, plan)), check(given, NOW, plan)


def test_what_owners_were_promised_is_judged() -> None:
    """What each pod must bring, and how often pods may be evicted a day, those of earlier moves of
    the same plan counted.
    """
    given = cluster()
    pods = tuple(
        msgspec.structs.replace(one, owner=Owner("ReplicaSet", "web")) for one in given.pods
    )
    given = msgspec.structs.replace(given, pods=pods)
    hour = NOW.replace(minute=0, second=0, microsecond=0)
    for policy, n_evicted, says in (
        ({"least_saving_nanousd": 10**9}, 0, "is wanted"),
        ({"eviction_cost": timedelta(days=700)}, 0, "does not pay"),
        ({"most_evictions": 0}, 0, "1 times a day"),
        ({"most_evictions": 1}, 2, "3 times a day"),
        ({"most_evictions": 1}, 1, ""),
    ):
        count = EvictionCount("ReplicaSet/default/web", hour, n_evicted)
        asked = msgspec.structs.replace(
            given,
            policy=msgspec.structs.replace(POLICY, **policy),
            ledger=Ledger(evictions=(count,)),
        )
        said = check(asked, NOW, moved())
        assert any(says in line for line in said) if says else said == [], said


def test_what_comes_instead_is_judged() -> None:
    """It must be cheaper whatever the provider makes of it, another, and hold who moves."""
    given = cluster(drifted_at=None)
    full = msgspec.structs.replace(given, pods=(*given.pods, pod("r", node="b", cpu=1)))
    assert check(full, NOW, replaced(given)) == []
    asked = replaced(given).disruptions[0].replacements[0].requirements
    wide = tuple(
        msgspec.structs.replace(one, values=one.values | {"on-demand", "large"}) for one in asked
    )
    for words, says in (
        ({"instance_types": ("small", "large"), "requirements": wide}, "may cost"),
        ({"instance_type": "large", "capacity_type": "on-demand"}, "its equal"),
        ({"pods": ()}, "places []"),
    ):
        said = check(full, NOW, replaced(given, **words))
        assert any(says in line for line in said), said


def test_spot_for_spot_needs_the_operators_word_and_enough_types() -> None:
    """Fifteen of them, for a single node."""
    on_demand = cluster(drifted_at=None)
    plan = replaced(on_demand)
    (one,) = plan.disruptions
    assert one.replacements[0].capacity_type == "spot"
    spot = cluster(drifted_at=None, capacity_type="spot")
    full = msgspec.structs.replace(spot, pods=(*spot.pods, pod("r", node="b", cpu=1)))
    assert any("spot comes for spot" in line for line in check(full, NOW, plan))
    willing = msgspec.structs.replace(POLICY, replaces_spot_by_spot=True)
    full = msgspec.structs.replace(full, policy=willing)
    assert any("with" in line and "types" in line for line in check(full, NOW, plan))
