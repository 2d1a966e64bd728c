"""Which budgets are about a pod, and which never let it go."""

from __future__ import annotations

import pytest

from dovetail.decide.pdbs import is_kept_for_ever, never_allows, pdbs_of, share
from dovetail.model.snapshot import DisruptionBudget
from dovetail.model.topology import equality
from dovetail.testing import pod

WEB = equality({"app": "web"})


def budget(**fields: object) -> DisruptionBudget:
    """A budget over pods of web."""
    return DisruptionBudget(**{"name": "b", "namespace": "default", "selector": WEB, **fields})  # type: ignore[arg-type]  # fields are what the test says


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"max_unavailable": "0"}, True, id="none may be away"),
        pytest.param({"max_unavailable": "0%"}, True, id="no share may be away"),
        pytest.param({"min_available": "100%"}, True, id="all are needed"),
        pytest.param({"min_available": "1"}, False, id="nobody knows how many there are"),
        pytest.param({"min_available": "1", "expected_pods": 1}, True, id="one of one"),
        pytest.param({"min_available": "1", "expected_pods": 2}, False, id="one of two"),
        pytest.param({"min_available": "3", "expected_pods": 2}, True, id="more than there are"),
        pytest.param({"min_available": "90%", "expected_pods": 9}, True, id="rounded up to all"),
        pytest.param({"min_available": "90%", "expected_pods": 10}, False, id="nine of ten"),
        pytest.param({"max_unavailable": "1%", "expected_pods": 9}, False, id="rounded up to one"),
        pytest.param({"expected_pods": 1}, False, id="it says nothing"),
        pytest.param({"min_available": "some", "expected_pods": 1}, False, id="it makes no sense"),
    ],
)
def test_a_budget_that_wants_all_pods_never_lets_one_go(
    fields: dict[str, object],
    want: bool,  # noqa: FBT001  parametrized
) -> None:
    """Said outright or by numbers."""
    assert never_allows(budget(**fields)) is want


def test_a_pod_that_can_never_be_evicted_is_known() -> None:
    """One budget that never allows it, or two whatever they say."""
    web = pod("a", labels={"app": "web"}, node="n")
    ill = pod("a", labels={"app": "web"}, node="n", is_ready=False)
    single = budget(min_available="1", expected_pods=1)
    lenient = budget(min_available="1", expected_pods=1, always_allows_unhealthy=True)
    assert is_kept_for_ever(web, (single,))
    assert is_kept_for_ever(web, (lenient,))
    assert not is_kept_for_ever(ill, (lenient,))
    assert not is_kept_for_ever(web, (budget(min_available="1", expected_pods=2),))
    assert is_kept_for_ever(web, (budget(), budget(name="c")))
    assert not is_kept_for_ever(pod("a", namespace="other", labels={"app": "web"}), (single,))


def test_only_budgets_of_its_namespace_are_about_a_pod() -> None:
    """By name."""
    web = pod("a", labels={"app": "web"})
    other = budget(name="other", selector=equality({"app": "db"}))
    budgets = (budget(name="z"), budget(name="a"), budget(name="n", namespace="n"), other)
    assert [one.name for one in pdbs_of(web, budgets)] == ["a", "z"]


def test_a_share_is_a_number_or_a_percentage() -> None:
    """Percentages are rounded up, as their controller does."""
    assert [share(text, 5) for text in ("3", "50%", "0", "", "x%")] == [3, 3, 0, 0, 0]
