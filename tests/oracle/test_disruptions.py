"""The judge of disruptions finds what is wrong, one law at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.ledger import Departure, Ledger, Nomination, Proposal
from dovetail.model.node import Node
from dovetail.model.plan import Cost, Disrupt, Plan
from dovetail.model.pool import Budget
from dovetail.model.snapshot import Snapshot
from dovetail.testing import instance_type, node, node_pool, pod, snapshot
from tests.oracle.build import NOW
from tests.oracle.disruptions import allowance, check

TYPES = (instance_type("small", price=0.1), instance_type("large", price=0.4))
SEEN = Ledger(proposals=tuple(Proposal("Empty", name, NOW) for name in ("a", "b")))
LATE = NOW + timedelta(seconds=15)


def empty(name: str, **words: Any) -> Node:
    """An empty node that has been quiet for long enough."""
    kind = str(words.pop("type", "small"))
    given = {"pool": "default", "is_consolidatable": True, **words}
    return node(name, type=kind, types=TYPES, **given)


def cluster(*nodes: Node, budget: str = "100%", **fields: Any) -> Snapshot:
    """These nodes, all seen fit to go a while ago."""
    pools = [node_pool(budgets=[{"nodes": budget}])]
    made = snapshot(nodes=nodes, node_pools=pools, types=TYPES)
    return msgspec.structs.replace(made, **{"ledger": SEEN, **fields})


def plan(*names: str, saving: int = 100_000_000) -> Plan:
    """Take these nodes away."""
    gone = Disrupt("Empty", names, saving_nanousd=saving)
    cost = Cost(cluster_before_nanousd=saving, cluster_after_nanousd=0)
    return Plan(disruptions=(gone,), proposals=SEEN.proposals[: len(names)], cost=cost)


def test_nothing_is_wrong_with_an_empty_node_that_goes() -> None:
    """The plain case, by hand and as decided."""
    assert check(cluster(empty("a")), LATE, plan("a")) == []
    decided = decide(cluster(empty("a"), empty("b")), LATE)
    assert check(cluster(empty("a"), empty("b")), LATE, decided) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param(cluster(), "not there", id="nobody of that name"),
        pytest.param(cluster(empty("a"), ledger=Ledger()), "unconfirmed", id="just seen"),
        pytest.param(cluster(empty("a", pool="")), "no claim", id="not ours"),
        pytest.param(cluster(empty("a", stage="starting")), "not started", id="starting"),
        pytest.param(
            cluster(empty("a", deleting_at=NOW.isoformat())), "leaving already", id="leaving"
        ),
        pytest.param(
            cluster(empty("a"), ledger=Ledger(disrupting=(Departure("a", "Empty", NOW),))),
            "leaving already",
            id="begun",
        ),
        pytest.param(
            cluster(empty("a", annotations={"karpenter.sh/do-not-disrupt": "true"})),
            "is protected",
            id="protected",
        ),
        pytest.param(cluster(empty("a", pool="other")), "pool does not", id="no such pool"),
        pytest.param(cluster(empty("a", is_consolidatable=False)), "not quiet", id="not quiet"),
        pytest.param(
            cluster(empty("a"), pods=(pod("p", nominated_node="a"),)),
            "meant for it",
            id="nominated by kube-scheduler",
        ),
        pytest.param(
            cluster(
                empty("a"),
                ledger=Ledger(nominations=(Nomination("u", "a", LATE + timedelta(seconds=1)),)),
            ),
            "meant for it",
            id="promised by an earlier plan",
        ),
        pytest.param(cluster(empty("a"), pods=(pod("p", node="a"),)), "runs pods", id="busy"),
        pytest.param(cluster(empty("a"), budget="0"), "loses 1 for Empty, not 0", id="no budget"),
    ],
)
def test_a_node_that_may_not_go_is_found(given: Snapshot, says: str) -> None:
    """Each law by itself."""
    assert says in "; ".join(check(given, LATE, plan("a")))


def test_a_node_that_is_forgotten_is_found() -> None:
    """One that could be proposed, and one that could go."""
    two = cluster(empty("a"), empty("b", type="large"))
    assert "proposes ['a'], not ['a', 'b']" in "; ".join(check(two, LATE, plan("a")))
    said = "; ".join(check(two, LATE, plan("a")))
    assert "could lose 1 more" in said
    assert "a cheap node before a dear one" in said


def test_figures_that_do_not_add_up_are_found() -> None:
    """What is saved, and what is paid afterwards."""
    assert "it saves 100000000" in "; ".join(check(cluster(empty("a")), LATE, plan("a", saving=7)))
    wrong = msgspec.structs.replace(plan("a"), cost=Cost(cluster_after_nanousd=5))
    assert "paid afterwards" in "; ".join(check(cluster(empty("a")), LATE, wrong))


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        pytest.param(Budget("3"), 3, id="a count"),
        pytest.param(Budget("34%"), 2, id="rounded up"),
        pytest.param(Budget("?"), 0, id="nonsense"),
        pytest.param(Budget("1", schedule="0 0 * * 4", duration=timedelta(hours=1)), 1, id="now"),
        pytest.param(
            Budget("1", schedule="0 0 * * 1-3", duration=timedelta(hours=1)), 10**9, id="not now"
        ),
    ],
)
def test_budgets_are_read_minute_by_minute(budget: Budget, want: int) -> None:
    """NOW is midnight, on a Thursday."""
    assert allowance(budget, 4, NOW) == want
