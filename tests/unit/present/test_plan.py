"""What `plan -o json` prints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from dovetail.model.plan import Certificate, Cost, Disrupt, Launch, Nominate, OfferKey, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker, PoolReason, Reason, Unschedulable
from dovetail.present.plan import Timings, buys_spot, certificate_json, plan_json

GI = 1024**3
LAUNCH = Launch(
    name="general-1-0",
    node_pool="general",
    instance_type="m7g.large",
    zone="us-west-2a",
    capacity_type="on-demand",
    price_nanousd=81_600_000,
    instance_types=("m7g.large", "m6g.large"),
    requests={"pods": 2, "memory": 3 * GI // 2, "cpu": 1500, "nvidia.com/gpu": 1},
    pods=("shop/web-0", "shop/web-1"),
)
PLAN = Plan(
    launches=(LAUNCH,),
    nominations=(Nominate("node-1", ("shop/web-2",)),),
    unschedulable=(
        Unschedulable(
            pod="shop/gpu",
            summary="No pool has GPUs.",
            reasons=(PoolReason("general", Reason.RESOURCES, "no nvidia.com/gpu", 12),),
            fix="add a GPU pool",
        ),
    ),
    disruptions=(Disrupt("Empty", ("node-9",), (LAUNCH,), ("shop/a",), 500_000_000),),
    cost=Cost(81_600_000, 80_000_000, 1_000_000_000, 581_600_000),
    certificate=Certificate(
        resources=("cpu",),
        choice=((OfferKey("general", "m7g.large", "us-west-2a", "on-demand"), 0),),
        bound_nanousd=80_000_000,
    ),
    n_pods=4,
    n_groups=2,
)


def shown(plan: Plan = PLAN, **more: Any) -> dict[str, Any]:
    """The object after a trip through JSON, as a script sees it."""
    made = plan_json(plan, Snapshot(), Timings(0.5, 0.25, 0.125), **more)
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return decoded


def test_the_fixed_fields_stand_in_their_order() -> None:
    """Scripts rely on these names, and people on finding them in this order."""
    assert list(shown())[:6] == [
        "nodeClaims",
        "existingNodes",
        "unschedulable",
        "disruptions",
        "cost",
        "stats",
    ]


def test_a_node_claim_says_everything_about_the_node() -> None:
    """Dollars are numbers, quantities are text as manifests spell them."""
    assert shown()["nodeClaims"] == [
        {
            "name": "general-1-0",
            "nodePool": "general",
            "instanceType": "m7g.large",
            "zone": "us-west-2a",
            "capacityType": "on-demand",
            "pricePerHour": 0.0816,
            "instanceTypes": ["m7g.large", "m6g.large"],
            "requests": {
                "cpu": "1500m",
                "memory": "1536Mi",
                "nvidia.com/gpu": "1",
                "pods": "2",
            },
            "pods": ["shop/web-0", "shop/web-1"],
        }
    ]


def test_cpu_and_memory_are_always_among_the_requests() -> None:
    """A node whose pods ask for nothing still names both."""
    bare = msgspec.structs.replace(LAUNCH, requests={"pods": 1})
    claim = shown(Plan(launches=(bare,)))["nodeClaims"][0]
    assert claim["requests"] == {"cpu": "0", "memory": "0", "pods": "1"}


def test_existing_nodes_list_the_waiting_pods_they_take() -> None:
    """Name and pods, nothing else."""
    assert shown()["existingNodes"] == [{"name": "node-1", "pods": ["shop/web-2"]}]


def test_a_pod_that_waits_carries_its_reasons_and_what_would_help() -> None:
    """The reason is the wire word; the count is how many types were left before it."""
    assert shown()["unschedulable"] == [
        {
            "pod": "shop/gpu",
            "summary": "No pool has GPUs.",
            "reasons": [
                {
                    "nodePool": "general",
                    "reason": "InsufficientResources",
                    "message": "no nvidia.com/gpu",
                    "instanceTypesLeft": 12,
                }
            ],
            "fix": "add a GPU pool",
        }
    ]


def test_nodes_that_stay_say_why() -> None:
    """After all that scripts rely on."""
    until = datetime(2026, 1, 1, 9, tzinfo=UTC)
    plan = Plan(
        blocked=(Blocked("n1", Blocker.NODE_POOL_BUDGET, "No more of it.", until, "raise it"),)
    )
    assert list(shown(plan))[-1] == "blocked"
    assert shown(plan)["blocked"] == [
        {
            "node": "n1",
            "reason": "BudgetExhausted",
            "message": "No more of it.",
            "until": "2026-01-01T09:00:00Z",
            "fix": "raise it",
        }
    ]


def test_a_disruption_shows_replacements_as_node_claims() -> None:
    """Replacements have the very shape of nodeClaims."""
    whole = shown()
    assert whole["disruptions"] == [
        {
            "reason": "Empty",
            "nodes": ["node-9"],
            "replacements": whole["nodeClaims"],
            "pods": ["shop/a"],
            "savingPerHour": 0.5,
            "moves": [
                {"pod": "shop/web-0", "to": "general-1-0"},
                {"pod": "shop/web-1", "to": "general-1-0"},
            ],
        }
    ]


def test_cost_is_in_dollars_and_never_an_integer_type() -> None:
    """A price of exactly one dollar is still a float, so that typed readers do not stumble."""
    assert shown()["cost"] == {
        "newPerHour": 0.0816,
        "lowerBoundPerHour": 0.08,
        "clusterBeforePerHour": 1.0,
        "clusterAfterPerHour": 0.5816,
        "clusterTargetPerHour": 0.0,
        "lowerBoundIs": "within",
        "lowerBoundWhy": "",
    }
    amounts = {key: value for key, value in shown(Plan())["cost"].items() if "PerHour" in key}
    assert all(isinstance(value, float) for value in amounts.values())


def test_stats_hold_counts_and_seconds() -> None:
    """Counts first, then where the time went."""
    stats = shown()["stats"]
    assert list(stats.items())[:5] == [
        ("pods", 4),
        ("groups", 2),
        ("readSeconds", 0.5),
        ("encodeSeconds", 0.25),
        ("solveSeconds", 0.125),
    ]


def test_the_certificate_is_printed_only_when_asked_for() -> None:
    """It is long, and few need it."""
    assert "certificate" not in shown()
    assert shown(with_certificate=True)["certificate"]["boundNanousd"] == 80_000_000


def test_a_certificate_names_every_field_as_json_does() -> None:
    """No field of the proof is lost on the way out."""
    fields = certificate_json(PLAN.certificate)
    assert isinstance(fields, dict)
    assert len(fields) == len(Certificate.__struct_fields__)
    choice: Any = fields["choice"]
    assert choice[0][0]["instanceType"] == "m7g.large"
    assert choice[0][1] == 0


def test_notes_are_part_of_the_data() -> None:
    """What must be known about the figures travels with them."""
    assert shown(notes=["spot prices are synthetic"])["notes"] == ["spot prices are synthetic"]


@pytest.mark.parametrize(
    ("plan", "want"),
    [
        pytest.param(PLAN, False, id="only on demand"),
        pytest.param(
            Plan(launches=(msgspec.structs.replace(LAUNCH, capacity_type="spot"),)),
            True,
            id="a spot node",
        ),
        pytest.param(
            Plan(
                disruptions=(
                    Disrupt(
                        "Drifted",
                        ("n",),
                        (msgspec.structs.replace(LAUNCH, capacity_type="spot"),),
                    ),
                )
            ),
            True,
            id="a spot replacement",
        ),
    ],
)
def test_a_plan_knows_whether_it_shows_spot_prices(plan: Plan, want: bool) -> None:  # noqa: FBT001  a table's column
    """New nodes and replacements both count."""
    assert buys_spot(plan) is want
