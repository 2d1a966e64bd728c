"""What is kept for how long, and when a class is looked at again."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.kube.seam import Json
from tests.ec2.setting import ZONES, Aws
from tests.ec2.status.bench import SETTINGS, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")
MINUTE = timedelta(minutes=1)
DRY_RUNS = ("CreateLaunchTemplate", "CreateFleet", "RunInstances")
STANDARD = (
    "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id"
)

KEPT = [
    ("DescribeSubnets", MINUTE),
    ("DescribeSecurityGroups", MINUTE),
    ("DescribeImages", MINUTE),
]


@pytest.mark.parametrize(("action", "kept_for"), KEPT, ids=[row[0] for row in KEPT])
async def test_an_answer_is_kept_for_its_time(aws: Aws, action: str, kept_for: timedelta) -> None:
    """It is asked for again when the time is up, and not before."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        n_before = len(bench.actions(action))
        await bench.look()
        await bench.advance(kept_for - timedelta(seconds=1))
        await bench.look()
        assert len(bench.actions(action)) == n_before + 1
        await bench.advance(timedelta(seconds=1))
        await bench.look()
        assert len(bench.actions(action)) == n_before + 2


async def test_parameters_of_amazon_are_kept_for_a_day(aws: Aws) -> None:
    """Five name the images of AL2023, and are asked for once."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        for span in (timedelta(0), timedelta(hours=1), timedelta(hours=22, minutes=59)):
            await bench.advance(span)
            await bench.look()
        assert len(bench.actions("GetParameter")) == 5
        await bench.advance(MINUTE)
        await bench.look()
        assert len(bench.actions("GetParameter")) == 10


async def test_the_version_of_kubernetes_is_kept_for_five_minutes(aws: Aws) -> None:
    """An upgraded cluster gets images of its new version."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        bench.control.change_cluster("prod", {"version": "1.36"})
        await bench.advance(timedelta(minutes=4))
        await bench.look()
        assert all("-1.35-" in ami.name for ami in (await bench.node_class()).status.amis)
        await bench.advance(MINUTE)
        await bench.look()
        assert all("-1.36-" in ami.name for ami in (await bench.node_class()).status.amis)


async def test_a_parameter_of_the_user_is_kept_for_five_minutes(aws: Aws) -> None:
    """`ssmParameter` may change at any time; those of Amazon are kept for a day."""
    async with node_class_bench(aws) as bench:
        images = [bench.control.add_image(name) for name in ("first", "second")]
        bench.control.set_image_parameter("/mine", images[0])
        await bench.create(amiSelectorTerms=[{"ssmParameter": "/mine"}], amiFamily="AL2023")
        await bench.look()
        bench.control.set_image_parameter("/mine", images[1])
        await bench.advance(timedelta(minutes=4))
        await bench.look()
        assert [ami.id for ami in (await bench.node_class()).status.amis] == [images[0]]
        await bench.advance(MINUTE)
        await bench.look()
        assert [ami.id for ami in (await bench.node_class()).status.amis] == [images[1]]


async def test_a_parameter_whose_image_is_deprecated_is_forgotten(aws: Aws) -> None:
    """Then the new image is used at once, not when the day is over."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        new = bench.control.add_image("new", owner="amazon")
        old = bench.aws.image()
        bench.control.set_image_parameter(STANDARD, new)
        await bench.controller.invalidate_images()
        await bench.advance(MINUTE)
        await bench.look()
        assert old in [ami.id for ami in (await bench.node_class()).status.amis]
        bench.control.deprecate_image(old)
        await bench.controller.invalidate_images()
        await bench.look()
        ids = [ami.id for ami in (await bench.node_class()).status.amis]
        assert new in ids
        assert old not in ids


async def test_a_verdict_is_kept_for_half_an_hour(aws: Aws) -> None:
    """Dry runs cost calls, and permissions seldom change."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        assert bench.actions(*DRY_RUNS) == list(DRY_RUNS)
        await bench.advance(timedelta(minutes=29))
        await bench.look()
        assert bench.actions(*DRY_RUNS) == list(DRY_RUNS)
        await bench.advance(MINUTE)
        await bench.look()
        assert bench.actions(*DRY_RUNS) == list(DRY_RUNS) * 2


async def test_an_annotation_forces_another_check(aws: Aws) -> None:
    """Whoever has given a permission need not wait."""
    async with node_class_bench(aws) as bench:
        bench.control.fail_calls("CreateFleet", "UnauthorizedOperation", "not you")
        await bench.create()
        await bench.look()
        await bench.look()
        assert (await bench.condition("ValidationSucceeded")).status == "False"
        await bench.annotate(checked="again")
        await bench.look()
        assert (await bench.condition("ValidationSucceeded")).status == "True"


async def test_a_failed_check_is_repeated_after_ten_minutes(aws: Aws) -> None:
    """A permission that is given is noticed without an edit."""
    async with node_class_bench(aws) as bench:
        bench.control.fail_calls("CreateFleet", "UnauthorizedOperation", "not you")
        await bench.create()
        await bench.look()
        await bench.advance(timedelta(minutes=10))
        await bench.look()
        assert (await bench.condition("ValidationSucceeded")).status == "True"


@pytest.mark.parametrize(
    ("code", "status", "want"),
    [
        ("RequestLimitExceeded", 503, "Throttled"),
        ("InternalError", 500, "Unavailable"),
        ("ExpiredToken", 400, "InvalidCredentials"),
        ("RequestExpired", 400, "InvalidCredentials"),
        ("AuthFailure", 401, "InvalidCredentials"),
    ],
)
async def test_a_dry_run_that_was_not_decided_is_no_verdict(
    aws: Aws, code: str, status: int, want: str
) -> None:
    """It is made again soon; meanwhile nothing is known."""
    async with node_class_bench(aws) as bench:
        bench.control.fail_calls("CreateFleet", code, "no", status=status)
        await bench.create()
        assert await bench.look() == timedelta(seconds=1)
        assert await bench.reason("ValidationSucceeded") == ("Unknown", want)
        await bench.look()
        assert (await bench.condition("ValidationSucceeded")).status == "True"


async def test_a_class_that_is_ready_is_looked_at_again_after_a_minute(aws: Aws) -> None:
    """The shortest of its timers is that of the subnets."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        assert await bench.look() == MINUTE


async def test_faults_of_a_class_are_tried_again_ever_more_seldom(aws: Aws) -> None:
    """From one second up to a minute."""
    async with node_class_bench(aws) as bench:
        bench.control.throttle("DescribeSubnets", times=None)
        await bench.create()
        waits = [(await bench.look()).total_seconds() for _ in range(8)]
        assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_fault_that_persists_is_told_once_a_minute(aws: Aws) -> None:
    """By an event and a log line each."""
    async with node_class_bench(aws) as bench:
        bench.control.throttle("DescribeSubnets", times=None)
        await bench.create()
        for _ in range(5):
            await bench.look()
        assert [reason for _, reason, _ in bench.events()] == ["Throttled"]
        assert len(bench.log.lines) == 1
        await bench.advance(MINUTE)
        await bench.look()
        assert len(bench.events()) == 2


async def test_nothing_is_written_while_nothing_changes(aws: Aws) -> None:
    """Everybody who watches classes would hear of it."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        before = (await bench.node_class()).metadata.resource_version
        await bench.advance(timedelta(hours=1))
        await bench.look()
        assert (await bench.node_class()).metadata.resource_version == before


async def test_subnets_with_most_free_addresses_come_first(aws: Aws) -> None:
    """Then by id."""
    async with node_class_bench(aws) as bench:
        subnets = bench.aws.subnets()
        terms: Json = [{"id": subnets[zone]} for zone in ZONES]
        for zone, n_free in zip(ZONES, (5, 50, 20), strict=True):
            bench.control.set_free_addresses(subnets[zone], n_free)
        await bench.create(subnetSelectorTerms=terms)
        await bench.look()
        got = [subnet.zone for subnet in (await bench.node_class()).status.subnets]
        assert got == [ZONES[1], ZONES[2], ZONES[0]]


async def test_a_capacity_block_is_expiring_forty_minutes_before_its_end(aws: Aws) -> None:
    """The next look is at that moment if it is less than a minute away; then it ends."""
    async with node_class_bench(aws) as bench:
        ends_at = bench.time.now() + timedelta(minutes=40, seconds=30)
        block = bench.control.add_reservation(
            "p5.48xlarge", ZONES[0], 1, kind="capacity-block", ends_at=ends_at, tags={"team": "a"}
        )
        await bench.create(capacityReservationSelectorTerms=[{"tags": {"team": "a"}}])
        assert await bench.look() == timedelta(seconds=30)
        (got,) = (await bench.node_class()).status.capacity_reservations
        assert (got.id, got.reservation_type, got.state) == (block, "capacity-block", "active")
        assert got.end_time == ends_at.replace(microsecond=0)
        await bench.advance(timedelta(seconds=30))
        await bench.look()
        (got,) = (await bench.node_class()).status.capacity_reservations
        assert got.state == "expiring"
        await bench.advance(timedelta(minutes=40))
        await bench.look()
        assert (await bench.node_class()).status.capacity_reservations == ()


async def test_reservations_are_selected_by_ids_of_which_one_does_not_exist(aws: Aws) -> None:
    """EC2 then refuses the whole call; the others are selected all the same."""
    async with node_class_bench(aws) as bench:
        add = bench.control.add_reservation
        first, second = (add("m5.large", zone, 2) for zone in ZONES[:2])
        terms: Json = [{"id": first}, {"id": "cr-0123456789abcdef0"}, {"id": second}]
        await bench.create(capacityReservationSelectorTerms=terms)
        await bench.look()
        found = (await bench.node_class()).status.capacity_reservations
        assert {one.id for one in found} == {first, second}
        got = await bench.condition("CapacityReservationsReady")
        assert got.status == "True"
        assert "cr-0123456789abcdef0" in got.message


async def test_reservations_are_selected_by_criteria_too(aws: Aws) -> None:
    """A term that matches none is named, and the condition holds all the same."""
    async with node_class_bench(aws) as bench:
        wanted = bench.control.add_reservation("m5.large", ZONES[0], 2, criteria="open")
        bench.control.add_reservation("m5.large", ZONES[1], 2, criteria="targeted")
        terms: Json = [{"instanceMatchCriteria": "open"}, {"tags": {"team": "nobody"}}]
        await bench.create(capacityReservationSelectorTerms=terms)
        await bench.look()
        found = (await bench.node_class()).status.capacity_reservations
        assert [(one.id, one.instance_type) for one in found] == [(wanted, "m5.large")]
        got = await bench.condition("CapacityReservationsReady")
        assert got.status == "True"
        assert "spec.capacityReservationSelectorTerms[1] (tags team=nobody)" in got.message


async def test_the_refresh_interval_of_subnets_is_a_setting(aws: Aws) -> None:
    """`--subnet-refresh-interval`."""
    settings = msgspec.structs.replace(SETTINGS, subnet_refresh_interval=timedelta(minutes=5))
    async with node_class_bench(aws, settings) as bench:
        await bench.create()
        await bench.look()
        n_calls = len(bench.actions("DescribeSubnets"))
        await bench.advance(timedelta(minutes=4))
        await bench.look()
        assert len(bench.actions("DescribeSubnets")) == n_calls
