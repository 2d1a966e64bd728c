"""Makes launch templates in EC2 when they are needed, and deletes them a minute after last use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError, calling, required
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.failures import NAME_TAKEN, TEMPLATE_NOT_FOUND
from dovetail.providers.aws.launching.fleet_request import tag_list
from dovetail.providers.aws.launching.templates import LaunchTemplate

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

KEPT_FOR: Final = timedelta(minutes=1)
_NAMES_AT_ONCE: Final = 200  # values of one filter
_PAGE: Final = 200
_TEMPLATE: Final = "launch-template"
_DESCRIBE: Final = "ec2:DescribeLaunchTemplates"


class TemplateStore:
    """The launch templates that are known to be in EC2, by name."""

    def __init__(self, ec2: EC2Client, clock: Clock, cluster_name: str) -> None:
        self._ec2 = ec2
        self._clock = clock
        self._cluster_name = cluster_name
        self._used_at: dict[str, datetime] = {}
        self._writing = asyncio.Lock()

    async def ensure(self, templates: Sequence[LaunchTemplate]) -> None:
        """Make those that are not there yet. Raises CallFailedError."""
        async with self._writing:
            missing = [template for template in templates if template.name not in self._used_at]
            if missing:
                there = await self._known_names([template.name for template in missing])
                for template in missing:
                    if template.name not in there:
                        await self._create(template)
            now = self._clock.now()
            self._used_at.update({template.name: now for template in templates})

    def forget(self, names: Iterable[str]) -> None:
        """EC2 says that these are not there."""
        for name in names:
            self._used_at.pop(name, None)

    async def prefill(self) -> None:
        """Take over what another process made for this cluster. Raises CallFailedError."""
        names = await self._names(f"tag:{keys.CLUSTER_TAG}", [self._cluster_name])
        now = self._clock.now()
        for name in names:
            self._used_at.setdefault(name, now)

    async def sweep(self) -> None:
        """Delete those that nobody has used for a minute. Raises CallFailedError."""
        async with self._writing:
            now = self._clock.now()
            unused = [name for name, at in self._used_at.items() if now - at >= KEPT_FOR]
            for name in sorted(unused):
                await self._delete(name)
                del self._used_at[name]

    async def _known_names(self, names: Sequence[str]) -> set[str]:
        """Those of the names that EC2 knows."""
        existing: set[str] = set()
        for start in range(0, len(names), _NAMES_AT_ONCE):
            part = names[start : start + _NAMES_AT_ONCE]
            existing |= await self._names("launch-template-name", part)
        return existing

    async def _names(self, name: str, values: Sequence[str]) -> set[str]:
        """The names of the templates that a filter finds."""
        pages = self._ec2.get_paginator("describe_launch_templates").paginate(
            Filters=[{"Name": name, "Values": list(values)}], PaginationConfig={"PageSize": _PAGE}
        )
        names: set[str] = set()
        with calling(_DESCRIBE):
            async for page in pages:
                described = required(page.get("LaunchTemplates"), _DESCRIBE)
                names |= {template.get("LaunchTemplateName", "") for template in described}
        return names

    async def _create(self, template: LaunchTemplate) -> None:
        call: Callable[..., Awaitable[object]] = self._ec2.create_launch_template
        try:
            with calling("ec2:CreateLaunchTemplate"):
                await call(
                    LaunchTemplateName=template.name,
                    LaunchTemplateData=template.data,
                    TagSpecifications=[
                        {"ResourceType": _TEMPLATE, "Tags": tag_list(template.tags)}
                    ],
                )
        except CallFailedError as error:
            if error.code != NAME_TAKEN:  # its name is its content: somebody else made the same
                raise

    async def _delete(self, name: str) -> None:
        try:
            with calling("ec2:DeleteLaunchTemplate"):
                await self._ec2.delete_launch_template(LaunchTemplateName=name)
        except CallFailedError as error:
            if error.code not in TEMPLATE_NOT_FOUND:
                raise
