"""How often is AWS called in an hour in which nothing happens? An hour of virtual time, counted.

The provider works as in the controller: launch templates, tags, and the status of its node class.
Beside it everything is asked of it that the controller asks by the clock: all instances every two
minutes, drift of every node and the types of the pool every five. The catalogue of types and prices
is read every twelve hours, and not in this hour.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from benchmarks.aws.ground import account, launch
from benchmarks.results import Result
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.claims.loop import N_WORKERS
from dovetail.controllers.pools.catalogue import REFRESH_SECONDS
from dovetail.decide.lifecycle.timing import DRIFT_RECHECK, GARBAGE_PERIOD
from dovetail.kube.seam import Kube
from dovetail.model.node import Node
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.provider import AwsProvider
from tests.ec2.provider.cloud import POOL, KnownCatalogue
from tests.ec2.setting import Aws
from tests.ec2.status.bench import CLUSTER, SETTINGS, NodeClassBench, node_class_bench

N_NODES: Final = 1000
CALLS: Final = "calls an hour"
_STEP: Final = timedelta(seconds=10)
_WARM_UP: Final = timedelta(minutes=10)
_HOUR: Final = timedelta(hours=1)


class QuietCatalogue(KnownCatalogue):
    """Knows its types, and does not read them."""

    async def run(self) -> None:
        """Nothing is due in this hour."""


class InFlight:
    """Counts the calls that are under way, so that virtual time waits for their answers."""

    def __init__(self) -> None:
        self.n_calls = 0

    def begin(self, **_: object) -> None:
        """A call is sent."""
        self.n_calls += 1

    def end(self, **_: object) -> None:
        """It is answered, or has failed."""
        self.n_calls -= 1

    @contextmanager
    def of(self, apis: AwsApis) -> Iterator[None]:
        """Count the calls of these clients."""
        for client in (apis.ec2, apis.eks, apis.iam, apis.ssm):
            client.meta.events.register("before-call", self.begin)
            client.meta.events.register("after-call", self.end)
            client.meta.events.register("after-call-error", self.end)
        yield


def measure_rest(n_nodes: int = N_NODES, span: timedelta = _HOUR) -> Result:
    """Let the time pass; the calls by action, as so many an hour."""
    with account() as aws:
        counts = asyncio.run(_counted(n_nodes, span, aws))
    per_hour = {action: n * (_HOUR / span) for action, n in sorted(counts.items())}
    figures = {"nodes": n_nodes, CALLS: sum(per_hour.values()), **per_hour}
    return Result(f"rest-{n_nodes}", figures)


async def _counted(n_nodes: int, span: timedelta, aws: Aws) -> Counter[str]:
    async with node_class_bench(aws) as bench:
        launch(aws, n_nodes, CLUSTER)
        aws.control.advance(timedelta(minutes=1))
        await bench.create()
        under_way = InFlight()
        provider = _provider(bench)
        with under_way.of(bench.apis):
            async with asyncio.TaskGroup() as group:
                working = group.create_task(provider.run())
                asking = group.create_task(_ask(provider, bench))
                await _pass(bench, under_way, _WARM_UP)
                last = max(call.number for call in aws.control.calls())
                await _pass(bench, under_way, span)
                counts = Counter(call.action for call in aws.control.calls(after=last))
                working.cancel()
                asking.cancel()
    return counts


def _provider(bench: NodeClassBench) -> AwsProvider:
    context: ProviderContext[Kube] = ProviderContext(bench.kube, bench.time, bench.time)
    source = QuietCatalogue(bench.apis, SETTINGS, clock=bench.time, timer=bench.time)
    return AwsProvider(context, bench.apis, SETTINGS, source=source, workers=(bench.controller,))


async def _pass(bench: NodeClassBench, under_way: InFlight, span: timedelta) -> None:
    """Let virtual time pass, but not while a call is under way."""
    for _ in range(round(span / _STEP)):
        await bench.time.advance(_STEP)
        n_quiet = 0
        while n_quiet < 3:  # whoever got an answer may call again
            n_quiet = 0 if under_way.n_calls else n_quiet + 1
            await bench.time.advance()
            await asyncio.sleep(0.002)


async def _ask(provider: AwsProvider, bench: NodeClassBench) -> None:
    """Ask what the controller asks by the clock."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_list(provider, bench))
        group.create_task(_look_for_drift(provider, bench))
        group.create_task(_ask_for_types(provider, bench))


async def _list(provider: AwsProvider, bench: NodeClassBench) -> None:
    while True:
        await provider.list()
        await bench.time.sleep(GARBAGE_PERIOD.total_seconds())


async def _look_for_drift(provider: AwsProvider, bench: NodeClassBench) -> None:
    nodes = [Node(one.provider_id, provider_id=one.provider_id) for one in await provider.list()]
    slots = asyncio.Semaphore(N_WORKERS)

    async def look(node: Node) -> None:
        async with slots:
            await provider.drift_reason(node)

    while True:
        async with asyncio.TaskGroup() as group:
            for node in nodes:
                group.create_task(look(node))
        await bench.time.sleep(DRIFT_RECHECK.total_seconds())


async def _ask_for_types(provider: AwsProvider, bench: NodeClassBench) -> None:
    while True:
        await provider.instance_types(POOL)
        await bench.time.sleep(REFRESH_SECONDS)
