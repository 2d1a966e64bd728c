"""Chooses moves, one after another.

Any number of nodes may go and any number come, or none: the solver says what it takes. Three kinds
of sets are looked at, and each that saves money for sure is done, or proposed:

    nodes whose pods all have room on others, as many at once as budgets allow
    poor nodes, the most wasteful together, to be bought anew with what their pods need
    what an estimate says would be cheaper, together and one by one

Whatever was decided before counts: nodes that go take nobody, budgets shrink, rooms fill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.candidates import Findings, disruption_verdict
from dovetail.decide.disrupt.course import Course, budgets_for, carried_on
from dovetail.decide.disrupt.probe import Ground, ground_of, movable_pods, quick_ground
from dovetail.decide.disrupt.replacing import SPOT_TYPES, Bought, purchase
from dovetail.decide.disrupt.savings import REASON, Candidate, Saving, judge, saves_too_little
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.pools import remaining_limits
from dovetail.decide.spread import with_default_spread
from dovetail.model.ledger import Proposal
from dovetail.model.pod import Pod
from dovetail.model.verdict import Blocked, Blocker
from dovetail.solve import Estimate, Puzzle, Screen

_POOR: Final = Fraction(1, 10)  # of a node's price that is wasted


class Prospect(msgspec.Struct, frozen=True):
    """A candidate, and what its pods are worth."""

    candidate: Candidate
    worth_nanousd: int

    @property
    def waste(self) -> int:
        """What it costs beyond what its pods are worth."""
        return self.candidate.price_nanousd - self.worth_nanousd

    @property
    def is_poor(self) -> bool:
        """Whether much of its price is wasted, and enough to pay for moving its pods."""
        candidate = self.candidate
        is_much = self.waste > _POOR * candidate.price_nanousd
        return is_much and self.waste > candidate.toll.least_nanousd

    @property
    def ratio(self) -> float:
        """What could be saved for each pod that is disturbed."""
        return self.waste / self.candidate.cost


def screen_of(ground: Ground, free: Iterable[Candidate]) -> Screen:
    """The cluster, of which the pods of these nodes could move."""
    return Screen(
        _puzzle(ground, tuple(p for item in free for p in movable_pods(item.name, ground)))
    )


def _puzzle(ground: Ground, moving: tuple[Pod, ...]) -> Puzzle:
    keys, items_view = {pod.key for pod in moving}, ground.volumes.items()
    return msgspec.structs.replace(
        ground.puzzle,
        pods=with_default_spread(moving, ground.snapshot),
        nodes=ground.nodes,
        bound=tuple(
            pod for pods in ground.pods_by_node.values() for pod in pods if pod.key not in keys
        ),
        volumes={key: pod_volumes for key, pod_volumes in items_view if key in keys},
        bound_volumes={key: pod_volumes for key, pod_volumes in items_view if key not in keys},
        limits={pool.name: remaining_limits(pool, ground.nodes) for pool in ground.pools},
    )


def prospects_of(screen: Screen, free: Sequence[Candidate]) -> list[Prospect]:
    """The candidates, most wasteful first for what it costs to move their pods."""
    worth = screen.worth_by_node
    prospects = [Prospect(candidate, worth[candidate.name]) for candidate in free]
    return sorted(prospects, key=lambda prospect: (-prospect.ratio, prospect.candidate.name))


def keepers(poor: Sequence[Prospect]) -> frozenset[str]:
    """The fullest of poor nodes that are each other's equals: as many as all their pods are worth,
    within what a node may waste. Bought anew they would cost as much, so the others may move there.
    """
    groups: dict[Bought, list[Prospect]] = {}
    for prospect in poor:
        groups.setdefault(purchase(prospect.candidate.node), []).append(prospect)
    kept: list[Prospect] = []
    for alike in groups.values():
        price = max(prospect.candidate.price_nanousd for prospect in alike)
        worth = sum(prospect.worth_nanousd for prospect in alike)
        n_kept = int(Fraction(worth, price) + _POOR) if price else 0
        alike.sort(key=lambda prospect: (-prospect.worth_nanousd, prospect.candidate.name))
        kept += alike[:n_kept]
    return frozenset(prospect.candidate.name for prospect in kept)


def may_be_replaced(item: Candidate, ground: Ground) -> bool:
    """Whether anything else may come for it, so that it makes sense to look."""
    return ground.snapshot.policy.replaces_spot_by_spot or item.node.capacity_type != labels.SPOT


def has_choice(candidate: Candidate, estimate: Estimate) -> bool:
    """Whether enough types would do: a spot node gives way to another only if many are cheaper."""
    return candidate.node.capacity_type != labels.SPOT or estimate.n_types >= SPOT_TYPES


def light_pools(ground: Ground) -> frozenset[str]:
    """Pools that were only second choice: there are heavier ones, which may have room again."""
    heaviest = max((pool.weight for pool in ground.pools), default=0)
    return frozenset(pool.name for pool in ground.pools if pool.weight < heaviest)


_TOGETHER: Final = 30  # nodes that are bought anew at once
_FEW: Final = 8  # poor nodes; of fewer also parts are tried
_HOPEFUL: Final = Fraction(3, 20)  # of the price of many nodes that is wasted; less is in vain
_VAIN_SETS: Final = 5  # of poor nodes, for each step of `Policy.effort`
_VAIN_LOOKS: Final = 3  # at single nodes, for each step of `Policy.effort`
_PROMISING: Final = 300  # nodes that are looked at again, where poor ones were tried in vain


class Walk:
    """A course on which moves are made, and why nodes by themselves would not go."""

    def __init__(self, course: Course, ground: Ground) -> None:
        self.course = course
        self._whys: dict[str, Blocked] = {}
        self.heard: list[Blocked] = []  # what was against moves, or parts of them
        self._wastes: dict[str, int] = {}  # what candidates cost beyond what their pods are worth
        self._laters: dict[str, tuple[int, Blocked]] = {}  # who may save how much some day
        self._done: set[str] = set()  # nodes that go, or are proposed to
        self._n_proposed: Counter[str] = Counter()  # of each pool, without those that go
        self._ground_now = ground

    @property
    def blockers(self) -> dict[str, Blocked]:
        """Why nodes by themselves would not go."""
        return {name: verdict for name, (_, verdict) in self._laters.items()} | self._whys

    @property
    def waste(self) -> int:
        """What candidates cost beyond what their pods are worth."""
        return sum(self._wastes.values())

    def go(self, free: Sequence[Candidate]) -> None:
        """Make every move with these nodes that saves money, but for those that go already."""
        ground = self._current_ground()
        free = self._paying_nodes([item for item in free if item.name not in self._done], ground)
        if not free:
            return
        screen = screen_of(ground, free)
        prospects = prospects_of(screen, free)
        for prospect in prospects:
            self._wastes[prospect.candidate.name] = max(0, prospect.waste)
            self._note_later(prospect.candidate, prospect.waste)
        poor = [
            item for item in prospects if item.is_poor and may_be_replaced(item.candidate, ground)
        ]
        if poor:
            shunned = frozenset(prospect.candidate.name for prospect in poor)
            screen.shun(shunned - keepers(poor))
            self._remove_emptiable(free, screen, ground, is_hasty=True)
            if self._replace_poor(poor, shunned) and len(free) > _TOGETHER:
                return  # of so many, what else would be cheaper is seen once that is done
            free = [item.candidate for item in prospects if item.candidate.name not in self._done]
            free = free[: _PROMISING * max(1, self.course.world.policy.effort)]
            if self._current_ground() is ground:
                screen.welcome()
            else:
                ground = self._current_ground()
                screen = screen_of(ground, free)
        self._replace_likely(self._remove_emptiable(free, screen, ground))

    def _paying_nodes(self, free: Sequence[Candidate], ground: Ground) -> list[Candidate]:
        """Those that would pay for what is disturbed, if nothing had to come instead."""
        light = light_pools(ground)
        kept: list[Candidate] = []
        for item in free:
            if item.price_nanousd > item.toll.least_nanousd or item.node.node_pool in light:
                kept.append(item)
            else:
                self._note_later(item, item.price_nanousd)
        return kept

    def _note_later(self, item: Candidate, saved: int) -> None:
        """A node that could save so much, and stays if that does not pay yet."""
        if 0 < saved <= item.toll.least_nanousd and saved > self._laters.get(item.name, (0,))[0]:
            verdict = saves_too_little(item.name, saved, item.toll, self.course.now)
            self._laters[item.name] = (saved, verdict)

    def _current_ground(self) -> Ground:
        """The cluster as it is by now; the same until the next move."""
        course = self.course
        if self._ground_now.snapshot is not course.world:
            self._ground_now = ground_of(course.world, course.now, is_saving=True)
        return self._ground_now

    # ------------------------------------------------------------------ sets of nodes

    def _remove_emptiable(
        self, free: Sequence[Candidate], screen: Screen, ground: Ground, *, is_hasty: bool = False
    ) -> list[tuple[float, Candidate]]:
        """Let go whose pods others have room for; and who else would likely be cheaper, best first,
        unless in haste.
        """
        going: list[Candidate] = []
        likely: list[tuple[float, Candidate]] = []
        left, light = self._n_left_by_pool(), light_pools(ground)
        for item in sorted(free, key=lambda item: (-item.price_nanousd / item.cost, item.name)):
            pool = item.node.node_pool
            is_done = item.name in self._done or screen.is_visited(item.name)
            if is_done or item.name in self.course.scene.nominated:
                continue
            is_within = left[pool] > 0
            least = -1 if pool in light else item.toll.least_nanousd
            price = 0 if is_hasty else item.price_nanousd - least
            estimate = screen.estimate(item.name, price, lets_go=is_within)
            if estimate.stuck is not None:
                self._note_stuck(item, estimate.stuck.key)
            elif not estimate.n_left and is_within:
                going.append(item)
                left[pool] -= 1
            elif not is_hasty and may_be_replaced(item, ground) and has_choice(item, estimate):
                saved = item.price_nanousd - estimate.price_nanousd
                if saved > least:
                    likely.append((saved / item.cost, item))
                else:
                    self._note_later(item, saved)
        self._first_that_saves(ground, going)
        return sorted(likely, key=lambda pair: (-pair[0], pair[1].name))

    def _replace_poor(self, poor: Sequence[Prospect], shunned: frozenset[str]) -> bool:
        """Buy poor nodes anew, set by set; whether any could be. After a set that was tried in vain
        ever more are passed over: what holds for one likely holds for those that are like it.
        """
        left = [item.candidate for item in poor if item.candidate.name not in self._done]
        n_vain, is_any = 0, False
        most_vain = _VAIN_SETS * max(1, self.course.world.policy.effort)
        while left and n_vain < most_vain:
            chosen = self._in_budget(left, _TOGETHER)
            if not chosen:
                break
            if len(chosen) > _FEW and not self._is_worth_a_try(chosen):
                left = left[left.index(chosen[-1]) + 1 :]
                continue
            least = 1 if len(chosen) <= _FEW else len(chosen)
            is_vain = not self._first_that_saves(
                quick_ground(self._current_ground(), shunned), chosen, least
            )
            is_any = is_any or not is_vain
            n_vain += is_vain
            left = left[left.index(chosen[-1]) + 1 :]
            if is_vain:
                left = left[_passed_over(len(left), n_vain, most_vain) :]
        return is_any

    def _is_worth_a_try(self, chosen: Sequence[Candidate]) -> bool:
        """Whether enough is wasted that whole nodes, bought anew, could cost less: pods cannot be
        cut.
        """
        waste = sum(self._wastes[candidate.name] for candidate in chosen)
        return waste > _HOPEFUL * sum(candidate.price_nanousd for candidate in chosen)

    def _replace_likely(self, likely: Sequence[tuple[float, Candidate]]) -> None:
        """Replace nodes that would likely be cheaper: the best together, then one by one."""
        left = [candidate for _, candidate in likely]
        chosen = self._in_budget(left, _TOGETHER)
        is_many = len(chosen) > _FEW
        if len(chosen) > 1:
            self._first_that_saves(
                self._at_leisure(is_many=is_many), chosen, _FEW if is_many else 2
            )
        n_vain = 0
        for candidate in left:
            if n_vain == _VAIN_LOOKS * max(1, self.course.world.policy.effort):
                break
            if self._in_budget([candidate], 1):
                n_vain += not self._first_that_saves(self._at_leisure(is_many=is_many), [candidate])

    def _at_leisure(self, *, is_many: bool) -> Ground:
        """Where to look for the best, unless there is much to look at."""
        return (
            quick_ground(self._current_ground(), frozenset()) if is_many else self._current_ground()
        )

    # ------------------------------------------------------------------ one set

    def _first_that_saves(
        self, ground: Ground, chosen: Sequence[Candidate], least: int = 1
    ) -> bool:
        """Make the move, or the one with the better half of its nodes, and so on."""
        for some in _halves(chosen, least):
            result = judge(self.course, ground, some, self.heard)
            if isinstance(result, Saving):
                self._make(result)
                return True
            if result is not None and len(some) == 1:
                self._whys.setdefault(result.node, result)
        return False

    def _make(self, saving: Saving) -> None:
        """Do the move if all its nodes have been part of one for long enough, or propose it."""
        course = self.course
        ledger, now = course.origin.ledger, course.now
        known = {given.node: given.since for given in ledger.proposals if given.reason == REASON}
        since = {node.name: min(known.get(node.name, now), now) for node in saving.going}
        stood = {at + course.world.policy.confirm_after for at in since.values()}
        confirmed_at = max(stood)
        budgets = budgets_for(course, REASON)
        findings = Findings(
            disruptions=saving.disrupts if confirmed_at <= now else (),
            proposals=tuple(Proposal(REASON, name, since[name]) for name in sorted(since)),
            wake_at=soonest(
                *(at for at in stood if at > now),
                *((saving.changes_at,) if confirmed_at > now else ()),
                *(budgets[node.node_pool].changes_at for node in saving.going),
            ),
        )
        self.course = carried_on(course, findings)
        self._done |= since.keys()
        if confirmed_at > now:
            self._n_proposed.update(node.node_pool for node in saving.going)

    def _note_stuck(self, candidate: Candidate, pod: str) -> None:
        why = "no remaining node has room for it, and no node can be launched"
        verdict = block(candidate.name, Blocker.POD_STUCK, pod=pod, why=why)
        self._whys.setdefault(candidate.name, verdict)

    # ------------------------------------------------------------------ budgets

    def _n_left_by_pool(self) -> Counter[str]:
        """How many nodes of each pool may still go, those that are proposed counted."""
        budgets = budgets_for(self.course, REASON)
        return Counter(
            {pool: budget.n_remaining - self._n_proposed[pool] for pool, budget in budgets.items()}
        )

    def _in_budget(self, wanted: Sequence[Candidate], most: int) -> list[Candidate]:
        """The first that nothing keeps yet, as many as budgets allow."""
        left = self._n_left_by_pool()
        kept: list[Candidate] = []
        for candidate in wanted:
            if len(kept) == most:
                break
            pool = candidate.node.node_pool
            is_free = candidate.name not in self._done and left[pool] > 0
            if is_free and disruption_verdict(candidate.node, self.course.scene) is None:
                left[pool] -= 1
                kept.append(candidate)
        return kept


def _passed_over(n_left: int, n_vain: int, most_vain: int) -> int:
    """How many are not looked at after so many sets were tried in vain: ever more, but no more than
    there are beyond what may still be tried.
    """
    spare = n_left // max(1, most_vain - n_vain) - _TOGETHER
    return max(0, min(spare, _TOGETHER * ((1 << n_vain - 1) - 1)))


def _halves(chosen: Sequence[Candidate], least: int) -> Iterator[Sequence[Candidate]]:
    size = len(chosen)
    while size >= least:
        yield chosen[:size]
        size //= 2
