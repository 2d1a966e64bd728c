from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.decide import decide
from dovetail.model.pod import Pod
from dovetail.solve.axes import Bool
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.program.markets import dear_groups
from dovetail.solve.program.relaxation import encode_schedulable, value_pods
from dovetail.solve.puzzle import canonical
from dovetail.testing.builders import deployment, instance_type, snapshot
from tests.laws.strategies import NOW
from tests.oracle.check import check
from tests.unit.solve.puzzles import puzzle

TYPES = (
    instance_type("small", cpu=4, memory="16Gi", price=0.2, spot=0.06, zones=("a",)),
    instance_type("large", cpu=16, memory="64Gi", price=0.8, spot=0.24, zones=("a",)),
)
ON_DEMAND = {"karpenter.sh/capacity-type": "on-demand"}


def found(pods: Iterable[Pod], **parts: object) -> tuple[Encoded, Bool]:
    """The problem, and who needs dear nodes."""
    plain = encode_schedulable(canonical(puzzle(pods, *TYPES, **parts))).plain
    return plain.enc, dear_groups(plain.enc, plain.offers, plain.fits_gp)


def mixed(n_others: int = 1_100, **words: object) -> list[Pod]:
    """Pods that ask for on-demand nodes, and many that take any."""
    some = deployment(60, "steady", cpu=1, memory="2Gi", node_selector=ON_DEMAND, **words)
    return [*some, *deployment(n_others, cpu="500m", memory="2Gi")]


def names_of(enc: Encoded, chosen_g: Bool) -> set[str]:
    """The labels of the groups that are chosen."""
    groups = [enc.groups[number] for number in np.flatnonzero(chosen_g).tolist()]
    return {group.pods[0].labels["app"] for group in groups}


def test_pods_that_ask_for_on_demand_nodes_need_dear_ones() -> None:
    """They cost three times as much."""
    assert names_of(*found(mixed())) == {"steady"}


def test_a_small_plan_has_one_market() -> None:
    """Its search looks at everything at once."""
    assert not found(mixed(n_others=100))[1].any()


def test_limits_keep_markets_together() -> None:
    """Whoever comes first would take what the others need."""
    assert not found(mixed(), limits={"default": {"cpu": 2_000_000}})[1].any()


def test_pods_that_avoid_pods_of_the_other_market_keep_them_together() -> None:
    """A rule about nodes counts pods of both."""
    avoid = [{"selector": {"app": "web"}}]
    assert not found(mixed(anti_affinity=avoid))[1].any()


def test_dear_nodes_hold_all_who_need_them_and_some_others() -> None:
    """Sixty pods of one CPU fill four large on-demand nodes; the room that is left is used."""
    plain = encode_schedulable(canonical(puzzle(mixed(), *TYPES))).plain
    attempt = run_attempt(plain.enc, plain.offers, value_pods(plain))
    bins = attempt.bins
    offers = bins.offer[: bins.n][~bins.dead[: bins.n]].tolist()
    dear = [one for one in offers if plain.enc.market.keys[one].capacity_type == "on-demand"]
    assert sum(plain.enc.cap_or[one][0] for one in dear) < 66_000
    assert not attempt.left_u.any()
    assert is_sound(attempt)


def test_the_bound_of_two_markets_is_proven() -> None:
    """One certificate covers both, and the checker accepts it."""
    apart = deployment(7, "apart", cpu=3, node_selector=ON_DEMAND, anti_affinity=[{}])
    cluster = snapshot([*mixed(), *apart], types=TYPES)
    plan = decide(cluster, NOW)
    assert check(cluster, NOW, plan) == []
    assert plan.cost.new_nanousd * 0.97 < plan.cost.lower_bound_nanousd


def test_half_empty_dear_nodes_do_not_make_all_others_worthless() -> None:
    """One pod of nine CPUs fills a node of sixteen as the dear market's own program sees it, so
    that others would ride for nothing; one program for both knows that the room is soon used up.
    """
    large = deployment(20, "large", cpu=9, memory="2Gi", node_selector=ON_DEMAND)
    others = deployment(1_100, cpu="500m", memory="2Gi")
    plain = encode_schedulable(canonical(puzzle([*large, *others], *TYPES))).plain
    values = value_pods(plain)
    worth_g = [float(values.cell_worth(group).min()) for group in range(len(plain.enc.groups))]
    # 20 large nodes are $16; they have room for 280 of the others, whom spot nodes sell at $0.0075.
    assert min(worth_g) > 0
    assert float(plain.enc.count_g @ np.array(worth_g)) * 1e-9 > 16.0 + 0.95 * 820 * 0.0075
