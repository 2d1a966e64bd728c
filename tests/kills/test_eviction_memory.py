"""How often pods were evicted is known to the next controller, wherever one is killed."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.controllers.pods.eviction_counts import CONFIG_MAP, NAME
from dovetail.kube.seam import Ref
from dovetail.state.evictions import read
from dovetail.testing import virtual_time
from tests.doubles.troubled_kube import ApiCall, When
from tests.kills.scenarios import drain, two_nodes
from tests.kills.world import World, living, running

N_EVICTED = 2  # the pods of one node
UNTIL_DRAINED_SECONDS = 60.0


async def counted(world: World) -> int:
    """How many evictions the API remembers."""
    found = msgspec.json.decode(await world.api.get(Ref(CONFIG_MAP, NAME, "default")))
    counts = read(found["data"]["evictions"])
    assert {workload for workload, _ in counts} == {"ReplicaSet/default/web"}
    return sum(counts.values())


async def drained(dies_at: int | None, when: When) -> tuple[list[ApiCall], int]:
    """Drain a node, kill the controller at that call and start another: what the first has called,
    and how many evictions are remembered in the end.
    """
    world = World()
    async with living(world):
        async with running(world) as process:
            await two_nodes(world)
            await world.pass_(2)
            process.mortal.begin_counting(dies_at, when)
            await drain(world)
            await world.pass_(UNTIL_DRAINED_SECONDS)
            calls = process.mortal.calls
        await world.pass_(3)
        async with running(world):
            await world.pass_(UNTIL_DRAINED_SECONDS)
            return calls, await counted(world)


def test_every_eviction_is_remembered() -> None:
    """When nobody is killed before the work is done."""
    calls, n_counted = virtual_time.run(drained(None, When.BEFORE))
    assert sum(call.verb == "evict" for call in calls) >= N_EVICTED
    assert n_counted == N_EVICTED


@pytest.mark.parametrize("when", list(When))
def test_a_kill_loses_only_what_was_not_written_yet(when: When) -> None:
    """One eviction at most is so young that nobody has written it down, and none counts twice."""
    calls, _ = virtual_time.run(drained(None, When.BEFORE))
    writes = [
        at for at, call in enumerate(calls, 1) if call.verb == "evict" or call.kind == "ConfigMap"
    ]
    assert len(writes) >= 2 * N_EVICTED
    for number in writes:
        _, n_counted = virtual_time.run(drained(number, when))
        assert n_counted in {N_EVICTED - 1, N_EVICTED}, f"killed at {calls[number - 1]}"
        call = calls[number - 1]
        is_written = call.kind == "ConfigMap" and call.is_write and when is When.AFTER
        assert n_counted == N_EVICTED or not is_written
