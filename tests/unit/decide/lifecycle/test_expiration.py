from __future__ import annotations

import pytest

from dovetail.decide.lifecycle import running
from dovetail.decide.lifecycle.step import STAY, DeleteClaim, Step
from dovetail.model.claim import ClaimObject
from tests.unit.decide.lifecycle.claims import BORN, HOUR, SECOND, claim


def test_a_claim_goes_at_the_end_of_its_life() -> None:
    """Not a second earlier."""
    one = claim(expire_after=HOUR)
    assert running.expiration_step(one, BORN + HOUR - SECOND) == Step(look_again_at=BORN + HOUR)
    want = Step(actions=(DeleteClaim("one", "uid-1", "expired"),))
    assert running.expiration_step(one, BORN + HOUR) == want


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(claim(expire_after=None), id="it never expires"),
        pytest.param(claim(expire_after=HOUR, deleting_at=BORN), id="it goes already"),
        pytest.param(claim(expire_after=HOUR, created_at=None), id="its age is unknown"),
    ],
)
def test_some_claims_do_not_expire(one: ClaimObject) -> None:
    """And need not be looked at again."""
    assert running.expiration_step(one, BORN + 1000 * HOUR) == STAY
