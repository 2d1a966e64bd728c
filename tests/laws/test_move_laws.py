"""Laws of moving pods so that nodes can go, over generated clusters."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dovetail.decide import decide
from dovetail.decide.apply import apply
from dovetail.decide.disrupt.probe import ground_of, movable_pods
from dovetail.decide.pools import remaining_limits, running_price
from dovetail.decide.spread import with_default_spread
from dovetail.model.ledger import Ledger
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.pool import Budget
from dovetail.model.snapshot import Snapshot
from dovetail.solve import Solution, solve, solve_without
from tests.fuzz.describe import describe
from tests.laws.market import one_in
from tests.laws.packed import packed
from tests.laws.strategies import NOW, cluster, seeded
from tests.oracle import disruptions, moves

N_CLUSTERS = 250
DAY = timedelta(days=1)


def restless(chance: Random, snapshot: Snapshot) -> Snapshot:
    """The same cluster with some nodes drifted, some bounded in their draining, and nothing that
    waits to be confirmed.
    """
    policy = msgspec.structs.replace(
        snapshot.policy,
        disrupts_for=tuple(DisruptionReason),
        confirm_after=timedelta(0),
        replaces_spot_by_spot=one_in(chance, 2),
    )
    nodes = tuple(_drifted(chance, node) for node in snapshot.nodes)
    made = msgspec.structs.replace(snapshot, nodes=nodes, policy=policy)
    return made if one_in(chance, 3) else settled(made)


def _drifted(chance: Random, node: Node) -> Node:
    if not node.node_claim or not one_in(chance, 4):
        return node
    said = Condition("Drifted", "True", changed_at=NOW - chance.choice((1, 2, 3)) * DAY)
    return msgspec.structs.replace(
        node,
        conditions=(*node.conditions, said),
        termination_grace_period=DAY if one_in(chance, 3) else None,
    )


def settled(snapshot: Snapshot) -> Snapshot:
    """The same cluster, in which nobody waits and everything may go."""
    pods = tuple(pod for pod in snapshot.pods if pod.node_name)
    return unbudgeted(msgspec.structs.replace(snapshot, pods=pods))


def unbudgeted(snapshot: Snapshot) -> Snapshot:
    """The same cluster, in which everything may go at once and nothing goes yet."""
    pools = tuple(
        msgspec.structs.replace(
            pool, disruption=msgspec.structs.replace(pool.disruption, budgets=(Budget("100%"),))
        )
        for pool in snapshot.node_pools
    )
    ledger = Ledger(reserved_by_id=snapshot.ledger.reserved_by_id)
    return msgspec.structs.replace(snapshot, node_pools=pools, ledger=ledger)


def wrong(snapshot: Snapshot, plan: Plan) -> list[str]:
    """What the oracle says against what goes."""
    return [*disruptions.check(snapshot, NOW, plan), *moves.check(snapshot, NOW, plan)]


def test_nothing_is_wrong_with_what_moves() -> None:
    """Everybody who moves has a place, all moves go together, and what is said to be saved is."""
    n_moves = dict.fromkeys(DisruptionReason, 0)
    for seed in range(N_CLUSTERS):
        snapshot = restless(Random(seed), seeded(seed))
        plan = decide(snapshot, NOW)
        assert wrong(snapshot, plan) == [], f"seed {seed}"
        for one in plan.disruptions:
            n_moves[DisruptionReason(one.reason)] += 1
    assert min(n_moves.values()) > N_CLUSTERS // 25, n_moves  # else the law says little


def test_without_the_operators_word_only_empty_nodes_go() -> None:
    """What may be done for other reasons leaves the rest of the plan as it was."""
    for seed in range(0, N_CLUSTERS, 5):
        snapshot = restless(Random(seed), seeded(seed))
        policy = msgspec.structs.replace(snapshot.policy, disrupts_for=(DisruptionReason.EMPTY,))
        quiet = decide(msgspec.structs.replace(snapshot, policy=policy), NOW)
        every = decide(snapshot, NOW)
        assert quiet.disruptions == tuple(
            one for one in every.disruptions if one.reason == DisruptionReason.EMPTY
        ), f"seed {seed}"
        assert quiet.launches == every.launches
        assert quiet.nominations == every.nominations


def judged(snapshot: Snapshot, names: tuple[str, ...]) -> tuple[Solution, Solution]:
    """What the prepared solver says of these nodes, and the plain one of the cluster without."""
    ground = ground_of(snapshot, NOW, is_saving=True)
    moving = tuple(pod for name in names for pod in movable_pods(name, ground))
    held = ground.volumes
    fine = [pod for pod in moving if not pod.claim_names or pod.key in held]
    pods, keys = with_default_spread(fine, snapshot), {pod.key for pod in fine}
    nodes = tuple(node for node in ground.nodes if node.name not in names)
    limits = {pool.name: remaining_limits(pool, nodes) for pool in ground.pools}
    plain = msgspec.structs.replace(
        ground.puzzle,
        pods=pods,
        nodes=nodes,
        bound=tuple(pod for node in nodes for pod in ground.pods_by_node.get(node.name, ())),
        volumes={key: one for key, one in held.items() if key in keys},
        bound_volumes={key: one for key, one in held.items() if key not in keys},
        limits=limits,
    )
    return solve_without(ground.prepared, pods, names, limits), solve(plain)


def test_what_is_prepared_answers_as_if_it_were_asked_anew() -> None:
    """Whoever has a place has one, and it costs no more."""
    n_asked = n_cheaper = 0
    for seed in range(0, N_CLUSTERS, 2):
        snapshot = restless(Random(seed), seeded(seed))
        names = [node.name for node in snapshot.nodes if node.node_claim and node.is_initialized]
        for chosen in (names[:1], names[1:2], names):
            found, plain = judged(snapshot, tuple(chosen))
            assert bool(found.unplaced) == bool(plain.unplaced), f"seed {seed}, {chosen}"
            if not plain.unplaced:
                assert found.price_nanousd <= plain.price_nanousd, f"seed {seed}, {chosen}"
                n_cheaper += found.price_nanousd < plain.price_nanousd
            n_asked += len(chosen) > 0
    assert n_asked > N_CLUSTERS // 2
    assert n_cheaper < n_asked // 20


def rests(snapshot: Snapshot) -> str:
    """Whether the cluster comes to rest; nothing if it does, else what is wrong."""
    n_rounds = 4 * len(snapshot.nodes) + 6
    for _ in range(n_rounds):
        plan = decide(snapshot, NOW)
        if not plan.disruptions and not plan.launches and not plan.nominations:
            held = {one.node for one in plan.blocked}
            return "" if {one.node for one in plan.proposals} <= held else "still proposes"
        paid = running_price(snapshot)
        snapshot = apply(snapshot, plan)
        if running_price(snapshot) != plan.cost.cluster_after_nanousd:
            return f"says {plan.cost.cluster_after_nanousd}, pays {running_price(snapshot)}"
        is_about_money = all(one.reason != DisruptionReason.DRIFTED for one in plan.disruptions)
        if is_about_money and not plan.launches and running_price(snapshot) > paid:
            return "pays more"
    return f"no rest in {n_rounds} rounds"


def test_carried_out_the_cluster_comes_to_rest() -> None:
    """After the last useful move nothing is proposed, and no move about money makes it dearer."""
    for seed in range(0, N_CLUSTERS, 3):
        snapshot = unbudgeted(restless(Random(seed), seeded(seed)))
        assert rests(snapshot) == "", f"seed {seed}"


def test_what_a_careless_packer_left_behind_gets_cheaper_and_rests() -> None:
    """Nodes give way to free room, to a cheaper node or to several; then nothing moves any more."""
    n_new = 0
    for seed in range(8):
        chance = Random(seed)
        snapshot = packed(chance, chance.randint(2, 6), chance.randint(1, 6))
        plan = decide(snapshot, NOW)
        assert wrong(snapshot, plan) == [], f"seed {seed}"
        assert plan.cost.cluster_after_nanousd < plan.cost.cluster_before_nanousd, f"seed {seed}"
        assert rests(snapshot) == "", f"seed {seed}"
        n_new += sum(len(one.replacements) > 1 for one in plan.disruptions)
    assert n_new  # one node became several at least once


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(st.randoms(use_true_random=False))
def test_what_hypothesis_finds_comes_to_rest(chance: Random) -> None:
    """The same laws, with clusters that hypothesis chooses."""
    snapshot = restless(chance, cluster(chance))
    assert wrong(snapshot, decide(snapshot, NOW)) == [], describe(snapshot)
    assert rests(unbudgeted(snapshot)) == "", describe(snapshot)
