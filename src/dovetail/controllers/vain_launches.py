"""A launch failed and nobody said what cannot be had: when is it tried again?

The claim is gone, its pods are planned for anew, and the same claim would be made again at once,
and again. So whatever would have served it is left alone for a while, ever longer while that goes
on, but by its pool only: other pools may well deliver.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.cloud.price_list import PriceList
from dovetail.controllers.known import Known
from dovetail.model.backoff import Backoff
from dovetail.model.claim import ClaimObject
from dovetail.state.changes import Refused

_REST: Final = Backoff(5.0, 180.0)
_FORGOTTEN_AFTER: Final = timedelta(minutes=10)


class _Rest(msgspec.Struct, frozen=True, gc=False):
    n_rounds: int
    until: datetime


class VainLaunches:
    """What each pool has tried in vain."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._rest_by_pool: dict[str, _Rest] = {}

    def note(self, claim: ClaimObject, now: datetime) -> None:
        """The launch for this claim failed, for a reason that names no offering."""
        pool, cluster = claim.node_pool, self._known.cluster
        rest = self._rest_by_pool[pool] = self._rest(pool, now)
        for choice in PriceList(cluster.instance_types(pool)).serving(claim):
            out = choice.sold_out
            cluster.apply(
                Refused(
                    out.instance_type,
                    out.zone,
                    out.capacity_type,
                    now,
                    node_pool=pool,
                    until=rest.until,
                )
            )

    def _rest(self, pool: str, now: datetime) -> _Rest:
        """What fails while the pool rests was begun before that: it is the same round."""
        held = self._rest_by_pool.get(pool)
        if held is None or now >= held.until + _FORGOTTEN_AFTER:
            return _Rest(1, _REST.again_at(now, 1))
        if now < held.until <= now + _REST.longest:  # the clock may have been set back
            return held
        return _Rest(held.n_rounds + 1, _REST.again_at(now, held.n_rounds + 1))
