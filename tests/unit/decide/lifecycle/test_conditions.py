from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.decide.lifecycle.conditions import (
    AWAITING,
    CLAIM_DEPENDENTS,
    CONSOLIDATABLE,
    INITIALIZED,
    LAUNCHED,
    RECONCILING,
    REGISTERED,
    ROOT,
    UNHEALTHY,
    ClearCondition,
    ConditionChange,
    Conditions,
    SetCondition,
    Status,
    again,
    complete,
    fail,
    hold,
    rfc3339,
    wait,
)
from dovetail.model.node import Condition
from tests.unit.decide.lifecycle.claims import BORN, MINUTE, NOW, SECOND

OTHERS = ("Consolidatable", "Drifted")
READY = tuple(map(hold, CLAIM_DEPENDENTS))


def fresh(*, generation: int = 1, is_deleting: bool = False) -> Conditions:
    """The conditions of a claim that nobody has looked at."""
    return complete(Conditions(CLAIM_DEPENDENTS, generation, BORN, is_deleting, ()), NOW)


def at_generation(held: Conditions, generation: int, *, is_deleting: bool = False) -> Conditions:
    """The same, of an object that has changed since."""
    return msgspec.structs.replace(held, generation=generation, is_deleting=is_deleting)


def root(held: Conditions) -> tuple[str, str, str]:
    """What the root says."""
    found = held.get(ROOT)
    assert found is not None
    return found.status, found.reason, found.message


def test_what_nobody_has_looked_at_is_unknown_since_the_object_was_made() -> None:
    """Dependents count from the creation, which is what timeouts are measured from."""
    held = fresh().held
    assert [one.type for one in held] == ["Initialized", "Launched", "Registered", "Ready"]
    assert {(one.status, one.reason) for one in held} == {("Unknown", AWAITING)}
    assert [one.changed_at for one in held] == [BORN, BORN, BORN, NOW]


def test_a_complete_set_is_left_as_it_is() -> None:
    """Looking changes nothing."""
    held = fresh().after(READY, NOW)
    assert complete(held, NOW + MINUTE) == held


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param(READY, ("True", "Ready", ""), id="all true"),
        pytest.param(
            (hold(LAUNCHED),),
            ("Unknown", RECONCILING, "Registered=Unknown, Initialized=Unknown"),
            id="some unknown",
        ),
        pytest.param(
            (hold(LAUNCHED), fail(REGISTERED, "MultipleNodesFound")),
            ("False", UNHEALTHY, "Registered=False, Initialized=Unknown"),
            id="one false, and the newest change first",
        ),
        pytest.param(
            (*READY, wait(LAUNCHED, "LaunchFailed")),
            ("Unknown", RECONCILING, "Launched=Unknown"),
            id="one unknown again",
        ),
    ],
)
def test_the_root_follows_from_what_it_depends_on(
    changes: tuple[ConditionChange, ...], want: tuple[str, str, str]
) -> None:
    """True if all are, False if one is, else Unknown, and its message names what is wanting."""
    assert root(fresh().after(changes, NOW)) == want


def test_what_was_said_of_an_older_generation_no_longer_counts() -> None:
    """A condition must be repeated for the present generation before the root believes it."""
    old = at_generation(fresh().after(READY, NOW), 2)
    partly = old.after((hold(LAUNCHED),), NOW)
    assert root(partly) == ("Unknown", RECONCILING, "Registered=True, Initialized=True")
    assert root(partly.after(READY, NOW)) == ("True", "Ready", "")


def test_a_failure_of_an_older_generation_makes_the_root_unknown() -> None:
    """It may have been mended since."""
    old = at_generation(fresh().after((fail(REGISTERED, "X"),), NOW), 2)
    assert root(old.after((hold(LAUNCHED),), NOW))[0] == "Unknown"


def test_the_conditions_of_an_object_that_goes_all_belong_to_its_last_generation() -> None:
    """Nobody repeats them any more."""
    old = at_generation(fresh().after(READY, NOW), 2, is_deleting=True)
    held = old.after((hold("InstanceTerminating"),), NOW)
    assert {one.observed_generation for one in held.held} == {2}
    assert root(held)[0] == "True"


def test_a_condition_is_dated_by_its_status_alone() -> None:
    """A new reason or message does not move the time; a new status does."""
    held = fresh().after((wait(LAUNCHED, "LaunchFailed", "no"),), NOW)
    assert held.changed_at(LAUNCHED) == BORN
    assert held.after((hold(LAUNCHED),), NOW).changed_at(LAUNCHED) == NOW


def test_times_are_kept_to_the_second() -> None:
    """As Kubernetes stores them: what was written reads back the same."""
    held = fresh().after((hold(LAUNCHED),), NOW + timedelta(milliseconds=700))
    assert held.changed_at(LAUNCHED) == NOW


def test_what_informs_only_can_be_cleared_and_what_the_root_needs_cannot() -> None:
    """Clearing a dependent would be a mistake in the program."""
    held = fresh().after((hold(CONSOLIDATABLE),), NOW)
    assert held.after((ClearCondition(CONSOLIDATABLE),), NOW).get(CONSOLIDATABLE) is None
    for condition in (ROOT, *CLAIM_DEPENDENTS):
        with pytest.raises(ValueError, match=f"{condition} cannot be cleared"):
            held.after((ClearCondition(condition),), NOW)


def test_a_strange_status_counts_as_unknown() -> None:
    """Whatever a cluster contains, there is an answer."""
    held = msgspec.structs.replace(fresh(), held=(Condition(LAUNCHED, "Perhaps"),))
    assert held.status(LAUNCHED) is Status.UNKNOWN
    assert held.status(REGISTERED) is None
    assert held.changed_at(LAUNCHED) == BORN


def test_words_that_the_api_would_refuse_are_made_fit() -> None:
    """A provider may give any reason and any message; the claim must be written all the same."""
    held = fresh().after((wait(LAUNCHED, "not a reason", "x" * 40000),), NOW).get(LAUNCHED)
    assert held is not None
    assert (held.reason, len(held.message)) == ("Launched", 32768)


def test_saying_the_same_again_stamps_the_generation_and_nothing_else() -> None:
    """So that a new generation is believed without a new date."""
    held = fresh().after((hold(LAUNCHED),), NOW)
    said = held.get(LAUNCHED)
    assert said is not None
    later = at_generation(held, 3).after((again(said),), NOW + MINUTE).get(LAUNCHED)
    assert later == msgspec.structs.replace(said, observed_generation=3)


CHANGES = st.lists(
    st.one_of(
        st.builds(
            SetCondition,
            st.sampled_from((*CLAIM_DEPENDENTS, *OTHERS)),
            st.sampled_from(Status),
            st.sampled_from(("A", "B")),
            st.sampled_from(("", "words")),
        ),
        st.builds(ClearCondition, st.sampled_from(OTHERS)),
    ),
    max_size=12,
)


def told(changes: list[ConditionChange]) -> tuple[Conditions, datetime]:
    """All of it, one a second."""
    held, now = fresh(generation=2), NOW
    for change in changes:
        now += SECOND
        held = held.after((change,), now)
    return held, now


@given(CHANGES)
def test_a_set_of_conditions_is_always_complete_ordered_and_rooted(
    changes: list[ConditionChange],
) -> None:
    """One of each, by time, the root last and true exactly if all that it depends on is."""
    held, _ = told(changes)
    types = [one.type for one in held.held]
    assert len(set(types)) == len(types)
    assert set(types) >= {ROOT, *CLAIM_DEPENDENTS}
    assert types[-1] == ROOT
    times = [one.changed_at for one in held.held[:-1] if one.changed_at]
    assert times == sorted(times)
    is_all_true = all(held.is_true(one) for one in CLAIM_DEPENDENTS)
    assert held.is_true(ROOT) == is_all_true
    has_failed = any(held.status(one) is Status.FALSE for one in CLAIM_DEPENDENTS)
    assert (held.status(ROOT) is Status.FALSE) == has_failed


@given(CHANGES)
def test_saying_it_all_once_more_changes_no_date(changes: list[ConditionChange]) -> None:
    """What is so already is not written again."""
    held, now = told(changes)
    repeated = [again(one) for one in held.held if one.type != ROOT]
    after = held.after(repeated, now + MINUTE)
    assert after.held[:-1] == held.held[:-1]
    assert after.held[-1].changed_at == held.held[-1].changed_at


@given(CHANGES, st.booleans())
def test_dates_never_run_back(changes: list[ConditionChange], is_deleting: bool) -> None:  # noqa: FBT001  drawn by hypothesis
    """A condition's date is the moment of its last turn, never later and never undone."""
    held, now = fresh(is_deleting=is_deleting), NOW
    for change in changes:
        before, now = held, now + SECOND
        held = held.after((change,), now)
        for one in held.held:
            if one.type not in {change.type, ROOT}:
                assert one.changed_at == before.changed_at(one.type)
            assert one.changed_at is not None
            assert one.changed_at <= now


def test_initialized_alone_does_not_make_ready() -> None:
    """Each dependent counts."""
    assert not fresh().after((hold(INITIALIZED),), NOW).is_true(ROOT)


def test_times_are_written_in_utc() -> None:
    """To the second."""
    moment = datetime(2026, 1, 1, 2, tzinfo=UTC) + timedelta(milliseconds=999)
    assert rfc3339(moment) == "2026-01-01T02:00:00Z"
