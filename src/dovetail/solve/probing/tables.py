"""Tables of what offers and nodes have for pods that might move.

Rows are worked out when somebody first asks for them: columns by label, masks by wishes, room by
resource. Entities are offers, then all nodes of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dovetail import labels
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import (
    allocatable_of,
    cells_of,
    group_mask,
    overhead_of,
    supply_of,
)
from dovetail.solve.encoding.existing import ATTACH, daemon_mask, vector
from dovetail.solve.encoding.groups import Group
from dovetail.solve.encoding.market_labels import label_column
from dovetail.solve.encoding.matching import Columns
from dovetail.solve.encoding.mentions import mentioned_labels, node_expressions
from dovetail.solve.encoding.node_parts import NodePart
from dovetail.solve.encoding.offers import Mentions, open_market
from dovetail.solve.encoding.ties import Filters
from dovetail.solve.puzzle import Puzzle

Attached = Sequence[tuple[int, str, str]]  # node, driver and claim of volumes, each once


class Tables:
    """Offers and nodes, and what each group may have of them."""

    def __init__(self, puzzle: Puzzle, pieces: Sequence[NodePart], mentions: Mentions) -> None:
        self._puzzle = puzzle
        self._pieces = pieces
        self.market = open_market(puzzle.node_pools, puzzle.instance_types, mentions, puzzle.policy)
        self.n_offers = len(self.market.offers)
        self.columns = self._columns()
        self.coming_de = self._coming_daemons()
        self.filters = Filters(self.columns)
        weight_p = np.array([pool.weight for pool in self.market.pools], dtype=np.int64)
        self.weight_o = weight_p[self.market.pool_o]
        self.supply_o = supply_of(puzzle, self.market)
        self._row_of: dict[tuple[bytes, object], int] = {}
        self._row_by_bytes: dict[bytes, int] = {}
        self._rows: list[Bool] = []
        self._room: dict[tuple[str, ...], tuple[Int, Int, Int]] = {}
        self._cells: dict[tuple[str, ...], tuple[Int, Int]] = {}

    def _columns(self) -> Columns:
        nodes = self._puzzle.nodes
        columns = Columns(self.n_offers + len(nodes))
        names = [node.name for node in nodes]
        columns.add(labels.NODE_NAME_FIELD, np.zeros(self.n_offers, dtype=np.int64), [None], names)
        taints = [pool.taints for pool in self.market.pools]
        columns.add_taints(self.market.pool_o, taints, [node.taints for node in nodes])
        return columns

    def know(self, keys: Iterable[str]) -> None:
        """Make sure of a column for each of these labels."""
        for key in keys:
            if key not in self.columns:
                codes, values = label_column(self.market, key)
                values_n = [piece.labels.get(key) for piece in self._pieces]
                self.columns.add(key, codes, values, values_n)

    def _coming_daemons(self) -> Bool:
        """Daemon sets x entities: whose pod is still to come."""
        daemons = self._puzzle.daemon_sets
        self.know(need.key for daemon in daemons for need in node_expressions(daemon.spec))
        coming = np.zeros((len(daemons), self.columns.n_entities), dtype=bool)
        number_of = {(daemon.namespace, daemon.name): n for n, daemon in enumerate(daemons)}
        for number, daemon in enumerate(daemons):
            coming[number] = daemon_mask(self.columns, daemon)
        for node, piece in enumerate(self._pieces):
            for name in piece.daemons:
                if name in number_of:
                    coming[number_of[name], self.n_offers + node] = False
        return coming

    def masks(self, groups: Iterable[Group]) -> tuple[Bool, Int]:
        """Which entities each group's own wishes admit: one row per distinct set of wishes."""
        place: dict[int, int] = {}
        mask_g = [place.setdefault(self._row(group), len(place)) for group in groups]
        return np.array([self._rows[row] for row in place]), np.array(mask_g, dtype=np.int64)

    def _row(self, group: Group) -> int:
        key = (group.spec_key, group.volumes)
        if key not in self._row_of:
            self.know(mentioned_labels(group))
            mask = group_mask(self.columns, group)
            row = self._row_by_bytes.setdefault(np.packbits(mask).tobytes(), len(self._rows))
            if row == len(self._rows):
                self._rows.append(mask)
            self._row_of[key] = row
        return self._row_of[key]

    def room(self, resources: tuple[str, ...], attached: Attached) -> tuple[Int, Int, Int]:
        """Of these resources: capacity and overhead of offers, and what nodes have left."""
        if resources not in self._room:
            daemons, coming_do = self._puzzle.daemon_sets, self.coming_de[:, : self.n_offers]
            overhead = overhead_of(daemons, coming_do, resources)
            cap = allocatable_of(self.market, resources) - overhead
            self._room[resources] = (cap, overhead, self._free(resources, attached))
        return self._room[resources]

    def _free(self, resources: tuple[str, ...], attached: Attached) -> Int:
        rows = [
            [have - piece.use.get(name, 0) for have, name in zip(capacity, resources, strict=True)]
            for capacity, piece in zip(self._node_capacity(resources), self._pieces, strict=True)
        ]
        free = np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))
        coming_dn = self.coming_de[:, self.n_offers :]
        free -= overhead_of(self._puzzle.daemon_sets, coming_dn, resources)
        for node, driver, _ in attached:
            if ATTACH + driver in resources:
                free[node, resources.index(ATTACH + driver)] -= 1
        return free

    def _node_capacity(self, resources: tuple[str, ...]) -> list[list[int]]:
        """What each node has for its pods."""
        return [
            vector(
                [
                    *node.allocatable.items(),
                    *((ATTACH + driver, limit) for driver, limit in node.attach_limits.items()),
                ],
                resources,
            )
            for node in self._puzzle.nodes
        ]

    def cells(self, keys: tuple[str, ...]) -> tuple[Int, Int]:
        """The combination of topology domains of every entity."""
        if keys not in self._cells:
            self.know(keys)
            self._cells[keys] = cells_of(self.columns, keys)
        return self._cells[keys]
