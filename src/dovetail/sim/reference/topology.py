"""In which domains may a pod be put, given where others are? (spec/core.md 3.10)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail import labels
from dovetail.model.topology import Spread
from dovetail.sim.reference.demands import PodDemand
from dovetail.sim.reference.tallies import DomainCount, Kind, Spot, Tallies

Domains = frozenset[str]


class Topology:
    """Answers for one cluster. `universe` are the domains that there are, by topology key."""

    def __init__(self, tallies: Tallies, universe: Mapping[str, Domains]) -> None:
        self._tallies = tallies
        self._universe = universe

    def narrowing(self, kind: Kind, demand: PodDemand, spot: Spot) -> dict[str, Domains] | None:
        """The domains that are left for the pod there, by key; None if there is none."""
        found: dict[str, Domains] = {}
        for key, allowed in self._allowed(kind, demand, spot, found):
            if not allowed:
                return None
            found[key] = allowed
        return found

    def _allowed(
        self, kind: Kind, demand: PodDemand, spot: Spot, found: Mapping[str, Domains]
    ) -> Iterable[tuple[str, Domains]]:
        def left(key: str) -> Domains:
            return found[key] if key in found else spot.domains(key)

        for one in demand.spread:
            yield one.topology_key, self._spread(one, kind, demand, left(one.topology_key))
        for term in demand.near:
            tally = self._tallies.term(term, kind, is_wide=False)
            yield term.topology_key, self._near(tally, kind, demand, left(term.topology_key))
        apart = [self._tallies.term(term, kind, is_wide=True) for term in demand.apart]
        for tally in (*apart, *self._tallies.against(kind)):
            counted = tally.n_by_domain
            domains = left(tally.key)
            if domains or tally in apart:
                yield tally.key, frozenset(one for one in domains if not counted.get(one))

    def _spread(self, one: Spread, kind: Kind, demand: PodDemand, domains: Domains) -> Domains:
        """The least crowded of those that keep within the skew; on hosts, all of those."""
        tally = self._tallies.spread(one, kind, demand)
        counted = tally.n_by_domain
        n_itself = int(tally.means(kind))
        if one.topology_key == labels.HOSTNAME:
            return frozenset(
                name for name in domains if counted.get(name, 0) + n_itself <= one.max_skew
            )
        n_lowest = self._lowest(one, demand, counted)
        valid = [
            (counted.get(name, 0), name)
            for name in domains
            if counted.get(name, 0) + n_itself - n_lowest <= one.max_skew
        ]
        return frozenset({min(valid)[1]}) if valid else frozenset()

    def _lowest(self, one: Spread, demand: PodDemand, counted: Mapping[str, int]) -> int:
        asked = demand.requirements.get(one.topology_key)
        there = [
            counted.get(name, 0)
            for name in self._universe.get(one.topology_key, counted)
            if asked is None or asked.has(name)
        ]
        return min(there, default=0) if len(there) >= one.min_domains else 0

    def _near(self, tally: DomainCount, kind: Kind, demand: PodDemand, domains: Domains) -> Domains:
        """Where those are that are meant; the first of its kind may begin anywhere."""
        counted = tally.n_by_domain
        there = frozenset(one for one in domains if counted.get(one))
        if there or not tally.means(kind):
            return there
        asked = demand.requirements.get(tally.key)
        taken = [one for one, n_pods in counted.items() if n_pods]
        if any(asked is None or asked.has(one) for one in taken):
            return frozenset()
        return frozenset({min(domains)}) if domains else frozenset()
