"""How many calls does it take to launch a thousand claims that are created at once?"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from benchmarks.aws.ground import account, cloud_of
from benchmarks.results import Result
from benchmarks.rows import SECONDS
from dovetail import labels
from dovetail.cloud.provider import Instance
from dovetail.model.requirements import Requirement, requirement
from tests.ec2.provider.cloud import AwsCloud
from tests.ec2.setting import ZONES, Aws

N_CLAIMS: Final = 1000
FLEET_CALLS: Final = "CreateFleet calls"
_LIMIT_CALLS: Final = 20
_ON_DEMAND: Final = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
_SPOT: Final = requirement(labels.CAPACITY_TYPE, "In", [labels.SPOT])
SHAPES: Final[tuple[tuple[Requirement, ...], ...]] = (
    (requirement(labels.INSTANCE_TYPE, "In", ["m5.large"]), _ON_DEMAND),
    (requirement(labels.INSTANCE_TYPE, "In", ["m5.large", "m5.xlarge"]), _SPOT),
    (requirement(labels.INSTANCE_TYPE, "In", ["c5.2xlarge", "c5.4xlarge"]),),
    (requirement(labels.ZONE, "In", [ZONES[0]]), _ON_DEMAND),
    (requirement(labels.ARCH, "In", ["arm64"]), _SPOT),
)


def measure_launches(n_claims: int = N_CLAIMS) -> Result:
    """Launch claims of five shapes, all created at once; what was called, and how long it took."""
    with account() as aws:
        return asyncio.run(_measured(n_claims, aws))


async def _measured(n_claims: int, aws: Aws) -> Result:
    async with cloud_of(aws) as cloud:
        started, cpu = time.perf_counter(), time.process_time()
        instances = await _launched(cloud, n_claims)
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        calls = cloud.control.calls()
    n_distinct = len({instance.provider_id for instance in instances})
    n_fleets = sum(call.action == "CreateFleet" for call in calls)
    failures = () if n_distinct == n_claims else (f"{n_claims} claims have {n_distinct} instances",)
    figures = {
        "claims": n_claims,
        "shapes": len(SHAPES),
        "instances": n_distinct,
        FLEET_CALLS: n_fleets,
        "calls of all kinds": len(calls),
        SECONDS: seconds,
        "CPU seconds of the provider": cpu_seconds,
    }
    return Result(f"launch-{n_claims}", figures, {FLEET_CALLS: _LIMIT_CALLS}, failures)


async def _launched(cloud: AwsCloud, n_claims: int) -> list[Instance]:
    """An instance for each claim; claims are created first, as a decision creates them."""
    claims = [
        await cloud.claim(f"claim-{number}", *SHAPES[number % len(SHAPES)], requests={"cpu": 500})
        for number in range(n_claims)
    ]
    async with asyncio.TaskGroup() as group:
        launching = [group.create_task(cloud.provider.create(claim)) for claim in claims]
    return [task.result() for task in launching]
