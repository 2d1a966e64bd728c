"""Request arithmetic, as kube-scheduler does it."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.state.specs import Defaults, allocated_resources, namespace_defaults, pod_requests

GI = 1 << 30


def container(cpu: str = "", *, limit: str = "", sidecar: bool = False, **more: Any) -> Any:
    """A container that asks for cpu."""
    resources: dict[str, Any] = {"requests": {"cpu": cpu} if cpu else {}}
    if limit:
        resources["limits"] = {"cpu": limit}
    resources["requests"].update(more)
    return {
        "name": "c",
        "resources": resources,
        **({"restartPolicy": "Always"} if sidecar else {}),
    }


def parts(**spec: Any) -> api.PodParts:
    """The typed parts of a pod spec."""
    return api.decode(api.PodSpec, spec).parts()


def amounts(overhead: api.ResourceList | None = None, **spec: Any) -> dict[str, int]:
    """What such a pod asks for."""
    return pod_requests(parts(**spec), overhead=overhead or {})


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"containers": [container("1"), container("2")]}, 3000, id="containers add up"
        ),
        pytest.param(
            {"containers": [container(limit="2")]}, 2000, id="a limit stands for a request"
        ),
        pytest.param(
            {"containers": [container("1", limit="2")]}, 1000, id="a request counts, not its limit"
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3")]},
            3000,
            id="a larger init container counts",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3"), container("2")]},
            3000,
            id="init containers do not add up",
        ),
        pytest.param(
            {
                "containers": [container("1"), container("2")],
                "initContainers": [container("1", sidecar=True), container("4")],
            },
            5000,
            id="an init container beside a sidecar",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("4"), container("2", sidecar=True)],
            },
            4000,
            id="a sidecar does not count before it starts",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [
                    container("1", sidecar=True),
                    container("1", sidecar=True),
                    container("1"),
                ],
            },
            3000,
            id="sidecars add up, with containers too",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "5"}}},
            5000,
            id="a pod-level request replaces the sum",
        ),
        pytest.param(
            {"containers": [container("4")], "resources": {"requests": {"cpu": "2"}}},
            2000,
            id="also when it is smaller",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"limits": {"cpu": "5"}}},
            1000,
            id="a pod-level limit leaves what containers ask for",
        ),
        pytest.param(
            {"containers": [container()], "resources": {"limits": {"cpu": "5"}}},
            5000,
            id="a pod-level limit stands for requests that nobody makes",
        ),
    ],
)
def test_cpu_is_counted_as_kube_scheduler_counts_it(spec: dict[str, Any], want: int) -> None:
    """The largest moment of the pod's life, with everything that runs then."""
    assert amounts(**spec) == {"cpu": want, "pods": 1}


def test_overhead_comes_on_top() -> None:
    """Also on top of pod-level requests."""
    assert amounts({"cpu": "250m", "memory": "1Gi"}, containers=[container("1")]) == {
        "cpu": 1250,
        "memory": GI,
        "pods": 1,
    }


def test_every_resource_is_counted_by_its_own_unit() -> None:
    """cpu in thousandths, all else whole, fractions rounded up, zeros left out."""
    more: dict[str, Any] = {
        "memory": "1.5k",
        "nvidia.com/gpu": 2,
        "hugepages-2Mi": "4Mi",
        "example.com/zero": 0,
    }
    spec = container("0.1", **more)
    assert amounts(containers=[spec]) == {
        "cpu": 100,
        "memory": 1500,
        "nvidia.com/gpu": 2,
        "hugepages-2Mi": 4 << 20,
        "pods": 1,
    }


def test_pod_level_requests_know_only_cpu_memory_and_huge_pages() -> None:
    """A device at pod level means nothing."""
    got = amounts(
        containers=[container("1")],
        resources={"requests": {"nvidia.com/gpu": 1, "hugepages-1Gi": "1Gi"}},
    )
    assert got == {"cpu": 1000, "hugepages-1Gi": GI, "pods": 1}


def test_an_empty_pod_takes_one_place() -> None:
    """Nothing asked for is nothing but a place."""
    assert amounts(containers=[{"name": "c"}]) == {"pods": 1}


def test_defaults_go_to_each_container_that_asks_for_nothing() -> None:
    """A namespace's default requests fill gaps, after limits have."""
    defaults = Defaults(requests={"cpu": 500})
    spec = parts(containers=[container(), container("1"), container(limit="2")])
    assert pod_requests(spec, overhead={}, defaults=defaults) == {"cpu": 3500, "pods": 1}


@pytest.mark.parametrize(
    ("item", "want"),
    [
        pytest.param({"defaultRequest": {"cpu": "1"}, "default": {"cpu": "2"}}, 1000, id="stated"),
        pytest.param({"default": {"cpu": "2"}}, 2000, id="the default limit"),
        pytest.param({"max": {"cpu": "3"}}, 3000, id="the maximum"),
        pytest.param({"min": {"cpu": "100m"}}, 100, id="the minimum"),
        pytest.param({"min": {"cpu": "100m"}, "max": {"cpu": "3"}}, 3000, id="maximum first"),
    ],
)
def test_a_limit_range_gives_the_first_thing_it_states(item: dict[str, Any], want: int) -> None:
    """defaultRequest, else default, else max, else min, as the API server fills them in."""
    wire = api.decode(
        api.LimitRange,
        {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **item}]}},
    )
    assert namespace_defaults([wire]).requests == {"cpu": want}


def test_limit_ranges_of_other_types_give_nothing() -> None:
    """Bounds on whole pods and claims are no defaults."""
    wire = api.decode(api.LimitRange, {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "3"}}]}})
    assert namespace_defaults([wire]) == Defaults()


def test_a_running_container_counts_with_the_larger_of_asked_and_given() -> None:
    """While a resize is under way, both the old and the new amount must fit."""
    status = api.decode(
        api.core.PodStatus,
        {
            "containerStatuses": [
                {
                    "name": "c",
                    "allocatedResources": {"cpu": "2", "memory": "1Gi"},
                    "resources": {"requests": {"cpu": "3"}},
                }
            ]
        },
    )
    spec = parts(containers=[container("1", memory="2Gi")])
    got = pod_requests(spec, overhead={}, allocated=allocated_resources(status))
    assert got == {"cpu": 3000, "memory": 2 * GI, "pods": 1}
