from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from dovetail.decide.sieve.typesets import Ladder, TypeTable, bits, index_labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirements, requirement


@given(st.lists(st.integers(-3, 9), max_size=12), st.integers(-5, 11), st.integers(0, 2**12 - 1))
def test_a_ladder_answers_as_counting_would(amounts: list[int], asked: int, among: int) -> None:
    """At least, at most, largest and smallest, each against the plain way."""
    ladder = Ladder(amounts)
    among &= ladder.everyone
    chosen = [amounts[at] for at in bits(among)]
    assert list(bits(ladder.at_least(asked))) == [
        at for at, amount in enumerate(amounts) if amount >= asked
    ]
    assert list(bits(ladder.at_most(asked))) == [
        at for at, amount in enumerate(amounts) if amount <= asked
    ]
    assert ladder.largest(among) == max(chosen, default=0)
    assert ladder.smallest(among) == min(chosen, default=0)


def test_an_index_knows_values_open_ends_and_absence() -> None:
    """Several values: any of them; Exists: whatever is asked; nothing, or DoesNotExist: absent."""
    index = index_labels(
        [
            (requirement("k", "In", ["a", "b"]),),
            (requirement("k", "NotIn", ["a"]),),
            (requirement("k", "DoesNotExist"),),
            (),
        ]
    )
    assert list(bits(index.rows_with((requirement("k", "In", ["a"]),)))) == [0]
    assert list(bits(index.rows_with((requirement("k", "In", ["b"]),)))) == [0, 1]
    assert list(bits(index.absent)) == [2, 3]


def test_a_type_without_an_attach_limit_takes_any_number_of_volumes() -> None:
    """Only limits that are known hold."""
    limited = InstanceType("a", Requirements(), {}, {}, (), {"csi": 2})
    free = InstanceType("b", Requirements(), {}, {}, ())
    table = TypeTable((limited, free))
    assert list(bits(table.attachable("csi", 2))) == [0, 1]
    assert list(bits(table.attachable("csi", 3))) == [1]


def test_an_offering_that_does_not_fix_a_label_has_its_types() -> None:
    """Only what the offering says itself overrides its type."""
    plain = Offering("z", "spot", 1, Requirements())
    special = Offering("z", "spot", 1, Requirements([requirement("k", "In", ["b"])]))
    own = Requirements([requirement("k", "In", ["a", "b"])])
    table = TypeTable((InstanceType("t", own, {}, {}, (plain, special)),))
    index = table.row_index("k")
    assert list(bits(index.rows_with((requirement("k", "In", ["a"]),)))) == [0]
    assert list(bits(index.rows_with((requirement("k", "In", ["b"]),)))) == [0, 1]
