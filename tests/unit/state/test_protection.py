"""PodDisruptionBudgets: what they allow, by status or by counting."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import NOTHING, equality

Freeze = Callable[[str], Snapshot]


def pod(name: str, *, node: str = "n", label: str = "a", meta: str = "", ready: str = "") -> str:
    """A pod that the budget may select."""
    conditions = f"conditions: [{{type: Ready, status: '{ready}'}}]" if ready else ""
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {label}}}, "
        f"{meta}}}\nspec: {{nodeName: '{node}', containers: [{{name: c}}]}}\n"
        f"status: {{{conditions}}}\n"
    )


def budget(spec: str, status: str = "", selector: str = "selector: {matchLabels: {app: a}}") -> str:
    """A budget over app=a."""
    return (
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
        f"spec: {{{spec}{selector}}}\n{status}\n"
    )


FOUR = "".join(pod(f"p{at}") for at in range(4))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(FOUR + budget("minAvailable: 3, "), 1, id="at least so many"),
        pytest.param(FOUR + budget("minAvailable: 50%, "), 2, id="at least a share"),
        pytest.param(FOUR + budget("minAvailable: 60%, "), 1, id="a share is rounded up"),
        pytest.param(FOUR + budget("maxUnavailable: 1, "), 1, id="at most so many away"),
        pytest.param(FOUR + budget("maxUnavailable: 30%, "), 2, id="a share away, rounded up"),
        pytest.param(FOUR + budget("maxUnavailable: 0, "), 0, id="none away"),
        pytest.param(FOUR + budget("minAvailable: 9, "), 0, id="more than there are"),
        pytest.param(
            FOUR + pod("late", node="") + budget("maxUnavailable: 2, "),
            1,
            id="a waiting pod is already away",
        ),
        pytest.param(
            FOUR + pod("sick", ready="False") + budget("maxUnavailable: 2, "),
            1,
            id="so is one that is not ready",
        ),
        pytest.param(
            FOUR + pod("other", label="z") + budget("minAvailable: 4, "),
            0,
            id="others do not count",
        ),
        pytest.param(
            FOUR + budget("minAvailable: 4, ", "status: {disruptionsAllowed: 7}"),
            7,
            id="a status is taken as given",
        ),
    ],
)
def test_a_budget_allows_what_its_controller_would_count(
    freeze: Freeze, text: str, want: int
) -> None:
    """Healthy pods beyond those that must stay."""
    assert freeze(text).disruption_budgets[0].disruptions_allowed == want


def test_a_budget_keeps_what_it_states(freeze: Freeze) -> None:
    """Numbers and shares stay as written, for those who ask why."""
    text = budget("minAvailable: 1, maxUnavailable: 10%, unhealthyPodEvictionPolicy: AlwaysAllow, ")
    assert freeze(text).disruption_budgets == (
        DisruptionBudget("b", "default", equality({"app": "a"}), 0, "1", "10%", True),
    )


def test_a_budget_without_a_selector_selects_nothing(freeze: Freeze) -> None:
    """Only an empty selector selects everything."""
    [none] = freeze(budget("minAvailable: 1", selector="")).disruption_budgets
    [everything] = freeze(budget("minAvailable: 1, ", selector="selector: {}")).disruption_budgets
    assert none.selector == NOTHING
    assert everything.selector.matches({"any": "label"})


def test_how_many_pods_there_should_be_is_known(freeze: Freeze) -> None:
    """As its controller says, or by counting."""
    [counted] = freeze(FOUR + budget("minAvailable: 4, ")).disruption_budgets
    assert counted.expected_pods == 4
    [told] = freeze(
        FOUR + budget("minAvailable: 4, ", "status: {expectedPods: 7}")
    ).disruption_budgets
    assert told.expected_pods == 7
