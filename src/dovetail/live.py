"""Which parts make up the running controller? The only place that knows which clock, which API.

run -> serve what can be asked -> wait to be elected -> work until told to stop
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from random import SystemRandom
from typing import Final

import msgspec

from dovetail.clock import Clock, LoopTimer, SystemClock, Timer
from dovetail.cloud import registry
from dovetail.controllers import leadership
from dovetail.controllers.leadership import LEASE, Candidate, ElectionMeans, LeadershipLostError
from dovetail.controllers.memory_limit import watch_memory
from dovetail.controllers.readiness import Readiness
from dovetail.controllers.supervisor import Loop, Supervisor
from dovetail.kube.backoff import Chance
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.access import Access
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.retry import Retries
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.seam import Ref
from dovetail.observe.logs import Log, LogSettings, open_log
from dovetail.observe.meters import Meters
from dovetail.settings.operator import OperatorSettings
from dovetail.web import ops

LOST: Final = 1
_SIGNALLED: Final = 128  # what a shell adds to the number of the signal
# One try, and no longer than a part of the renew deadline: the candidate itself tries again.
_PROMPT: Final = HttpSettings(
    n_connections=4, connect_seconds=3.0, answer_seconds=5.0, retries=Retries(n_tries=1)
)


class _Parts(msgspec.Struct, frozen=True):
    """What everything is made from."""

    settings: OperatorSettings
    environment: Mapping[str, str]
    clock: Clock
    timer: Timer
    chance: Chance
    log: Log
    access: Access
    stopping: asyncio.Event


def run(settings: OperatorSettings, environment: Mapping[str, str]) -> int:
    """Run until a signal comes or the lease is lost; the exit code. Raises InputError."""
    access = kubeconfig.load(environment, path=settings.kubeconfig, context=settings.context)
    registry.load(settings.provider)  # one that is not there is told before anything begins
    return asyncio.run(_run(settings, environment, access))


async def _run(settings: OperatorSettings, environment: Mapping[str, str], access: Access) -> int:
    clock = SystemClock()
    log_settings = LogSettings(
        settings.log_level, settings.log_output_paths, settings.log_error_output_paths
    )
    parts = _Parts(
        settings=settings,
        environment=environment,
        clock=clock,
        timer=LoopTimer(),
        chance=SystemRandom().random,
        log=open_log(log_settings, clock),
        access=access,
        stopping=asyncio.Event(),
    )
    try:
        with _signals(parts.stopping, parts.log):
            return await _live(parts)
    finally:
        parts.log.close()


async def _live(parts: _Parts) -> int:
    world = World(parts.clock, parts.timer, parts.chance, parts.environment)
    async with HttpKube(parts.access, world, _PROMPT) as prompt_kube:
        readiness = Readiness(prompt_kube, parts.timer, parts.log, parts.access.server)
        async with _served(parts, readiness), _in_the_background(parts, readiness):
            return await _led(parts, prompt_kube)


@asynccontextmanager
async def _served(parts: _Parts, readiness: Readiness) -> AsyncIterator[None]:
    meters = Meters()
    content = ops.OpsContent(metrics=lambda: (meters.text(),), problems=readiness.problems)
    place = ops.OpsPlace(
        metrics_port=parts.settings.metrics_port,
        health_port=parts.settings.health_probe_port,
        host=ops.host(parts.environment),
        has_profiling=parts.settings.enable_profiling,
    )
    async with ops.serving(content, place) as ports:
        parts.log.info("serving", metrics_port=ports.metrics, health_port=ports.health)
        yield


@asynccontextmanager
async def _in_the_background(parts: _Parts, readiness: Readiness) -> AsyncIterator[None]:
    """What goes on whether or not this replica leads."""
    loops = [Loop("readiness", readiness.run)]
    limit = parts.settings.memory_limit_bytes
    if limit is not None:
        loops.append(Loop("memory", lambda: watch_memory(limit, parts.timer, parts.log)))
    supervisor = Supervisor(loops, timer=parts.timer, chance=parts.chance, log=parts.log)
    async with asyncio.TaskGroup() as group:
        group.create_task(supervisor.run())
        try:
            yield
        finally:
            supervisor.stop()


async def _led(parts: _Parts, kube: HttpKube) -> int:
    async def work() -> None:
        await parts.stopping.wait()

    if parts.settings.disable_leader_election or parts.settings.dry_run:
        await work()
        return 0
    try:
        await _candidate(parts, kube).lead(work, parts.stopping)
    except LeadershipLostError as error:
        lost = error
    else:
        return 0
    parts.log.error("lost leadership", problem=str(lost))
    return LOST


def _candidate(parts: _Parts, kube: HttpKube) -> Candidate:
    settings = parts.settings
    namespace = settings.leader_election_namespace or leadership.namespace(parts.environment)
    means = ElectionMeans(kube, parts.clock, parts.timer, parts.chance, parts.log)
    lease = Ref(LEASE, settings.leader_election_name, namespace)
    return Candidate(lease, f"{socket.gethostname()}_{uuid.uuid4()}", means)


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
