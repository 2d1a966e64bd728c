"""Sends fleet requests such that no instance is launched twice, wherever the process may end.

See designs/0014-no-instance-twice.md for the argument. The order of writes is what matters here:
every claim of a batch is marked with the request before it is sent, the head of the batch last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.cloud.errors import CreateError
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube
from dovetail.model.claim import ClaimObject
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.batching import SingleFlight
from dovetail.providers.aws.launching.failures import (
    LAUNCH_FAILED,
    MISMATCH,
    FleetError,
    is_undecided,
)
from dovetail.providers.aws.launching.fleet_answer import FleetAnswer, FleetInstance, fleet_answer
from dovetail.providers.aws.launching.fleet_request import fleet_token, with_token
from dovetail.providers.aws.launching.marks import (
    ClaimGone,
    ClaimRecord,
    FleetMark,
    MarkedClaim,
    MarkOutcome,
    Marks,
    MarkTaken,
    MarkWritten,
    Request,
    decode,
    encode,
)

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ec2.type_defs import CreateFleetResultTypeDef

_AT_ONCE: Final = 50  # claims that are being marked
_TOKEN_KEPT_FOR: Final = timedelta(hours=1)  # later, EC2 may have forgotten a client token
_ANSWERS_KEPT: Final = 2000
_CREATE_FLEET: Final = "ec2:CreateFleet"
_TRIES: Final = 5  # at refusing a token while the head of its batch changes


class Dealt(msgspec.Struct, frozen=True, gc=False):
    """The fleet request of a claim was answered; its instance is the one with its ordinal."""

    answer: FleetAnswer
    mark: FleetMark
    claim: MarkedClaim

    @property
    def instance(self) -> FleetInstance | None:
        """The claim's instance; None if the fleet has too few."""
        return self.answer.instance_at(self.mark.ordinal)


FleetOutcome = Dealt | MarkTaken | ClaimGone


class Fleets:
    """Fleet requests of this process, and those that another one left behind."""

    def __init__(self, kube: Kube, ec2: EC2Client, clock: Clock) -> None:
        self._marks = Marks(kube)
        self._ec2 = ec2
        self._clock = clock
        self._answers: dict[str, FleetAnswer] = {}  # by token
        self._committed: set[str] = set()  # tokens that this process may send
        self._calls: SingleFlight[str, FleetAnswer] = SingleFlight()
        self._recoveries: SingleFlight[str, FleetAnswer | None] = SingleFlight()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    # ------------------------------------------------------------ a new request

    async def launch(self, request: Request, claims: Sequence[MarkedClaim]) -> list[FleetOutcome]:
        """Launch one instance for each claim; the outcomes are in the order of the claims.

        Raises CloudError if it is not known what came of it, and ApiError.
        """
        text = encode(request)
        outcomes: dict[str, FleetOutcome] = {}
        waiting = {item.claim.uid: item for item in claims}
        while waiting:
            marks = _marks(text, waiting.values())
            await self._mark_all(waiting, marks, outcomes)
            if waiting.keys() == marks.keys():
                mark = next(iter(marks.values()))
                self._committed.add(mark.token)
                answer = await self._send(mark)
                outcomes |= {uid: Dealt(answer, marks[uid], waiting[uid]) for uid in waiting}
                break
        return [outcomes[item.claim.uid] for item in claims]

    async def _mark_all(
        self,
        waiting: dict[str, MarkedClaim],
        marks: Mapping[str, FleetMark],
        outcomes: dict[str, FleetOutcome],
    ) -> None:
        """Mark the claims, the head last, and only if all others carry their marks."""
        head, *others = marks
        async with asyncio.TaskGroup() as group:
            writing = {
                uid: group.create_task(self._mark(waiting[uid], marks[uid])) for uid in others
            }
        results = {uid: task.result() for uid, task in writing.items()}
        if all(isinstance(result, MarkWritten) for result in results.values()):
            results[head] = await self._mark(waiting[head], marks[head])
        for uid, result in results.items():
            match result:
                case MarkWritten():
                    waiting[uid] = result.claim
                case ApiError():
                    raise result
                case _:
                    del waiting[uid]
                    outcomes[uid] = result

    async def _mark(self, claim: MarkedClaim, mark: FleetMark) -> MarkOutcome | ApiError:
        async with self._slots:
            try:
                return await self._marks.write(claim, mark)
            except ApiError as error:
                return error

    # ------------------------------------------------------------ a request that is marked

    async def read(self, claim: ClaimObject) -> MarkedClaim | None:
        """The claim as the API has it; None if it is gone."""
        return await self._marks.read(claim)

    async def resume(self, claim: ClaimObject, mark: FleetMark) -> FleetAnswer | None:
        """What came of the request that the claim is marked with: it is repeated, if need be.

        None: it was never sent, and never will be. Raises CloudError if that is not known now.
        """
        if mark.token in self._answers:
            return self._answers[mark.token]
        if mark.token in self._committed:
            return await self._send(mark)
        age = self._clock.now() - (claim.created_at or self._clock.now())
        if age > _TOKEN_KEPT_FOR:
            instances = await self._with_token(mark.token)
            return FleetAnswer(instances) if instances else None
        return await self._recoveries.run(mark.token, lambda: self._recover(mark))

    async def _recover(self, mark: FleetMark) -> FleetAnswer | None:
        for _ in range(_TRIES):
            records = await self._marks.records()
            if _may_be_sent(mark, records) or await self._with_token(mark.token):
                self._committed.add(mark.token)
                return await self._send(mark)
            head = next((record for record in records if record.uid == mark.head), None)
            if head is None or head.token == mark.token:
                break
            if await self._is_refused(head, mark.token):
                return None
        msg = "it is not known whether the fleet request of this claim was sent"
        raise CreateError(msg, condition_reason=LAUNCH_FAILED)

    async def _is_refused(self, head: ClaimRecord, token: str) -> bool:
        """Whether the token can never be sent, since the head of its batch does not carry it; False
        if the head is being changed.
        """
        if head.token or head.refused_token == token:
            return True
        return await self._marks.refuse(head, token)

    # ------------------------------------------------------------ the call

    async def _send(self, mark: FleetMark) -> FleetAnswer:
        if mark.token not in self._answers:
            return await self._calls.run(mark.token, lambda: self._call(mark))
        return self._answers[mark.token]

    async def _call(self, mark: FleetMark) -> FleetAnswer:
        try:
            answer = await self._create_fleet(decode(mark.request))
        except CallFailedError as error:
            if is_undecided(error):
                failure = FleetError(error.code, error.message)
                raise CreateError(str(error), condition_reason=failure.reason) from error
            answer = await self._after_refusal(mark, error)
        self._remember(mark.token, answer)
        return answer

    async def _after_refusal(self, mark: FleetMark, error: CallFailedError) -> FleetAnswer:
        """EC2 answered, and launched nothing now; another request may have used the token."""
        if error.code == MISMATCH:
            return FleetAnswer(await self._with_token(mark.token))
        return FleetAnswer(errors=(FleetError(error.code, error.message),))

    async def _create_fleet(self, request: Request) -> FleetAnswer:
        call: Callable[..., Awaitable[CreateFleetResultTypeDef]] = self._ec2.create_fleet
        with calling(_CREATE_FLEET):
            answer = await call(**request)
        if not answer.get("FleetId"):  # text that is no answer reads as an empty one
            msg = "the answer names no fleet"
            raise CallFailedError(_CREATE_FLEET, "NoAnswer", msg, Failure.UNAVAILABLE)
        return fleet_answer(answer)

    async def _with_token(self, token: str) -> tuple[FleetInstance, ...]:
        """The instances that carry this token as a tag, in whatever state."""
        try:
            with calling("ec2:DescribeInstances"):
                answer = await self._ec2.describe_instances(
                    Filters=[{"Name": f"tag:{keys.TOKEN_TAG}", "Values": [token]}]
                )
            reservations = required(answer.get("Reservations"), "ec2:DescribeInstances")
        except CallFailedError as error:
            raise CreateError(str(error), condition_reason=LAUNCH_FAILED) from error
        instances = [
            FleetInstance(
                id=tree.get("InstanceId", ""),
                instance_type=str(tree.get("InstanceType", "")),
                zone=tree.get("Placement", {}).get("AvailabilityZone", ""),
                subnet_id=tree.get("SubnetId", ""),
                image_id=tree.get("ImageId", ""),
                is_spot=tree.get("InstanceLifecycle") == "spot",
            )
            for reservation in reservations
            for tree in reservation.get("Instances", [])
        ]
        return tuple(sorted(instances, key=lambda instance: instance.id))

    def _remember(self, token: str, answer: FleetAnswer) -> None:
        self._answers[token] = answer
        self._committed.discard(token)
        while len(self._answers) > _ANSWERS_KEPT:
            del self._answers[next(iter(self._answers))]


def _may_be_sent(mark: FleetMark, records: Iterable[ClaimRecord]) -> bool:
    """Whether the request may be sent, again or for the first time, by what the claims tell.

    A head with the token proves that all claims were marked, and that the request may have been
    sent. If it was not, an instance is launched for each claim that is gone, and collected: at most
    one for each claim that is left. If the head itself is gone, no other claim may be.
    """
    by_uid = {record.uid: record for record in records}
    head = by_uid.get(mark.head)
    if head is not None and head.token != mark.token:
        return False
    n_left = len(
        {
            record.ordinal
            for record in by_uid.values()
            if record.token == mark.token and not record.is_deleting
        }
    )
    n_affordable = n_left if head is not None else min(n_left, 1)
    return mark.n_instances - n_left <= n_affordable


def _marks(text: str, claims: Iterable[MarkedClaim]) -> dict[str, FleetMark]:
    """The marks of a batch by the UID of the claim, the head first."""
    uids = sorted((item.claim.uid, item.mark.token if item.mark else "") for item in claims)
    token = fleet_token(text, uids)
    request = encode(with_token(decode(text), token, len(uids)))
    head = uids[0][0]
    return {uid: FleetMark(token, ordinal, head, request) for ordinal, (uid, _) in enumerate(uids)}
