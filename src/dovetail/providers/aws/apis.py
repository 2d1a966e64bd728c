"""Connects to the services of AWS. Nothing else in the project makes a client of AWS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from dovetail.providers.aws.response_parsing import ParserFactory

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_eks import EKSClient
    from types_aiobotocore_iam import IAMClient
    from types_aiobotocore_pricing import PricingClient
    from types_aiobotocore_sqs import SQSClient
    from types_aiobotocore_ssm import SSMClient

    from dovetail.providers.aws.interruption.zonal_shift import ZonalShiftClient

USER_AGENT: Final = "dovetail"
_CONNECT_SECONDS: Final = 10
_READ_SECONDS: Final = 60
_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class AwsApis:
    """One client for each service; credentials come from botocore's chain."""

    ec2: EC2Client
    ec2_once: EC2Client  # makes each call once: for dry runs
    eks: EKSClient
    iam: IAMClient
    pricing: PricingClient
    sqs: SQSClient
    ssm: SSMClient
    zonal_shift: ZonalShiftClient


@asynccontextmanager
async def connect(
    *, region: str, pricing_region: str, endpoint_url: str | None = None
) -> AsyncIterator[AwsApis]:
    """Open the clients; they are closed at the end. `endpoint_url` serves all of them."""
    session = get_session()
    session.register_component("response_parser_factory", ParserFactory())
    retrying, once = _config(_ATTEMPTS), _config(1)
    async with AsyncExitStack() as stack:

        async def client(service: str, config: AioConfig, region: str = region) -> object:
            made = session.create_client(
                service, region_name=region, endpoint_url=endpoint_url, config=config
            )
            return await stack.enter_async_context(made)

        yield AwsApis(
            ec2=await client("ec2", retrying),  # type: ignore[arg-type]  # aiobotocore has no types
            ec2_once=await client("ec2", once),  # type: ignore[arg-type]  # as above
            eks=await client("eks", retrying),  # type: ignore[arg-type]  # as above
            iam=await client("iam", retrying),  # type: ignore[arg-type]  # as above
            pricing=await client("pricing", retrying, pricing_region),  # type: ignore[arg-type]  # as above
            sqs=await client("sqs", retrying),  # type: ignore[arg-type]  # as above
            ssm=await client("ssm", retrying),  # type: ignore[arg-type]  # as above
            zonal_shift=await client("arc-zonal-shift", retrying),  # type: ignore[arg-type]  # as above
        )


def _config(attempts: int) -> AioConfig:
    return AioConfig(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": attempts},
        user_agent_extra=USER_AGENT,
    )
