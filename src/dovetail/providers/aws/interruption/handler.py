"""Acts on what is said about instances: marks offerings, announces ends, writes down and tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dovetail import labels
from dovetail.cloud.context import ProviderContext
from dovetail.decide.lifecycle.interruption import ending_event
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.seam import Kube
from dovetail.model.ending import InstanceEnding
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering
from dovetail.providers.aws.interruption.claims import (
    ENDING,
    REBALANCE,
    InstanceClaim,
    InstanceClaims,
)
from dovetail.providers.aws.interruption.endings import ENDED, ending_of, is_far_away, to_text
from dovetail.providers.aws.interruption.messages import Interruption, InterruptionKind
from dovetail.providers.aws.launching.reservations import ReservationCounts
from dovetail.providers.aws.launching.unavailable import UnavailableOfferings

_MARKING = frozenset({InterruptionKind.SPOT, InterruptionKind.RESERVATION})


class InterruptionHandler:
    """What follows from interruptions, however they are learned of."""

    def __init__(
        self,
        context: ProviderContext[Kube],
        unavailable: UnavailableOfferings,
        reservations: ReservationCounts,
        *,
        replaces_rebalanced: bool = False,
    ) -> None:
        self._context = context
        self._unavailable = unavailable
        self._reservations = reservations
        self._replaces_rebalanced = replaces_rebalanced
        self.claims = InstanceClaims(context.kube)

    async def act(
        self, interruption: Interruption, claims: Mapping[str, InstanceClaim]
    ) -> tuple[str, ...]:
        """Act for every instance that is ours; the UIDs of claims that are to be deleted for it.

        Raises ApiError.
        """
        awaited: list[str] = []
        for instance in interruption.instance_ids:
            claim = claims.get(instance)
            if claim is not None and await self._act_on(interruption, claim):
                awaited.append(claim.uid)
        return tuple(awaited)

    def recall(self, interruption: Interruption, claim: InstanceClaim) -> None:
        """Announce an end that the claim keeps."""
        self._context.announce(ending_of(interruption, claim, self._context.clock.now()))

    async def _act_on(self, interruption: Interruption, claim: InstanceClaim) -> bool:
        """Whether the claim is to be deleted for it, and is not yet."""
        kind, now = interruption.kind, self._context.clock.now()
        if kind is InterruptionKind.NOTHING:
            return False
        ending = ending_of(interruption, claim, now)
        if kind is InterruptionKind.REBALANCE:
            await self._recommend(ending, claim)
            return False
        if kind in _MARKING:
            self._mark(kind, claim)
        if claim.is_deleting:
            self._tell(ending, claim)
            if kind not in ENDED:
                self._context.announce(ending)  # it sets a limit to its drain
            return False
        if is_far_away(ending, now) and kind is not InterruptionKind.SCHEDULED_EVENT:
            # EC2 tells of scheduled events again and again; of a message there is one.
            await self.claims.annotate(claim, ENDING, to_text(interruption))
        self._context.announce(ending)
        return not is_far_away(ending, now)

    async def _recommend(self, ending: InstanceEnding, claim: InstanceClaim) -> None:
        """Tell it. The claim drifts by its annotation, where that is wanted."""
        self._tell(ending, claim)
        if (
            self._replaces_rebalanced
            and not claim.is_deleting
            and REBALANCE not in claim.annotations
        ):
            now = self._context.clock.now().isoformat(timespec="seconds")
            await self.claims.annotate(claim, REBALANCE, now)

    def _mark(self, kind: InterruptionKind, claim: InstanceClaim) -> None:
        """Launch nothing more where instances are being taken back."""
        if kind is InterruptionKind.SPOT:
            offering = claim.offering
            if offering.capacity_type == labels.SPOT:
                mark = UnavailableOffering(offering.instance_type, offering.zone, labels.SPOT)
                self._unavailable.mark(mark)
        else:
            self._reservations.exhaust(claim.labels.get(labels.RESERVATION_ID, ""))
        self._context.types_changed()

    def _tell(self, ending: InstanceEnding, claim: InstanceClaim) -> None:
        for event in _events(ending, claim):
            self._context.tell(event)


def _events(ending: InstanceEnding, claim: InstanceClaim) -> Iterator[Event]:
    yield ending_event("NodeClaim", claim.name, claim.uid, ending)
    if claim.node_name:
        yield ending_event("Node", claim.node_name, "", ending)
