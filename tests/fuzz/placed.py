"""Is the plan for a tiny cluster as good as it can be? Judged against an exhaustive search.

Nobody is left out who could be placed, nothing is bought needlessly or for far too much, names of
pods do not matter, and the listed fallbacks keep the limits of their pools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from dovetail.decide import decide
from dovetail.errors import InputError
from dovetail.model.instance import Offering
from dovetail.model.plan import Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.fuzz.tiny import built, words_of
from tests.fuzz.tiny_market import Words
from tests.laws.strategies import NOW
from tests.oracle.check import Case, check, excuse
from tests.oracle.launchable import kinds_of, mentioned, reservation_left, usage
from tests.oracle.launches import Order, delivered
from tests.oracle.most_placed import (
    Answer,
    better_placed,
    cheaper,
    weighs_alike,
    worth,
)
from tests.oracle.tiny_plan import counts
from tests.oracle.tiny_tables import Tables, tables

# Above 1.4 times the optimum a plan is too dear.
DEAR: Final = (14, 10)


class Kind(StrEnum):
    """What can be wrong."""

    ILLEGAL = "illegal plan"
    LEFT_OUT = "left out"
    LEFT_OUT_OF_NODES = "left out of existing nodes"
    DEAR = "too dear"
    NEEDLESS = "needless purchase"
    RENAMED_PLACED = "names decide who is placed"
    RENAMED_PRICE = "names decide the price"
    FALLBACK_LIMIT = "fallbacks exceed a limit"
    FALLBACK_ORDER = "fallbacks out of order"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, in a sentence."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        """The kind and the sentence."""
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Judged:
    """A tiny cluster and its plan."""

    snapshot: Snapshot
    plan: Plan

    @cached_property
    def case(self) -> Case:
        """The plan as the checker sees it."""
        return Case(self.snapshot, NOW, self.plan)

    @cached_property
    def pods(self) -> list[Pod]:
        """The pods that somebody should plan for."""
        return [pod for pod in self.case.waiting.values() if excuse(self.case, pod) is None]

    @cached_property
    def left_out(self) -> list[str]:
        """Those of them that the plan leaves out."""
        return [pod.key for pod in self.pods if pod.key not in self.case.host_by_pod]

    @cached_property
    def tables(self) -> Tables:
        """The cluster, tabulated for the search."""
        return tables(self.snapshot, NOW, self.pods)

    @cached_property
    def floor(self) -> int:
        """What the plan places, as a number that orders plans."""
        return worth(self.tables, self.case.host_by_pod)

    @cached_property
    def most_placed(self) -> Answer:
        """A plan that places more, if there is one."""
        if not self.left_out:
            return Answer(None, is_complete=True)
        return better_placed(self.tables, self.floor)

    @cached_property
    def cheapest(self) -> Answer:
        """A plan that places as much for far less, if there is one."""
        price = self.plan.cost.new_nanousd
        if not price or self.most_placed.witness or not _is_about_price(self.snapshot):
            return Answer(None, is_complete=True)
        bound = self.plan.cost.lower_bound_nanousd  # which the checker has verified
        if not self.left_out and bound * DEAR[0] >= price * DEAR[1]:
            return Answer(None, is_complete=True)
        return cheaper(self.tables, self.floor, -(-price * DEAR[1] // DEAR[0]))


def _is_about_price(snapshot: Snapshot) -> bool:
    """Whether pools weigh the same and none insists on a choice of types."""
    wishes = (one for pool in snapshot.node_pools for one in pool.requirements)
    return weighs_alike(snapshot) and not any(one.min_values for one in wishes)


def judged(snapshot: Snapshot) -> Judged:
    """The cluster with today's plan for it."""
    return Judged(snapshot, decide(snapshot, NOW))


def wrong(seed: int) -> list[str]:
    """Everything that is wrong with the plan for the tiny cluster of this seed."""
    return [str(one) for one in findings(judged(built(words_of(seed))))]


def has(kind: Kind, words: Words) -> bool:
    """Whether this goes wrong with the cluster of these words; words that make none do not."""
    try:
        snapshot = built(words)
    except (ValueError, KeyError, InputError):
        return False
    return any(one.kind == kind for one in findings(judged(snapshot)))


def findings(found: Judged) -> list[Finding]:
    """Everything that is wrong with the plan."""
    illegal = [Finding(Kind.ILLEGAL, one) for one in check(found.snapshot, NOW, found.plan)]
    listed = [*_over_limit(found), *_out_of_order(found)]
    if illegal:
        return [*illegal, *listed]
    return [*_left_out(found), *_price(found), *_renamed(found), *listed]


# ------------------------------------------------------------------ most pods, least money


def _left_out(found: Judged) -> Iterator[Finding]:
    better = found.most_placed.witness
    if better is None:
        return
    waiting = [pod.key for pod in found.pods if pod.key not in better.host_by_pod]
    text = (
        f"{', '.join(found.left_out)} left out; {_count(better.n_placed)} can be placed "
        f"instead of {_count(counts(found.case.placed))}"
        + (f", leaving out {', '.join(waiting)}" if waiting else "")
        + f": {better}"
    )
    kind = Kind.LEFT_OUT_OF_NODES if _is_about_existing_nodes(found) else Kind.LEFT_OUT
    if kind is Kind.LEFT_OUT_OF_NODES:
        text = f"without another new node, {text}"
    yield Finding(kind, text)


def _count(placed: tuple[tuple[int, int], ...]) -> str:
    if len(placed) <= 1:
        return str(sum(n for _, n in placed))
    return " and ".join(f"{n} of priority {priority}" for priority, n in placed)


def _is_about_existing_nodes(found: Judged) -> bool:
    """Whether more pods would be placed if those that share existing nodes were put otherwise."""
    world, launched = found.case.empty_world.copy(), set()
    for launch in found.plan.launches:
        world.add(replace(world.hosts[launch.name], allocatable={}))
        for key in launch.pods:
            world.bind(found.case.waiting[key], launch.name)
            launched.add(key)
    rest = [pod for pod in found.pods if pod.key not in launched]
    alone = tables(found.snapshot, NOW, rest, world=world, offers=())
    return better_placed(alone, worth(alone, found.case.host_by_pod)).witness is not None


def _price(found: Judged) -> Iterator[Finding]:
    less = found.cheapest.witness
    if less is None:
        return
    price, least = found.plan.cost.new_nanousd, less.price_nanousd
    if least == 0:
        yield Finding(Kind.NEEDLESS, f"the plan costs {price}, and nothing need be bought: {less}")
        return
    ratio = price / least
    yield Finding(Kind.DEAR, f"the plan costs {price}, {ratio:.2f} times the {least} of: {less}")


# ------------------------------------------------------------------ names


def renamed(snapshot: Snapshot) -> Snapshot:
    """The same cluster, where the last pending pod has the name of the first, and so on."""
    waiting = [pod for pod in snapshot.pods if not pod.node_name]
    names = {
        namespace: sorted((one.name for one in waiting if one.namespace == namespace), reverse=True)
        for namespace in {one.namespace for one in waiting}
    }
    turned = {
        one.key: msgspec.structs.replace(one, name=names[one.namespace].pop(0))
        for one in sorted(waiting, key=lambda pod: pod.key)
    }
    pods = [turned.get(pod.key, pod) if not pod.node_name else pod for pod in snapshot.pods]
    return msgspec.structs.replace(snapshot, pods=tuple(sorted(pods, key=lambda pod: pod.key)))


def _renamed(found: Judged) -> Iterator[Finding]:
    other = judged(renamed(found.snapshot))
    before, after = counts(found.case.placed), counts(other.case.placed)
    if before != after:
        text = f"{_count(before)} placed, and {_count(after)} once pods change names"
        yield Finding(Kind.RENAMED_PLACED, text)
        return
    prices = (found.plan.cost.new_nanousd, other.plan.cost.new_nanousd)
    if prices[0] != prices[1]:
        text = f"the plan costs {prices[0]}, and {prices[1]} once pods change names"
        yield Finding(Kind.RENAMED_PRICE, text)


# ------------------------------------------------------------------ fallbacks


def _over_limit(found: Judged) -> Iterator[Finding]:
    """Whatever types the provider picks for all launches, the limits of each pool hold."""
    held = usage(found.snapshot, ()).by_pool
    for pool in found.snapshot.node_pools:
        launches = [one for one in found.plan.launches if one.node_pool == pool.name]
        kinds = kinds_of(found.snapshot, pool.name)
        for name, limit in pool.limits.items() if launches else ():
            most = held.get(pool.name, {}).get(name, 0)
            for launch in launches:
                sizes = [{**kinds[one].capacity, "nodes": 1} for one in launch.instance_types]
                most += max(size.get(name, 0) for size in sizes)
            if most > limit:
                names = ", ".join(pod for one in launches for pod in one.pods)
                text = f"pool {pool.name} could come to {most} of {limit} {name}, for {names}"
                yield Finding(Kind.FALLBACK_LIMIT, text)


def _out_of_order(found: Judged) -> Iterator[Finding]:
    """The planned type is the cheapest of those listed, and the others follow by price."""
    mentions = mentioned(found.snapshot, (), found.case.placed)
    for launch in found.plan.launches:
        prices = _prices(found, launch, mentions)
        if list(prices.values()) != sorted(prices.values()):
            told = ", ".join(f"{name} {price}" for name, price in prices.items())
            yield Finding(Kind.FALLBACK_ORDER, f"{told}, for {', '.join(launch.pods)}")


def _prices(found: Judged, launch: Launch, mentions: Mapping[str, set[str]]) -> dict[str, int]:
    """The listed types, each with the least for which the provider may deliver it."""
    pool = next(one for one in found.snapshot.node_pools if one.name == launch.node_pool)
    kinds = kinds_of(found.snapshot, pool.name)
    pods = tuple(found.case.waiting[key] for key in launch.pods)
    order = Order(
        found.snapshot, NOW, launch, pool, kinds[launch.instance_type], pods, dict(mentions)
    )
    prices = {}
    for name in launch.instance_types:
        offered = [
            one
            for one in kinds[name].offerings
            if delivered(order, kinds[name], one) and not _is_used_up(found, launch, one)
        ]
        if offered:
            prices[name] = min(one.price_nanousd for one in offered)
    return prices


def _is_used_up(found: Judged, launch: Launch, offering: Offering) -> bool:
    """Whether the other launches of the plan take all that is reserved of an offering."""
    others = [one for one in found.plan.launches if one.name != launch.name]
    return reservation_left(usage(found.snapshot, others), offering) <= 0
