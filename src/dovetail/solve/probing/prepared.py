"""Prepares a whole cluster once, for many questions of the sort "what if these nodes were gone?"

Nodes, offers and terms become tables, and who moves is sorted into groups that are known from then
on. A question names nodes that go and pods that move, and picks its rows: it costs what it asks
about, not what the cluster runs. Nodes that are gone keep their columns, closed to everybody.

What one question works out is kept for the next; no answer depends on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from dovetail import labels
from dovetail.model.pod import Pod
from dovetail.model.resources import PODS
from dovetail.model.volumes import NO_VOLUMES, PodVolumes
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded, divide_cells, requests_of, resources_of
from dovetail.solve.encoding.existing import shared_claims
from dovetail.solve.encoding.groups import (
    Group,
    Profile,
    anonymous,
    distinct_specs,
    profile_of,
    read_labels,
    spec_key_of,
)
from dovetail.solve.encoding.mentions import label_mentions, mentioned_labels, node_expressions
from dovetail.solve.encoding.node_parts import Bound, NodePart, pieces_of
from dovetail.solve.encoding.offers import Mentions, open_keys
from dovetail.solve.encoding.ties import Assembly, TermContext, Ties
from dovetail.solve.probing.relations import Member, Picked, Relations
from dovetail.solve.probing.tables import Attached, Tables
from dovetail.solve.puzzle import Puzzle, canonical

_MAX_TABLES: Final = 8  # pools may leave labels open, and what is on offer depends on who asks

Limits = Mapping[str, Mapping[str, int]]


class ProbeOptions(msgspec.Struct, frozen=True):
    """How a question is answered: nobody goes to nodes that count as `full`; where a quick answer
    is as good, the best is not searched for; and what costs too much need not be worked out.
    """

    full: frozenset[str] = frozenset()
    is_quick: bool = False
    most_nanousd: int | None = None


THOROUGH: Final = ProbeOptions()


class Prepared:
    """A cluster that nodes may be taken from. `volumes` of the puzzle are those of everybody who
    has some; its pods are those that may move and are not the very ones that are bound.
    """

    def __init__(self, puzzle: Puzzle, bound: Bound) -> None:
        self.puzzle = canonical(puzzle)
        self._bound = bound
        self.place = {node.name: number for number, node in enumerate(self.puzzle.nodes)}
        self._volumes = anonymous(puzzle.volumes, {}) if puzzle.volumes else {}
        self._spec_keys: dict[int, tuple[Pod, bytes]] = {}
        self._members: dict[tuple[bytes, Profile, PodVolumes], Member] = {}
        self._opens: dict[str, bool] = {}
        self._tables: dict[tuple[tuple[str, tuple[str, ...]], ...], Tables] = {}

    @cached_property
    def _node_parts(self) -> tuple[tuple[str, ...], list[NodePart]]:
        puzzle = self.puzzle
        read = read_labels(distinct_specs(puzzle.pods), puzzle.daemon_sets)
        return pieces_of(puzzle.nodes, self._bound, read)

    @cached_property
    def relations(self) -> Relations:
        """Who concerns whom."""
        keys, pieces = self._node_parts
        return Relations(self.puzzle, pieces, keys)

    def members(self, pods: Iterable[Pod]) -> list[Member]:
        """The groups that move, with those of their pods that do; in order of their first pods."""
        by_key: dict[tuple[bytes, Profile, PodVolumes], list[Pod]] = {}
        keys, _ = self._node_parts
        for pod in pods:
            asked = self._volumes.get(pod.key, NO_VOLUMES) if pod.claim_names else NO_VOLUMES
            key = (self._spec_key(pod), profile_of(pod, keys), asked)
            by_key.setdefault(key, []).append(pod)
        for alike in by_key.values():
            alike.sort(key=_by_name)
        mine = [(alike, self._member(key, alike[0])) for key, alike in by_key.items()]
        mine.sort(key=lambda pair: _by_name(pair[0][0]))
        return [member.with_pods(alike) for alike, member in mine]

    def _spec_key(self, pod: Pod) -> bytes:
        """The same bytes for equal templates. The pod is kept, so that the id stays its own."""
        if id(pod.spec) not in self._spec_keys:
            self._spec_keys[id(pod.spec)] = (pod, spec_key_of(pod.spec))
        return self._spec_keys[id(pod.spec)][1]

    def _member(self, key: tuple[bytes, Profile, PodVolumes], first: Pod) -> Member:
        if key not in self._members:
            group = Group(first.spec, key[1], key[2], (first,), first.labels, key[0])
            own, shy = self.relations.ties(group)
            self._members[key] = Member(group, own, shy, frozenset(mentioned_labels(group)))
        return self._members[key]

    def tables(self, members: Sequence[Member], gone: frozenset[str]) -> Tables:
        """What is on offer to these, with all nodes, as tables."""
        spoken = self._daemon_keys.union(*(member.mentions for member in members))
        by_key = self._open_label_mentions(members, gone) if any(map(self._is_open, spoken)) else {}
        key = tuple(by_key.items())
        if key not in self._tables:
            if len(self._tables) >= _MAX_TABLES:
                self._tables.clear()
            self._tables[key] = Tables(self.puzzle, self._node_parts[1], Mentions(by_key, ()))
        return self._tables[key]

    def _open_label_mentions(
        self, members: Sequence[Member], gone: frozenset[str]
    ) -> dict[str, tuple[str, ...]]:
        """What is said of labels that some pool leaves open: it decides what nodes will carry."""
        groups = [member.group for member in members]
        asked = msgspec.structs.replace(
            self.puzzle,
            pods=tuple(pod for group in groups for pod in group.pods),
            nodes=tuple(node for node in self.puzzle.nodes if node.name not in gone),
        )
        shy = (pod for piece in self._node_parts[1] for pod, _ in piece.shy)
        every = label_mentions(asked, groups, distinct_specs(shy), ()).values_by_key
        return {key: values for key, values in every.items() if self._is_open(key)}

    def _is_open(self, key: str) -> bool:
        if key not in self._opens:
            mention = Mentions({key: ()}, ())
            opened = open_keys(self.puzzle.node_pools, self.puzzle.instance_types, mention)
            self._opens[key] = bool(opened)
        return self._opens[key]

    @cached_property
    def _daemon_keys(self) -> frozenset[str]:
        daemons = self.puzzle.daemon_sets
        return frozenset(need.key for daemon in daemons for need in node_expressions(daemon.spec))

    @cached_property
    def attached_volumes(self) -> Attached:
        """The volumes that running pods hold, each once."""
        seen: dict[tuple[int, str, str], None] = {}
        for node, piece in enumerate(self._node_parts[1] if self.puzzle.volumes else ()):
            for pod in piece.pods:
                pod_volumes = self.puzzle.volumes.get(pod.key, NO_VOLUMES)
                for driver, claims in pod_volumes.attachments:
                    seen.update(dict.fromkeys((node, driver, claim) for claim in claims))
        return list(seen)


def _by_name(pod: Pod) -> tuple[str, str]:
    return (pod.namespace, pod.name)


def prepare(puzzle: Puzzle, bound: Bound) -> Prepared:
    """Make tables of a cluster, for many questions."""
    return Prepared(puzzle, bound)


def encode_probe(
    prepared: Prepared,
    pods: Sequence[Pod],
    gone: Iterable[str],
    limits: Limits,
    how: ProbeOptions = THOROUGH,
) -> Encoded:
    """The question as arrays: where could these pods go if these nodes were gone?"""
    members, leaving = prepared.members(pods), frozenset(gone)
    groups = [member.group for member in members]
    tables = prepared.tables(members, leaving)
    place = prepared.place
    away = np.array(sorted(place[name] for name in leaving if name in place), dtype=np.int64)
    masks_me, mask_g = tables.masks(groups)
    masks_me[:, tables.n_offers + away] = False
    lookup = Picked(prepared.relations, members, (len(place), away))
    cell_e, ties = _cells_and_ties(tables, lookup, (masks_me, mask_g), away)
    resources = resources_of(groups)
    cap_or, overhead_or, free_nr = tables.room(resources, prepared.attached_volumes)
    return Encoded(
        problem=_problem(prepared.puzzle, pods, limits, how),
        market=tables.market,
        groups=groups,
        resources=resources,
        columns=tables.columns,
        requests_gr=requests_of(groups, resources),
        count_g=np.array([len(group.pods) for group in groups], dtype=np.int64),
        priority_g=np.array([group.spec.priority for group in groups], dtype=np.int64),
        mask_g=mask_g,
        masks_me=masks_me,
        cap_or=cap_or,
        overhead_or=overhead_or,
        plan_price_o=tables.market.price_o,
        weight_o=tables.weight_o,
        supply_o=tables.supply_o,
        cell_o=cell_e[: tables.n_offers],
        free_nr=_without_room(
            free_nr, resources, [place[name] for name in how.full if name in place]
        ),
        cell_n=cell_e[tables.n_offers :],
        ties=ties,
        claims=shared_claims(groups, resources, len(place), prepared.attached_volumes),
        running=lookup,
    )


def _problem(puzzle: Puzzle, pods: Sequence[Pod], limits: Limits, how: ProbeOptions) -> Puzzle:
    policy = puzzle.policy
    if how.is_quick:
        policy = msgspec.structs.replace(policy, effort=0)
    return msgspec.structs.replace(puzzle, pods=tuple(pods), limits=limits, policy=policy)


def _without_room(free_nr: Int, resources: Sequence[str], full: Sequence[int]) -> Int:
    """What nodes have left, of which these take nobody."""
    if not full:
        return free_nr
    free_nr = free_nr.copy()
    free_nr[full, resources.index(PODS)] = 0
    return free_nr


def _cells_and_ties(
    tables: Tables, lookup: Picked, accepted: tuple[Bool, Int], away: Int
) -> tuple[Int, Ties]:
    """The cell of every entity, and the terms; cells are divided where a term tells them apart."""
    terms, owners = lookup.terms, lookup.groups_stating()
    wider = {labels.normalize(term.topology_key) for term in terms if not term.is_host}
    keys = tuple(sorted(wider))
    place = tables.cells(keys)
    context = TermContext(
        tables.n_offers, keys, *place, tables.coming_de, *accepted, tables.filters, away
    )
    ties = Assembly(lookup, context, owners).ties(terms, lookup.own_g)
    if ties.mixed:
        context = divide_cells(context, ties.mixed)
        ties = Assembly(lookup, context, owners).ties(terms, lookup.own_g)
    return context.cell_e, ties
