"""Laws of the requirement algebra, over all requirements a manifest can state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import labels
from dovetail.model.requirements import (
    MAX_INT,
    Operator,
    Requirement,
    Requirements,
    requirement,
)

VALUES = ("a", "b", "c", "-3", "0", "1", "2", "5", "007", "+4", "x1", "")
NUMBERS = st.integers(-4, 6)


@st.composite
def stated(draw: st.DrawFn, key: str = "k") -> Requirement:
    """A requirement as a manifest states it."""
    operator = draw(st.sampled_from(sorted(Operator)))
    at_least = draw(st.none() | st.integers(1, 3))
    if operator in (Operator.GT, Operator.LT, Operator.GTE, Operator.LTE):
        return requirement(key, operator, [str(draw(NUMBERS))], at_least)
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return requirement(key, operator, (), at_least)
    listed = draw(st.sets(st.sampled_from(VALUES), min_size=1, max_size=4))
    return requirement(key, operator, listed, at_least)


@st.composite
def narrowed(draw: st.DrawFn, key: str = "k") -> Requirement:
    """What is left of a label after several statements."""
    first, *rest = draw(st.lists(stated(key), min_size=1, max_size=4))
    for one in rest:
        first = first & one
    return first


@st.composite
def sides(draw: st.DrawFn) -> Requirements:
    """The requirements of one side, over a few keys."""
    keys = draw(st.sets(st.sampled_from(["k", "m", labels.ZONE, labels.ARCH]), max_size=3))
    return Requirements([draw(stated(key)) for key in sorted(keys)])


@given(narrowed(), narrowed())
def test_intersection_is_commutative(a: Requirement, b: Requirement) -> None:
    """The order in which two statements are made does not matter."""
    assert a & b == b & a


@given(narrowed(), narrowed(), narrowed())
def test_intersection_is_associative(a: Requirement, b: Requirement, c: Requirement) -> None:
    """Nor does how three of them are grouped, for any value or for the label's absence."""
    left, right = (a & b) & c, a & (b & c)
    assert [left.has(value) for value in VALUES] == [right.has(value) for value in VALUES]
    assert bool(left) == bool(right)
    assert left.min_values == right.min_values


@given(narrowed())
def test_intersection_is_idempotent(a: Requirement) -> None:
    """Saying the same thing twice changes nothing."""
    again = a & a
    assert again & a == again
    assert [again.has(value) for value in VALUES] == [a.has(value) for value in VALUES]


@given(narrowed(), narrowed())
def test_intersects_says_whether_the_intersection_has_a_value(
    a: Requirement, b: Requirement
) -> None:
    """`intersects` is the cheap spelling of a non-empty intersection."""
    assert a.intersects(b) == bool(a & b)
    assert a.intersects(b) == b.intersects(a)


@given(narrowed(), narrowed(), st.sampled_from(VALUES) | NUMBERS.map(str))
def test_a_value_is_in_the_intersection_when_it_is_in_both(
    a: Requirement, b: Requirement, value: str
) -> None:
    """Membership distributes over intersection."""
    assert (a & b).has(value) == (a.has(value) and b.has(value))


@given(narrowed(), narrowed())
def test_the_larger_min_values_wins(a: Requirement, b: Requirement) -> None:
    """Both wishes for flexibility are granted by granting the larger."""
    assert (a & b).min_values == (max(a.min_values or 0, b.min_values or 0) or None)


@given(stated(), st.sampled_from(VALUES))
def test_a_present_value_is_admitted_exactly_when_it_is_in_the_set(
    one: Requirement, value: str
) -> None:
    """Admission of a label that is there is membership."""
    assert one.admits(value) == one.has(value)


@pytest.mark.parametrize(
    ("operator", "values", "want"),
    [
        pytest.param("In", ["a"], False, id="In needs the label"),
        pytest.param("NotIn", ["a"], True, id="NotIn is content without it"),
        pytest.param("Exists", [], False, id="Exists needs it"),
        pytest.param("DoesNotExist", [], True, id="DoesNotExist wants it gone"),
        pytest.param("Gt", ["1"], False, id="Gt needs a number"),
        pytest.param("Lt", ["1"], False, id="Lt needs a number"),
        pytest.param("Gte", ["1"], False, id="Gte needs a number"),
        pytest.param("Lte", ["1"], False, id="Lte needs a number"),
    ],
)
def test_absence_is_judged_by_operator(operator: str, values: list[str], want: bool) -> None:  # noqa: FBT001  a table column
    """Only NotIn and DoesNotExist accept a node without the label."""
    assert requirement("k", operator, values).admits(None) is want


@pytest.mark.parametrize(
    ("operator", "bound", "inside", "outside"),
    [
        pytest.param("Gt", "2", ["3", "007"], ["2", "1", "a", ""], id="Gt excludes its bound"),
        pytest.param("Gte", "2", ["2", "3"], ["1", "-5", "b"], id="Gte includes it"),
        pytest.param("Lt", "2", ["1", "-3"], ["2", "3", "x"], id="Lt excludes its bound"),
        pytest.param("Lte", "2", ["2", "0"], ["3", "y"], id="Lte includes it"),
    ],
)
def test_bounds_admit_only_integers_on_their_side(
    operator: str, bound: str, inside: list[str], outside: list[str]
) -> None:
    """A bound compares 64-bit integers; text that spells none is never inside."""
    one = requirement("k", operator, [bound])
    assert all(one.has(value) for value in inside)
    assert not any(one.has(value) for value in outside)


@pytest.mark.parametrize(
    ("operator", "number"),
    [("Gt", MAX_INT), ("Lt", -MAX_INT - 1)],
    ids=["nothing is above the largest", "nothing is below the smallest"],
)
def test_a_bound_beyond_all_integers_leaves_nothing(operator: str, number: int) -> None:
    """Gt of the largest integer is DoesNotExist, and so is Lt of the smallest."""
    one = requirement("k", operator, [str(number)])
    assert one.operator is Operator.DOES_NOT_EXIST
    assert not one


@given(NUMBERS, NUMBERS, st.none() | st.integers(1, 3))
def test_crossed_bounds_leave_nothing_but_min_values(
    low: int, high: int, at_least: int | None
) -> None:
    """Bounds that cross make DoesNotExist, and minValues is kept."""
    one = requirement("k", "Gte", [str(low)], at_least) & requirement("k", "Lte", [str(high)])
    assert bool(one) == (low <= high)
    assert one.min_values == at_least


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param([("In", "ab"), ("In", "bc")], ("In", {"b"}), id="two In meet"),
        pytest.param([("In", "ab"), ("NotIn", "a")], ("In", {"b"}), id="NotIn takes away from In"),
        pytest.param([("NotIn", "a"), ("NotIn", "b")], ("NotIn", {"a", "b"}), id="NotIn add up"),
        pytest.param([("Exists", ""), ("In", "a")], ("In", {"a"}), id="Exists is neutral"),
        pytest.param([("DoesNotExist", ""), ("In", "a")], ("DoesNotExist", set()), id="none left"),
        pytest.param([("In", "a"), ("In", "b")], ("DoesNotExist", set()), id="disjoint In"),
        pytest.param(
            [("In", "a1"), ("Gt", "0")], ("In", {"1"}), id="a bound drops what is outside"
        ),
    ],
)
def test_the_table_of_intersections(
    said: list[tuple[str, str]], want: tuple[str, set[str]]
) -> None:
    """The operator that describes an intersection, and its values."""
    held = requirement("k", "Exists")
    for operator, values in said:
        held = held & requirement("k", operator, list(values))
    assert (held.operator, set(held.values)) == want


@given(narrowed())
def test_what_is_written_down_reads_back_the_same(one: Requirement) -> None:
    """The wire form states the same set: no bound, no excluded value and no minValues is lost."""
    back = Requirements(
        [requirement(key, operator, values, least) for key, operator, values, least in one.wire()]
    )["k"]
    assert [back.has(value) for value in VALUES] == [one.has(value) for value in VALUES]
    assert back.min_values == one.min_values
    assert back.admits(None) == one.admits(None)


@given(narrowed(), narrowed())
def test_the_sort_key_tells_different_requirements_apart(a: Requirement, b: Requirement) -> None:
    """Output order never depends on hashing: equal keys mean equal requirements."""
    assert (a.sort_key() == b.sort_key()) == (a == b)


@given(sides(), sides())
def test_intersecting_sides_is_symmetric(a: Requirements, b: Requirements) -> None:
    """Whether two sides leave room for one node does not depend on who asks."""
    assert a.intersects(b) == b.intersects(a)


@given(sides(), sides())
def test_compatible_sides_intersect(node: Requirements, pod: Requirements) -> None:
    """A node side that serves a pod leaves room for both, however lenient the question."""
    if node.compatible(pod):
        assert node.compatible(pod, allow_undefined=True)
    if node.compatible(pod, allow_undefined=True):
        assert node.intersects(pod)


@given(st.dictionaries(st.sampled_from(["k", "m"]), st.sampled_from(VALUES)), sides())
def test_a_labelled_node_is_compatible_exactly_when_each_expression_admits_it(
    carried: dict[str, str], pod: Requirements
) -> None:
    """On definite labels the algebra and kube-scheduler's per-label rule agree."""
    want = all(one.admits(carried.get(key)) for key, one in pod.items())
    assert Requirements.of_labels(carried).compatible(pod) == want


@pytest.mark.parametrize(
    ("node", "pod", "strict", "lenient"),
    [
        pytest.param([], [("k", "In", "a")], False, False, id="a custom label must be defined"),
        pytest.param([], [(labels.ZONE, "In", "a")], False, True, id="a well-known one may come"),
        pytest.param([], [("k", "NotIn", "a")], True, True, id="absence satisfies NotIn"),
        pytest.param([("k", "In", "a")], [], True, True, id="pods without wishes go anywhere"),
        pytest.param(
            [("k", "DoesNotExist", "")], [("k", "NotIn", "a")], True, True, id="both accept absence"
        ),
        pytest.param(
            [("k", "DoesNotExist", "")], [("k", "Exists", "")], False, False, id="one insists"
        ),
    ],
)
def test_direction_matters(
    node: list[tuple[str, str, str]],
    pod: list[tuple[str, str, str]],
    strict: bool,  # noqa: FBT001  a table column
    lenient: bool,  # noqa: FBT001  a table column
) -> None:
    """The node side must define what the pod side asks for, but not the other way round."""
    ours = Requirements([requirement(key, op, list(values)) for key, op, values in node])
    theirs = Requirements([requirement(key, op, list(values)) for key, op, values in pod])
    assert ours.compatible(theirs) is strict
    assert ours.compatible(theirs, allow_undefined=True) is lenient


def test_a_bound_takes_exactly_one_integer() -> None:
    """Two values, none, or text are refused with a message that names the key."""
    for values in (["1", "2"], [], ["one"], ["1.5"], [str(MAX_INT + 1)]):
        with pytest.raises(ValueError, match="k: Gt takes exactly one integer"):
            requirement("k", "Gt", values)


def test_old_spellings_of_a_key_mean_the_new_one() -> None:
    """A deprecated label key is the same requirement as its successor."""
    assert requirement("beta.kubernetes.io/arch", "In", ["amd64"]).key == labels.ARCH
