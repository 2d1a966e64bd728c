"""How does a planned node come to be ordered exactly once? By a name that is ours alone.

A claim carries a mark of the run that made it. When the API does not say whether it took a claim
(the connection broke, the server failed), the claim is looked up by its name: if it has our mark,
it is the one.
"""

from __future__ import annotations

from itertools import count
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.clock import Timer
from dovetail.kube.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from dovetail.kube.seam import Body, Json, Kube, Ref
from dovetail.model.backoff import Backoff, Chance

NODE_CLAIM: Final = api.KINDS["karpenter.sh", "NodeClaim"]
_BACKOFF: Final = Backoff(0.5, 10.0)


class TakenNameError(ApiError):
    """Somebody else has a claim of that name. The next plan has other names."""


class Orders:
    """Makes NodeClaims. `mark` tells this run of the program from every other."""

    def __init__(self, kube: Kube, *, mark: str, timer: Timer, chance: Chance) -> None:
        self._kube = kube
        self._mark = mark
        self._timer = timer
        self._chance = chance

    async def place(self, body: Body) -> msgspec.Raw:
        """Make the claim, and return it as the API has it. Raises ApiError if there is none for
        certain; as long as that is not certain, it asks.
        """
        marked = self._marked(body)
        name = _name(marked)
        for n_failed in count(1):
            try:
                return await self._made(name, marked)
            except (UnavailableError, TooManyRequestsError):
                await self._timer.sleep(_BACKOFF.seconds(n_failed, self._chance))
        raise AssertionError  # counting does not end

    async def _made(self, name: str, body: Body) -> msgspec.Raw:
        try:
            return await self._kube.create(NODE_CLAIM, body)
        except AlreadyExistsError:
            found = await self._found(name)
        claim = api.read(NODE_CLAIM, found)
        if claim.metadata.annotations.get(labels.MADE_BY_RUN) == self._mark:
            return found
        msg = f"there is another NodeClaim {name}"
        raise TakenNameError(409, "AlreadyExists", msg)

    async def _found(self, name: str) -> msgspec.Raw:
        try:
            return await self._kube.get(Ref(NODE_CLAIM, name))
        except NotFoundError as error:
            msg = f"NodeClaim {name} is gone again"
            raise TakenNameError(409, error.reason, msg) from None

    def _marked(self, body: Body) -> dict[str, Json]:
        meta = body["metadata"]
        held = dict(meta) if isinstance(meta, dict) else {}
        annotations = held.get("annotations")
        own: dict[str, Json] = {labels.MADE_BY_RUN: self._mark}
        held["annotations"] = (annotations if isinstance(annotations, dict) else {}) | own
        return {**body, "metadata": held}


def _name(body: Body) -> str:
    meta = body["metadata"]
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else ""
