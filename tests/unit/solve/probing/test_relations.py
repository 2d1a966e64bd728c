"""Laws of relations: terms find those that they select, and no others."""

from __future__ import annotations

from dovetail.model.requirements import Operator, requirement
from dovetail.model.topology import NOTHING, LabelSelector, equality
from dovetail.solve.encoding.terms import ProfileIndex, Term, TermKind
from dovetail.solve.probing.relations import Anchors
from tests.unit.solve.puzzles import lottery

KEYS = ("app", "tier")
VALUES = (None, "a", "b", "c")
SPACES = ("default", "other")
PROFILES = [(space, (app, tier)) for space in SPACES for app in VALUES for tier in VALUES]


def terms(n_terms: int) -> list[Term]:
    """All kinds of selectors."""
    chance = lottery(7)
    found = []
    for _ in range(n_terms):
        said = [
            requirement(
                chance.choice(KEYS),
                chance.choice((Operator.IN, Operator.NOT_IN)),
                chance.sample(("a", "b", "c"), k=chance.randint(1, 2)),
            )
            for _ in range(chance.randint(0, 2))
        ]
        said += [requirement("app", Operator.EXISTS, ())] if chance.random() < 0.2 else []
        spaces = tuple(sorted(chance.sample(SPACES, k=chance.randint(1, 2))))
        found.append(Term(TermKind.ANTI, "zone", LabelSelector(tuple(said)), spaces))
    return found


def test_whom_a_term_selects_is_selected_by_it() -> None:
    """Looked up from either side, the answer is the same."""
    given = terms(80)
    anchors, index = Anchors(given, KEYS), ProfileIndex(PROFILES, KEYS)
    n_selected = 0
    for number, profile in enumerate(PROFILES):
        want = [
            place for place, term in enumerate(given) if number in index.selected_profiles(term)
        ]
        assert anchors.numbers(profile) == want
        assert anchors.terms_selecting(profile) == [given[place] for place in want]
        n_selected += len(want)
    assert 200 < n_selected < len(PROFILES) * len(given) // 2


def test_ports_and_empty_selectors_select_nobody_by_label() -> None:
    """Whatever labels there are."""
    nobody = Term(TermKind.ANTI, "zone", NOTHING, ("default",))
    port = Term(TermKind.PORT, "zone", equality({"app": "a"}), ("default",))
    assert all(not Anchors([nobody, port], KEYS).numbers(one) for one in PROFILES)
