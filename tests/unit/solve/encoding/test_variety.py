from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.solve.encoding.variety import are_met, demands, gather
from dovetail.testing.builders import instance_type, node_pool

TYPES = (
    instance_type("a1", labels={"family": "a"}),
    instance_type("a2", labels={"family": "a"}),
    instance_type("b1", labels={"family": "b"}, zones=("a",)),
    instance_type("c1", labels={"family": "c"}, zones=()),
)


def insisting(*wanted: tuple[str, int]) -> NodePool:
    """A pool with these minValues."""
    said = [{"requirement": f"{one} Exists", "min_values": n} for one, n in wanted]
    return node_pool(requirements=said)


def test_a_pool_without_min_values_asks_for_nothing() -> None:
    """Most pools do not say minValues, and any types meet that."""
    assert demands(node_pool(requirements=["zone In a"]), TYPES) == ()
    assert are_met((), [])


def test_the_first_type_is_kept_and_types_that_bring_nothing_are_skipped() -> None:
    """Two families: the second type of the first family is of no use."""
    wanted = demands(insisting(("family", 2)), TYPES)
    assert gather(wanted, [0, 1, 2, 3]) == [0, 2]
    assert gather(wanted, [1, 0, 2, 3]) == [0, 2]


def test_all_keys_count_at_once() -> None:
    """Three types of two families need a type more than either alone."""
    wanted = demands(insisting(("family", 2), ("instance-type", 3)), TYPES)
    assert gather(wanted, [0, 1, 2]) == [0, 1, 2]
    assert not are_met(wanted, [0, 1])
    assert not are_met(wanted, [0, 2])
    assert are_met(wanted, [2, 0, 1])


def test_one_type_brings_every_value_it_states() -> None:
    """A type sold in three zones brings three zones, one sold nowhere brings none."""
    wanted = demands(insisting(("zone", 3)), TYPES)
    assert gather(wanted, [0]) == [0]
    assert gather(wanted, [2]) is None
    assert gather(wanted, [3, 2]) is None


def test_too_few_values_are_no_choice() -> None:
    """There are only three families."""
    wanted = demands(insisting(("family", 4)), TYPES)
    assert gather(wanted, [0, 1, 2, 3]) is None


@pytest.mark.parametrize(
    ("values", "want"),
    [
        pytest.param({"a1", "b1"}, True, id="allowed values count"),
        pytest.param({"a1", "d1"}, False, id="values of no type do not"),
    ],
)
def test_only_values_that_the_pool_allows_count(values: set[str], want: bool) -> None:  # noqa: FBT001  a column of the table
    """minValues belongs to a requirement, and counts within it."""
    said = Requirement(labels.INSTANCE_TYPE, False, frozenset(values), min_values=2)
    wanted = demands(NodePool("default", requirements=(said,)), TYPES)
    assert are_met(wanted, range(len(TYPES))) is want


def test_of_several_min_values_on_one_key_the_largest_counts() -> None:
    """Requirements on one key are one requirement."""
    wanted = demands(insisting(("family", 1), ("family", 3)), TYPES)
    assert [one.least for one in wanted] == [3]
