from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from dovetail.decide.pools import running_price
from dovetail.model.ledger import Departure, Ledger
from dovetail.testing import instance_type, node, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SMALL = instance_type("small", price=0.25)


def test_nodes_that_stay_cost_what_their_offering_costs() -> None:
    """Those on their way out, of unknown types and of no pool cost nothing."""
    nodes = [
        node("a", pool="default", type="small", types=[SMALL]),
        node("b", pool="default", type="small", types=[SMALL]),
        node("c", pool="default", type="small", types=[SMALL], deleting_at=NOW),
        node("d", pool="default", type="strange"),
        node("e", type="small", types=[SMALL]),
    ]
    cluster = snapshot(nodes=nodes, types=[SMALL])
    assert running_price(cluster) == 500_000_000
    marked = Ledger(disrupting=(Departure("a", "Empty", NOW),))
    assert running_price(msgspec.structs.replace(cluster, ledger=marked)) == 250_000_000
