"""Each matcher about nodes that go can fail, and says what it missed."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from dovetail.model.ledger import Proposal
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.verdict import Blocked, Blocker
from dovetail.testing import Want, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = Plan(
    disruptions=(Disrupt("Empty", ("a", "b"), saving_nanousd=100_000_000),),
    proposals=(Proposal("Empty", "a", NOW), Proposal("Empty", "b", NOW)),
    blocked=(Blocked("c", Blocker.NEVER, "Its pool keeps it."),),
    wake_at=NOW,
)
RIGHT: dict[str, object] = {
    "disruptions": [{"nodes": ["a", "b"], "saving": 0.1}],
    "proposals": ["b", "a"],
    "blocked": {"c": {"reason": "ConsolidateAfterNever", "says": "keeps"}},
    "wake_at": "2026-01-01T00:00:00Z",
}


def differences(**words: object) -> list[str]:
    """What differs between the plan above and these words."""
    return msgspec.convert({**RIGHT, **words}, Want).differences(snapshot(), PLAN)


def test_what_is_wanted_and_got_differs_in_nothing() -> None:
    """A reason alone is enough for a node that stays."""
    assert differences() == []
    assert differences(blocked={"c": "ConsolidateAfterNever"}) == []


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({"disruptions": None}, id="what is not listed must stay"),
        pytest.param({"disruptions": [{"nodes": ["b", "a"]}]}, id="order"),
        pytest.param({"disruptions": [{"nodes": ["a", "b"], "saving": 0.2}]}, id="saving"),
        pytest.param({"disruptions": [{"nodes": ["a", "b"], "reason": "Drifted"}]}, id="reason"),
        pytest.param({"proposals": ["a"]}, id="proposals"),
        pytest.param({"blocked": {}}, id="nobody is kept"),
        pytest.param({"blocked": {"c": "Nominated"}}, id="another blocker"),
        pytest.param(
            {"blocked": {"c": {"reason": "ConsolidateAfterNever", "says": "lets go"}}},
            id="other words",
        ),
        pytest.param({"wake_at": "2026-01-01T00:00:01Z"}, id="another moment"),
    ],
)
def test_what_is_wanted_and_not_got_is_told(words: dict[str, object]) -> None:
    """One line for each."""
    assert len(differences(**words)) == 1
