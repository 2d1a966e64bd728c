"""Which selectors mean an object, looked up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.decide.pdbs import Selectors
from dovetail.model.requirements import Operator, requirement
from dovetail.model.topology import NOTHING, LabelSelector

KEYS = st.sampled_from("abc")
VALUES = st.sampled_from("xyz")
EXPRESSIONS = st.builds(
    requirement,
    KEYS,
    st.sampled_from((Operator.IN, Operator.NOT_IN)),
    st.lists(VALUES, min_size=1, unique=True).map(tuple),
) | st.builds(
    requirement, KEYS, st.sampled_from((Operator.EXISTS, Operator.DOES_NOT_EXIST)), st.just(())
)
SELECTORS = st.just(NOTHING) | st.lists(EXPRESSIONS, max_size=3).map(
    lambda found: LabelSelector(tuple(found))
)


@given(st.lists(SELECTORS, max_size=8), st.dictionaries(KEYS, VALUES))
def test_looked_up_are_just_those_that_match(
    selectors: list[LabelSelector], labels: dict[str, str]
) -> None:
    """In the order in which they were given, each once."""
    held = Selectors((one, number) for number, one in enumerate(selectors))
    assert held.matches(labels) == [
        number for number, one in enumerate(selectors) if one.matches(labels)
    ]
