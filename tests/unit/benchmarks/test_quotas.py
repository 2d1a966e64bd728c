from __future__ import annotations

import pytest

from benchmarks.quotas import Quotas
from benchmarks.seeds import seeded


def test_shares_hold_although_a_few_draws_are_large() -> None:
    """One draw of a fiftieth of everything does not tip a share of 5 %."""
    chance = seeded("quotas", 1)
    quotas = Quotas({"rare": 5, "common": 40})
    n_pods = dict.fromkeys(("rare", "common", ""), 0)
    for size in [400, 1, 3, 1, 100, 2, 1, 50] * 50:
        kind = quotas.draw(size, chance)
        quotas.count(kind, size)
        n_pods[kind] += size
    total = sum(n_pods.values())
    percents = {kind: 100 * count / total for kind, count in n_pods.items()}
    assert percents == pytest.approx({"rare": 5, "common": 40, "": 55}, abs=2)


def test_a_kind_ahead_of_its_share_is_not_drawn() -> None:
    """What was booked counts against it."""
    quotas = Quotas({"spread": 10})
    quotas.count("spread", 50)
    chance = seeded("quotas", 2)
    assert {quotas.draw(10, chance) for _ in range(50)} == {""}
