"""A node class that everything is there for becomes Ready."""

from __future__ import annotations

import pytest

from tests.ec2.setting import ZONES, Aws
from tests.ec2.status.bench import DEPENDENTS, ROLE, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")


async def test_a_class_that_everything_is_there_for_becomes_ready(aws: Aws) -> None:
    """All conditions hold for its generation, and the status names what was found."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        found = await bench.node_class()
        got = [(one.type, one.status, one.message) for one in found.status.conditions]
        assert got == [(name, "True", "") for name in (*DEPENDENTS, "Ready")]
        assert {one.observed_generation for one in found.status.conditions} == {1}
        assert {one.zone for one in found.status.subnets} >= set(ZONES)
        assert [one.name for one in found.status.security_groups] == ["default"]
        assert len(found.status.amis) == 5
        assert bench.profiles() == {found.status.instance_profile: [ROLE]}
        assert bench.aws.ec2.describe_launch_templates()["LaunchTemplates"] == []
        assert bench.events() == []
