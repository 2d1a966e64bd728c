from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import labels
from dovetail.model.requirements import Requirement, requirement
from dovetail.model.taints import Effect, Taint, Toleration, TolerationOperator, repelling_taint
from dovetail.model.topology import NodeTerm
from dovetail.solve.encoding.matching import Columns

VALUES = st.sampled_from([None, "a", "b", "1", "2", "03", "-4"])
LISTS = st.lists(VALUES, min_size=1, max_size=8)
REQUIREMENTS = st.one_of(
    st.builds(
        lambda operator, values: requirement("k", operator, values),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(["a", "b", "1", "2"]), min_size=1, max_size=3),
    ),
    st.builds(
        lambda operator, bound: requirement("k", operator, [str(bound)]),
        st.sampled_from(["Gt", "Lt", "Gte", "Lte"]),
        st.integers(-4, 4),
    ),
    st.sampled_from([requirement("k", "Exists"), requirement("k", "DoesNotExist")]),
)
TAINTS = st.lists(
    st.builds(
        Taint,
        st.sampled_from(["x", "y"]),
        st.sampled_from(["", "v"]),
        st.sampled_from([Effect.NO_SCHEDULE, Effect.PREFER_NO_SCHEDULE, Effect.NO_EXECUTE]),
    ),
    max_size=2,
).map(tuple)
TOLERATIONS = st.lists(
    st.builds(
        Toleration,
        st.sampled_from(["", "x", "y"]),
        st.sampled_from([TolerationOperator.EQUAL, TolerationOperator.EXISTS]),
        st.sampled_from(["", "v"]),
        st.sampled_from(["", Effect.NO_SCHEDULE, Effect.PREFER_NO_SCHEDULE]),
    ),
    max_size=2,
).map(tuple)


NOBODY = np.zeros(0, dtype=np.int64)


def columns_of(**values_by_key: list[str | None]) -> Columns:
    """The columns of a few entities."""
    columns = Columns(len(next(iter(values_by_key.values()))))
    for key, values in values_by_key.items():
        columns.add(key, NOBODY, [], values)
    return columns


@given(LISTS, REQUIREMENTS)
def test_an_expression_admits_just_the_entities_whose_value_it_admits(
    values: list[str | None], expression: Requirement
) -> None:
    """Entity by entity; also when it is asked a second time."""
    columns = columns_of(k=values)
    want = [expression.admits(value) for value in values]
    assert columns.matches(expression).tolist() == want
    assert columns.matches(expression).tolist() == want


@given(REQUIREMENTS)
def test_a_label_that_nobody_has_is_absent_everywhere(expression: Requirement) -> None:
    """Only expressions that tolerate absence admit anybody."""
    columns = Columns(3)
    assert columns.matches(expression).tolist() == [expression.tolerates_absence] * 3
    codes, values = columns.codes("k")
    assert [values[code] for code in codes] == [None] * 3


@given(LISTS, LISTS)
def test_codes_make_the_same_column_as_values(
    first: list[str | None], rest: list[str | None]
) -> None:
    """Also where two codes stand for one value."""
    coded = Columns(len(first) + len(rest))
    coded.add("k", np.arange(len(first)), first, rest)
    codes, values = coded.codes("k")
    assert [values[code] for code in codes] == [*first, *rest]
    assert len(set(values)) == len(values)


def test_a_column_without_any_coded_entity_holds_the_rest() -> None:
    """There may be nothing to buy."""
    columns = Columns(1)
    columns.add("k", np.zeros(0, dtype=np.int64), [], ["a"])
    assert columns.matches(requirement("k", "In", ["a"])).tolist() == [True]


@given(LISTS, st.data())
def test_columns_of_some_entities_say_the_same_of_them(
    values: list[str | None], data: st.DataObject
) -> None:
    """In the order in which they are named, twice if named twice."""
    columns = columns_of(k=values)
    taints = [() if value is None else (Taint(value),) for value in values]
    columns.add_taints(np.arange(len(taints)), taints, ())
    places = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=6))
    picked = columns.at(np.array(places, dtype=np.int64))
    for asked in (requirement("k", "In", ["a"]), requirement("k", "NotIn", ["a"])):
        assert picked.matches(asked).tolist() == columns.matches(asked)[places].tolist()
    assert picked.tolerates(()).tolist() == columns.tolerates(())[places].tolist()


@given(st.lists(TAINTS, min_size=1, max_size=5), TOLERATIONS)
def test_taints_keep_away_just_as_they_do_one_by_one(
    taints: list[tuple[Taint, ...]], tolerations: tuple[Toleration, ...]
) -> None:
    """Hard taints rule out, soft ones are disliked."""
    columns = Columns(len(taints))
    columns.add_taints(np.arange(len(taints)), taints, ())
    hard = [repelling_taint(one, tolerations) is None for one in taints]
    soft = [repelling_taint(one, tolerations, soft=True) is not None for one in taints]
    assert columns.tolerates(tolerations).tolist() == hard
    assert columns.tolerates(tolerations).tolist() == hard
    assert columns.has_soft_taint(tolerations).tolist() == soft


@pytest.fixture
def entities() -> Columns:
    """Two offers and a node called n1."""
    columns = columns_of(k=["a", "b", "a"], zone=["z1", "z1", None])
    columns.add(labels.NODE_NAME_FIELD, NOBODY, [], [None, None, "n1"])
    return columns


def test_all_expressions_of_a_term_must_hold(entities: Columns) -> None:
    """And a term without any selects nobody."""
    a, z1 = requirement("k", "In", ["a"]), requirement("zone", "In", ["z1"])
    assert entities.matches_term(NodeTerm((a, z1))).tolist() == [True, False, False]
    assert not entities.matches_term(NodeTerm()).any()


def test_fields_read_the_name_of_a_node(entities: Columns) -> None:
    """What has yet to be launched has no name."""
    named = NodeTerm(fields=(requirement("metadata.name", "In", ["n1"]),))
    others = NodeTerm(fields=(requirement("metadata.name", "NotIn", ["n1"]),))
    assert entities.matches_term(named).tolist() == [False, False, True]
    assert entities.matches_term(others).tolist() == [True, True, False]


def test_one_alternative_is_enough_and_none_is_nothing(entities: Columns) -> None:
    """Terms are alternatives; an affinity without terms asks nothing."""
    terms = [
        NodeTerm((requirement("k", "In", ["b"]),)),
        NodeTerm((requirement("zone", "DoesNotExist"),)),
    ]
    assert entities.matches_any_term(terms).tolist() == [False, True, True]
    assert not entities.matches_any_term(()).any()
    assert entities.matches_affinity({}, ()).all()
    assert entities.matches_affinity({"k": "a"}, terms).tolist() == [False, False, True]


def test_a_selector_may_spell_a_key_as_it_once_was() -> None:
    """The old name of the zone label means the zone."""
    columns = Columns(2)
    columns.add(labels.ZONE, NOBODY, [], ["a", "b"])
    old = {"failure-domain.beta.kubernetes.io/zone": "a"}
    assert columns.matches_affinity(old, ()).tolist() == [True, False]
