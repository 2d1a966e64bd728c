"""Conditions are counted as they turn, told once, and shown at every scrape."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from dovetail.decide.lifecycle.pool import PoolView
from dovetail.decide.lifecycle.step import Event
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.node import Condition
from dovetail.model.pool import NodePool
from dovetail.observe.condition_metrics import ConditionMetrics
from dovetail.observe.meters import Meters
from dovetail.testing.virtual_time import START
from tests.unit.observe.scraped import metered, values

CLASS = "karpenter.kwok.sh/kwoknodeclass"
LATER = START + timedelta(seconds=30)


class Told:
    """Condition metrics, and the events that they told."""

    def __init__(self) -> None:
        self.meters = Meters(node_class_labels=(CLASS,))
        self.events: list[Event] = []
        self.metrics = ConditionMetrics(self.meters, self.events.append)


def claim(status: str, changed_at: datetime, *, reason: str = "Launched") -> ClaimObject:
    """A claim of which one thing is said."""
    return ClaimObject(
        "c1",
        uid="u1",
        labels={"karpenter.sh/nodepool": "default", CLASS: "small"},
        conditions=(Condition("Launched", status, reason, changed_at=changed_at),),
    )


def test_a_condition_that_turns_is_counted_timed_and_told() -> None:
    """Under the kind's own name with its labels, and under the old one with its group and kind."""
    told = Told()
    told.metrics.see_claim(claim("Unknown", START, reason="Awaiting"))
    assert told.events == []
    told.metrics.see_claim(claim("True", LATER))
    told.metrics.see_claim(claim("True", LATER))
    own = {"karpenter_sh_nodepool": "default", "karpenter_kwok_sh_kwoknodeclass": "small"}
    old = {"group": "karpenter.sh", "kind": "NodeClaim"}
    turned = {"type": "Launched", "status": "True", "reason": "Launched"}
    left = {"type": "Launched", "status": "Unknown"}
    for prefix, labelled in (("operator_nodeclaim", own), ("operator", old)):
        name = f"{prefix}_status_condition"
        assert metered(told.meters, f"{name}_transitions_total", **turned, **labelled) == [1]
        assert metered(told.meters, f"{name}_transition_seconds_sum", **left, **labelled) == [30]
    (event,) = told.events
    assert (event.kind, event.name, event.uid, event.reason) == (
        "NodeClaim",
        "c1",
        "u1",
        "Launched",
    )
    assert "from Unknown to True" in event.message


def test_what_is_said_for_the_first_time_is_counted_but_not_told() -> None:
    """It did not turn from anything."""
    told = Told()
    told.metrics.see_claim(claim("True", START))
    name = "operator_nodeclaim_status_condition_transitions_total"
    assert metered(told.meters, name, status="True") == [1]
    assert told.events == []


def test_an_object_of_the_same_name_is_another_one() -> None:
    """Nothing turned when a claim was deleted and made anew."""
    told = Told()
    told.metrics.see_claim(claim("True", START))
    told.metrics.see_claim(msgspec.structs.replace(claim("Unknown", LATER), uid="u2"))
    assert told.events == []
    assert metered(told.meters, "operator_nodeclaim_status_condition_transition_seconds_sum") == []


def test_a_scrape_shows_what_is_said_now_and_for_how_long() -> None:
    """What was said before is not shown any more."""
    told = Told()
    told.metrics.see_claim(claim("Unknown", START, reason="Awaiting"))
    told.metrics.see_claim(claim("True", LATER))
    text = "".join(told.metrics.text(LATER + timedelta(seconds=5)))
    for prefix in ("operator_nodeclaim", "operator"):
        name = f"{prefix}_status_condition"
        said = {"namespace": "", "name": "c1", "type": "Launched", "status": "True"}
        assert values(text, f"{name}_count", **said) == [1]
        assert values(text, f"{name}_count") == [1]
        assert values(text, f"{name}_current_status_seconds", **said) == [5]


def test_a_deleted_object_is_shown_on_its_way_out_and_timed_when_it_is_gone() -> None:
    """And `Finalized` is told of it."""
    told = Told()
    going = msgspec.structs.replace(claim("True", START), deleting_at=START)
    told.metrics.see_claim(going)
    text = "".join(told.metrics.text(LATER))
    assert values(text, "operator_nodeclaim_termination_current_time_seconds", name="c1") == [30]
    assert values(text, "operator_termination_current_time_seconds", kind="NodeClaim") == [30]
    told.metrics.forget("NodeClaim", "c1", LATER)
    told.metrics.forget("NodeClaim", "c1", LATER)
    meters = told.meters
    assert metered(
        meters,
        "operator_nodeclaim_termination_duration_seconds_sum",
        karpenter_sh_nodepool="default",
    ) == [30]
    assert metered(meters, "operator_termination_duration_seconds_sum", kind="NodeClaim") == [30]
    assert [event.reason for event in told.events] == ["Finalized"]
    assert values(told.metrics.text(LATER), "operator_nodeclaim_status_condition_count") == []


def test_an_object_that_nobody_deleted_is_forgotten_in_silence() -> None:
    """A Node whose kubelet took it away, for instance."""
    told = Told()
    told.metrics.see_node(NodeObject("n1"))
    told.metrics.forget("Node", "n1", LATER)
    assert told.events == []


def test_nodes_and_pools_have_series_of_their_own() -> None:
    """Nodes only under the new names; pools carry no labels."""
    told = Told()
    node = NodeObject(
        "n1",
        labels={"karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true"},
        conditions=(Condition("Ready", "True", "KubeletReady", changed_at=START),),
    )
    told.metrics.see_node(node)
    told.metrics.see_pool(
        PoolView(NodePool("default"), conditions=(Condition("Ready", "False", changed_at=START),))
    )
    text = "".join(told.metrics.text(LATER))
    labelled = {"karpenter_sh_nodepool": "default", "karpenter_sh_initialized": "true"}
    assert values(text, "operator_node_status_condition_count", **labelled) == [1]
    assert values(text, "operator_nodepool_status_condition_current_status_seconds") == [30]
    assert values(text, "operator_status_condition_count", kind="Node") == []
    assert values(text, "operator_status_condition_count", kind="NodePool") == [1]
    name = "operator_nodepool_status_condition_transitions_total"
    assert metered(told.meters, name, type="Ready", status="False") == [1]
