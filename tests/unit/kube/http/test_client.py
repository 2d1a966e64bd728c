"""The client against a real server that behaves, misbehaves and goes away."""

from __future__ import annotations

import asyncio
import gzip

import msgspec
import pytest
from aiohttp import web

from dovetail.kube import errors
from dovetail.kube.http.retry import Retries
from dovetail.kube.http.transport import HttpSettings
from dovetail.kube.seam import (
    Body,
    Deletion,
    Json,
    Kube,
    Patch,
    PatchType,
    Ref,
    Scope,
    WatchEventType,
)
from tests.unit.kube.http.servers import (
    CLAIMS,
    NODES,
    PODS,
    client,
    cut,
    event,
    pod,
    served,
    status,
    streaming,
)
from tests.unit.kube.surroundings import VirtualTimer

WEB = Ref(PODS, "web", "default")


class Recorder:
    """A server that answers from a list and remembers what it was asked."""

    def __init__(self, *answers: web.Response | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []

    async def __call__(self, request: web.Request) -> web.Response:
        """The next answer; none means a dropped connection, and after the last, success."""
        self.asked.append((request.method, request.path_qs))
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        answer = self.answers.pop(0) if self.answers else web.json_response(pod("web"))
        if answer is None:
            cut(request)
            return web.Response()
        return answer


async def test_the_client_is_a_whole_kube() -> None:
    """The type checker is the judge; it needs a line to judge."""
    async with client("http://127.0.0.1:9") as found:
        kube: Kube = found
        assert kube is found


async def test_the_version_is_that_of_the_server() -> None:
    """It needs no right of its own."""
    recorder = Recorder(web.json_response({"gitVersion": "v1.35.2"}))
    async with served(recorder) as url, client(url) as kube:
        assert await kube.version() == "v1.35.2"
    assert recorder.asked == [("GET", "/version")]


async def test_a_list_is_read_in_pages() -> None:
    """The token of one page asks for the next."""

    async def pages(request: web.Request) -> web.Response:
        limit, token = request.query["limit"], request.query.get("continue", "")
        assert limit == "2"
        start = int(token or 0)
        more = str(start + 2) if start < 2 else ""
        items = [pod(f"p{at}") for at in (start, start + 1)]
        return web.json_response(
            {"metadata": {"resourceVersion": "9", "continue": more}, "items": items}
        )

    async with served(pages) as server, client(server) as kube:
        first = await kube.list(Scope(PODS), limit=2)
        second = await kube.list(Scope(PODS), limit=2, token=first.token)
    names = [msgspec.json.decode(one)["metadata"]["name"] for one in first.items + second.items]
    assert names == ["p0", "p1", "p2", "p3"]
    assert (first.token, second.token, second.resource_version) == ("2", "", "9")


async def test_compressed_answers_are_read() -> None:
    """Large lists come compressed."""

    async def compressed(request: web.Request) -> web.Response:
        assert request.headers["Accept-Encoding"] == "gzip"
        body = gzip.compress(msgspec.json.encode({"metadata": {}, "items": [pod("a")] * 1000}))
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async with served(compressed) as server, client(server) as kube:
        assert len((await kube.list(Scope(PODS))).items) == 1000


async def test_requests_say_who_asks_and_what_they_carry() -> None:
    """User agent, content types, field managers; never a PUT."""
    recorder = Recorder()
    async with served(recorder) as server, client(server) as kube:
        await kube.create(PODS, pod("web"), "default")
        for kind in PatchType:
            body: Body | list[Json] = [{"op": "test"}] if kind is PatchType.JSON else pod("web")
            await kube.patch(WEB, Patch(body, kind, force=True))
    assert recorder.headers[0]["User-Agent"].startswith("dovetail/")
    assert recorder.asked == [
        ("POST", "/api/v1/namespaces/default/pods?fieldManager=dovetail"),
        *[("PATCH", "/api/v1/namespaces/default/pods/web?fieldManager=dovetail")] * 3,
        ("PATCH", "/api/v1/namespaces/default/pods/web?fieldManager=dovetail&force=true"),
    ]
    types = [headers["Content-Type"] for headers in recorder.headers]
    assert types == ["application/json", *(kind.value for kind in PatchType)]


async def test_a_new_object_says_what_it_is() -> None:
    """Custom kinds are refused without; what the caller says comes first."""
    recorder = Recorder()
    async with served(recorder) as server, client(server) as kube:
        await kube.create(CLAIMS, {"metadata": {"name": "c"}})
    assert msgspec.json.decode(recorder.bodies[0]) == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "c"},
    }


async def test_deletions_and_evictions_carry_their_preconditions() -> None:
    """So that only the very object meant goes."""
    recorder = Recorder()
    how = Deletion(uid="u", resource_version="3", grace_seconds=0)
    async with served(recorder) as server, client(server) as kube:
        await kube.delete(Ref(CLAIMS, "c"), how)
        await kube.evict(WEB, Deletion(uid="u"))
    assert msgspec.json.decode(recorder.bodies[0]) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u", "resourceVersion": "3"},
        "gracePeriodSeconds": 0,
    }
    assert recorder.asked[1] == ("POST", "/api/v1/namespaces/default/pods/web/eviction")
    eviction = msgspec.json.decode(recorder.bodies[1])
    assert eviction["deleteOptions"]["preconditions"] == {"uid": "u"}
    assert eviction["metadata"] == {"name": "web", "namespace": "default"}


async def test_a_busy_server_is_given_the_time_it_asks_for() -> None:
    """429 with Retry-After, also for a write: the server did not act."""
    busy = status(429, "TooManyRequests")
    busy.headers["Retry-After"] = "4"
    recorder, timer = Recorder(busy), VirtualTimer()
    async with served(recorder) as server, client(server, timer) as kube:
        await kube.create(PODS, pod("web"), "default")
    assert (len(recorder.asked), timer.slept) == (2, [4.0])


async def test_an_eviction_that_a_budget_forbids_is_told_at_once() -> None:
    """Waiting for a budget is the caller's business."""
    refusal = status(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget"}])
    recorder, timer = Recorder(refusal), VirtualTimer()
    async with served(recorder) as server, client(server, timer) as kube:
        with pytest.raises(errors.TooManyRequestsError) as raised:
            await kube.evict(WEB, Deletion(uid="u"))
    assert raised.value.cause == errors.DISRUPTION_BUDGET
    assert (len(recorder.asked), timer.slept) == (1, [])


async def test_a_failing_server_is_asked_again_for_what_can_be_asked_twice() -> None:
    """500, 503, a dropped connection and an answer that is not JSON, then success."""
    recorder, timer = (
        Recorder(
            status(500, "InternalError"),
            web.Response(status=503, text="<html>"),
            None,
            web.Response(text='{"metadata":'),
        ),
        VirtualTimer(),
    )
    async with served(recorder) as server, client(server, timer) as kube:
        found = await kube.get(WEB)
    assert msgspec.json.decode(found)["metadata"]["name"] == "web"
    assert timer.slept == sorted(timer.slept) != []


async def test_a_creation_whose_answer_is_lost_is_not_repeated() -> None:
    """The server may have acted."""
    recorder = Recorder(None)
    async with served(recorder) as server, client(server) as kube:
        with pytest.raises(errors.UnavailableError) as raised:
            await kube.create(PODS, pod("web"), "default")
    assert (raised.value.status, len(recorder.asked)) == (0, 1)


async def test_a_merge_patch_whose_answer_is_lost_is_repeated() -> None:
    """The same values twice are the same as once."""
    recorder = Recorder(None)
    async with served(recorder) as server, client(server) as kube:
        await kube.patch(WEB, Patch({"metadata": {"labels": {"a": "b"}}}))
    assert len(recorder.asked) == 2


async def test_without_a_connection_even_a_creation_is_tried_again() -> None:
    """Nobody has heard of it. In the end that is told."""
    async with served(Recorder()) as server:
        pass
    timer = VirtualTimer()
    async with client(server, timer, HttpSettings(retries=Retries(n_tries=3))) as kube:
        with pytest.raises(errors.UnavailableError, match="no connection"):
            await kube.create(PODS, pod("web"), "default")
    assert len(timer.slept) == 2


async def test_a_slow_server_costs_no_more_than_the_time_allowed() -> None:
    """Then the answer counts as lost."""
    held = asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        await held.wait()
        return web.Response()

    settings = HttpSettings(answer_seconds=0.05, retries=Retries(n_tries=2))
    async with served(slow) as server, client(server, settings=settings) as kube:
        with pytest.raises(errors.UnavailableError, match="no answer in time"):
            await kube.get(WEB)
        held.set()


async def test_a_redirect_is_not_followed() -> None:
    """It would carry the token to whoever asks for it."""
    recorder = Recorder(web.Response(status=302, headers={"Location": "/elsewhere"}))
    async with served(recorder) as server, client(server) as kube:
        with pytest.raises(errors.ApiError):
            await kube.get(WEB)
    assert len(recorder.asked) == 1


async def test_leases_do_not_wait_behind_other_requests() -> None:
    """A controller that may not ask any more must still be able to stay the leader."""
    timer = VirtualTimer()
    leases = msgspec.structs.replace(PODS, group="coordination.k8s.io", plural="leases")
    settings = HttpSettings(requests_per_second=1, burst=1)
    async with served(Recorder()) as server, client(server, timer, settings) as kube:
        await kube.get(WEB)
        await kube.get(Ref(leases, "leader", "default"))
        assert timer.slept == []
        await kube.get(WEB)
    assert [round(slept) for slept in timer.slept] == [1]


async def test_a_client_that_is_closed_says_so() -> None:
    """And does not hang."""
    async with client("http://127.0.0.1:9") as kube:
        pass
    with pytest.raises(errors.UnavailableError, match="closed"):
        await kube.get(WEB)


async def test_a_watch_hands_out_changes_as_they_come() -> None:
    """Chunks end anywhere; the span asked for is jittered."""

    async def watched(request: web.Request) -> web.StreamResponse:
        assert request.query["timeoutSeconds"] == "300"
        data = event("ADDED", pod("a", "2")) + event("BOOKMARK", pod("", "3"))
        return await streaming(request, data[:10], data[10:50], data[50:])

    async with served(watched) as server, client(server) as kube:
        changes = [change async for change in kube.watch(Scope(NODES), since="1")]
    assert [(one.type, one.resource_version) for one in changes] == [
        (WatchEventType.ADDED, "2"),
        (WatchEventType.BOOKMARK, "3"),
    ]


async def test_a_watch_from_too_far_back_is_gone() -> None:
    """Whether the server says so at once or inside the stream."""
    gone: Json = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}

    async def inside(request: web.Request) -> web.StreamResponse:
        if request.query["resourceVersion"] == "1":
            return status(410, "Expired")
        return await streaming(request, event("ADDED", pod("a")) + event("ERROR", gone))

    async with served(inside) as server, client(server) as kube:
        for since in ("1", "2"):
            with pytest.raises(errors.GoneError):
                _ = [change async for change in kube.watch(Scope(PODS), since=since)]


async def test_a_watch_that_is_cut_within_an_event_is_an_error() -> None:
    """What came whole has been handed out."""

    async def broken(request: web.Request) -> web.StreamResponse:
        response = await streaming(request, event("ADDED", pod("a", "2")), b'{"type": "ADD')
        await asyncio.sleep(0.01)  # until it is on its way
        cut(request)
        return response

    async with served(broken) as server, client(server) as kube:
        changes = kube.watch(Scope(PODS), since="1")
        assert (await anext(changes)).resource_version == "2"
        with pytest.raises(errors.UnavailableError):
            await anext(changes)


async def test_a_watch_that_falls_silent_ends() -> None:
    """A connection that is dead looks the same as one on which nothing happens."""
    held = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        response = await streaming(request, event("ADDED", pod("a", "2")))
        await held.wait()
        return response

    settings = HttpSettings(idle_watch_seconds=0.05)
    async with served(silent) as server, client(server, settings=settings) as kube:
        changes = [change async for change in kube.watch(Scope(PODS), since="1")]
        held.set()
    assert len(changes) == 1
