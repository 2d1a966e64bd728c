"""Launches the instance of a claim: decides what to ask for, asks for it together with claims that
ask for the same, and takes down what came of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock, Timer
from dovetail.cloud.errors import CloudError, CreateError
from dovetail.errors import InputError
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube
from dovetail.model.claim import ClaimObject
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.launching.batching import Batcher, BatchWindow, SingleFlight
from dovetail.providers.aws.launching.class_catalogue import ClassCatalogue
from dovetail.providers.aws.launching.failures import LAUNCH_FAILED, TEMPLATE_NOT_FOUND, FleetError
from dovetail.providers.aws.launching.fleet_answer import FleetAnswer, FleetInstance
from dovetail.providers.aws.launching.fleets import Dealt, FleetOutcome, Fleets
from dovetail.providers.aws.launching.marks import ClaimGone, MarkedClaim, encode
from dovetail.providers.aws.launching.orders import (
    LaunchOrder,
    OrderInputs,
    asks_alike,
    launch_order,
)
from dovetail.providers.aws.launching.outcomes import launch_failure
from dovetail.providers.aws.launching.template_store import TemplateStore
from dovetail.providers.aws.node_class.types import EC2NodeClass

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

_WINDOW: Final = BatchWindow(idle_seconds=0.035, max_seconds=1.0, max_items=1000)
_RECENT: Final = 32  # orders that are kept for the next claim
_ATTEMPTS: Final = 4  # a launch is tried again if its template, or its claim, has changed


class LaunchResult(msgspec.Struct, frozen=True):
    """The instance of a claim. `order` is None if another process had it launched."""

    instance: FleetInstance
    answer: FleetAnswer
    order: LaunchOrder | None = None
    node_class: EC2NodeClass | None = None


class _Item(msgspec.Struct, frozen=True):
    claim: MarkedClaim
    order: LaunchOrder


class _Recent(msgspec.Struct, frozen=True):
    """An order, and what it was worked out from."""

    claim: ClaimObject
    inputs: OrderInputs
    order: LaunchOrder

    def serves(self, claim: ClaimObject, inputs: OrderInputs) -> bool:
        """Whether the order for this claim would be the same."""
        return self._is_from(inputs) and asks_alike(self.claim, claim)

    def _is_from(self, inputs: OrderInputs) -> bool:
        return (
            self.inputs.prices is inputs.prices
            and self.inputs.facts is inputs.facts
            and self.inputs.node_class is inputs.node_class
            and self.inputs.subnets == inputs.subnets
            and self.inputs.network == inputs.network
        )


class Launcher:
    """Launches instances."""

    def __init__(
        self, kube: Kube, ec2: EC2Client, *, clock: Clock, timer: Timer, catalogue: ClassCatalogue
    ) -> None:
        self._catalogue = catalogue
        self._fleets = Fleets(kube, ec2, clock)
        self.templates = TemplateStore(ec2, clock, catalogue.settings.cluster_name)
        self._launches: SingleFlight[str, LaunchResult] = SingleFlight()
        self._batches: Batcher[str, _Item, FleetOutcome] = Batcher(
            self._launch_batch,
            window=_WINDOW,
            timer=timer,
            is_expecting=lambda: self._n_ordering > 0,
        )
        self._n_ordering = 0  # launches whose order is being worked out
        self._recent: deque[_Recent] = deque(maxlen=_RECENT)

    async def launch(self, claim: ClaimObject) -> LaunchResult:
        """The instance of the claim, which is launched unless it was before. Raises CloudError."""
        return await self._launches.run(claim.uid, lambda: self._launch(claim))

    async def _launch(self, claim: ClaimObject) -> LaunchResult:
        try:
            return await self._launch_marked(MarkedClaim(claim))
        except ApiError as error:
            msg = f"launching node claim {claim.name}: {error}"
            raise CloudError(msg) from error
        except CallFailedError as error:
            reason = FleetError(error.code, error.message).reason
            msg = f"launching node claim {claim.name}: {error}"
            raise CreateError(msg, condition_reason=reason) from error
        except InputError as error:
            msg = f"launching node claim {claim.name}: {error}"
            raise CreateError(msg, condition_reason=LAUNCH_FAILED) from error

    async def _launch_marked(self, marked: MarkedClaim) -> LaunchResult:
        has_retried = False
        for _ in range(_ATTEMPTS):
            result = await self._resume(marked)
            if result is not None:
                return result
            try:
                order, node_class = await self._order_for(marked.claim)
            except (CloudError, CallFailedError, InputError):
                result = await self._launched_before(marked)
                if result is None:
                    raise
                return result
            outcome = await self._batches.add(encode(order.request), _Item(marked, order))
            marked = _current_claim(outcome, marked)
            if isinstance(outcome, Dealt):
                if outcome.instance is not None:
                    return LaunchResult(outcome.instance, outcome.answer, order, node_class)
                if has_retried or not self._forget_lost_templates(outcome.answer, order):
                    capacity_type = order.options.capacity_type
                    raise launch_failure(marked.claim.name, outcome.answer, capacity_type)
                has_retried = True
        msg = f"node claim {marked.claim.name} is being launched by another process"
        raise CreateError(msg, condition_reason=LAUNCH_FAILED)

    async def _resume(self, marked: MarkedClaim) -> LaunchResult | None:
        """What came of the request that the claim is marked with; None if it got nothing of it."""
        mark = marked.mark
        if mark is None:
            return None
        answer = await self._fleets.resume(marked.claim, mark)
        instance = answer.instance_at(mark.ordinal) if answer is not None else None
        if answer is None or instance is None:
            return None
        return LaunchResult(instance, answer)

    async def _launched_before(self, marked: MarkedClaim) -> LaunchResult | None:
        """Nothing more can be asked for, but what the claim has already, it keeps."""
        fresh = await self._fleets.read(marked.claim)
        if fresh is None or fresh.mark == marked.mark:
            return None
        return await self._resume(fresh)

    async def _order_for(self, claim: ClaimObject) -> tuple[LaunchOrder, EC2NodeClass]:
        self._n_ordering += 1
        try:
            node_class = await self._catalogue.node_classes.ready(claim.node_class)
            order = self._order(claim, await self._catalogue.order_inputs(node_class, claim))
            await self.templates.ensure(order.templates)
        finally:
            self._n_ordering -= 1
        return order, node_class

    def _order(self, claim: ClaimObject, inputs: OrderInputs) -> LaunchOrder:
        """The order for a claim; of claims that ask for the same, it is worked out once."""
        for recent in self._recent:
            if recent.serves(claim, inputs):
                return recent.order
        order = launch_order(claim, inputs)
        self._recent.appendleft(_Recent(claim, inputs, order))
        return order

    def _forget_lost_templates(self, answer: FleetAnswer, order: LaunchOrder) -> bool:
        """Whether the launch failed because EC2 has lost templates, and is worth another try."""
        if not any(error.code in TEMPLATE_NOT_FOUND for error in answer.errors):
            return False
        self.templates.forget(template.name for template in order.templates)
        return True

    async def _launch_batch(self, _key: str, items: Sequence[_Item]) -> Sequence[FleetOutcome]:
        order = items[0].order
        self._catalogue.note_launch(order, len(items))
        try:
            outcomes = await self._fleets.launch(order.request, [item.claim for item in items])
        except BaseException:
            self._catalogue.note_answer(order, FleetAnswer(), len(items))
            raise
        answer = next(
            (outcome.answer for outcome in outcomes if isinstance(outcome, Dealt)), FleetAnswer()
        )
        self._catalogue.note_answer(order, answer, len(items))
        return outcomes


def _current_claim(outcome: FleetOutcome, marked: MarkedClaim) -> MarkedClaim:
    """The claim as it was last seen. Raises CloudError if it is gone."""
    if isinstance(outcome, ClaimGone):
        msg = f"node claim {marked.claim.name} is gone"
        raise CloudError(msg)
    return outcome.claim
