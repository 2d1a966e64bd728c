"""What a whole replica shows before it leads, while it decides, and as its flags say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from datetime import timedelta
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.kube.errors import UnavailableError
from dovetail.model.plan import Certificate
from dovetail.observe.journal.reader import JournalReader
from dovetail.settings.operator import OperatorSettings
from tests.coverage.stage import EVENT, KWOK, NODE_CLAIM, Stage, playing
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube
from tests.unit.observe.scraped import values

_P = ParamSpec("_P")
_T = TypeVar("_T")
SYNCED = "karpenter_cluster_state_synced"
UNSYNCED = "karpenter_cluster_state_unsynced_time_seconds"
LIMITS = "karpenter_nodes_total_pod_limits"


class Held(Executor):
    """Does what it is given when it is let."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """As any executor, later."""
        later: Future[_T] = Future()
        self.waiting.append(lambda: later.set_result(fn(*args, **kwargs)))
        return later

    def let_go(self) -> None:
        """Do it now."""
        for one in self.waiting:
            one()
        self.waiting.clear()


async def furnished(stage: Stage) -> None:
    """A pool, and a pod that wants a node of it."""
    await stage.make(KWOK, "default")
    await stage.pool("default")
    await stage.pod("p1", "default")


async def test_a_decision_under_way_is_shown() -> None:
    """How many pods wait for it, and for how long it has been going on."""
    stage = Stage()
    stage.replica.think_with(held := Held())
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=5))
        assert held.waiting
        before = stage.scrape()
        await stage.time.advance(timedelta(seconds=4))
        after = stage.scrape()
        held.let_go()
        await stage.time.advance()
        done = stage.scrape()
    depth, spent = "karpenter_scheduler_queue_depth", "karpenter_scheduler_unfinished_work_seconds"
    assert len(values(after, depth, controller="provisioner")) == 1
    (first,), (second,) = values(before, spent), values(after, spent)
    assert second == first + 4
    assert values(done, depth) == values(done, spent) == []


async def test_until_everything_is_known_it_says_for_how_long_and_what_is_missing() -> None:
    """By the gauge, and in the log from half a minute on."""
    is_down = True

    def refuse(call: ApiCall) -> Trouble | None:
        if is_down and call.kind == "Pod" and call.verb in {"list", "watch"}:
            return Trouble(UnavailableError(503, "", "not yet"))
        return None

    stage = Stage(wrap=lambda kube: TroubledKube(kube, refuse))
    async with playing(stage, leads=False, has_world=False):
        await stage.time.advance(timedelta(seconds=29))
        text = stage.scrape()
        assert (values(text, SYNCED), values(text, UNSYNCED)) == ([0], [29])
        assert stage.said("cluster is not known yet") == []
        await stage.time.advance(timedelta(seconds=15))
        told = stage.said("cluster is not known yet")
        assert [str(one["missing"]) for one in told] == ["['Pod: not yet']"] * 2
        is_down = False
        await stage.time.advance(timedelta(seconds=60))
        text = stage.scrape()
        assert (values(text, SYNCED), values(text, UNSYNCED)) == ([1], [0])
        n_told = len(stage.said("cluster is not known yet"))
        await stage.time.advance(timedelta(seconds=60))
        assert len(stage.said("cluster is not known yet")) == n_told


async def test_a_replica_that_waits_tells_nothing_of_the_cluster() -> None:
    """Or else whoever adds up all replicas would count everything twice."""
    stage = Stage()
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=30))
        other = Stage(held=stage)
        async with playing(other, leads=False, has_world=False):
            await other.time.advance(timedelta(seconds=30))
            waiting, leading = other.scrape(), stage.scrape()
    for name in ("karpenter_nodes_allocatable", "operator_nodeclaim_status_condition_count"):
        assert values(leading, name)
        assert name not in waiting
    created = "karpenter_nodeclaims_created_total"
    assert (values(leading, created), values(waiting, created)) == ([1], [])
    assert values(waiting, SYNCED) == [1]


async def test_whoever_takes_over_knows_the_limits_of_pods_that_ran_before() -> None:
    """They are known to nobody else."""
    stage = Stage()
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=30))
        want = values(stage.scrape(), LIMITS, resource_type="cpu")
        assert want == [0.5]
        other = Stage(held=stage)
        async with playing(other, has_world=False):
            await other.time.advance(timedelta(seconds=5))
            assert values(other.scrape(), LIMITS, resource_type="cpu") == want


async def test_without_observability_no_series_grows_with_the_cluster() -> None:
    """What is counted is still counted."""
    stage = Stage(OperatorSettings(disable_cluster_state_observability=True))
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=30))
        text = stage.scrape()
    assert "karpenter_pods_state" not in text
    assert values(text, "karpenter_nodeclaims_created_total") == [1]


async def test_a_dry_run_says_what_it_would_do_and_does_nothing() -> None:
    """Neither claims nor events; what it would do for the same pod it says once."""
    stage = Stage(OperatorSettings(dry_run=True))
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=60))
        (told,) = stage.said("would act")
        assert (told["n_launches"], told["n_disruptions"]) == (1, 0)
        assert await stage.names(NODE_CLAIM) == []
        ours = [one for one in await stage.told() if one.source.component == "karpenter"]
    assert ours == []


@pytest.mark.parametrize(
    ("idle", "longest", "want"),
    [
        pytest.param(4, 20, 5, id="until none has come for a while"),
        pytest.param(4, 2, 3, id="but no longer than that"),
    ],
)
async def test_pods_are_gathered_for_as_long_as_was_set(idle: int, longest: int, want: int) -> None:
    """Whichever ends first."""
    settings = OperatorSettings(
        batch_idle_duration=timedelta(seconds=idle), batch_max_duration=timedelta(seconds=longest)
    )
    stage = Stage(settings)
    async with playing(stage):
        await stage.make(KWOK, "default")
        await stage.pool("default")
        await stage.time.advance(timedelta(seconds=60))
        await stage.pod("p1", "default")
        waited = 0
        while not await stage.names(NODE_CLAIM):
            await stage.time.advance(timedelta(seconds=1))
            waited += 1
    assert abs(waited - want) <= 1


def test_more_cores_see_to_more_at_once() -> None:
    """In a straight line, up to five times as much on sixty cores."""

    async def breadth(cpu_millis: int) -> float:
        return Stage(OperatorSettings(cpu_requests=cpu_millis)).replica.breadth

    found = [asyncio.run(breadth(millis)) for millis in (1_000, 60_000)]
    assert found == [1.0, 5.0]


async def test_events_are_told_under_the_name_that_users_filter_by() -> None:
    """`kubectl get events --field-selector source=karpenter`."""
    stage = Stage()
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=30))
        assert await stage.names(EVENT)
        assert {one.source.component for one in await stage.told()} >= {"karpenter"}


async def test_every_decision_is_kept_in_the_journal_and_can_be_made_again(tmp_path: Path) -> None:
    """Once the replica has finished, all of them are there."""
    stage = Stage(OperatorSettings(journal=str(tmp_path / "journal")))
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=60))
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.replica.finish(10))
    kept = list(JournalReader(tmp_path / "journal", pytest.fail).oldest_first())
    assert [launch.pods for one in kept for launch in one.plan.launches] == [("default/p1",)]
    for one in kept:
        again = decide(one.snapshot, one.now)
        assert msgspec.structs.replace(again, certificate=Certificate()) == one.plan


async def test_a_journal_that_cannot_be_written_is_told_once_and_harms_nobody(
    tmp_path: Path,
) -> None:
    """Pods get their nodes all the same."""
    (tmp_path / "journal").write_text("in the way")
    stage = Stage(OperatorSettings(journal=str(tmp_path / "journal")))
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=60))
        assert len(await stage.names(NODE_CLAIM)) == 1
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.replica.finish(10))
    assert len(stage.said("journal cannot be written")) == 1


async def test_who_only_watches_cannot_stop_who_works() -> None:
    """A page that fails over a decision is complained about, and the next one is made."""

    def fails(*_: object) -> None:
        msg = "no paint left"
        raise RuntimeError(msg)

    stage = Stage()
    shown: list[object] = []
    stage.replica.show(fails)
    stage.replica.show(lambda *parts: shown.append(parts))
    async with playing(stage):
        await furnished(stage)
        await stage.time.advance(timedelta(seconds=30))
    assert len(shown) > 1
    assert stage.said("a decision could not be shown")
