"""How does a whole cluster live in this process, to be watched and tried out?

The API in memory, served over HTTP; stand-ins for kube-scheduler, kubelets and workload
controllers; the controller itself, just as it runs on a cluster; and the page.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, time
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import Served, serve
from dovetail.clock import SystemClock
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.leadership.supervisor import Loop, Supervisor
from dovetail.kube.seam import Kube
from dovetail.live.asking import Asking
from dovetail.live.providing import Provided, ProviderVoice
from dovetail.live.replica import Outside, Replica
from dovetail.model.backoff import Chance
from dovetail.observe.journal.reader import RecentDecisions
from dovetail.observe.logs import LogSettings, open_log
from dovetail.providers.aws.catalogue import offline as aws
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.plugin import PLUGIN
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.settings.operator import LogLevel, OperatorSettings
from dovetail.settings.readings import FEATURE_GATES
from dovetail.sim.demo.setting import (
    Setting,
    demo_setting,
    forget_the_old,
    jobs,
    setting_of,
    settle,
    skipped_remark,
)
from dovetail.sim.demo.story import DAWN, Story, Tell
from dovetail.sim.kubelets import Habits
from dovetail.sim.tempo import Tempo
from dovetail.sim.world import run_world
from dovetail.web.dashboard.lookout import Lookout
from dovetail.web.dashboard.server import DashboardContent, ListenAddress, serving
from dovetail.web.dashboard.stream import Stream

_HISTORY: Final = 2_000  # changes of each kind that watches may catch up on; hours go by in seconds
_SEED: Final = 7
_REMEMBERED: Final = 120  # decisions, for those who ask why
_GATES: Final = {**FEATURE_GATES, "SpotToSpotConsolidation": True}
_HABITS: Final = Habits(ready_after_seconds=15.0, start_pod_seconds=8.0, lease_seconds=0.0)


class DemoSettings(msgspec.Struct, frozen=True):
    """How the demo is to run. `speed`: so many seconds pass in a real one."""

    port: int = 0
    speed: float = 480.0
    manifests: str = ""


class Announced(msgspec.Struct, frozen=True):
    """What there is to see once it is up."""

    dashboard: str
    kubeconfig: str


Announce = Callable[[Announced], None]
Say = Callable[[str], None]


def run_demo(settings: DemoSettings, *, announce: Announce, say: Say) -> None:
    """Let a cluster live until interrupted. Raises InputError."""
    setting = setting_of(settings.manifests) if settings.manifests else demo_setting()
    asyncio.run(_run(settings, setting, announce, say))


async def _run(settings: DemoSettings, setting: Setting, announce: Announce, say: Say) -> None:
    today = datetime.combine(SystemClock().now().date(), time(), tzinfo=UTC)
    tempo = Tempo(today + DAWN, settings.speed)
    kube = MemoryKube(tempo, history=_HISTORY)
    await settle(kube, setting)
    for remark in _remarks(setting):
        say(remark)
    stopping = asyncio.Event()
    with _signals(stopping):
        async with _run_cluster(kube, tempo, settings) as cluster, _kubeconfig(cluster.api) as path:
            announce(Announced(f"http://127.0.0.1:{cluster.port}/", path))
            await stopping.wait()


def _remarks(setting: Setting) -> Iterator[str]:
    remark = skipped_remark(setting.skipped.items())
    if remark:
        yield remark
    if setting.adapted:
        yield f"nodes of {', '.join(setting.adapted)} are simulated here"


class _Cluster(msgspec.Struct, frozen=True):
    api: Served
    port: int


@asynccontextmanager
async def _run_cluster(
    kube: MemoryKube, tempo: Tempo, settings: DemoSettings
) -> AsyncIterator[_Cluster]:
    faults, outside = Faults(), _outside(tempo)
    voice = ProviderVoice()
    around: ProviderContext[Kube] = ProviderContext(
        kube=kube, clock=tempo, timer=tempo, tell=voice.tell, announce=voice.announce
    )
    cloud = KwokProvider(around, types=aws.instance_types(), ordered=faults)
    replica = Replica(outside, kube, kube, Provided(cloud, (PLUGIN.extension,), voice))
    lookout = Lookout(lambda: tempo.rate)
    recent = RecentDecisions(_REMEMBERED)
    replica.show(lookout.note_plan)
    replica.show(recent.add)
    stream = Stream(lookout, replica.view)
    loops = [
        *replica.background(),
        Loop("page", stream.run),
        Loop("upkeep", lambda: forget_the_old(kube, tempo, tempo)),
        _world(kube, tempo, outside),
    ]
    if not settings.manifests:
        loops.append(_story(around, outside.chance, faults, lookout.note))
    content = DashboardContent(stream, Asking(lookout, recent).explain, tempo.change)
    async with (
        serving(content, ListenAddress(settings.port)) as port,
        serve(kube, clock=tempo, timer=tempo) as api,
        asyncio.TaskGroup() as group,
    ):
        running = [group.create_task(_supervise(loops, outside))]
        await replica.taken_over()
        running.append(group.create_task(_supervise(replica.leader_loops(), outside)))
        try:
            yield _Cluster(api, port)
        finally:
            for task in running:
                task.cancel()


def _outside(tempo: Tempo) -> Outside:
    return Outside(
        settings=OperatorSettings(
            disable_leader_election=True, log_level=LogLevel.ERROR, feature_gates=_GATES
        ),
        environment={},
        clock=tempo,
        timer=tempo,
        chance=Random(_SEED).random,  # noqa: S311  a story, not a secret
        log=open_log(LogSettings(LogLevel.ERROR, ("stderr",), ("stderr",)), tempo),
        stopping=asyncio.Event(),
    )


def _world(kube: MemoryKube, tempo: Tempo, outside: Outside) -> Loop:
    def run() -> Awaitable[None]:
        return run_world(kube, tempo, tempo, chance=outside.chance, habits=_HABITS)

    return Loop("world", run)


def _story(around: ProviderContext[Kube], chance: Chance, faults: Faults, tell: Tell) -> Loop:
    story = Story(
        around.kube,
        around.clock,
        around.timer,
        chance=chance,
        faults=faults,
        jobs=jobs(),
        tell=tell,
        announce=around.announce,
    )
    return Loop("story", story.run)


async def _supervise(loops: tuple[Loop, ...] | list[Loop], outside: Outside) -> None:
    await Supervisor(loops, timer=outside.timer, chance=outside.chance, log=outside.log).run()


@asynccontextmanager
async def _kubeconfig(api: Served) -> AsyncIterator[str]:
    """A file that only this user can read, for as long as the demo runs."""
    with tempfile.TemporaryDirectory(prefix="dovetail-demo-") as directory:
        path = Path(directory) / "kubeconfig"
        path.write_text(api.kubeconfig())
        path.chmod(0o600)
        yield str(path)


@contextmanager
def _signals(stopping: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
