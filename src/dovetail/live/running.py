"""Runs the controller, from its start to its end.

run -> serve what can be asked -> follow the cluster -> be elected -> work until told to stop
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from random import SystemRandom
from typing import Final

import msgspec

from dovetail.clock import LoopTimer, SystemClock
from dovetail.cloud import registry
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.controllers.leadership import election
from dovetail.controllers.leadership.election import (
    LEASE,
    ElectionDependencies,
    LeaderCandidate,
    LeadershipLostError,
)
from dovetail.controllers.leadership.readiness import Readiness, watch_memory
from dovetail.controllers.leadership.supervisor import GRACE_SECONDS, Loop, Supervisor
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.plugin import Access
from dovetail.kube.http.retry import Retries
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.seam import Kube, Ref
from dovetail.live.asking import Asking
from dovetail.live.providing import Means, provide
from dovetail.live.replica import Outside, Replica
from dovetail.observe.journal.reader import RecentDecisions
from dovetail.observe.logs import Log, LogSettings, open_log
from dovetail.settings.operator import OperatorSettings
from dovetail.web import ops
from dovetail.web.dashboard.lookout import Lookout
from dovetail.web.dashboard.server import DashboardContent, ListenAddress, serving
from dovetail.web.dashboard.stream import Stream

LOST: Final = 1
_REMEMBERED: Final = 120  # decisions, for those who ask why
_SIGNALLED: Final = 128  # what a shell adds to the number of the signal
# One try, and no longer than a part of the renew deadline: the candidate itself tries again.
_PROMPT: Final = HttpSettings(
    n_connections=4, connect_seconds=3.0, answer_seconds=5.0, retries=Retries(n_tries=1)
)
# Kubelets have no limit that they share: stand-ins for thousands of them get a client of their own.
_KUBELETS: Final = HttpSettings(requests_per_second=2000.0, burst=2000)


def run(
    settings: OperatorSettings,
    environment: Mapping[str, str],
    provider_settings: msgspec.Struct | None = None,
) -> int:
    """Run until a signal comes or the lease is lost; the exit code. Without `provider_settings` the
    provider has its defaults. Raises InputError.
    """
    access = kubeconfig.load(environment, path=settings.kubeconfig, context=settings.context)
    # One that is not there is told before anything begins.
    plugin: ProviderPlugin[Kube, msgspec.Struct] = registry.load(settings.provider)
    return asyncio.run(_run(settings, environment, access, _Chosen(plugin, provider_settings)))


class _Chosen(msgspec.Struct, frozen=True):
    """The provider that runs, and its settings."""

    plugin: ProviderPlugin[Kube, msgspec.Struct]
    settings: msgspec.Struct | None


async def _run(
    settings: OperatorSettings, environment: Mapping[str, str], access: Access, chosen: _Chosen
) -> int:
    clock = SystemClock()
    log_settings = LogSettings(
        settings.log_level, settings.log_output_paths, settings.log_error_output_paths
    )
    outside = Outside(
        settings=settings,
        environment=environment,
        clock=clock,
        timer=LoopTimer(),
        chance=SystemRandom().random,
        log=open_log(log_settings, clock),
        stopping=asyncio.Event(),
    )
    try:
        with _signals(outside.stopping, outside.log):
            return await _live(outside, access, chosen)
    finally:
        outside.log.close()


async def _live(outside: Outside, access: Access, chosen: _Chosen) -> int:
    settings = outside.settings
    world = World(outside.clock, outside.timer, outside.chance, outside.environment)
    pace = HttpSettings(
        requests_per_second=settings.requests_per_second, burst=settings.kube_client_burst
    )
    async with (
        HttpKube(access, world, _PROMPT) as prompt_kube,
        HttpKube(access, world, pace) as kube,
        HttpKube(access, world, _KUBELETS) as kubelets_kube,
        provide(
            chosen.plugin,
            Means(
                kube,
                outside.clock,
                outside.timer,
                outside.log,
                api_authority=access.trust.authority,
                gates=settings.feature_gates,
                kubernetes_version=kube.version,
            ),
            chosen.settings,
        ) as opened,
    ):
        replica = Replica(outside, kube, kubelets_kube, opened)
        readiness = Readiness(prompt_kube, outside.timer, outside.log, access.server)
        async with (
            _serve(outside, replica, readiness),
            _show_page(outside, replica),
            _in_the_background(outside, replica, readiness),
        ):
            return await _lead(outside, replica, prompt_kube)


@asynccontextmanager
async def _serve(outside: Outside, replica: Replica, readiness: Readiness) -> AsyncIterator[None]:
    def problems() -> tuple[str, ...]:
        return (*readiness.problems(), *replica.unsynced_parts())

    content = ops.OpsContent(metrics=replica.scrape, problems=problems)
    place = ops.OpsPlace(
        metrics_port=outside.settings.metrics_port,
        health_port=outside.settings.health_probe_port,
        host=ops.host(outside.environment),
        has_profiling=outside.settings.enable_profiling,
    )
    async with ops.serving(content, place) as ports:
        outside.log.info("serving", metrics_port=ports.metrics, health_port=ports.health)
        yield


@asynccontextmanager
async def _show_page(outside: Outside, replica: Replica) -> AsyncIterator[None]:
    """The page, where one is wanted."""
    settings = outside.settings
    if not settings.dashboard_port:
        yield
        return
    lookout = Lookout()
    recent = RecentDecisions(_REMEMBERED)
    replica.show(lookout.note_plan)
    replica.show(recent.add)
    stream = Stream(lookout, replica.view)
    place = ListenAddress(settings.dashboard_port, settings.dashboard_host, "--dashboard-port")
    async with serving(DashboardContent(stream, Asking(lookout, recent).explain), place) as port:
        outside.log.info("showing the cluster", address=f"http://{settings.dashboard_host}:{port}/")
        async with _keep_loops(outside, [Loop("page", stream.run)]):
            yield


@asynccontextmanager
async def _in_the_background(
    outside: Outside, replica: Replica, readiness: Readiness
) -> AsyncIterator[None]:
    """What goes on whether or not this replica leads."""
    loops = [Loop("readiness", readiness.run), *replica.background()]
    limit = outside.settings.memory_limit_bytes
    if limit is not None:
        loops.append(Loop("memory", lambda: watch_memory(limit, outside.timer, outside.log)))
    async with _keep_loops(outside, loops):
        yield


@asynccontextmanager
async def _keep_loops(outside: Outside, loops: Iterable[Loop]) -> AsyncIterator[None]:
    """Loops that go on for as long as the block lasts."""
    supervisor = _supervisor(outside, loops)
    async with asyncio.TaskGroup() as group:
        group.create_task(supervisor.run())
        try:
            yield
        finally:
            supervisor.stop()


async def _lead(outside: Outside, replica: Replica, kube: HttpKube) -> int:
    async def work() -> None:
        await _work(outside, replica)

    if outside.settings.disable_leader_election or outside.settings.dry_run:
        await work()
        return 0
    try:
        await _candidate(outside, kube).lead(work, outside.stopping)
    except LeadershipLostError as error:
        outside.log.error("lost leadership", problem=str(error))  # noqa: TRY400  its own logger
        return LOST
    return 0


async def _work(outside: Outside, replica: Replica) -> None:
    """Lead until told to stop; then end what was begun, as far as the grace period reaches."""
    if not await replica.taken_over():
        return
    supervisor = _supervisor(outside, replica.leader_loops())
    async with asyncio.TaskGroup() as group:
        group.create_task(supervisor.run())
        await outside.stopping.wait()
        await replica.finish(GRACE_SECONDS)
        supervisor.stop()


def _supervisor(outside: Outside, loops: Iterable[Loop]) -> Supervisor:
    return Supervisor(loops, timer=outside.timer, chance=outside.chance, log=outside.log)


def _candidate(outside: Outside, kube: HttpKube) -> LeaderCandidate:
    settings = outside.settings
    namespace = settings.leader_election_namespace or election.namespace(outside.environment)
    means = ElectionDependencies(kube, outside.clock, outside.timer, outside.chance, outside.log)
    lease = Ref(LEASE, settings.leader_election_name, namespace)
    return LeaderCandidate(lease, f"{socket.gethostname()}_{uuid.uuid4()}", means)


@contextmanager
def _signals(stopping: asyncio.Event, log: Log) -> Iterator[None]:
    """The first signal asks for an end, the second is one."""

    def hear(number: signal.Signals) -> None:
        if stopping.is_set():
            os._exit(_SIGNALLED + number)
        log.info("stopping", signal=number.name)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, hear, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
