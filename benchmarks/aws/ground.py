"""An EC2 for tests in a process of its own, and a provider that runs on the real clock."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from botocore.config import Config
from botocore.session import get_session

from dovetail import labels
from dovetail.clock import LoopTimer, Timer
from dovetail.providers.aws.launching import keys
from tests.ec2.control import REGION, Ec2Control
from tests.ec2.process import running
from tests.ec2.provider.cloud import CLUSTER, AwsCloud, aws_cloud
from tests.ec2.setting import Aws

_SERVICES: Final = ("ec2", "eks", "iam", "ssm")


@contextmanager
def account() -> Iterator[Aws]:
    """An empty account of AWS, until the end of the block."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ.setdefault(name, "test")
    with running() as control:
        yield Aws(control, clients(control))


def clients(control: Ec2Control) -> dict[str, object]:
    """Clients for whatever has to be there before the provider starts."""
    session = get_session()
    config = Config(connect_timeout=60, read_timeout=60)
    return {
        name: session.create_client(
            name, region_name=REGION, endpoint_url=control.url, config=config
        )
        for name in _SERVICES
    }


@asynccontextmanager
async def cloud_of(aws: Aws, timer: Timer | None = None) -> AsyncIterator[AwsCloud]:
    """A provider with one node class that is ready."""
    async with aws_cloud(aws.control, aws, timer or LoopTimer()) as cloud:
        yield cloud


def launch(aws: Aws, n_instances: int, cluster: str = CLUSTER) -> list[str]:
    """Instances of the cluster that the provider was not asked for; their ids."""
    tags = {
        labels.NODE_POOL: "default",
        keys.NODE_CLASS_TAG: "default",
        keys.CLUSTER_TAG: cluster,
    }
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    for subnet in aws.subnets().values():
        aws.control.set_free_addresses(subnet, 2 * n_instances)
    return aws.control.launch(
        n_instances,
        ImageId=aws.image(),
        InstanceType="m5.large",
        TagSpecifications=[{"ResourceType": "instance", "Tags": listed}],
    )
