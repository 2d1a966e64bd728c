"""Reads SSM parameters that name images, and keeps them as long as they are good."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.images.resolution import machine_image

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ssm import SSMClient

_GET: Final = "ssm:GetParameter"
_KEPT_FOR: Final = timedelta(hours=24)
_CUSTOM_KEPT_FOR: Final = timedelta(minutes=5)


class ParameterName(msgspec.Struct, frozen=True, gc=False, order=True):
    """A parameter: `is_mutable` if its image changes, `is_custom` if a user names it."""

    name: str
    is_mutable: bool = True
    is_custom: bool = False


class ParameterStore:
    """Image ids by SSM parameter."""

    def __init__(self, ssm: SSMClient, clock: Clock) -> None:
        self._ssm = ssm
        self._clock = clock
        self._values: ExpiringCache[ParameterName, str] = ExpiringCache(clock)

    async def image_id(self, parameter: ParameterName) -> str:
        """The image that a parameter names; empty if there is no such parameter."""
        kept = self._values.get(parameter)
        if kept is not None:
            return kept
        try:
            with calling(_GET):
                answer = await self._ssm.get_parameter(Name=parameter.name)
        except CallFailedError as error:
            if error.failure is Failure.NOT_FOUND:
                return ""
            raise
        value = required(answer.get("Parameter", {}).get("Value"), _GET)
        keep_for = _CUSTOM_KEPT_FOR if parameter.is_custom else _KEPT_FOR
        self._values.put(parameter, value, keep_for=keep_for)
        return value

    async def invalidate(self, ec2: EC2Client) -> tuple[str, ...]:
        """Forget parameters that may name another image by now: those whose image is deprecated or
        gone. Called every half hour; the names of what was forgotten.
        """
        mutable = {
            parameter: image_id
            for parameter, image_id in self._values.current().items()
            if parameter.is_mutable
        }
        if not mutable:
            return ()
        ids = sorted(set(mutable.values()))
        with calling("ec2:DescribeImages"):
            answer = await ec2.describe_images(
                Filters=[{"Name": "image-id", "Values": ids}], IncludeDeprecated=True
            )
        now = self._clock.now()
        images = [
            machine_image(described, now)
            for described in required(answer.get("Images"), "ec2:DescribeImages")
        ]
        current = {image.id for image in images if not image.is_deprecated}
        stale = {parameter for parameter, image_id in mutable.items() if image_id not in current}
        self._values.drop(lambda parameter: parameter in stale)
        return tuple(sorted(parameter.name for parameter in stale))
