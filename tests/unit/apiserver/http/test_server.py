"""The API in memory over HTTP: what the seam does not say, and clients rely on all the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import serve
from dovetail.testing.virtual_time import VirtualTime
from tests.conformance.kube.objects import config_map, deployment, named

Tree = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Client:
    """Asks as any program would."""

    def __init__(self, session: aiohttp.ClientSession, kube: MemoryKube, time: VirtualTime) -> None:
        self.session = session
        self.kube = kube
        self.time = time

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        **more: Any,
    ) -> tuple[int, Tree]:
        """The code and the body of an answer."""
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": kind, **more}
        async with self.session.request(method, path, data=data, headers=headers) as response:
            return response.status, await response.json()

    @asynccontextmanager
    async def lines(self, path: str) -> AsyncIterator[aiohttp.StreamReader]:
        """What a watch says."""
        async with self.session.get(path) as response:
            assert response.status == 200
            yield response.content


@asynccontextmanager
async def client() -> AsyncIterator[Client]:
    """A client of a new server."""
    time = VirtualTime()
    kube = MemoryKube(time)
    async with (
        serve(kube, clock=time, timer=time) as served,
        aiohttp.ClientSession(served.url, timeout=aiohttp.ClientTimeout(total=10)) as session,
    ):
        yield Client(session, kube, time)


async def event(lines: aiohttp.StreamReader) -> Tree:
    """The next event of a watch."""
    tree: Tree = json.loads(await lines.readline())
    return tree


async def test_a_watch_from_too_long_ago_says_so_in_its_stream() -> None:
    """The answer is a success, its only event an error with code 410."""
    async with client() as one, one.lines(f"{MAPS}?watch=1&resourceVersion=1") as lines:
        told = await event(lines)
        assert (told["type"], told["object"]["code"]) == ("ERROR", 410)
        assert await lines.read() == b""


async def test_bookmarks_come_by_themselves_to_those_who_ask() -> None:
    """Every half minute, so that nobody takes a silent watch for dead."""
    async with client() as one:
        version = (await one.ask("GET", MAPS))[1]["metadata"]["resourceVersion"]
        path = f"{MAPS}?watch=1&resourceVersion={version}"
        async with one.lines(f"{path}&allowWatchBookmarks=true") as asked, one.lines(path) as other:
            await one.time.advance(timedelta(seconds=31))
            assert (await event(asked))["type"] == "BOOKMARK"
            await one.ask("POST", MAPS, config_map("a"))
            assert (await event(other))["type"] == "ADDED"


async def test_a_watch_ends_when_its_time_is_up() -> None:
    """As its client asked; the stream ends well."""
    async with client() as one, one.lines(f"{MAPS}?watch=true&timeoutSeconds=0") as lines:
        async with asyncio.timeout(5):
            assert await lines.read() == b""


async def test_a_watch_can_begin_with_all_there_is() -> None:
    """A bookmark says where the past ends, to those who asked for the past."""
    async with client() as one:
        await one.ask("POST", MAPS, config_map("a"))
        path = f"{MAPS}?watch=1&allowWatchBookmarks=true"
        async with one.lines(f"{path}&sendInitialEvents=true&resourceVersion=1") as lines:
            assert (await event(lines))["object"]["metadata"]["name"] == "a"
            mark = (await event(lines))["object"]["metadata"]
            assert mark["annotations"] == {"k8s.io/initial-events-end": "true"}
        async with one.lines(f"{path}&timeoutSeconds=1") as lines:
            assert [json.loads(line)["type"] async for line in lines] == ["ADDED"]


@pytest.mark.parametrize("n_objects", [0, 1, 401])
async def test_a_list_in_pieces_is_one_list(n_objects: int) -> None:
    """However many objects there are."""
    async with client() as one:
        for number in range(n_objects):
            await one.ask("POST", MAPS, config_map(f"m{number:04}"))
        code, found = await one.ask("GET", MAPS)
        assert (code, found["kind"], found["apiVersion"]) == (200, "ConfigMapList", "v1")
        assert [tree["metadata"]["name"] for tree in found["items"]] == [
            f"m{number:04}" for number in range(n_objects)
        ]


async def test_an_object_is_replaced_only_by_who_knows_it() -> None:
    """PUT with an old version is a conflict."""
    async with client() as one:
        _, made = await one.ask("POST", MAPS, config_map("a", x="1", y="1"))
        code, put = await one.ask("PUT", f"{MAPS}/a", {**made, "data": {"x": "2"}})
        assert (code, put["data"]) == (200, {"x": "2"})
        code, refused = await one.ask("PUT", f"{MAPS}/a", {**made, "data": {}})
        assert (code, refused["reason"]) == (409, "Conflict")


async def test_a_collection_is_deleted_by_selector() -> None:
    """What the selector does not mean stays."""
    async with client() as one:
        for name, team in (("a", "x"), ("b", "y"), ("c", "x")):
            await one.ask("POST", MAPS, named(name, labels={"team": team}))
        assert (await one.ask("DELETE", f"{MAPS}?labelSelector=team%3Dx"))[0] == 200
        _, left = await one.ask("GET", MAPS)
        assert [tree["metadata"]["name"] for tree in left["items"]] == ["b"]


async def test_a_scale_is_read_and_written() -> None:
    """Without a change, reading it changes nothing."""
    path = "/apis/apps/v1/namespaces/default/deployments"
    async with client() as one:
        _, made = await one.ask("POST", path, deployment("web", 3))
        code, scale = await one.ask("GET", f"{path}/web/scale")
        assert (code, scale["kind"], scale["spec"]["replicas"]) == (200, "Scale", 3)
        _, same = await one.ask("GET", f"{path}/web")
        assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        await one.ask("PATCH", f"{path}/web/scale", {"spec": {"replicas": 5}}, MERGE)
        assert (await one.ask("GET", f"{path}/web"))[1]["spec"]["replicas"] == 5


async def test_what_is_deleted_is_told() -> None:
    """The object while finalizers hold it, a Status with its uid once it is gone."""
    async with client() as one:
        _, made = await one.ask("POST", MAPS, named("a", finalizers=["example.com/hold"]))
        _, held = await one.ask("DELETE", f"{MAPS}/a")
        assert held["metadata"]["deletionTimestamp"]
        _, plain = await one.ask("POST", MAPS, named("b"))
        code, gone = await one.ask("DELETE", f"{MAPS}/b")
        assert (code, gone["status"], gone["details"]["uid"]) == (
            200,
            "Success",
            plain["metadata"]["uid"],
        )
        assert made["metadata"]["uid"] == held["metadata"]["uid"]


async def test_a_table_is_made_for_those_who_show_it() -> None:
    """With the columns of the kind and an age that a person can read."""
    async with client() as one:
        await one.ask("POST", "/api/v1/nodes", named("n"))
        await one.time.advance(timedelta(minutes=5))
        _, table = await one.ask("GET", "/api/v1/nodes", Accept=TABLE)
        assert table["kind"] == "Table"
        assert [column["name"] for column in table["columnDefinitions"]][:2] == ["Name", "Status"]
        (row,) = table["rows"]
        assert row["cells"][:5] == ["n", "Unknown", "<none>", "5m", ""]
        assert row["object"]["metadata"]["name"] == "n"


REFUSED = [
    pytest.param("GET", "/api/v1/wonders", None, "", 404, "NotFound", id="no such kind"),
    pytest.param("GET", "/apis/apps/v2/pods", None, "", 404, "NotFound", id="no such version"),
    pytest.param("GET", "/nonsense", None, "", 404, "NotFound", id="no such path"),
    pytest.param("GET", f"{MAPS}/none", None, "", 404, "NotFound", id="no such object"),
    pytest.param("GET", f"{MAPS}/a/part", None, "", 404, "NotFound", id="no such part"),
    pytest.param(
        "GET", "/api/v1/namespaces/default/pods/a/log", None, "", 501, "NotImplemented",
        id="no containers",
    ),
    pytest.param("GET", f"{MAPS}?limit=x", None, "", 400, "BadRequest", id="no number"),
    pytest.param(
        "GET", f"{MAPS}?labelSelector=((", None, "", 400, "BadRequest", id="no selector"
    ),
    pytest.param(
        "GET", f"{MAPS}?watch=1&labelSelector=((", None, "", 400, "BadRequest", id="nor in a watch"
    ),
    pytest.param(
        "GET", f"{MAPS}?watch=1&resourceVersion=x", None, "", 400, "BadRequest", id="no version"
    ),
    pytest.param("OPTIONS", MAPS, None, "", 405, "MethodNotAllowed", id="no such method"),
    pytest.param("POST", f"{MAPS}/a", {}, "", 405, "MethodNotAllowed", id="nothing to make there"),
    pytest.param("POST", MAPS, [], "", 400, "BadRequest", id="no object"),
    pytest.param(
        "POST", MAPS, {}, "application/cbor", 415, "UnsupportedMediaType", id="not JSON"
    ),
    pytest.param(
        "POST", MAPS, {}, "application/vnd.kubernetes.protobuf", 400, "BadRequest",
        id="no protocol buffer",
    ),
    pytest.param(
        "PATCH", f"{MAPS}/a", {}, "text/plain", 415, "UnsupportedMediaType", id="no patch"
    ),
    pytest.param(
        "POST", f"{MAPS}?dryRun=Some", config_map("a"), "", 400, "BadRequest", id="half a trial"
    ),
    pytest.param(
        "DELETE", f"{MAPS}/a?propagationPolicy=Sideways", None, "", 400, "BadRequest", id="no way"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "kind", "code", "reason"), REFUSED)
async def test_whatever_cannot_be_done_is_refused_with_a_status(
    *, method: str, path: str, body: object, kind: str, code: int, reason: str
) -> None:
    """Code, reason and a message; nothing has changed."""
    async with client() as one:
        got, status = await one.ask(method, path, body, kind or "application/json")
        assert (got, status["code"], status["reason"]) == (code, code, reason)
        assert status["kind"] == "Status"
        assert status["message"]
        assert (await one.ask("GET", MAPS))[1]["items"] == []


async def test_a_budget_says_how_long_to_wait() -> None:
    """In the header and in the Status, with the budget as the cause."""
    async with client() as one:
        pods = "/api/v1/namespaces/default/pods"
        labels = {"app": "a"}
        container = {"name": "main", "image": "registry.example/main:1"}
        spec = {"containers": [container], "nodeName": "n"}
        await one.ask("POST", pods, {**named("p", labels=labels), "spec": spec})
        running = {"status": {"phase": "Running"}}
        await one.ask("PATCH", f"{pods}/p/status", running, MERGE)
        budget = {"selector": {"matchLabels": labels}, "minAvailable": 1}
        path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        await one.ask("POST", path, {**named("b"), "spec": budget})
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", **named("p")}
        async with one.session.post(f"{pods}/p/eviction", json=eviction) as response:
            status = await response.json()
            assert (response.status, response.headers["Retry-After"]) == (429, "10")
            assert status["details"]["retryAfterSeconds"] == 10
            assert status["details"]["causes"][0]["reason"] == "DisruptionBudget"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_a_server_that_runs_is_well(path: str) -> None:
    """As probes ask."""
    async with client() as one, one.session.get(path) as response:
        assert (response.status, await response.text()) == (200, "ok")


async def test_everything_that_is_offered_can_be_listed() -> None:
    """Every kind of every group that discovery names."""
    async with client() as one:
        _, groups = await one.ask("GET", "/apis")
        roots = ["/api/v1"]
        roots += [f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups["groups"]]
        n_kinds = 0
        for root in roots:
            _, found = await one.ask("GET", root)
            for each in found["resources"]:
                if "list" in each["verbs"]:
                    n_kinds += 1
                    assert (await one.ask("GET", f"{root}/{each['name']}"))[0] == 200
        assert n_kinds > 30


async def test_an_object_may_be_applied_as_yaml() -> None:
    """As its content type says."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 'yes'}\n"
    async with client() as one:
        headers = {"Content-Type": "application/apply-patch+yaml"}
        path = f"{MAPS}/a?fieldManager=me"
        async with one.session.patch(path, data=text, headers=headers) as response:
            assert response.status == 201
            assert (await response.json())["data"] == {"x": "yes"}
        async with one.session.patch(path, data=text, headers=headers) as response:
            assert response.status == 200


@pytest.mark.parametrize("named_by", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
async def test_no_page_of_another_site_is_answered(named_by: dict[str, str]) -> None:
    """Whoever runs a demo may have a browser open; nobody asks who calls here."""
    async with client() as asker:
        headers = {"Content-Type": "application/json", **named_by}
        body = json.dumps(config_map("m"))
        async with asker.session.post(MAPS, data=body, headers=headers) as response:
            assert response.status == 403
        assert (await asker.ask("GET", f"{MAPS}/m"))[0] == 404
