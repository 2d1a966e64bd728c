"""The catalogue as it is kept up to date from EC2 and the Pricing service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from dovetail.providers.aws.apis import connect
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.catalogue.machines import packaged_prices, packaged_types
from dovetail.providers.aws.catalogue.offline import offline_inputs
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.settings import AwsSettings
from dovetail.testing.virtual_time import VirtualTime
from tests.ec2.control import REGION, Ec2Control
from tests.ec2.setting import ZONES
from tests.unit.providers.aws.catalogue.setting import node_class

pytestmark = pytest.mark.xdist_group("ec2")
A, B, C = ZONES
HOUR = timedelta(hours=1)


class Naps:
    """A timer whose sleepers wake when the test says so; it keeps what they asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[float] = []
        self._fell_asleep = asyncio.Condition()
        self._wake = asyncio.Event()

    def elapsed_seconds(self) -> float:
        """The time that the test has let pass."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Wait for the test."""
        wake = self._wake
        async with self._fell_asleep:
            self.asked.append(seconds)
            self._fell_asleep.notify_all()
        await wake.wait()

    async def until(self, n_sleepers: int) -> list[float]:
        """Wait for so many sleepers; how long each wants to sleep, the shortest first."""
        async with self._fell_asleep:
            await self._fell_asleep.wait_for(lambda: len(self.asked) == n_sleepers)
        return sorted(self.asked)

    def wake(self, after: timedelta) -> None:
        """Let time pass and wake everybody."""
        self.now += after.total_seconds()
        self.asked.clear()
        woken, self._wake = self._wake, asyncio.Event()
        woken.set()


class Scene:
    """A source, its timer, and what it reported."""

    def __init__(self, source: CatalogueSource, naps: Naps, reports: list[str]) -> None:
        self.source = source
        self.naps = naps
        self.reports = reports


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@asynccontextmanager
async def scene(control: Ec2Control, *, isolated_vpc: bool = False) -> AsyncIterator[Scene]:
    """A source that asks the EC2 of the test."""
    settings = AwsSettings(region=REGION, isolated_vpc=isolated_vpc)
    naps, reports = Naps(), list[str]()
    async with connect(region=REGION, pricing_region="us-east-1", endpoint_url=control.url) as apis:
        source = CatalogueSource(
            apis, settings, clock=VirtualTime(control.now()), timer=naps, report=reports.append
        )
        yield Scene(source, naps, reports)


async def test_the_packaged_table_serves_until_ec2_has_answered(control: Ec2Control) -> None:
    """Types and list prices; every zone of the class is taken for one that offers them."""
    async with scene(control) as given:
        known = given.source.inputs()
        assert known.machines == packaged_types()
        types = instance_types(node_class(zones=(A, B)), known, AwsSettings())
        (large,) = [one for one in types if one.name == "m5.large"]
        assert {one.zone for one in large.offerings if one.is_available} == {A, B}


async def test_a_refresh_brings_types_zones_and_prices(control: Ec2Control) -> None:
    """The EC2 for tests has the packaged types at the packaged prices."""
    control.withdraw("m5.large", zone=B)
    control.set_price(77_000_000, instance_type="c5.large", capacity_type="on-demand")
    control.set_price(11_000_000, instance_type="c5.large", zone=C, capacity_type="spot")
    async with scene(control) as given:
        assert await given.source.refresh()
        known = given.source.inputs()
    offline = offline_inputs()
    assert {one.name: one for one in known.machines} == {one.name: one for one in packaged_types()}
    assert known.zones["m5.large"] == (A, C)
    assert known.zones["m5.xlarge"] == (A, B, C)
    assert known.on_demand_nanousd == packaged_prices() | {"c5.large": 77_000_000}
    assert known.spot_nanousd[("c5.large", C)] == 11_000_000
    assert known.spot_nanousd[("c5.large", A)] == offline.spot_nanousd[("c5.large", A)]
    assert ("m5.large", B) not in known.spot_nanousd
    assert known.zone_ids == offline.zone_ids
    assert known.knows_spot
    assert page_sizes(control) == {
        "DescribeInstanceTypes": 25,
        "DescribeInstanceTypeOfferings": 500,
        "DescribeSpotPriceHistory": 200,
        "GetProducts": 50,
    }


async def test_types_and_zones_are_known_once_it_has_begun(control: Ec2Control) -> None:
    """Nothing is launched where EC2 does not offer it. A call that fails leaves the table."""
    control.withdraw("m5.large", zone=B)
    control.throttle("DescribeInstanceTypeOfferings", times=None)
    async with scene(control) as given:
        await given.source.begin()
        assert given.source.inputs().machines == packaged_types()
        assert given.source.inputs().zones == {}
        control.clear_faults()
        await given.source.begin()
        assert given.source.inputs().zones["m5.large"] == (A, C)
        assert given.source.inputs().knows_spot


def page_sizes(control: Ec2Control) -> dict[str, int]:
    """How large pages were to be. The SDK reads one in one go, and nothing else runs meanwhile."""
    return {
        call.action: int(call.parameters["MaxResults"])
        for call in control.calls()
        if "MaxResults" in call.parameters
    }


async def test_bare_metal_has_the_price_of_dedicated_tenancy(control: Ec2Control) -> None:
    """It is another product family."""
    control.set_price(5 * 10**9, instance_type="m5.metal", capacity_type="on-demand")
    async with scene(control) as given:
        await given.source.refresh_on_demand()
        assert given.source.inputs().on_demand_nanousd["m5.metal"] == 5 * 10**9


async def test_a_refresh_that_brings_nothing_new_changes_nothing(control: Ec2Control) -> None:
    """The same object, so that nothing is computed again."""
    async with scene(control) as given:
        await given.source.refresh_types()
        await given.source.refresh_on_demand()
        known = given.source.inputs()
        await given.source.refresh_types()
        await given.source.refresh_on_demand()
        assert given.source.inputs() is known


async def test_list_prices_are_not_asked_for_in_an_isolated_vpc(control: Ec2Control) -> None:
    """The packaged ones stay."""
    async with scene(control, isolated_vpc=True) as given:
        assert await given.source.refresh()
        assert given.source.inputs().on_demand_nanousd == packaged_prices()
    assert control.calls("GetProducts") == []


async def test_a_failed_call_leaves_what_is_known_and_the_rest_goes_on(control: Ec2Control) -> None:
    """The report names the call; everything else is refreshed."""
    control.fail_calls("DescribeInstanceTypes", "UnauthorizedOperation", skip=1, times=None)
    async with scene(control) as given:
        assert not await given.source.refresh()
        known = given.source.inputs()
        (report,) = given.reports
    assert "ec2:DescribeInstanceTypes" in report
    assert known.machines == packaged_types()
    assert known.zones == {}
    assert known.knows_spot


@pytest.mark.parametrize(
    ("part", "action"),
    [
        pytest.param("refresh_types", "DescribeInstanceTypeOfferings", id="zones"),
        pytest.param("refresh_spot", "DescribeSpotPriceHistory", id="spot prices"),
        pytest.param("refresh_on_demand", "GetProducts", id="list prices"),
    ],
)
async def test_half_an_answer_is_not_taken_over(
    control: Ec2Control, part: str, action: str
) -> None:
    """The second page fails: the first is forgotten."""
    control.fail_calls(action, "UnauthorizedOperation", "no", skip=1, times=None)
    async with scene(control) as given:
        known = given.source.inputs()
        with pytest.raises(CallFailedError, match=action):
            await getattr(given.source, part)()
        assert given.source.inputs() is known


async def test_an_answer_that_is_none_is_a_failed_call(control: Ec2Control) -> None:
    """Whatever a proxy may send in between."""
    control.garble("DescribeInstanceTypes", times=None)
    async with scene(control) as given:
        with pytest.raises(CallFailedError, match="cannot be read"):
            await given.source.refresh_types()


async def test_the_catalogue_is_refreshed_every_twelve_hours(control: Ec2Control) -> None:
    """Each part by itself."""
    async with scene(control) as given, asyncio.TaskGroup() as group:
        running = group.create_task(given.source.run())
        assert await given.naps.until(3) == [12 * HOUR.total_seconds()] * 3
        control.set_price(1_000_000, instance_type="m5.large", capacity_type="on-demand")
        given.naps.wake(12 * HOUR)
        await given.naps.until(3)
        assert given.source.inputs().on_demand_nanousd["m5.large"] == 1_000_000
        running.cancel()


async def test_failed_attempts_are_repeated_with_backoff_and_reported_calmly(
    control: Ec2Control,
) -> None:
    """30 s, twice as long each time, an hour at most; one line a minute; then as usual."""
    control.fail_calls("*", "UnauthorizedOperation", "no", times=None)
    async with scene(control, isolated_vpc=True) as given, asyncio.TaskGroup() as group:
        running = group.create_task(given.source.run())
        pauses = [(await given.naps.until(2))[0]]
        for _ in range(8):
            given.naps.wake(timedelta(seconds=10))
            pauses.append((await given.naps.until(2))[0])
        assert pauses == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
        assert len(given.reports) == 2  # after 0 s and 60 s
        control.clear_faults()
        given.naps.wake(HOUR)
        assert await given.naps.until(2) == [12 * HOUR.total_seconds()] * 2
        assert given.source.inputs().knows_spot
        running.cancel()


async def test_what_others_learn_becomes_part_of_the_inputs(control: Ec2Control) -> None:
    """Each change makes new inputs once; the same news makes none."""
    mark = UnavailableOffering("m5.large", A, "spot")
    async with scene(control) as given:
        source = given.source
        before = source.inputs()
        source.set_unavailable(frozenset({mark}), subnets=frozenset({"subnet-1"}))
        source.set_reservations({"cr-1": 2})
        source.set_shifted_zones(frozenset({"usw2-az1"}))
        source.set_overlaid_types(frozenset({"z1.large"}))
        source.see_memory("m5.large", "ami-1", 7 * 10**9)
        known = source.inputs()
        assert before.unavailable == frozenset()
        assert known.unavailable == {mark}
        assert known.unavailable_subnets == {"subnet-1"}
        assert known.reservation_counts == {"cr-1": 2}
        assert known.shifted_zones == {"usw2-az1"}
        assert known.memory_bytes == {("m5.large", "ami-1"): 7 * 10**9}
        assert known.overlaid_types == {"z1.large"}
        source.set_reservations({"cr-1": 2})
        source.see_memory("m5.large", "ami-1", 8 * 10**9)
        assert source.inputs() is known
