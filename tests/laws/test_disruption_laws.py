"""Laws of taking nodes away, over generated clusters in which most nodes are empty."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dovetail.decide import decide
from dovetail.model.ledger import Departure
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from tests.fuzz.describe import describe
from tests.laws.rest import emptied
from tests.laws.strategies import NOW, cluster, seeded
from tests.oracle import disruptions

N_CLUSTERS = 300
SECOND = timedelta(seconds=1)


def quiet(seed: int) -> Snapshot:
    """The cluster of a seed without what ran on most of its nodes, and nobody waiting."""
    found = emptied(Random(seed), seeded(seed))
    return msgspec.structs.replace(found, pods=tuple(pod for pod in found.pods if pod.node_name))


def proposed(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The cluster once the plan's proposals are written down."""
    ledger = msgspec.structs.replace(snapshot.ledger, proposals=plan.proposals)
    return msgspec.structs.replace(snapshot, ledger=ledger)


def begun(snapshot: Snapshot, plan: Plan, now: datetime) -> Snapshot:
    """The cluster once the plan's disruptions have begun."""
    departures = tuple(
        Departure(name, one.reason, now) for one in plan.disruptions for name in one.nodes
    )
    ledger = msgspec.structs.replace(
        snapshot.ledger,
        proposals=plan.proposals,
        disrupting=(*snapshot.ledger.disrupting, *departures),
    )
    return msgspec.structs.replace(snapshot, ledger=ledger)


def gone(snapshot: Snapshot) -> Snapshot:
    """The cluster once every node that is being disrupted is gone, with its pods."""
    names = {one.node for one in snapshot.ledger.disrupting}
    return msgspec.structs.replace(
        snapshot,
        nodes=tuple(node for node in snapshot.nodes if node.name not in names),
        pods=tuple(pod for pod in snapshot.pods if pod.node_name not in names),
        ledger=msgspec.structs.replace(snapshot.ledger, disrupting=()),
    )


def going(plan: Plan) -> list[str]:
    """The nodes that go."""
    return [name for one in plan.disruptions for name in one.nodes]


def test_nothing_is_wrong_with_what_goes() -> None:
    """The oracle agrees, now and when proposals have stood for a while."""
    n_gone = 0
    for seed in range(N_CLUSTERS):
        snapshot = quiet(seed)
        for now in (NOW, NOW + 15 * SECOND):
            plan = decide(snapshot, now)
            assert disruptions.check(snapshot, now, plan) == [], f"seed {seed}"
            snapshot = proposed(snapshot, plan)
            n_gone += len(going(plan))
    assert n_gone > N_CLUSTERS // 5  # else the law says little


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(st.randoms(use_true_random=False))
def test_nothing_is_wrong_with_what_goes_in_what_hypothesis_finds(chance: Random) -> None:
    """The same law, with clusters that hypothesis chooses."""
    snapshot = emptied(chance, cluster(chance))
    plan = decide(snapshot, NOW)
    assert disruptions.check(snapshot, NOW, plan) == [], describe(snapshot)


def test_nothing_changes_strictly_before_wake_at() -> None:
    """Once the proposals are written down, the same cluster gives the same plan until then."""
    for seed in range(N_CLUSTERS):
        snapshot = quiet(seed)
        plan = decide(snapshot, NOW)
        snapshot = proposed(snapshot, plan)
        until = plan.wake_at or NOW + timedelta(days=3)
        just_before = until - timedelta(microseconds=1)
        for now in (NOW + SECOND / 2, NOW + (until - NOW) / 2, just_before):
            if now < until:
                assert decide(snapshot, now) == plan, f"seed {seed} at {now}"


def test_what_has_begun_is_not_proposed_again() -> None:
    """While nodes go, no plan names them, and budgets hold for what is left."""
    for seed in range(N_CLUSTERS):
        snapshot = quiet(seed)
        plan = decide(snapshot, NOW)
        after = begun(snapshot, plan, NOW)
        again = decide(after, NOW)
        assert not set(going(plan)) & {*going(again), *(one.node for one in again.proposals)}
        assert disruptions.check(after, NOW, again) == [], f"seed {seed}"
        assert going(again) == [], f"seed {seed}"  # the budgets are used up, or nobody is left


def test_it_comes_to_rest() -> None:
    """Carried out again and again, in the end nothing is left that could go and may."""
    for seed in range(0, N_CLUSTERS, 5):
        snapshot, now = quiet(seed), NOW
        for _ in range(2 * len(snapshot.nodes) + 2):
            plan = decide(snapshot, now)
            snapshot = gone(begun(snapshot, plan, now))
            now += 15 * SECOND
        plan = decide(snapshot, now)
        held = {one.node for one in plan.blocked}
        assert going(plan) == [], f"seed {seed}"
        assert {one.node for one in plan.proposals} <= held, f"seed {seed}"
        assert decide(proposed(snapshot, plan), now) == plan, f"seed {seed}"
