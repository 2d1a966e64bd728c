"""Counts pods by topology domain, and says in which domains a pod may be placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dovetail import labels
from dovetail.model.pod import Pod
from dovetail.model.requirements import Requirements
from dovetail.model.topology import NodePolicy, PodTerm, Spread, narrow
from dovetail.sim.company import Namespaces, spread_selects, term_selects
from dovetail.sim.reference.menus import PodDemand, demands
from dovetail.sim.reference.places import Claim, HostPlace

Spot = HostPlace | Claim


class Kind:
    """Pods that scheduling cannot tell apart; `where` counts those that are somewhere."""

    def __init__(self, sample: Pod) -> None:
        self.sample = sample
        self.requests: Mapping[str, int] = sample.spec.requests
        self.demands = demands(sample.spec)
        self.where: dict[Spot, int] = {}

    def move(self, spot: Spot, n_pods: int) -> None:
        """So many more, or fewer, are there."""
        count = self.where.get(spot, 0) + n_pods
        if count:
            self.where[spot] = count
        else:
            self.where.pop(spot, None)


class DomainCount:
    """Pods that a constraint counts, by domain."""

    def __init__(
        self, key: str, selects: Callable[[Pod], bool], *, is_wide: bool, admits: PodDemand | None
    ) -> None:
        self.key = key
        self.n_by_domain: dict[str, int] = {}
        self._selects = selects
        self._is_wide = is_wide  # a claim that could be anywhere counts everywhere
        self._admits = admits
        self._known: dict[Kind, bool] = {}

    def begin(self, kinds: Iterable[Kind]) -> None:
        """Count all that are somewhere."""
        self.n_by_domain.clear()
        for kind in kinds:
            if self.means(kind):
                for spot, n_pods in kind.where.items():
                    self.count(spot, n_pods)

    def means(self, kind: Kind) -> bool:
        """Whether pods of this kind are counted."""
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self._selects(kind.sample)
        return known

    def count(self, spot: Spot, n_pods: int) -> tuple[str, ...]:
        """So many more, or fewer, are there; in which domains that counts."""
        if self._admits is not None and not _may_use(spot, self._admits):
            return ()
        counted = tuple(self._domains(spot))
        self.add(counted, n_pods)
        return counted

    def add(self, domains: Iterable[str], n_pods: int) -> None:
        """So many more, or fewer, in each of these."""
        for domain in domains:
            self.n_by_domain[domain] = self.n_by_domain.get(domain, 0) + n_pods

    def _domains(self, spot: Spot) -> Iterable[str]:
        if self._is_wide:
            return spot.domains(self.key)
        domain = spot.domain(self.key)
        return () if domain is None else (domain,)


def _may_use(spot: Spot, demand: PodDemand) -> bool:
    """Whether a spread counts this node: one that the pod's affinity lets it use."""
    if isinstance(spot, Claim):
        return spot.requirements.intersects(demand.requirements)
    return Requirements.of_labels(spot.labels).compatible(demand.requirements)


class _Trial:
    """What is to be taken back."""

    def __init__(self) -> None:
        self.moves: list[tuple[Kind, Spot, int]] = []
        self.counts: list[tuple[DomainCount, tuple[str, ...], int]] = []
        self.made: list[DomainCount] = []


class Tallies:
    """All tallies of a cluster, made when a constraint is first met."""

    def __init__(self, namespaces: Namespaces) -> None:
        self.namespaces = namespaces
        self.kinds: dict[tuple[object, ...], Kind] = {}
        self._known: dict[tuple[int, int, str], tuple[Mapping[str, str], Kind]] = {}
        self._tallies: dict[tuple[object, ...], DomainCount] = {}
        self._counting: dict[Kind, tuple[int, list[DomainCount]]] = {}
        self._choosy: list[tuple[Kind, PodTerm]] = []
        self._against: dict[Kind, tuple[int, list[DomainCount]]] = {}
        self._trial: _Trial | None = None

    def kind(self, pod: Pod) -> Kind:
        """The kind of a pod."""
        quick = (id(pod.spec), id(pod.labels), pod.namespace)
        known = self._known.get(quick)
        if known is not None:
            return known[1]
        key = (id(pod.spec), pod.namespace, *sorted(pod.labels.items()))
        result = self.kinds.get(key)
        if result is None:
            result = self.kinds[key] = Kind(pod)
            self._choosy += [(result, term) for term in pod.spec.anti_affinity]
        self._known[quick] = (pod.labels, result)  # the labels too: their identity is the key
        return result

    def put(self, kind: Kind, spot: Spot, n_pods: int = 1) -> None:
        """So many pods of a kind have come to a place, or have gone."""
        kind.move(spot, n_pods)
        trial = self._trial
        if trial is not None:
            trial.moves.append((kind, spot, n_pods))
        for tally in self._counting_of(kind):
            counted = tally.count(spot, n_pods)
            if trial is not None:
                trial.counts.append((tally, counted, n_pods))

    # ---- trials

    def begin_trial(self) -> None:
        """From now on, all can be taken back."""
        self._trial = _Trial()

    def end_trial(self) -> None:
        """Take back all since the trial began."""
        trial = self._trial
        self._trial = None
        if trial is None:
            return
        for kind, spot, n_pods in trial.moves:
            kind.move(spot, -n_pods)
        for tally, domains, n_pods in trial.counts:
            tally.add(domains, -n_pods)
        for tally in trial.made:  # it counted who had moved already
            tally.begin(self.kinds.values())

    def _counting_of(self, kind: Kind) -> list[DomainCount]:
        known = self._counting.get(kind)
        if known is None or known[0] != len(self._tallies):
            domain_counts = [tally for tally in self._tallies.values() if tally.means(kind)]
            known = self._counting[kind] = (len(self._tallies), domain_counts)
        return known[1]

    # ---- by constraint

    def spread(self, spread: Spread, kind: Kind, demand: PodDemand) -> DomainCount:
        """Whom a spread constraint counts."""
        owner = kind.sample
        honours = spread.node_affinity_policy == NodePolicy.HONOR and len(demand.requirements) > 0
        selector = narrow(spread.selector, owner.labels, match=spread.match_label_keys)
        filtered = demand.requirements if honours else None
        key = ("spread", spread.topology_key, owner.namespace, selector, filtered)
        return self._tally(
            key,
            lambda: DomainCount(
                spread.topology_key,
                lambda other: spread_selects(spread, owner, other),
                is_wide=False,
                admits=demand if honours else None,
            ),
        )

    def term(self, term: PodTerm, kind: Kind, *, is_wide: bool) -> DomainCount:
        """Whom an affinity term means."""
        owner = kind.sample
        key = ("term", term, owner.namespace, is_wide, *_own_labels(term, owner))
        return self._tally(
            key,
            lambda: DomainCount(
                term.topology_key,
                lambda other: term_selects(term, owner, other, self.namespaces),
                is_wide=is_wide,
                admits=None,
            ),
        )

    def against(self, kind: Kind) -> list[DomainCount]:
        """Where those are that will not have this kind near."""
        known = self._against.get(kind)
        if known is None or known[0] != len(self._choosy):
            domain_counts = [
                self._owners(other, term)
                for other, term in self._choosy
                if term_selects(term, other.sample, kind.sample, self.namespaces)
            ]
            known = self._against[kind] = (len(self._choosy), domain_counts)
        return known[1]

    def _owners(self, kind: Kind, term: PodTerm) -> DomainCount:
        """The pods that have this term."""
        return self._tally(
            ("owner", term.topology_key, id(kind)),
            lambda: DomainCount(
                term.topology_key, lambda other: other is kind.sample, is_wide=True, admits=None
            ),
        )

    def _tally(self, key: tuple[object, ...], make: Callable[[], DomainCount]) -> DomainCount:
        domain_count = self._tallies.get(key)
        if domain_count is None:
            domain_count = self._tallies[key] = make()
            domain_count.begin(self.kinds.values())
            if self._trial is not None:
                self._trial.made.append(domain_count)
        return domain_count


def _own_labels(term: PodTerm, owner: Pod) -> tuple[str, ...]:
    keys = (*term.match_label_keys, *term.mismatch_label_keys)
    return tuple(f"{key}={owner.labels.get(key)}" for key in keys)


Domains = frozenset[str]


class Topology:
    """Answers for one cluster. `universe` are the domains that there are, by topology key."""

    def __init__(self, tallies: Tallies, universe: Mapping[str, Domains]) -> None:
        self._tallies = tallies
        self._universe = universe

    def narrow(self, kind: Kind, demand: PodDemand, spot: Spot) -> dict[str, Domains] | None:
        """The domains that are left for the pod there, by key; None if there is none."""
        result: dict[str, Domains] = {}
        for key, allowed in self._allowed_domains(kind, demand, spot, result):
            if not allowed:
                return None
            result[key] = allowed
        return result

    def _allowed_domains(
        self, kind: Kind, demand: PodDemand, spot: Spot, by_key: Mapping[str, Domains]
    ) -> Iterable[tuple[str, Domains]]:
        def left_for(key: str) -> Domains:
            return by_key[key] if key in by_key else spot.domains(key)

        for spread in demand.spread:
            yield (
                spread.topology_key,
                self._spread(spread, kind, demand, left_for(spread.topology_key)),
            )
        for term in demand.near:
            tally = self._tallies.term(term, kind, is_wide=False)
            yield term.topology_key, self._near(tally, kind, demand, left_for(term.topology_key))
        apart = [self._tallies.term(term, kind, is_wide=True) for term in demand.apart]
        for tally in (*apart, *self._tallies.against(kind)):
            counted = tally.n_by_domain
            domains = left_for(tally.key)
            if domains or tally in apart:
                yield tally.key, frozenset(domain for domain in domains if not counted.get(domain))

    def _spread(self, spread: Spread, kind: Kind, demand: PodDemand, domains: Domains) -> Domains:
        """The least crowded of those that keep within the skew; on hosts, all of those."""
        tally = self._tallies.spread(spread, kind, demand)
        counted = tally.n_by_domain
        n_itself = int(tally.means(kind))
        if spread.topology_key == labels.HOSTNAME:
            return frozenset(
                name for name in domains if counted.get(name, 0) + n_itself <= spread.max_skew
            )
        n_lowest = self._lowest(spread, demand, counted)
        valid = [
            (counted.get(name, 0), name)
            for name in domains
            if counted.get(name, 0) + n_itself - n_lowest <= spread.max_skew
        ]
        return frozenset({min(valid)[1]}) if valid else frozenset()

    def _lowest(self, spread: Spread, demand: PodDemand, counted: Mapping[str, int]) -> int:
        asked = demand.requirements.get(spread.topology_key)
        there = [
            counted.get(name, 0)
            for name in self._universe.get(spread.topology_key, counted)
            if asked is None or asked.has(name)
        ]
        return min(there, default=0) if len(there) >= spread.min_domains else 0

    def _near(self, tally: DomainCount, kind: Kind, demand: PodDemand, domains: Domains) -> Domains:
        """Where those are that are meant; the first of its kind may begin anywhere."""
        counted = tally.n_by_domain
        there = frozenset(domain for domain in domains if counted.get(domain))
        if there or not tally.means(kind):
            return there
        asked = demand.requirements.get(tally.key)
        taken = [item for item, n_pods in counted.items() if n_pods]
        if any(asked is None or asked.has(item) for item in taken):
            return frozenset()
        return frozenset({min(domains)}) if domains else frozenset()
