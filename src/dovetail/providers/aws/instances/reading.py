"""Reads and terminates instances, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from dovetail import labels
from dovetail.clock import Clock, Timer
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.providers.aws.calls import CallFailedError, calling, required
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.instances.described import (
    LISTED,
    TERMINATED,
    Ec2Instance,
    instance_id,
    instances_of,
)
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.batching import Batcher, BatchWindow
from dovetail.providers.aws.launching.failures import is_not_found

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ec2.type_defs import FilterTypeDef

_PAGE: Final = 250  # a longer page holds up the event loop: make bench-aws
_RECENT: Final = timedelta(minutes=5)  # as often as nodes are checked for drift
_WINDOW: Final = BatchWindow(idle_seconds=0.1, max_seconds=1.0, max_items=200)
_ALL: Final = ""
_DESCRIBE: Final = "ec2:DescribeInstances"


class Ec2Instances:
    """The instances of one cluster."""

    def __init__(self, ec2: EC2Client, clock: Clock, timer: Timer, cluster_name: str) -> None:
        self._ec2 = ec2
        self._cluster_name = cluster_name
        self._listing: ExpiringCache[str, dict[str, Ec2Instance]] = ExpiringCache(clock)
        self._reading: Batcher[str, str, Ec2Instance] = Batcher(
            self._read_batch, window=_WINDOW, timer=timer
        )
        self._ending: Batcher[str, str, bool] = Batcher(
            self._terminate_batch, window=_WINDOW, timer=timer
        )

    async def all(self) -> list[Ec2Instance]:
        """Every instance of the cluster by id, also those that EC2 still remembers as terminated.

        Raises CloudError.
        """
        filters: list[FilterTypeDef] = [
            {"Name": "tag-key", "Values": [labels.NODE_POOL]},
            {"Name": "tag-key", "Values": [keys.NODE_CLASS_TAG]},
            {"Name": f"tag:{keys.CLUSTER_TAG}", "Values": [self._cluster_name]},
            {"Name": "instance-state-name", "Values": [*LISTED, TERMINATED]},
        ]
        instances = await self._describe(filters)
        by_provider_id = {instance.provider_id: instance for instance in instances}
        self._listing.put(_ALL, by_provider_id, keep_for=_RECENT)
        return instances

    def recent(self, provider_id: str) -> Ec2Instance | None:
        """The instance as the last list had it, if that is at most five minutes old."""
        return (self._listing.get(_ALL) or {}).get(provider_id)

    async def of_token(self, token: str) -> list[Ec2Instance]:
        """The instances of one fleet request by id, in whatever state. Raises CloudError."""
        return await self._describe([{"Name": f"tag:{keys.TOKEN_TAG}", "Values": [token]}])

    async def get(self, provider_id: str) -> Ec2Instance:
        """The instance as it is now. Raises NodeClaimNotFoundError, CloudError."""
        name = instance_id(provider_id)
        if not name:
            raise not_found_error(provider_id)
        instance = await self._reading.add(_ALL, name)
        if instance.state == TERMINATED or instance.provider_id != provider_id:
            raise not_found_error(provider_id)
        return instance

    async def terminate(self, provider_id: str) -> None:
        """Begin to terminate the instance. Raises NodeClaimNotFoundError, CloudError."""
        await self._ending.add(_ALL, instance_id(provider_id))

    async def _describe(self, filters: list[FilterTypeDef]) -> list[Ec2Instance]:
        pages = self._ec2.get_paginator("describe_instances").paginate(
            Filters=filters, PaginationConfig={"PageSize": _PAGE}
        )
        instances: list[Ec2Instance] = []
        try:
            with calling(_DESCRIBE):
                async for page in pages:
                    instances += instances_of(required(page.get("Reservations"), _DESCRIBE))
        except CallFailedError as error:
            raise CloudError(str(error)) from error
        return sorted(instances, key=lambda item: item.id)

    async def _read_batch(
        self, _key: str, ids: Sequence[str]
    ) -> Sequence[Ec2Instance | CloudError]:
        wanted = sorted(set(ids))
        instances = await self._describe([{"Name": "instance-id", "Values": wanted}])
        by_id = {item.id: item for item in instances}
        return [by_id.get(name) or not_found_error(name) for name in ids]

    async def _terminate_batch(self, _key: str, ids: Sequence[str]) -> Sequence[bool | CloudError]:
        wanted = sorted(set(ids))
        outcomes: dict[str, bool | CloudError] = dict.fromkeys(wanted, True)
        error = await self._terminate(wanted)
        if error is not None and len(wanted) > 1:  # one of them spoils the call for all
            outcomes = {name: await self._terminate([name]) or True for name in wanted}
        elif error is not None:
            outcomes = dict.fromkeys(wanted, error)
        return [outcomes[name] for name in ids]

    async def _terminate(self, ids: Sequence[str]) -> CloudError | None:
        try:
            with calling("ec2:TerminateInstances"):
                await self._ec2.terminate_instances(InstanceIds=list(ids))
        except CallFailedError as error:
            return not_found_error(ids[0]) if is_not_found(error) else CloudError(str(error))
        return None


def not_found_error(name: str) -> NodeClaimNotFoundError:
    """There is no such instance."""
    return NodeClaimNotFoundError(f"there is no instance {name}")
