"""Finds the smallest change that would make a pod schedulable.

A pool's finding is waived and the pod sifted again, until it passes: what had to be waived is the
change. The pool with the fewest changes wins, then the kind of change that is easiest to make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.hints import closest_key, closest_value
from dovetail.decide.sieve import sift
from dovetail.decide.sieve.room import amounts
from dovetail.decide.sieve.state import Ask, Bench, Finding, Waiver
from dovetail.decide.sieve.typesets import Bits
from dovetail.decide.sieve.wishes import needs_text, without
from dovetail.model.resources import CPU, NODES
from dovetail.model.verdict import Reason
from dovetail.units import quantity

_MOST_CHANGES: Final = 3
_MOST_POOLS: Final = 4
_MILLION_CORES: Final = 10**9  # in millicores
MISSPELT: Final = 0
# How readily people make each change, most readily first.
_RANKS: Final = {
    reason: rank
    for rank, reason in enumerate(
        (
            Reason.LIMITS,
            Reason.TAINT_NOT_TOLERATED,
            Reason.MIN_VALUES,
            Reason.NODE_AFFINITY,
            Reason.VOLUME_TOPOLOGY,
            Reason.NO_OFFERING,
            Reason.HOST_PORTS,
            Reason.RESERVATIONS,
            Reason.RESOURCES,
            Reason.VOLUME_LIMITS,
            Reason.TOPOLOGY_SPREAD,
            Reason.POD_AFFINITY,
            Reason.POD_ANTI_AFFINITY,
            Reason.REFUSES_NODE_POOLS,
            Reason.NO_INSTANCE_TYPES,
        ),
        start=MISSPELT + 1,
    )
}


class Change(msgspec.Struct, frozen=True):
    """One change, in words, and what it takes out of the way."""

    text: str
    waiver: Waiver
    rank: int


class Repair(msgspec.Struct, frozen=True):
    """All changes that one pool would need."""

    changes: tuple[Change, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """Fewer changes first, then easier ones."""
        return (len(self.changes), max(change.rank for change in self.changes))

    @property
    def text(self) -> str:
        """The changes in one phrase."""
        return ", and ".join(change.text for change in self.changes)


def best_repair(
    ask: Ask, findings: Sequence[tuple[Bench, Finding]], known_keys: Callable[[], Iterable[str]]
) -> Repair | None:
    """The easiest of the smallest repairs. More than one change is tried on few pools only."""
    likely = sorted(findings, key=lambda pair: _RANKS[pair[1].reason])
    return _best(ask, likely, known_keys, most=1) or _best(
        ask, likely[:_MOST_POOLS], known_keys, most=_MOST_CHANGES
    )


def _best(
    ask: Ask,
    likely: Sequence[tuple[Bench, Finding]],
    known_keys: Callable[[], Iterable[str]],
    *,
    most: int,
) -> Repair | None:
    best: Repair | None = None
    for bench, finding in likely:
        if best is not None and best.rank <= (1, _RANKS[finding.reason]):
            break
        changes = _changes(PodCase(bench, ask, finding, Waiver(), known_keys), most)
        if changes and (best is None or Repair(changes).rank < best.rank):
            best = Repair(changes)
    return best


def _changes(case: PodCase, most: int) -> tuple[Change, ...]:
    """The changes that would let a pool launch a node for the pod; none if it takes too many."""
    changes: list[Change] = []
    while len(changes) < most:
        change = _change(case)
        if change is None:
            return ()
        changes.append(change)
        waived = case.waived | change.waiver
        finding = sift(case.bench, case.ask, waived)
        if finding is None:
            return tuple(changes)
        case = PodCase(case.bench, case.ask, finding, waived, case.known_keys)
    return ()


class PodCase(msgspec.Struct, frozen=True):
    """A finding with everything around it."""

    bench: Bench
    ask: Ask
    finding: Finding
    waived: Waiver
    known_keys: Callable[[], Iterable[str]]

    @property
    def pool(self) -> str:
        """The pool's name."""
        return self.bench.shelf.pool.name

    def change(self, text: str, *, rank: int | None = None, waiver: Waiver | None = None) -> Change:
        """A change for this finding, of its usual rank and waiver."""
        return Change(
            text,
            self.finding.waiver if waiver is None else waiver,
            _RANKS[self.finding.reason] if rank is None else rank,
        )


def _change(case: PodCase) -> Change | None:
    if not case.finding.waiver:
        return None  # nothing to waive: no change of one constraint would help
    special = _SPECIAL.get(case.finding.reason)
    if special is not None:
        return special(case)
    template = _PLAIN[case.finding.reason]
    return case.change(template.format(pool=case.pool, subject=case.finding.subject))


_PLAIN: Final[Mapping[Reason, str]] = {
    Reason.TAINT_NOT_TOLERATED: "tolerate {subject}",
    Reason.HOST_PORTS: "use another host port, or keep DaemonSet {subject} off such nodes",
    Reason.RESERVATIONS: "reserve more capacity, or allow spot or on-demand in NodePool {pool}",
    Reason.VOLUME_LIMITS: "use fewer volumes of {subject} in one pod",
    Reason.POD_AFFINITY: "make the pod affinity preferred, or create the pods that it selects",
    Reason.POD_ANTI_AFFINITY: "make the pod anti-affinity preferred, or allow more zones",
    Reason.REFUSES_NODE_POOLS: (
        "remove karpenter.sh/nodepool DoesNotExist, or free resources on a node outside NodePools"
    ),
}


def _min_values(case: PodCase) -> Change:
    key = case.finding.subject
    asked = dict(case.bench.shelf.min_values)[key]
    n_left = case.bench.shelf.n_values(key, case.finding.left)
    return case.change(f"lower minValues of {key} in NodePool {case.pool} from {asked} to {n_left}")


def _spread(case: PodCase) -> Change:
    key = case.finding.subject
    if not case.bench.shelf.offers_label(key):
        hint = closest_key(key, case.known_keys())
        if hint:
            return case.change(f"spread over {hint} instead of {key}", rank=MISSPELT)
        return case.change(f"give NodePool {case.pool} the label {key}")
    return case.change(f"raise maxSkew over {key}, or set whenUnsatisfiable: ScheduleAnyway")


def _no_offering(case: PodCase) -> Change:
    shelf = case.bench.shelf
    rows = shelf.rows({}) & shelf.table.rows_of(case.finding.left)
    places = {
        f"{offering.zone} {offering.capacity_type}" for offering in shelf.table.offerings(rows)
    }
    shown = ", ".join(sorted(places)[:5])
    return case.change(f"allow what is available: {shown}")


def _volume_topology(case: PodCase) -> Change:
    return case.change(
        f"let NodePool {case.pool} launch where the volumes are ({needs_text(case.finding.said)})"
    )


def _node_affinity(case: PodCase) -> Change:
    key = case.finding.subject
    if key in (labels.HOSTNAME, labels.NODE_NAME_FIELD):
        return case.change(f"do not select a node by {key}")
    if not case.bench.shelf.offers_label(key):
        return _absent_label(case)
    asked = sorted(
        value for need in case.finding.said if not need.complement for value in need.values
    )
    values = case.bench.shelf.values(key)
    for value in asked:
        hint = closest_value(value, values)
        if hint:
            return case.change(f"use {key} {hint} instead of {value}", rank=MISSPELT)
    if key == labels.NODE_POOL:
        return case.change(f"let the pod use NodePool {case.pool}")
    by_value = case.bench.shelf.table.index(key).by_value
    launchable = [value for value in asked if value in by_value]
    if launchable or not values:
        shown = ", ".join(launchable) or needs_text(case.finding.said)
        return case.change(f"allow {key} {shown} in NodePool {case.pool}")
    return case.change(f"choose {key} among {', '.join(values[:5])}")


def _absent_label(case: PodCase) -> Change:
    key = case.finding.subject
    hint = closest_key(key, case.known_keys())
    if hint:
        return case.change(f"use label {hint} instead of {key}", rank=MISSPELT)
    return case.change(
        f"label {key} is on no node of NodePool {case.pool}: add it to the pool's labels or "
        f"requirements, or remove it from the pod"
    )


def _limits(case: PodCase) -> Change:
    limits, remaining = case.bench.shelf.pool.limits, case.bench.remaining
    lacking = _least_limits(case)
    raised = [
        f"limits.{name} of NodePool {case.pool} from {quantity.render(name, limits[name])} to "
        f"{quantity.render(name, limits[name] - remaining[name] + needed)}"
        for name, needed in sorted(lacking.items())
    ]
    return case.change(f"raise {' and '.join(raised)}")


def _least_limits(case: PodCase) -> dict[str, int]:
    """What a node must be allowed to have, by limited resource: the least that is enough."""
    remaining, left = case.bench.remaining, case.finding.left
    table = case.bench.shelf.table
    needed = {NODES: 1} if remaining.get(NODES, 1) < 1 else {}
    names = sorted(name for name in remaining if name != NODES)
    within = {name: table.capacity(name).at_most(remaining[name]) for name in names}
    if _all_of(left, (within[name] for name in names)):
        return needed
    alone: list[tuple[Fraction, str, int]] = []
    for name in names:
        others = _all_of(left, (within[other] for other in names if other != name))
        if others:
            least = table.capacity(name).smallest(others)
            size = max(case.bench.shelf.pool.limits[name], 1)
            alone.append((Fraction(least - remaining[name], size), name, least))
    if alone:
        _, name, least = min(alone)
        return {**needed, name: least}
    for name in names:
        least = table.capacity(name).smallest(left)
        if least > remaining[name]:
            needed[name] = least
        left &= table.capacity(name).at_most(max(least, remaining[name]))
    return needed


def _all_of(mask: Bits, others: Iterable[Bits]) -> Bits:
    for other in others:
        mask &= other
    return mask


def _resources(case: PodCase) -> Change:
    short = [pair for pair in case.ask.requests if pair[0] in case.finding.waiver.resources]
    if any(name == CPU and amount >= _MILLION_CORES for name, amount in short):
        text = "request cpu in m (thousandths of a core), not in M (millions)"
        return case.change(text, rank=MISSPELT)
    return _wider_labels(case, short) or _wider_pool(case, short) or _smaller_pod(case, short)


def _wider_labels(case: PodCase, short: list[tuple[str, int]]) -> Change | None:
    """Another zone, say, that has types with what is asked for."""
    keys = {key for wish in case.ask.wishes for key in wish} - case.waived.keys
    for key in sorted(keys, key=lambda key: (key != labels.ZONE, key)):
        waiver = Waiver(keys=frozenset({key}))
        finding = sift(case.bench, case.ask, case.waived | waiver)
        if finding is not None and finding.reason is Reason.RESOURCES:
            continue
        requirements = next(wish[key] for wish in case.ask.wishes if key in wish)
        values = ", ".join(sorted(requirements[0].values)) if not requirements[0].complement else ""
        named = f"zone {values}" if key == labels.ZONE and values else needs_text(requirements)
        text = f"{named} has no offering that fits {amounts(short)}: allow others"
        return case.change(text, waiver=waiver)
    return None


def _wider_pool(case: PodCase, short: list[tuple[str, int]]) -> Change | None:
    """A type that would do but that the pool does not admit."""
    shelf = case.bench.shelf
    table = shelf.table
    mask = table.types_of(table.rows()) & ~shelf.admitted
    for name, amount in case.ask.requests:
        mask &= table.free(name, shelf.overhead).at_least(amount)
    for key, requirements in without(case.ask.wishes[0], case.waived.keys).items():
        mask &= table.index(key).rows_with(requirements) | (
            shelf.types_admitting(key, requirements) & table.index(key).absent
        )
    if not mask:
        return None
    smallest = mask & table.capacity(CPU).at_most(table.capacity(CPU).smallest(mask))
    name = table.types[(smallest & -smallest).bit_length() - 1].name
    return case.change(
        f"let NodePool {case.pool} use instance types with {amounts(short)}, such as {name}"
    )


def _smaller_pod(case: PodCase, short: list[tuple[str, int]]) -> Change:
    shelf = case.bench.shelf
    most = [
        (name, shelf.table.free(name, shelf.overhead).largest(case.finding.left))
        for name, _ in short
    ]
    missing = [name for name, amount in most if amount <= 0]
    if missing:
        text = f"add a NodePool whose instance types have {', '.join(missing)}"
        return case.change(text, rank=len(_RANKS) + 1)
    if any(amount < asked for (_, amount), (_, asked) in zip(most, short, strict=True)):
        return case.change(f"request at most {amounts(most)}")
    return case.change(f"request less of {' or '.join(name for name, _ in short)}")


_SPECIAL: Final[Mapping[Reason, Callable[[PodCase], Change]]] = {
    Reason.MIN_VALUES: _min_values,
    Reason.TOPOLOGY_SPREAD: _spread,
    Reason.NO_OFFERING: _no_offering,
    Reason.VOLUME_TOPOLOGY: _volume_topology,
    Reason.NODE_AFFINITY: _node_affinity,
    Reason.LIMITS: _limits,
    Reason.RESOURCES: _resources,
}
