"""What a running controller answers, whoever asks."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from dovetail.errors import InputError
from dovetail.web import ops
from dovetail.web.ops import LOOPBACK, OpsContent, OpsPlace
from dovetail.web.profiling import sample


class Asker:
    """Asks both ports."""

    def __init__(self, session: aiohttp.ClientSession, ports: ops.OpsPorts) -> None:
        self._session = session
        self.ports = ports

    async def metrics(self, path: str, method: str = "GET") -> tuple[int, str]:
        """What the metrics port says."""
        return await self._asked(f"http://{LOOPBACK}:{self.ports.metrics}{path}", method)

    async def health(self, path: str, method: str = "GET") -> tuple[int, str]:
        """What the health port says."""
        return await self._asked(f"http://{LOOPBACK}:{self.ports.health}{path}", method)

    async def _asked(self, url: str, method: str) -> tuple[int, str]:
        async with self._session.request(method, url) as response:
            return response.status, await response.text()


def no_metrics() -> Iterable[bytes]:
    """Nothing to tell."""
    return ()


@asynccontextmanager
async def asking(
    metrics: Callable[[], Iterable[bytes]] = no_metrics,
    problems: Callable[[], tuple[str, ...]] = tuple,
    *,
    has_profiling: bool = False,
) -> AsyncIterator[Asker]:
    """Both ports, served on loopback."""
    place = OpsPlace(0, 0, LOOPBACK, has_profiling)
    async with (
        ops.serving(OpsContent(metrics, problems), place) as ports,
        aiohttp.ClientSession() as session,
    ):
        yield Asker(session, ports)


async def test_health_is_an_answer_at_all() -> None:
    """Ready or not."""
    async with asking(problems=lambda: ("not synced",)) as asker:
        assert await asker.health("/healthz") == (200, "ok\n")


async def test_readiness_says_what_is_missing_as_it_changes() -> None:
    """One reason a line, asked anew each time."""
    found = ["pods are not read", "no CRD"]
    async with asking(problems=lambda: tuple(found)) as asker:
        assert await asker.health("/readyz") == (503, "pods are not read\nno CRD\n")
        found.clear()
        assert await asker.health("/readyz") == (200, "ok\n")


async def test_metrics_come_in_pieces_and_others_run_in_between() -> None:
    """A large scrape does not hold up the loop."""
    n_turns = 0
    is_done = asyncio.Event()

    def pieces() -> Iterator[bytes]:
        before = n_turns
        for number in range(50):
            yield f"m {number}\n".encode()
        assert n_turns > before + 25
        is_done.set()

    async def turn() -> None:
        nonlocal n_turns
        while not is_done.is_set():
            n_turns += 1
            await asyncio.sleep(0)

    async with asking(metrics=pieces) as asker, asyncio.TaskGroup() as group:
        group.create_task(turn())
        status, text = await asker.metrics("/metrics")
        assert (status, text) == (200, "".join(f"m {number}\n" for number in range(50)))


async def test_metrics_that_fail_are_an_error_and_the_next_scrape_is_not() -> None:
    """A bug in a gauge does not end the server."""
    is_broken = True

    def pieces() -> Iterable[bytes]:
        if is_broken:
            raise RuntimeError
        return (b"up 1\n",)

    async with asking(metrics=pieces) as asker:
        assert (await asker.metrics("/metrics"))[0] == 500
        is_broken = False
        assert await asker.metrics("/metrics") == (200, "up 1\n")


@pytest.mark.parametrize("path", ["/", "/metrics/", "/healthz", "/debug/pprof/", "/../etc/passwd"])
async def test_there_is_nothing_else_to_see(path: str) -> None:
    """Also no profiles, unless they were asked for at the start."""
    async with asking() as asker:
        assert (await asker.metrics(path))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_nothing_can_be_changed(method: str) -> None:
    """There is only reading."""
    async with asking(has_profiling=True) as asker:
        assert (await asker.metrics("/metrics", method))[0] == 405
        assert (await asker.metrics("/debug/pprof/heap", method))[0] == 405
        assert (await asker.health("/readyz", method))[0] == 405


async def test_a_port_that_is_taken_is_told_by_its_flag() -> None:
    """And what was opened before is closed again."""
    async with asking() as asker:
        place = OpsPlace(0, asker.ports.health, LOOPBACK)
        with pytest.raises(InputError, match=f"--health-probe-port: .*{asker.ports.health}"):
            async with ops.serving(OpsContent(no_metrics, tuple), place):
                pass


def test_only_a_pod_is_open_to_its_network() -> None:
    """Probes come from outside there; elsewhere nobody does."""
    assert ops.host({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) is None
    assert ops.host({}) == LOOPBACK


async def test_the_index_names_every_profile() -> None:
    """And each of them is there."""
    async with asking(has_profiling=True) as asker:
        status, text = await asker.metrics("/debug/pprof/")
        assert status == 200
        names = [line.split()[0] for line in text.splitlines() if line.startswith("/debug")]
        assert {name.rpartition("/")[2] for name in names} >= {"profile", "goroutine", "heap"}
        for name in names:
            assert (await asker.metrics(f"{name}?seconds=0.02"))[0] == 200


async def test_stacks_of_tasks_and_threads_are_told() -> None:
    """By their names, with where they stand."""
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="somebody-else")
    thread.start()

    async def waiting_for_godot() -> None:
        await asyncio.Event().wait()

    try:
        async with asking(has_profiling=True) as asker, asyncio.TaskGroup() as group:
            task = group.create_task(waiting_for_godot(), name="vladimir")
            _, text = await asker.metrics("/debug/pprof/goroutine")
            task.cancel()
    finally:
        release.set()
        thread.join()
    assert "task vladimir\n    " in text
    assert "waiting_for_godot" in text
    assert "thread somebody-else" in text


async def test_a_profile_shows_what_a_busy_thread_does() -> None:
    """One line for each stack, the outermost call first, and how often it was seen."""
    work = [1000]
    beginning = threading.Lock()
    beginning.acquire()

    def busy_with_sums() -> None:
        # It calls nothing that is written in Python: whenever it is seen, its stack is the same.
        beginning.release()
        while work:
            sum(range(1000))

    thread = threading.Thread(target=busy_with_sums, name="busy one")
    thread.start()
    beginning.acquire()
    try:
        async with asking(has_profiling=True) as asker:
            _, text = await asker.metrics("/debug/pprof/profile?seconds=0.2")
    finally:
        work.clear()
        thread.join()
    (line,) = (one for one in text.splitlines() if "busy_with_sums" in one)
    stack, _, count = line.rpartition(" ")
    assert stack.startswith("busy_one;threading:")
    assert int(count) >= 1


@pytest.mark.parametrize("said", ["0", "-1", "61", "nan", "inf", "1e9", "x", "9" * 5000])
async def test_a_span_that_makes_no_sense_is_refused(said: str) -> None:
    """Nobody samples for ever."""
    async with asking(has_profiling=True) as asker:
        status, text = await asker.metrics(f"/debug/pprof/profile?seconds={said}")
        assert (status, "at most 60" in text) == (400, True)


async def test_one_profile_at_a_time_and_it_ends_with_the_server() -> None:
    """The second is asked to come back; the first is cut short by the end."""
    async with asking(has_profiling=True) as asker, asyncio.TaskGroup() as group:
        first = group.create_task(asker.metrics("/debug/pprof/profile?seconds=60"))
        while "    sample " not in (await asker.metrics("/debug/pprof/threadcreate"))[1]:
            assert not first.done()
        assert (await asker.metrics("/debug/pprof/profile?seconds=1"))[0] == 429
        first.cancel()


def test_sampling_counts_samples_not_seconds() -> None:
    """A hundred a second, and none of the sampler itself."""
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return len(pauses) == 30

    counts = sample(0.2, pause)
    assert pauses == [0.01] * 20
    pauses.clear()
    sample(1.0, pause)
    assert len(pauses) == 30
    assert not any("profiling:sample" in stack for stack in counts)


async def test_memory_is_told_by_type_and_when_traced_by_line() -> None:
    """Whichever is known."""
    async with asking(has_profiling=True) as asker:
        _, by_type = await asker.metrics("/debug/pprof/heap")
        assert "builtins.dict" in by_type
        tracemalloc.start()
        try:
            _, by_line = await asker.metrics("/debug/pprof/heap")
        finally:
            tracemalloc.stop()
        assert "bytes held" in by_line
        assert ".py" in by_line
