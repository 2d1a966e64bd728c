"""The AWS provider obeys the laws of all clouds."""

from __future__ import annotations

import pytest

from dovetail.testing import cloud_conformance
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import aws_cloud
from tests.ec2.setting import Aws

pytestmark = pytest.mark.xdist_group("ec2")


@pytest.mark.parametrize("law", cloud_conformance.LAWS, ids=lambda law: law.__name__)
async def test_aws_obeys(law: cloud_conformance.Law, control: Ec2Control, aws: Aws) -> None:
    """Against the EC2 for tests."""
    async with aws_cloud(control, aws) as cloud:
        await law(cloud)
