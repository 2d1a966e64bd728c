"""Evaluates node selectors, node affinity and tolerations on all offers and nodes at once.

Labels become integer columns over entities, one column per key that anybody mentions. An
expression is evaluated once per distinct value and then gathered, so its cost hardly depends on
how many entities there are. Every answer is kept: pods mention the same few expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dovetail import labels
from dovetail.model.requirements import Requirement
from dovetail.model.taints import Taint, Toleration, repelling_taint
from dovetail.model.topology import NodeTerm
from dovetail.solve.axes import Bool, Int


class Columns:
    """The labels and taints of all entities, as integers."""

    def __init__(self, n_entities: int) -> None:
        self.n_entities = n_entities
        self._codes: dict[str, Int] = {}
        self._values: dict[str, list[str | None]] = {}
        self._admitted: dict[Requirement, Bool] = {}
        self._taint_codes = np.zeros(n_entities, dtype=np.int64)
        self._taints: list[tuple[Taint, ...]] = [()]
        self._tolerated: dict[tuple[Toleration, ...], Bool] = {}

    def add(
        self, key: str, codes: Int, values: list[str | None], more: Sequence[str | None]
    ) -> None:
        """State the value of one label for every entity (None: it has none): the first ones' as
        codes, the rest listed.
        """
        code_of: dict[str | None, int] = {}
        recode = np.array([code_of.setdefault(value, len(code_of)) for value in values], np.int64)
        rest = [code_of.setdefault(value, len(code_of)) for value in more]
        self._codes[key] = np.concatenate(
            [recode[codes] if len(values) else codes, np.array(rest, dtype=np.int64)]
        )
        self._values[key] = list(code_of)

    def add_taints(
        self, codes: Int, taints: Sequence[tuple[Taint, ...]], more: Sequence[tuple[Taint, ...]]
    ) -> None:
        """State the taints of every entity: the first ones' as codes, the rest listed."""
        code_of: dict[tuple[Taint, ...], int] = {}
        recode = np.array([code_of.setdefault(key, len(code_of)) for key in taints], np.int64)
        rest = [code_of.setdefault(taint_set, len(code_of)) for taint_set in more]
        first = recode[codes] if len(taints) else codes
        self._taint_codes = np.concatenate([first, np.array(rest, dtype=np.int64)])
        self._taints = list(code_of) or [()]

    @property
    def taints(self) -> Sequence[tuple[Taint, ...]]:
        """All distinct taints of entities."""
        return self._taints

    def at(self, entities: Int) -> Columns:
        """The columns of these entities, in this order; one may be named twice."""
        result = Columns(len(entities))
        for key, codes in self._codes.items():
            result.add(key, codes[entities], self._values[key], ())
        result.add_taints(self._taint_codes[entities], self._taints, ())
        return result

    def __contains__(self, key: str) -> bool:
        """Whether the value of a label was stated."""
        return key in self._codes

    def codes(self, key: str) -> tuple[Int, list[str | None]]:
        """The column of a key: a code for every entity, and what each code stands for."""
        if key not in self._codes:
            return np.zeros(self.n_entities, dtype=np.int64), [None]
        return self._codes[key], self._values[key]

    def matches(self, expression: Requirement) -> Bool:
        """Which entities satisfy one expression."""
        admitted = self._admitted.get(expression)
        if admitted is None:
            codes, values = self.codes(expression.key)
            per_value = np.array([expression.admits(value) for value in values], dtype=bool)
            admitted = per_value[codes]
            self._admitted[expression] = admitted
        return admitted

    def matches_term(self, term: NodeTerm) -> Bool:
        """Which entities satisfy every expression of a term; none if it has no expression."""
        mask = np.full(self.n_entities, bool(term.expressions or term.fields))
        for requirement in term.expressions:
            mask &= self.matches(requirement)
        for requirement in term.fields:
            mask &= self.matches(_field(requirement))
        return mask

    def matches_any_term(self, terms: Sequence[NodeTerm]) -> Bool:
        """Which entities satisfy at least one of the alternatives."""
        mask = np.zeros(self.n_entities, dtype=bool)
        for term in terms:
            mask |= self.matches_term(term)
        return mask

    def matches_affinity(self, selector: Mapping[str, str], terms: Sequence[NodeTerm]) -> Bool:
        """Which entities satisfy a pod's nodeSelector and required node affinity."""
        mask = np.ones(self.n_entities, dtype=bool)
        for key, value in sorted(selector.items()):
            mask &= self.matches(Requirement(labels.normalize(key), False, frozenset({value})))
        return mask & self.matches_any_term(terms) if terms else mask

    def tolerates(self, tolerations: tuple[Toleration, ...]) -> Bool:
        """Which entities have no hard taint that keeps away a pod with these tolerations."""
        tolerated = self._tolerated.get(tolerations)
        if tolerated is None:
            fine = [repelling_taint(taints, tolerations) is None for taints in self._taints]
            tolerated = np.array(fine, dtype=bool)[self._taint_codes]
            self._tolerated[tolerations] = tolerated
        return tolerated

    def has_soft_taint(self, tolerations: tuple[Toleration, ...]) -> Bool:
        """Which entities have a soft taint (PreferNoSchedule) that the pod does not tolerate."""
        is_soft = [
            repelling_taint(taints, tolerations, soft=True) is not None for taints in self._taints
        ]
        return np.array(is_soft, dtype=bool)[self._taint_codes]


def _field(expression: Requirement) -> Requirement:
    """A matchFields expression, on the column that holds node names."""
    return Requirement(
        labels.NODE_NAME_FIELD,
        expression.complement,
        expression.values,
        expression.gte,
        expression.lte,
    )
