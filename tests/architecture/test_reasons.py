"""No reason without a sentence, and none that no scenario shows."""

from __future__ import annotations

from pathlib import Path

from dovetail.decide.explain import WORDINGS
from dovetail.model.verdict import Blocker, Reason

ROOT = Path(__file__).parents[2]


def test_every_reason_has_its_sentences() -> None:
    """Whoever adds a reason says it in words."""
    assert set(WORDINGS) == set(Reason)


def test_every_reason_is_shown_by_a_scenario() -> None:
    """A reason that no scenario wants could be wrong without anybody noticing."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scenarios").rglob("*.yaml")]
    wanted = " ".join(text.partition("\nwant:")[2] for text in texts)
    assert sorted(reason for reason in Reason if reason not in wanted) == []


def test_every_blocker_is_shown_by_a_scenario() -> None:
    """But for the one that depends on how much is looked at."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scenarios").rglob("*.yaml")]
    wanted = " ".join(text.partition("\nwant:")[2] for text in texts)
    unspoken = {Blocker.NOT_LOOKED_AT}
    assert sorted(one for one in Blocker if one not in wanted and one not in unspoken) == []
