"""Which evictions a disruption budget allows."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.kube.errors import (
    DISRUPTION_BUDGET,
    ApiError,
    ConflictError,
    NotFoundError,
    TooManyRequestsError,
)
from dovetail.kube.seam import Deletion, Kube, Ref
from tests.conformance.kube.objects import (
    BUDGET,
    DEFAULT,
    NODE,
    POD,
    bound,
    got,
    make,
    merge,
    named,
    node,
    pod,
)
from tests.conformance.kube.servers import Names, Server


async def running(kube: Kube, names: Names, mark: str, *, ready: bool = True) -> Ref:
    """A pod that runs."""
    host = await make(kube, NODE, node(names.fresh()))
    ref = await make(kube, POD, pod(names.fresh(), labels={"law": mark}))
    await bound(kube, ref, host.name)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    await merge(kube, ref, {"status": {"phase": "Running", "conditions": [condition]}}, "status")
    return ref


async def budget(kube: Kube, names: Names, mark: str, **more: Any) -> Ref:
    """A budget for the pods of a law; what its controller would count is said here."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"law": mark}}, **more.pop("spec", {})}
    ref = await make(kube, BUDGET, {**named(names.fresh()), "spec": spec})
    counted = {
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
        "observedGeneration": 1,
    }
    await merge(kube, ref, {"status": {**counted, **more}}, "status")
    return ref


async def is_going(kube: Kube, ref: Ref) -> bool:
    """Whether a pod has been told to end."""
    return "deletionTimestamp" in (await got(kube, ref))["metadata"]


async def test_a_pod_without_a_budget_is_evicted(server: Server, names: Names) -> None:
    """It is told to end, and its status says by whom."""
    async with server.open() as kube:
        ref = await running(kube, names, names.fresh())
        await kube.evict(ref, Deletion())
        assert await is_going(kube, ref)
        conditions = {one["type"]: one for one in (await got(kube, ref))["status"]["conditions"]}
        assert conditions["DisruptionTarget"]["reason"] == "EvictionByEvictionAPI"


async def test_a_pod_that_is_not_there_cannot_be_evicted(server: Server, names: Names) -> None:
    """Somebody else was faster."""
    async with server.open() as kube:
        with pytest.raises(NotFoundError):
            await kube.evict(Ref(POD, names.fresh(), DEFAULT), Deletion())


async def test_an_eviction_uses_up_the_budget(server: Server, names: Names) -> None:
    """The next one waits until the budget's controller has counted again."""
    async with server.open() as kube:
        mark = names.fresh()
        first, second = [await running(kube, names, mark) for _ in range(2)]
        guard = await budget(kube, names, mark)
        await kube.evict(first, Deletion())
        status = (await got(kube, guard))["status"]
        assert status["disruptionsAllowed"] == 0
        assert list(status["disruptedPods"]) == [first.name]
        with pytest.raises(TooManyRequestsError) as refused:
            await kube.evict(second, Deletion())
        assert (refused.value.status, refused.value.reason) == (429, "TooManyRequests")
        assert refused.value.cause == DISRUPTION_BUDGET
        assert not await is_going(kube, second)


async def test_a_budget_that_nobody_has_counted_allows_nothing(
    server: Server, names: Names
) -> None:
    """A change of the budget counts once its controller has seen it."""
    async with server.open() as kube:
        mark = names.fresh()
        ref = await running(kube, names, mark)
        guard = await budget(kube, names, mark)
        await merge(kube, guard, {"spec": {"minAvailable": 2}})
        with pytest.raises(TooManyRequestsError):
            await kube.evict(ref, Deletion())


async def test_two_budgets_for_one_pod_are_an_error(server: Server, names: Names) -> None:
    """The server does not choose between them."""
    async with server.open() as kube:
        mark = names.fresh()
        ref = await running(kube, names, mark)
        for _ in range(2):
            await budget(kube, names, mark)
        with pytest.raises(ApiError) as refused:
            await kube.evict(ref, Deletion())
        assert refused.value.status == 500
        assert "more than one PodDisruptionBudget" in str(refused.value)
        assert not await is_going(kube, ref)


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param({"matchLabels": {"law": "other"}}, id="other pods"),
        pytest.param(None, id="no selector"),
        pytest.param(
            {"matchExpressions": [{"key": "law", "operator": "DoesNotExist"}]}, id="no such label"
        ),
    ],
)
async def test_a_budget_guards_only_pods_that_it_selects(
    server: Server, names: Names, selector: dict[str, Any] | None
) -> None:
    """Other pods are nobody's business."""
    async with server.open() as kube:
        mark = names.fresh()
        ref = await running(kube, names, mark)
        guard = await budget(kube, names, mark, spec={"selector": selector}, disruptionsAllowed=0)
        await kube.evict(ref, Deletion())
        assert await is_going(kube, ref)
        await kube.delete(guard, Deletion())


async def test_pods_that_do_not_run_need_no_budget(server: Server, names: Names) -> None:
    """What is pending, has ended or is going already is not disrupted."""
    async with server.open() as kube:
        mark = names.fresh()
        await budget(kube, names, mark, disruptionsAllowed=0)
        for phase in ("Pending", "Succeeded", "Failed"):
            ref = await running(kube, names, mark)
            await merge(kube, ref, {"status": {"phase": phase}}, "status")
            await kube.evict(ref, Deletion(grace_seconds=0))
            with pytest.raises(NotFoundError):
                await kube.get(ref)


@pytest.mark.parametrize(
    ("policy", "healthy", "want"),
    [
        pytest.param("AlwaysAllow", 0, True, id="always"),
        pytest.param("IfHealthyBudget", 1, True, id="if the rest is healthy"),
        pytest.param("IfHealthyBudget", 0, False, id="not while the rest is ill"),
        pytest.param(None, 1, True, id="by default, if the rest is healthy"),
        pytest.param(None, 0, False, id="by default, not while the rest is ill"),
    ],
)
async def test_a_pod_that_is_not_ready_goes_by_the_budgets_policy(
    server: Server, names: Names, policy: str | None, healthy: int, *, want: bool
) -> None:
    """It does not count as healthy, so its going costs nothing."""
    async with server.open() as kube:
        mark = names.fresh()
        ref = await running(kube, names, mark, ready=False)
        guard = await budget(
            kube,
            names,
            mark,
            spec={"unhealthyPodEvictionPolicy": policy} if policy else {},
            disruptionsAllowed=0,
            currentHealthy=healthy,
        )
        try:
            await kube.evict(ref, Deletion())
        except TooManyRequestsError:
            assert not want
        assert await is_going(kube, ref) is want
        assert "disruptedPods" not in (await got(kube, guard))["status"]


async def test_a_uid_says_which_pod_is_meant(server: Server, names: Names) -> None:
    """Another pod of the same name is left alone."""
    async with server.open() as kube:
        ref = await running(kube, names, names.fresh())
        with pytest.raises(ConflictError):
            await kube.evict(ref, Deletion(uid="another"))
        assert not await is_going(kube, ref)
        uid = (await got(kube, ref))["metadata"]["uid"]
        await kube.evict(ref, Deletion(uid=uid))
        assert await is_going(kube, ref)


async def test_an_eviction_can_name_its_grace_period(server: Server, names: Names) -> None:
    """As a deletion can."""
    async with server.open() as kube:
        ref = await running(kube, names, names.fresh())
        await kube.evict(ref, Deletion(grace_seconds=5))
        assert (await got(kube, ref))["metadata"]["deletionGracePeriodSeconds"] == 5
