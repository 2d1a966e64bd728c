"""Small knapsacks, markets and tasks for tests of patterns, with answers by plain enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random

import numpy as np

from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing.attempt import Attempt, new_attempt
from dovetail.solve.packing.units import unit_of
from dovetail.solve.patterns.compiled import Scratch
from dovetail.solve.patterns.generation import Generator
from dovetail.solve.patterns.knapsack import CPU, MEMORY, Items, KnapsackFill, fill_best, grids
from dovetail.solve.patterns.market import PatternMarket, pattern_market
from dovetail.solve.patterns.master import Master
from dovetail.solve.patterns.planning import pattern_loads
from dovetail.solve.patterns.recreate import RebuildTask, recreate
from dovetail.solve.program.relaxation import encode_schedulable, value_pods
from dovetail.solve.puzzle import canonical
from dovetail.solve.search.rates import Rates, WorkBudget
from dovetail.testing.builders import deployment, instance_type
from tests.unit.solve.puzzles import encoded, lottery, puzzle, units_of

Ways = Sequence[tuple[int, Float]]
WORK = 10**9  # cells of tables: enough for all that is asked here
CELLS = 512
TYPES = (
    instance_type("s", cpu=2, memory="4Gi", price=0.11, zones=("a",)),
    instance_type("m", cpu=4, memory="16Gi", price=0.2, zones=("a",)),
    instance_type("l", cpu=8, memory="16Gi", price=0.35, zones=("a",)),
)


# ------------------------------------------------------------------ knapsacks


def whole(*rows: Sequence[int]) -> Int:
    """Rows of whole numbers."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1)


def drawn_items(chance: Random) -> tuple[Items, Int, Int]:
    """A few sorts of pods, what they are worth, and what some nodes hold."""
    n_items, n_resources = chance.randint(1, 4), chance.randint(2, 4)
    cap_or = whole(*([chance.choice((0, 6, 11, 40)) for _ in range(n_resources)] for _ in range(3)))
    requests = [[chance.choice((0, 1, 2, 5)) for _ in range(n_resources)] for _ in range(n_items)]
    apart = np.zeros((n_items, n_items), dtype=bool)
    for a, b in product(range(n_items), repeat=2):
        if a < b and chance.random() < 0.2:
            apart[a, b] = apart[b, a] = True
    most = np.array([chance.randint(1, 4) for _ in range(n_items)], dtype=np.int64)
    value = np.array([chance.choice((1, 7, 9, 50, 10**9)) for _ in range(n_items)], dtype=np.int64)
    return Items(whole(*requests), most, apart), value, cap_or


def drawn_ways(chance: Random, n_resources: int) -> Ways:
    """Some resource to be exact in, and any prices of the others."""
    return [
        (exact, np.array([chance.choice((0.0, 0.3, 2.0, 1e8)) for _ in range(n_resources)]))
        for exact in (CPU, MEMORY, CPU)
    ]


def fill(
    items: Items, value_i: Int, ways: Ways, nodes: tuple[Int, Int], steps: int = 10**6
) -> KnapsackFill:
    """The best pods for every node, with bounds made in these ways."""
    made_of = grids(items, ways, nodes[0].max(axis=0), CELLS)
    return fill_best(items, value_i, made_of, nodes, (steps, Scratch()))


def best_worth(items: Items, value_i: Int, cap: Int) -> int:
    """The most that pods on a node can be worth: every number of every sort is tried."""
    best = 0
    for counts in product(*(range(most + 1) for most in items.most_i.tolist())):
        if is_allowed(items, np.array(counts), cap):
            best = max(best, sum(n * v for n, v in zip(counts, value_i.tolist(), strict=True)))
    return best


def is_allowed(items: Items, counts: Int, cap: Int) -> bool:
    """Whether so many pods of each sort may share a node of this capacity."""
    held = np.flatnonzero(counts)
    used = counts @ items.request_ir
    return bool(
        (used <= cap).all()
        and (counts <= items.most_i).all()
        and not items.apart_ii[np.ix_(held, held)].any()
    )


# ------------------------------------------------------------------ ruin and recreate


def drawn_task(chance: Random, **limits: int) -> RebuildTask:
    """A few sorts of pods and offers; limits on CPU or nodes, if named."""
    n_sorts, n_offers = chance.randint(1, 5), chance.randint(2, 6)
    cpu = sorted(chance.choice((2, 4, 8, 16)) for _ in range(n_offers))
    cap_or = whole(*([n, n * chance.choice((2, 4)), 9] for n in cpu))
    price_o = np.array([n * 10 + chance.randint(0, 9) for n in cpu], dtype=np.int64)
    accept = np.array([[chance.random() < 0.8 for _ in cpu] for _ in range(n_sorts)])
    accept[:, -1] = True
    apart = np.zeros((n_sorts, n_sorts), dtype=bool)
    if n_sorts > 1 and chance.random() < 0.5:
        apart[0, 1] = apart[1, 0] = True
    requests = whole(*([chance.randint(0, 2), chance.randint(0, 4), 1] for _ in range(n_sorts)))
    order = np.lexsort((np.arange(n_offers), price_o))
    use = {"cpu": cap_or[order, 0], "nodes": np.ones(n_offers, dtype=np.int64)}
    bounds = tuple((use[name], left) for name, left in limits.items())
    return RebuildTask(requests, accept[:, order], apart, cap_or[order], price_o[order], bounds)


def drawn_loads(task: RebuildTask, chance: Random) -> list[Int]:
    """One node for every pod, of which there are some of each sort."""
    sorts = [s for s in range(len(task.request_sr)) for _ in range(chance.randint(1, 5))]
    return [np.eye(len(task.request_sr), dtype=np.int64)[sort] for sort in sorts]


def rebuilt(
    task: RebuildTask, loads: Sequence[Int], looks: int = 10**6, tries: int = 300
) -> list[Int]:
    """The loads after so many tries."""
    return recreate(task, loads, looks, tries)[0]


def offer_of(task: RebuildTask, held: Int) -> int | None:
    """The cheapest offer that takes a load; None if none does."""
    rows = np.flatnonzero(held)
    if task.apart_ss[np.ix_(rows, rows)].any():
        return None
    used = held @ task.request_sr
    for offer, cap in enumerate(task.cap_or):
        if task.accept_so[rows, offer].all() and ((used <= cap) | (used == 0)).all():
            return offer
    return None


def price_of(task: RebuildTask, loads: Iterable[Int]) -> int:
    """What nodes for these loads cost."""
    offers = [offer_of(task, held) for held in loads]
    assert None not in offers
    return sum(int(task.price_o[offer]) for offer in offers if offer is not None)


# ------------------------------------------------------------------ markets


def market_for(
    enc: Encoded, offers: Int | None = None, count_s: Int | None = None
) -> PatternMarket:
    """The market for all groups, each a sort of its own."""
    some = np.arange(enc.n_offers) if offers is None else offers
    return pattern_market(enc, units_of(enc), enc.count_g if count_s is None else count_s, some)


def generator_for(
    market: PatternMarket, worth_s: Float | None = None, work: int = WORK
) -> Generator:
    """A generator whose first idea is that every pod is worth a dollar."""
    first = np.full(len(market.count_s), 1e9) if worth_s is None else worth_s
    return Generator(market, first, work)


def cheapest_nodes(market: PatternMarket, patterns: Iterable[tuple[Int, int]]) -> int:
    """The least price of whole patterns that hold all pods of the market: all ways are tried."""
    best: dict[tuple[int, ...], int] = {tuple(market.count_s.tolist()): 0}
    cheapest = None
    known = list(patterns)
    while best:
        left, price = min(best.items(), key=lambda one: (one[1], one[0]))
        del best[left]
        if not any(left):
            cheapest = price
            break
        for counts, cost in known:
            rest = tuple(max(0, a - b) for a, b in zip(left, counts.tolist(), strict=True))
            if rest != left and price + cost < best.get(rest, 2**62):
                best[rest] = price + cost
    assert cheapest is not None
    return cheapest


def all_patterns(market: PatternMarket) -> Iterator[tuple[Int, int]]:
    """Everything that fits one node, with the price of the node."""
    for segment in market.segments:
        for cap, price in zip(segment.cap_or, segment.price_o.tolist(), strict=True):
            for counts in product(*(range(n + 1) for n in segment.items.most_i.tolist())):
                if any(counts) and is_allowed(segment.items, np.array(counts), cap):
                    held = np.zeros(len(market.count_s), dtype=np.int64)
                    held[segment.rows] = counts
                    yield held, price


def fits_some_node(market: PatternMarket, held: Int) -> bool:
    """Whether some node of the market holds so many pods of each sort."""
    return any(
        not held[np.setdiff1d(np.arange(len(held)), segment.rows)].any()
        and any(is_allowed(segment.items, held[segment.rows], cap) for cap in segment.cap_or)
        for segment in market.segments
    )


def drawn_pods(seed: int) -> list[Pod]:
    """Two or three Deployments of a few pods."""
    chance, pods = lottery(seed), list[Pod]()
    for name in ("a", "b", "c")[: chance.randint(2, 3)]:
        cpu, memory = chance.choice(("300m", "1", "1500m")), f"{chance.choice((200, 900, 3000))}Mi"
        pods += deployment(chance.randint(1, 4), name, cpu=cpu, memory=memory)
    return pods


def drawn_market(seed: int) -> PatternMarket:
    """Their market."""
    return market_for(encoded(drawn_pods(seed), *TYPES))


def started(market: PatternMarket) -> Master:
    """A program that knows one pod of each sort on a node of its own, for a dollar."""
    master = Master(market.count_s)
    alone = np.eye(len(market.count_s), dtype=np.int64)
    master.add(list(alone), [10**9] * len(alone))
    return master


# ------------------------------------------------------------------ puzzles


def base_of(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> Attempt:
    """An empty plan with what the assignment program says that pods are worth."""
    plain = encode_schedulable(canonical(puzzle(pods, *types, **parts))).plain
    return new_attempt(plain.enc, plain.offers, value_pods(plain))


def sorted_out(base: Attempt) -> tuple[Rates, dict[int, int]]:
    """The sorts of all groups, and how many pods there are of each."""
    rates = Rates(base.enc, base.offers, WorkBudget(10**9))
    pods: dict[int, int] = {}
    for group, count in enumerate(base.enc.count_g.tolist()):
        sort = rates.sort_of(unit_of(base.enc, group))
        pods[sort] = pods.get(sort, 0) + count
    return rates, pods


def loads_for(base: Attempt, rates: Rates, pods: dict[int, int]) -> list[list[int]]:
    """What patterns make of pods that have a node each, in several ways."""
    start = [rates.load(((sort, 1),)) for sort, count in pods.items() for _ in range(count)]
    return pattern_loads(base, rates, pods, start, sum(rates.price[load] for load in start))


def truths(flags: Sequence[Sequence[int]]) -> Bool:
    """Rows of flags."""
    return np.array(flags, dtype=bool)
