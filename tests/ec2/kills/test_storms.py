"""Whatever goes wrong with calls to AWS for a while: nothing is lost, and nothing doubled.

The same laws as after a kill. Once AWS answers again, the cluster comes to rest by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from io import BytesIO

import msgspec
import pytest

from dovetail.observe.logs import Level, Log, Sink
from dovetail.testing import virtual_time
from tests.doubles.troubled_kube import ApiCall, Trouble
from tests.ec2.kills.blocking import AWS
from tests.ec2.kills.scenarios import SCENARIOS, class_and_lasting_pool
from tests.ec2.kills.storms import OUTAGES, STORMS
from tests.ec2.kills.world import AwsWorld
from tests.ec2.setting import Aws
from tests.kills.storms import Storm
from tests.kills.trials import weathered
from tests.kills.world import living, running

pytestmark = pytest.mark.xdist_group("ec2")


@pytest.mark.parametrize("storm", STORMS, ids=lambda storm: storm.name)
def test_after_a_storm_everything_is_as_it_should_be_on_aws(storm: Storm, aws: Aws) -> None:
    """In every scenario."""
    for scenario in SCENARIOS:
        complaints = virtual_time.run(weathered(scenario, storm, 1, world=AwsWorld(aws)))
        assert complaints == [], scenario.name


N_MINUTES = 10
N_PODS = 6


class _Line(msgspec.Struct):
    level: str
    message: str
    node_class: str = ""
    reason: str = ""
    problem: str = ""
    error: str = ""


async def lines_of_an_outage(world: AwsWorld, error: Callable[[], Exception]) -> list[_Line]:
    """What is logged above the level of information while no call to AWS works."""
    output = BytesIO()
    sink = Sink(Level.WARN, world.time)
    sink.outputs = (output,)
    world.log = Log(sink)
    async with living(world), running(world) as process:
        await class_and_lasting_pool(world)
        await world.workload("web", N_PODS, "1500m")
        await world.pass_(60)

        def trouble(call: ApiCall) -> Trouble | None:
            return Trouble(error()) if call.kind == AWS else None

        process.mortal.trouble = trouble
        await world.workload("more", N_PODS, "1500m")
        output.seek(0)
        output.truncate()
        await world.pass_(60 * N_MINUTES)
    return [
        msgspec.json.decode(line, type=_Line) for line in output.getvalue().split(b"\n") if line
    ]


@pytest.mark.parametrize("error", OUTAGES.values(), ids=OUTAGES)
def test_a_fault_that_lasts_is_logged_once_a_minute(
    error: Callable[[], Exception], aws: Aws
) -> None:
    """However many claims suffer from it, and however often they try."""
    lines = virtual_time.run(lines_of_an_outage(AwsWorld(aws), error))
    faults = Counter((line.message, line.problem.partition(" failed")[0]) for line in lines)
    assert faults["could not launch node claim", ""] >= 2
    assert {fault: n for fault, n in faults.items() if n > N_MINUTES + 1} == {}
