"""The documents by which clients find their way: discovery, OpenAPI, tables and reviews."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dovetail.apiserver.http import discovery, openapi
from dovetail.apiserver.http.kinds import OFFERED
from dovetail.apiserver.http.tables import columns_of
from tests.conformance.kube.objects import config_map, pod
from tests.unit.apiserver.http.test_server import MAPS, client

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def document(path: str) -> dict[str, Any]:
    """What stands at a path."""
    found = discovery.document(path)
    assert found is not None, path
    return dict(found)


def test_every_version_has_its_kinds_and_its_schemas() -> None:
    """Whatever a group is said to have can be asked for."""
    index = document("/openapi/v3")["paths"]
    assert len(index) == len({(one.kind.group, one.kind.version) for one in OFFERED})
    for root, said in index.items():
        assert document(f"/{root}")["resources"]
        assert document(said["serverRelativeURL"])["components"]["schemas"]
    assert discovery.document("/openapi/v3/apis/nobody/v1") is None


def test_every_reference_of_a_document_leads_somewhere() -> None:
    """No type is missing that another is made of."""
    for root in document("/openapi/v3")["paths"]:
        schemas = document(f"/openapi/v3/{root}")["components"]["schemas"]
        assert [one for one in references(schemas) if one not in schemas] == []


def references(tree: Any) -> list[str]:
    """Every name that is referred to."""
    if isinstance(tree, list):
        return [name for one in tree for name in references(one)]
    if not isinstance(tree, dict):
        return []
    own = [value for key, value in tree.items() if key == "$ref" and isinstance(value, str)]
    return [one.rpartition("/")[2] for one in own] + references(list(tree.values()))


def test_the_older_document_names_every_kind() -> None:
    """So that kubectl leaves it to the server to check fields."""
    data = openapi.document_v2()
    for one in OFFERED:
        assert f"kind: {one.kind.name}\n".encode() in data
    assert data.count(b"fieldValidation") == len(OFFERED)


@pytest.mark.parametrize("one", OFFERED, ids=lambda one: f"{one.kind.group}/{one.kind.plural}")
async def test_a_bare_object_of_every_kind_can_be_shown(one: Any) -> None:
    """Whatever it lacks, each column has a cell."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cells = [column.cell({"metadata": {"name": "a"}}, now) for column in columns_of(one)]
    assert "a" in cells


async def test_a_trial_shows_and_changes_nothing() -> None:
    """Made, patched and deleted on trial: afterwards all is as before."""
    async with client() as one:
        code, tried = await one.ask("POST", f"{MAPS}?dryRun=All", config_map("a"))
        assert (code, "resourceVersion" in tried["metadata"]) == (201, False)
        assert (await one.ask("GET", f"{MAPS}/a"))[0] == 404
        _, made = await one.ask("POST", MAPS, config_map("a", x="1"))
        merge = "application/merge-patch+json"
        path = f"{MAPS}/a?dryRun=All"
        _, patched = await one.ask("PATCH", path, {"data": {"x": "2"}}, merge)
        assert patched["data"] == {"x": "2"}
        assert (await one.ask("DELETE", path))[0] == 200
        assert (await one.ask("GET", f"{MAPS}/a"))[1] == made


async def test_unknown_fields_are_refused_warned_of_or_passed_over() -> None:
    """As the client asks; they are kept in no case."""
    async with client() as one:
        body = {**config_map("a"), "colour": "blue"}
        code, status = await one.ask("POST", f"{MAPS}?fieldValidation=Strict", body)
        assert (code, status["reason"]) == (400, "BadRequest")
        async with one.session.post(MAPS, json=body) as response:
            assert response.headers["Warning"] == '299 - "unknown field \\"colour\\""'
            assert "colour" not in await response.json()
        quiet = {**config_map("b"), "colour": "blue"}
        async with one.session.post(f"{MAPS}?fieldValidation=Ignore", json=quiet) as response:
            assert "Warning" not in response.headers


async def test_whoever_asks_may() -> None:
    """There is nobody here to forbid it."""
    async with client() as one:
        asked = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
        code, answer = await one.ask("POST", REVIEW, asked)
        assert (code, answer["status"]) == (201, {"allowed": True})
        assert answer["spec"] == asked["spec"]


async def test_refusals_name_object_and_fields() -> None:
    """For clients that tell people which field to mend."""
    async with client() as one:
        pods = "/api/v1/namespaces/default/pods"
        _, status = await one.ask("POST", pods, pod("Not_A_Name"))
        details = status["details"]
        assert (details["name"], details["kind"]) == ("Not_A_Name", "Pod")
        assert [cause["field"] for cause in details["causes"]] == ["metadata.name"]
        assert (await one.ask("GET", f"{pods}/none"))[1]["details"] == {
            "name": "none",
            "kind": "pods",
        }
