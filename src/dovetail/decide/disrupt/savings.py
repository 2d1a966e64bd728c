"""Computes what the cluster saves if nodes go, and whether that is sure and enough.

Each part of a move must pay for what it disturbs, and replacements are priced at the worst that the
provider may ask. Parts that do not pay stay as they are. A node that would be replaced by one of
the same type, zone and capacity type is kept where the others can do without it. A
Balanced pool approves when the share of its cost that is saved is at least half the share of its
pods that are disturbed; a move that concerns several such pools needs all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final

import msgspec

from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.calm import changes_at, evicted_often, overtaxed_workload
from dovetail.decide.disrupt.cost import Toll, moving_cost, remaining_parts, toll_of
from dovetail.decide.disrupt.course import Course, launches_of
from dovetail.decide.disrupt.probe import Ground, Part, Stuck, movable_pods, parts_of, probe_within
from dovetail.decide.disrupt.replacing import purchase, replacements
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.nodes import with_memory
from dovetail.decide.pools import launch_price, node_saving, pools_by_name, price_of, whole_prices
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason, Launch
from dovetail.model.pool import ConsolidationPolicy
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker, Score
from dovetail.units.money import dollars

REASON: Final = DisruptionReason.UNDERUTILIZED
MANY: Final = 4  # nodes of a move that may bring back equals of some
WORTH_EQUALS: Final = Fraction(1, 16)  # of the price of nodes, if equals of some come back
WORTH_A_LOOK: Final = Fraction(1, 40)  # of the price of many nodes
_TRIES: Final = 6  # at leaving out of a move what does not pay
THOUSAND: Final = 1000
LEAST_SCORE: Final = 500  # thousandths


class Candidate(msgspec.Struct, frozen=True):
    """A node from which pods might move, what it costs (with the price per node), and what it costs
    to move them, compared to others and at least.
    """

    node: Node
    price_nanousd: int
    cost: int
    toll: Toll = Toll()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name


class Saving(msgspec.Struct, frozen=True):
    """A move that saves money, in parts that have nothing to do with each other."""

    going: tuple[Node, ...]
    disrupts: tuple[Disrupt, ...]
    cost: int
    changes_at: datetime | None = None  # when time alone could make it look worse


def candidates_of(nodes: Iterable[Node], ground: Ground) -> list[Candidate]:
    """The nodes with what they cost."""
    known = whole_prices(ground.snapshot)
    pools = pools_by_name(ground.snapshot.node_pools)
    return [
        Candidate(
            node,
            price_of(node, known),
            moving_cost(
                movable_pods(node.name, ground),
                remaining_parts(node, pools.get(node.node_pool), ground.now),
            ),
            toll_of(
                movable_pods(node.name, ground),
                going=(node,),
                launches=(),
                snapshot=ground.snapshot,
                now=ground.now,
            ),
        )
        for node in nodes
    ]


def judge(
    course: Course, ground: Ground, chosen: Sequence[Candidate], heard: list[Blocked]
) -> Saving | Blocked | None:
    """What comes of these nodes together: a saving, or what is against it; None if nothing is.
    What is against parts of it is heard, too.

    Nodes of which the very equals would come are left where they are. Where many go it may be that
    only all of them anew save much; then equals may come, too.
    """
    mixed: Saving | None = None
    for number in range(_TRIES):
        if not chosen:
            return mixed
        move = probe_within(ground, (candidate.name for candidate in chosen), _most(chosen))
        if move is None:
            return mixed
        if isinstance(move, Stuck):
            if len(chosen) == 1:
                return block(chosen[0].name, Blocker.POD_STUCK, pod=move.pod, why=move.why)
            chosen = _without_host(chosen, move.pod, ground)
            continue
        launches = launches_of(course, move)
        result = _in_parts(course, ground, chosen, parts_of(move, launches, ground), heard)
        fewer = _without_equals(chosen, launches, keeps_all=number > 0)
        if len(fewer) < len(chosen):
            mixed = mixed or _worth_equals(result, chosen)
        elif isinstance(result, list):
            fewer = result
        else:
            return _better(result, mixed)
        chosen = fewer
    return mixed


def _most(chosen: Sequence[Candidate]) -> int:
    """What may come instead at most: of many nodes a part that saves little has parts that save
    nothing.
    """
    paid = _price_of_all(chosen)
    return int((1 - WORTH_A_LOOK) * paid) if len(chosen) >= MANY else paid


def _price_of_all(chosen: Iterable[Candidate]) -> int:
    return sum(candidate.price_nanousd for candidate in chosen)


def _without_host(chosen: Sequence[Candidate], pod: str, ground: Ground) -> list[Candidate]:
    """Those on whose nodes the pod does not stand."""
    return [
        item
        for item in chosen
        if all(pod != pod_on_node.key for pod_on_node in movable_pods(item.name, ground))
    ]


def _worth_equals(result: object, chosen: Sequence[Candidate]) -> Saving | None:
    """The move if it saves so much that nodes may even be replaced by their equals."""
    if not isinstance(result, Saving) or len(chosen) < MANY:
        return None
    return result if _saving_of(result) >= WORTH_EQUALS * _price_of_all(chosen) else None


def _better(result: Saving | Blocked | None, mixed: Saving | None) -> Saving | Blocked | None:
    """What leaves equals alone, unless far more is saved otherwise."""
    if mixed is None:
        return result
    if not isinstance(result, Saving) or 2 * _saving_of(result) < _saving_of(mixed):
        return mixed
    return result


def _saving_of(saving: Saving) -> int:
    return sum(part.whole_saving_nanousd for part in saving.disrupts)


def _in_parts(
    course: Course,
    ground: Ground,
    chosen: Sequence[Candidate],
    parts: Sequence[Part],
    heard: list[Blocked],
) -> Saving | Blocked | list[Candidate] | None:
    """What comes of these nodes if every part of the move pays for itself, or those whose part
    does, to be looked at again.
    """
    by_name = {candidate.name: candidate for candidate in chosen}
    results = [
        _weigh(course, ground, [by_name[name] for name in part.move.nodes], part) for part in parts
    ]
    worth = [item for item in results if isinstance(item, Saving)]
    heard += [item for item in results if isinstance(item, Blocked)]
    if len(worth) == len(results):
        return _joined_saving(course, ground, worth)
    if not worth:
        return next((item for item in results if item is not None), None)
    going = {node.name for item in worth for node in item.going}
    return [candidate for candidate in chosen if candidate.name in going]


def _joined_saving(course: Course, ground: Ground, parts: Sequence[Saving]) -> Saving | Blocked:
    """All parts as one move, unless together they evict somebody too often."""
    if len(parts) == 1:
        return parts[0]
    going = tuple(node for part in parts for node in part.going)
    moving = [pod for node in going for pod in movable_pods(node.name, ground)]
    over = overtaxed_workload(moving, course.world, course.now)
    if over is not None:
        return evicted_often(going[0].name, over)
    return Saving(
        going,
        tuple(disrupt for part in parts for disrupt in part.disrupts),
        sum(part.cost for part in parts),
        soonest(*(part.changes_at for part in parts)),
    )


def _without_equals(
    chosen: Sequence[Candidate], launches: Iterable[Launch], *, keeps_all: bool
) -> list[Candidate]:
    """Those of which nothing comes again that is just like them: as many stay as would come, the
    last first; or all that are like what would come.
    """
    coming = Counter(purchase(launch) for launch in launches)
    going: list[Candidate] = []
    for candidate in reversed(chosen):
        if coming[purchase(candidate.node)] > 0:
            coming[purchase(candidate.node)] -= not keeps_all
        else:
            going.append(candidate)
    return going[::-1]


def _weigh(
    course: Course, ground: Ground, chosen: Sequence[Candidate], part: Part
) -> Saving | Blocked | None:
    going, launches = tuple(candidate.node for candidate in chosen), part.launches
    first = going[0]
    saved = _price_of_all(chosen) - launch_price(launches, course.world)
    moving = [pod for node in going for pod in movable_pods(node.name, ground)]
    toll = toll_of(moving, going=going, launches=launches, snapshot=course.world, now=course.now)
    least = -1 if _is_return(going, launches, course.world) else toll.least_nanousd
    if 0 < saved <= least:
        return saves_too_little(first.name, saved, toll, course.now)
    narrowed = replacements(course, going, launches, saved - least)
    if narrowed is None:
        return None
    over = overtaxed_workload(moving, course.world, course.now)
    if over is not None:
        return evicted_often(first.name, over)
    all_scores = scores(going, saved, stakes(ground), ground)
    if not is_approved(all_scores):
        why = block(first.name, Blocker.NOT_WORTH_IT, pool=first.node_pool)
        return msgspec.structs.replace(why, scores=all_scores)
    move = part.move
    of_nodes = node_saving(course.world, going, launches)
    disrupt = Disrupt(
        REASON, move.nodes, narrowed, move.pods, saved - of_nodes, move.places, all_scores, of_nodes
    )
    return Saving(
        going,
        (disrupt,),
        sum(candidate.cost for candidate in chosen),
        changes_at(moving, course.world, course.now),
    )


def _is_return(going: Sequence[Node], launches: Sequence[Launch], snapshot: Snapshot) -> bool:
    """Whether pods come back to heavier pools, where the operator wants them: that may cost as much
    as before.
    """
    weights = weight_by_pool(snapshot)
    heaviest = max(weights[node.node_pool] for node in going)
    return bool(launches) and all(weights[launch.node_pool] > heaviest for launch in launches)


def saves_too_little(node: str, saved: int, toll: Toll, now: datetime) -> Blocked:
    """Why a node stays whose move would save so much, and until when."""
    return block(
        node,
        Blocker.SAVES_TOO_LITTLE,
        until=toll.pays_at(saved, now),
        saving=_dollars(saved),
        least=_dollars(toll.least_nanousd),
    )


def weight_by_pool(snapshot: Snapshot) -> dict[str, int]:
    """How much each pool is preferred, by its name."""
    return {pool.name: pool.weight for pool in snapshot.node_pools}


def _dollars(nanousd: int) -> str:
    return f"{dollars(nanousd):.4f}"


class Stake(msgspec.Struct, frozen=True):
    """What some nodes cost, and what it costs to move all their pods."""

    price_nanousd: int
    cost: int


@with_memory
def stakes(ground: Ground) -> Mapping[str, Stake]:
    """What all nodes of each Balanced pool come to, by the pool's name."""
    names = {
        pool.name
        for pool in ground.snapshot.node_pools
        if pool.disruption.consolidation_policy == ConsolidationPolicy.BALANCED
    }
    by_pool: dict[str, list[Node]] = {name: [] for name in sorted(names)}
    for node in ground.nodes:
        if node.node_pool in by_pool:
            by_pool[node.node_pool].append(node)
    return {name: _stake(nodes, ground) for name, nodes in by_pool.items()}


def _stake(nodes: Sequence[Node], ground: Ground) -> Stake:
    known = whole_prices(ground.snapshot)
    return Stake(
        sum(price_of(node, known) for node in nodes),
        sum(moving_cost(movable_pods(node.name, ground)) for node in nodes),
    )


def scores(
    going: Sequence[Node], saving: int, stake_of: Mapping[str, Stake], ground: Ground
) -> tuple[Score, ...]:
    """What every Balanced pool that loses nodes makes of this, by the pool's name."""
    concerned = sorted({node.node_pool for node in going} & stake_of.keys())
    if not concerned:
        return ()
    paid = _stake(going, ground).price_nanousd
    result = []
    for pool in concerned:
        part = _stake([node for node in going if node.node_pool == pool], ground)
        share = Fraction(saving * part.price_nanousd, paid) if paid else Fraction(0)
        exact = score(share, part.cost, stake_of[pool])
        result.append(Score(pool, exact * THOUSAND // 1))
    return tuple(result)


def is_approved(weighed: Iterable[Score]) -> bool:
    """Whether every pool that was asked approves."""
    return all(item.thousandths >= LEAST_SCORE for item in weighed)


def score(saving: Fraction, cost: int, stake: Stake) -> Fraction:
    """The share of a pool's cost that is saved, over the share of its pods that are disturbed."""
    if not stake.price_nanousd or not stake.cost or not cost:
        return Fraction(0)
    return (saving / stake.price_nanousd) / Fraction(cost, stake.cost)
