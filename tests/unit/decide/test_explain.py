from __future__ import annotations

from string import Formatter

import pytest

from dovetail.decide.explain import WORDINGS, clause, say, sentence
from dovetail.model.verdict import Reason


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    """A general sentence without blanks, a template that can be filled in, and a short clause."""
    assert sentence(reason).endswith(".")
    assert "{" not in sentence(reason)
    blanks = {name: "X" for _, name, _, _ in Formatter().parse(WORDINGS[reason].template) if name}
    assert say(reason, **blanks).endswith(".")
    assert len(clause(reason)) < 40


def test_a_reason_from_elsewhere_is_its_own_sentence() -> None:
    """Providers may have reasons of their own."""
    assert sentence("QuotaExceeded") == "QuotaExceeded"
    assert clause("QuotaExceeded") == "QuotaExceeded"
