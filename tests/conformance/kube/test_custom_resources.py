"""How the definitions of our own kinds are enforced."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from dovetail.kube.errors import ForbiddenError, InvalidError
from dovetail.kube.seam import Ref
from tests.conformance.kube.objects import (
    DEFAULT,
    NODE_CLAIM,
    NODE_POOL,
    POD,
    PRIORITY_CLASS,
    class_ref,
    create,
    got,
    make,
    merge,
    named,
    node_claim,
    node_pool,
    pod,
    read,
)
from tests.conformance.kube.servers import Names, Server, eventually


def budget(**said: object) -> dict[str, Any]:
    """The spec of a pool with this budget."""
    return {"disruption": {"consolidateAfter": "0s", "budgets": [said]}}


async def test_defaults_are_filled_in(server: Server, names: Names) -> None:
    """On every level, and inside defaults too."""
    async with server.open() as kube:
        spec = (await got(kube, await make(kube, NODE_POOL, node_pool(names.fresh()))))["spec"]
        assert spec["disruption"] == {
            "consolidateAfter": "0s",
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "budgets": [{"nodes": "10%"}],
        }
        assert spec["template"]["spec"]["expireAfter"] == "720h"


async def test_what_is_said_is_kept(server: Server, names: Names) -> None:
    """Defaults fill gaps only, and come back when a field is taken away."""
    async with server.open() as kube:
        disruption = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}
        ref = await make(kube, NODE_POOL, node_pool(names.fresh(), disruption=disruption))
        found = (await got(kube, ref))["spec"]["disruption"]
        assert (found["consolidateAfter"], found["budgets"]) == ("30s", [{"nodes": "100%"}])
        after = await merge(kube, ref, {"spec": {"disruption": None}})
        assert after["spec"]["disruption"]["consolidateAfter"] == "0s"


async def test_unknown_fields_are_dropped(server: Server, names: Names) -> None:
    """What no definition names is not kept."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh(), colour="blue"))
        assert "colour" not in (await got(kube, ref))["spec"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"weight": 0}, "spec.weight", id="too small"),
        pytest.param({"weight": 101}, "spec.weight", id="too large"),
        pytest.param({"weight": "heavy"}, "spec.weight", id="no number"),
        pytest.param(
            {"disruption": {"consolidateAfter": "soon"}},
            "spec.disruption.consolidateAfter",
            id="no duration",
        ),
        pytest.param(
            {"disruption": {"consolidateAfter": "0s", "consolidationPolicy": "Sometimes"}},
            "spec.disruption.consolidationPolicy",
            id="unknown word",
        ),
        pytest.param(
            {"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "200%"}]}},
            "spec.disruption.budgets[0].nodes",
            id="inside a list",
        ),
        pytest.param(
            budget(nodes="101%"), "spec.disruption.budgets[0].nodes", id="more than all nodes"
        ),
        pytest.param(
            budget(nodes="-1"), "spec.disruption.budgets[0].nodes", id="less than no node"
        ),
        pytest.param(
            budget(nodes="1", schedule="0 25 * * *", duration="1h"),
            "spec.disruption.budgets[0].schedule",
            id="no such hour",
        ),
        pytest.param(
            budget(nodes="1", schedule="at noon", duration="1h"),
            "spec.disruption.budgets[0].schedule",
            id="no schedule",
        ),
        pytest.param(
            budget(nodes="1", schedule="@daily", duration="-1h"),
            "spec.disruption.budgets[0].duration",
            id="a negative duration",
        ),
        pytest.param(
            budget(nodes="1", schedule="@daily"),
            "spec.disruption.budgets[0]",
            id="a schedule without a duration",
        ),
        pytest.param(
            budget(nodes="1", duration="1h"),
            "spec.disruption.budgets[0]",
            id="a duration without a schedule",
        ),
        pytest.param(
            budget(nodes="1", reasons=["Expired"]),
            "spec.disruption.budgets[0].reasons[0]",
            id="a reason that budgets do not limit",
        ),
        pytest.param(
            budget(nodes="1", reasons=["Empty", "Drifted", "Empty"]),
            "spec.disruption.budgets[0].reasons[2]",
            id="a reason twice",
        ),
        pytest.param(
            {"template": {"spec": {"requirements": []}}},
            "spec.template.spec.nodeClassRef",
            id="missing",
        ),
        pytest.param({"replicas": 1, "weight": 5}, "spec", id="a rule across fields"),
    ],
)
async def test_a_bad_field_is_refused_and_named(
    server: Server, names: Names, spec: dict[str, Any], field: str
) -> None:
    """The message says where to look."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await create(kube, NODE_POOL, node_pool(names.fresh(), **spec))
        assert (refused.value.status, refused.value.reason) == (422, "Invalid")
        assert field in str(refused.value)


async def test_a_budget_may_be_about_no_reason(server: Server, names: Names) -> None:
    """An empty list is kept as such: it says something else than no list."""
    async with server.open() as kube:
        spec = budget(nodes="0", reasons=[])
        ref = await make(kube, NODE_POOL, node_pool(names.fresh(), **spec))
        [found] = (await got(kube, ref))["spec"]["disruption"]["budgets"]
        assert found == {"nodes": "0", "reasons": []}


async def test_the_spec_is_required(server: Server, names: Names) -> None:
    """A claim for nothing is no claim."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await create(kube, NODE_CLAIM, named(names.fresh()))
        assert refused.value.status == 422


async def test_a_patch_keeps_to_the_rules_too(server: Server, names: Names) -> None:
    """An object that was sound stays so."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh()))
        with pytest.raises(InvalidError):
            await merge(kube, ref, {"spec": {"weight": 1000}})
        assert "weight" not in (await got(kube, ref))["spec"]


async def test_a_requirement_keeps_to_its_rules(server: Server, names: Names) -> None:
    """Operator and values belong together."""
    async with server.open() as kube:
        requirement: dict[str, Any] = {
            "key": "topology.kubernetes.io/zone",
            "operator": "In",
            "values": [],
        }
        spec: dict[str, Any] = {"nodeClassRef": class_ref(), "requirements": [requirement]}
        with pytest.raises(InvalidError) as refused:
            await create(kube, NODE_CLAIM, {**named(names.fresh()), "spec": spec})
        assert "spec.requirements[0]" in str(refused.value)


async def test_conditions_keep_to_their_form(server: Server, names: Names) -> None:
    """Also the status has rules."""
    async with server.open() as kube:
        ref = await make(kube, NODE_CLAIM, node_claim(names.fresh()))
        good = {
            "type": "Launched",
            "status": "True",
            "reason": "Launched",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        after = await merge(kube, ref, {"status": {"conditions": [good]}}, "status")
        assert after["status"]["conditions"] == [good]
        bad = {**good, "status": "Perhaps"}
        with pytest.raises(InvalidError):
            await merge(kube, ref, {"status": {"conditions": [bad]}}, "status")


async def test_a_pod_takes_the_priority_of_its_class(server: Server, names: Names) -> None:
    """Classes that do not exist are refused."""
    async with server.open() as kube:
        high = await make(kube, PRIORITY_CLASS, {**named(names.fresh()), "value": 1000})
        made = pod(names.fresh(), priorityClassName=high.name)

        async def is_made() -> bool:
            # A server hears of new classes a moment later.
            with suppress(ForbiddenError):
                await make(kube, POD, made)
                return True
            return False

        await eventually(server, is_made)
        ref = Ref(POD, made["metadata"]["name"], DEFAULT)
        assert (await got(kube, ref))["spec"]["priority"] == 1000
        with pytest.raises(ForbiddenError):
            await make(kube, POD, pod(names.fresh(), priorityClassName=names.fresh()))
        critical = pod(names.fresh(), priorityClassName="system-node-critical")
        made = read(await create(kube, POD, critical, DEFAULT))
        assert made["spec"]["priority"] == 2000001000
