"""Indexes the instance types of one NodePool by every constraint that a pod may have."""

from __future__ import annotations

from typing import Final

from dovetail import labels
from dovetail.decide.sieve.typesets import Bits, Overhead, TypeTable
from dovetail.decide.sieve.wishes import Said, Wish, by_key, pod_wishes, satisfiable
from dovetail.model.pod import DaemonSet
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.model.resources import without_zeros
from dovetail.model.taints import Effect, Taint, Toleration, tolerates

# The name of a node that is yet to be made is known to nobody.
_UNKNOWN: Final = frozenset({labels.NODE_NAME_FIELD, labels.HOSTNAME})


class TypeShelf:
    """One pool's instance types. `stock` are those that the pool itself admits and that are on
    offer: where every pod begins.
    """

    def __init__(
        self, pool: NodePool, table: TypeTable, daemon_sets: tuple[DaemonSet, ...]
    ) -> None:
        self.pool = pool
        self.table = table
        self._given = frozenset(_given_labels(pool))
        self.stated = by_key(
            [*pool.requirements, *Requirements.of_labels(_given_labels(pool)).values()]
        )
        self._admitting: dict[tuple[str, Said], Bits] = {}
        self._on_offer: dict[tuple[Said, ...], Bits] = {}
        self._repelling: dict[tuple[Toleration, ...], tuple[Taint, ...]] = {}
        self._n_values: dict[tuple[str, Bits], int] = {}
        self.min_values = tuple(
            (key, max(requirement.min_values or 0 for requirement in requirements))
            for key, requirements in self.stated.items()
            if any(requirement.min_values is not None for requirement in requirements)
        )
        self.admitted = self._own_types()
        self.stock = self.admitted & self.on_offer({})
        self.daemons = self._daemons(daemon_sets)
        self.overhead: Overhead = tuple(
            (members, tuple(sorted(without_zeros(daemon.spec.requests).items())))
            for daemon, members in self.daemons
        )

    def types_admitting(self, key: str, requirements: Said) -> Bits:
        """The types whose nodes can have what is said of a label."""
        cached = self._admitting.get((key, requirements))
        if cached is None:
            cached = self._admitting[key, requirements] = self._admit(key, requirements)
        return cached

    def admitting_all(self, wish: Wish, among: Bits) -> Bits:
        """Those of the types whose nodes can have every label of a wish."""
        for key, requirements in wish.items():
            among &= self.types_admitting(key, requirements)
        return among

    def on_offer(self, wish: Wish) -> Bits:
        """The types with one offering that satisfies pool and wish on all labels together."""
        return self.table.types_of(self.rows(wish))

    def rows(self, wish: Wish) -> Bits:
        """The offerings that satisfy pool and wish."""
        asked = tuple(needs for key, needs in wish.items() if key in self.table.offered_keys)
        cached = self._on_offer.get(asked)
        if cached is None:
            cached = self._on_offer[asked] = self._matching_rows(asked)
        return cached

    def repelling_taints(self, tolerations: tuple[Toleration, ...]) -> tuple[Taint, ...]:
        """The taints of the pool that a pod with these tolerations does not put up with."""
        if tolerations not in self._repelling:
            self._repelling[tolerations] = tuple(
                taint
                for taint in self.pool.taints
                if taint.effect != Effect.PREFER_NO_SCHEDULE
                and not tolerates((taint,), tolerations)
            )
        return self._repelling[tolerations]

    def offers_label(self, key: str) -> bool:
        """Whether some node of this pool would carry the label."""
        return (
            key == labels.HOSTNAME
            or any(map(bool, self._stated_for(key)))
            or bool(self.admitted & ~self.table.index(key).absent)
        )

    def values(self, key: str) -> list[str]:
        """The values of a label that nodes of this pool are known to be able to have, sorted."""
        stated = self._stated_for(key)
        result = {
            value
            for value, members in self.table.index(key).by_value.items()
            if members & self.admitted and all(requirement.has(value) for requirement in stated)
        }
        if not result:
            listed = (value for item in stated if not item.complement for value in item.values)
            result = {value for value in listed if all(item.has(value) for item in stated)}
        return sorted(result)

    def n_values(self, key: str, among: Bits) -> int:
        """How many values of a label the pool could choose from with these types."""
        cached = self._n_values.get((key, among))
        if cached is None:
            stated = self._stated_for(key)
            cached = self._n_values[key, among] = sum(
                1
                for value, members in self.table.index(key).by_value.items()
                if members & among and all(requirement.has(value) for requirement in stated)
            )
        return cached

    def _stated_for(self, key: str) -> Said:
        return self.stated.get(key, ())

    def _own_types(self) -> Bits:
        mask = self.table.everyone
        for key in self.stated:
            mask &= self.types_admitting(key, ())
        return mask

    def _admit(self, key: str, requirements: Said) -> Bits:
        if key in _UNKNOWN:
            return self.table.everyone if all(item.complement for item in requirements) else 0
        index = self.table.index(key)
        stated = self._stated_for(key)
        merged = (*requirements, *stated)
        mask = index.rows_with(merged)
        # A label that no type fixes comes from the pool. Labels that providers own do not: a type
        # without one launches nodes without it, whatever the pool asks for.
        is_pool_label = bool(stated) and (key in self._given or not labels.is_well_known(key))
        if is_pool_label:
            is_served = satisfiable(merged)
        else:
            is_served = all(requirement.tolerates_absence for requirement in merged)
        return mask | index.absent if is_served else mask

    def _matching_rows(self, asked: tuple[Said, ...]) -> Bits:
        mask = self.table.rows()
        for requirements in asked:
            mask &= self._rows_having((*requirements, *self._stated_for(requirements[0].key)))
        for key in self.stated:
            if key in self.table.offered_keys:
                mask &= self._rows_having(self._stated_for(key))
        return mask

    def _rows_having(self, requirements: Said) -> Bits:
        index = self.table.row_index(requirements[0].key)
        mask = index.rows_with(requirements)
        return mask | index.absent if all(item.tolerates_absence for item in requirements) else mask

    def _daemons(self, daemon_sets: tuple[DaemonSet, ...]) -> tuple[tuple[DaemonSet, Bits], ...]:
        """The daemon sets that run on nodes of this pool, and on which types, by name: reasons
        name the first that is in the way.
        """
        daemons = []
        for daemon in sorted(daemon_sets, key=lambda daemon: (daemon.namespace, daemon.name)):
            if not tolerates(self.pool.taints, daemon.spec.tolerations):
                continue
            members = 0
            for wish in pod_wishes(daemon.spec):
                members |= self.admitting_all(wish, self.admitted) & self.on_offer(wish)
            if members:
                daemons.append((daemon, members))
        return tuple(daemons)


def _given_labels(pool: NodePool) -> dict[str, str]:
    """The labels that every node of a pool has, whatever its type."""
    given = {labels.normalize(key): value for key, value in pool.labels.items()}
    given[labels.NODE_POOL] = pool.name
    given.update(dict.fromkeys(labels.SIMULATION_ONLY, "true"))
    node_class = pool.node_class
    if node_class.group and node_class.kind:
        given[f"{node_class.group}/{node_class.kind.lower()}"] = node_class.name
    return given
