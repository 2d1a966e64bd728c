"""Tests what kubelet settings are accepted, which family takes them, and how they are resolved."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from dovetail.providers.aws.node_class.kubelet import (
    EXPRESSION_EVALUATION_FAILED,
    EXPRESSION_INVALID,
    EXPRESSIONS_DISABLED,
    INVALID_CONFIGURATION,
    UNSUPPORTED_CONFIGURATION,
    Kubelet,
    KubeletError,
    KubeletFacts,
    ResolvedKubelet,
    check_family,
    parse_kubelet,
    resolve_kubelet,
    without_expressions,
)

Tree = dict[str, Any]

FACTS: Final = KubeletFacts(
    instance_type="m5.xlarge",
    vcpus=4,
    memory_mib=16384,
    default_enis=4,
    ips_per_eni=15,
    max_pods=58,
)
EVERYTHING: Final[Tree] = {
    "clusterDNS": ["10.100.0.10"],
    "maxPods": 20,
    "podsPerCore": 2,
    "systemReserved": {"memory": "100Mi", "cpu": "100m"},
    "kubeReserved": {"ephemeral-storage": "3Gi", "cpu": "200m", "memory": "100Mi", "pid": "1000"},
    "evictionHard": {"memory.available": "5%", "nodefs.available": "10.5%"},
    "evictionSoft": {"memory.available": "500Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m30s"},
    "evictionMaxPodGracePeriod": 60,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "cpuCFSQuota": True,
}


def test_everything_managed_is_resolved() -> None:
    """Each key has its field; maps are sorted, the raw map has all of it."""
    got = resolve_kubelet(parse_kubelet(EVERYTHING), FACTS)
    assert got == ResolvedKubelet(
        cluster_dns=("10.100.0.10",),
        max_pods=20,
        pods_per_core=2,
        system_reserved={"cpu": "100m", "memory": "100Mi"},
        kube_reserved=EVERYTHING["kubeReserved"],
        eviction_hard=EVERYTHING["evictionHard"],
        eviction_soft=EVERYTHING["evictionSoft"],
        eviction_soft_grace_period=EVERYTHING["evictionSoftGracePeriod"],
        eviction_max_pod_grace_period=60,
        image_gc_high_threshold_percent=85,
        image_gc_low_threshold_percent=80,
        cpu_cfs_quota=True,
        raw=EVERYTHING,
    )
    assert list(got.raw) == sorted(EVERYTHING)
    assert list(got.kube_reserved) == ["cpu", "ephemeral-storage", "memory", "pid"]


@pytest.mark.parametrize("tree", [None, {}], ids=["absent", "empty"])
def test_nothing_resolves_to_nothing(tree: Tree | None) -> None:
    """Defaults are for others to fill in."""
    assert resolve_kubelet(parse_kubelet(tree), FACTS) == ResolvedKubelet()


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"shutdownGracePeriod": "30s"}, id="a duration"),
        pytest.param({"featureGates": {"MemoryQoS": True}}, id="an object"),
        pytest.param({"registryPullQPS": 10}, id="a number"),
        pytest.param({"memoryThrottlingFactor": 0.9}, id="a fraction"),
        pytest.param({"allowedUnsafeSysctls": ["net.*"]}, id="a list of texts"),
        pytest.param({"reservedMemory": [{"numaNode": 0}]}, id="a list of objects"),
        pytest.param({"cpuManagerPolicy": "static"}, id="a text"),
        pytest.param({"serializeImagePulls": False}, id="a boolean"),
        pytest.param({"qosReserved": {"memory": "50%"}}, id="a map of texts"),
    ],
)
def test_any_key_of_kubelet_is_passed_through(tree: Tree) -> None:
    """What only the kubelet understands stays as it is."""
    assert resolve_kubelet(parse_kubelet(tree), FACTS).raw == tree


@pytest.mark.parametrize(
    ("tree", "field", "message"),
    [
        pytest.param({"maxPod": 1}, "maxPod", "is unknown", id="a key that kubelet lacks"),
        pytest.param({"registerWithTaints": []}, "registerWithTaints", "NodePool", id="taints"),
        pytest.param({"maxPods": -1}, "maxPods", "from 0", id="negative pods"),
        pytest.param({"maxPods": 2**31}, "maxPods", "2147483647", id="too many pods"),
        pytest.param({"maxPods": "4294967296"}, "maxPods", "2147483647", id="as a text"),
        pytest.param({"maxPods": 1.5}, "maxPods", "a whole number", id="half a pod"),
        pytest.param({"podsPerCore": True}, "podsPerCore", "a whole number", id="a truth"),
        pytest.param({"podsPerCore": -1}, "podsPerCore", "from 0", id="negative per core"),
        pytest.param(
            {"evictionMaxPodGracePeriod": -1}, "evictionMaxPodGracePeriod", "from 0", id="grace"
        ),
        pytest.param({"clusterDNS": "10.0.0.10"}, "clusterDNS", "a list of texts", id="no list"),
        pytest.param({"clusterDNS": ["dns.local"]}, "clusterDNS", "IP addresses", id="a name"),
        pytest.param({"cpuCFSQuota": "true"}, "cpuCFSQuota", "true or false", id="a word"),
        pytest.param(
            {"systemReserved": {"gpu": "1"}}, "systemReserved.gpu", "one of cpu", id="resource"
        ),
        pytest.param(
            {"kubeReserved": {"cpu": "-100m"}}, "kubeReserved.cpu", "not negative", id="debt"
        ),
        pytest.param({"kubeReserved": {"cpu": ""}}, "kubeReserved.cpu", "is empty", id="empty"),
        pytest.param({"kubeReserved": {"cpu": 1}}, "kubeReserved", "a map of texts", id="number"),
        pytest.param(
            {"evictionHard": {"memory.free": "5%"}},
            "evictionHard.memory.free",
            "one of memory.available",
            id="a signal that does not exist",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "101%"}},
            "evictionHard.memory.available",
            "0%",
            id="more than everything",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": ""}},
            "evictionHard.memory.available",
            "0%",
            id="an empty threshold",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "vcpus * 2"}},
            "evictionHard.memory.available",
            "0%",
            id="an expression as a threshold",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "-1Gi"}},
            "evictionHard.memory.available",
            "not negative",
            id="a negative threshold",
        ),
        pytest.param(
            {"evictionSoft": {"memory.available": "5%"}},
            "evictionSoft.memory.available",
            "expected evictionSoftGracePeriod",
            id="no grace period",
        ),
        pytest.param(
            {"evictionSoftGracePeriod": {"memory.available": "1m"}},
            "evictionSoftGracePeriod.memory.available",
            "expected evictionSoft",
            id="no threshold",
        ),
        pytest.param(
            {
                "evictionSoft": {"memory.available": "5%"},
                "evictionSoftGracePeriod": {"memory.available": "-1m"},
            },
            "evictionSoftGracePeriod.memory.available",
            "a duration",
            id="a negative grace period",
        ),
        pytest.param(
            {"imageGCHighThresholdPercent": 101},
            "imageGCHighThresholdPercent",
            "from 0 to 100",
            id="more than a hundred",
        ),
        pytest.param(
            {"imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 80},
            "imageGCHighThresholdPercent",
            "more than imageGCLowThresholdPercent",
            id="high is not above low",
        ),
        pytest.param(
            {"shutdownGracePeriod": "soon"}, "shutdownGracePeriod", "a duration", id="no duration"
        ),
    ],
)
def test_values_that_kubelet_would_refuse_are_refused(tree: Tree, field: str, message: str) -> None:
    """The error names the field and what was expected."""
    with pytest.raises(KubeletError, match=message) as caught:
        parse_kubelet(tree)
    assert (caught.value.field, caught.value.reason) == (field, INVALID_CONFIGURATION)
    assert str(caught.value).startswith(f"spec.kubelet.{field}: ")


# ---- families

ONLY_AL2023: Final = ("AL2", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025")


@pytest.mark.parametrize("family", ["AL2023", "Custom"])
def test_al2023_and_custom_take_any_key(family: str) -> None:
    """AL2023 passes the map through; of Custom the controller knows nothing."""
    tree = {"shutdownGracePeriod": "30s", "podsPerCore": 2, "clusterDNS": ["10.0.0.1", "fd00::a"]}
    check_family(parse_kubelet(tree), family)


@pytest.mark.parametrize("family", ONLY_AL2023)
def test_other_families_refuse_keys_that_they_cannot_apply(family: str) -> None:
    """Their user data has no place for such a key."""
    check_family(parse_kubelet(EVERYTHING | {"podsPerCore": None}), family)
    with pytest.raises(KubeletError, match="shutdownGracePeriod: cannot be set with") as caught:
        check_family(parse_kubelet({"shutdownGracePeriod": "30s"}), family)
    assert caught.value.reason == UNSUPPORTED_CONFIGURATION


@pytest.mark.parametrize("family", ONLY_AL2023)
def test_other_families_take_one_dns_address(family: str) -> None:
    """Only AL2023 takes a list."""
    with pytest.raises(KubeletError, match="has 2 addresses; expected one") as caught:
        check_family(parse_kubelet({"clusterDNS": ["10.0.0.1", "10.0.0.2"]}), family)
    assert caught.value.reason == UNSUPPORTED_CONFIGURATION


def test_bottlerocket_refuses_pods_per_core() -> None:
    """It has no such setting."""
    kubelet = parse_kubelet({"podsPerCore": 2})
    check_family(kubelet, "AL2")
    with pytest.raises(KubeletError, match="podsPerCore: cannot be set with Bottlerocket"):
        check_family(kubelet, "Bottlerocket")


# ---- expressions


@pytest.mark.parametrize(
    ("resource", "source", "want"),
    [
        pytest.param("cpu", "vcpus * 15 + 1", "70m", id="cpu in multiples of 10 millicores"),
        pytest.param("cpu", "double(vcpus) * 15.2", "60m", id="a double is truncated first"),
        pytest.param("cpu", "60 + 0", "60m", id="a multiple stays"),
        pytest.param("memory", "11 * max_pods + 255", "896Mi", id="memory in multiples of 16Mi"),
        pytest.param("ephemeral-storage", "vcpus + 1", "5Gi", id="storage in Gi"),
        pytest.param("pid", "vcpus * 256", "1024", id="processes"),
        pytest.param("cpu", "0 * 1", "0m", id="zero"),
        pytest.param("memory", "1e3", "1e3", id="a quantity is never evaluated"),
    ],
)
def test_what_an_expression_gives_has_the_unit_of_its_resource(
    resource: str, source: str, want: str
) -> None:
    """Rounded up, so that too much is reserved rather than too little."""
    kubelet = parse_kubelet({"kubeReserved": {resource: source}})
    assert resolve_kubelet(kubelet, FACTS).kube_reserved == {resource: want}


def test_reserved_resources_see_the_number_of_pods_that_was_resolved() -> None:
    """`maxPods` sees the default of the family, all else what came of it."""
    kubelet = parse_kubelet({"maxPods": "max_pods / 2", "systemReserved": {"pid": "max_pods * 10"}})
    got = resolve_kubelet(kubelet, FACTS)
    assert (got.max_pods, got.system_reserved) == (29, {"pid": "290"})
    assert got.raw == {"maxPods": 29, "systemReserved": {"pid": "290"}}


def test_reserved_resources_see_the_default_number_of_pods_otherwise() -> None:
    """No `maxPods`: the default of the family."""
    kubelet = parse_kubelet({"systemReserved": {"pid": "max_pods * 10"}})
    assert resolve_kubelet(kubelet, FACTS).system_reserved == {"pid": "580"}


def test_a_number_of_pods_may_be_a_text() -> None:
    """It is a number then, and needs no gate."""
    kubelet = parse_kubelet({"maxPods": "110"}, has_gate=False)
    assert kubelet == Kubelet({"maxPods": 110}, {})


def test_an_expression_that_does_not_compile_is_invalid() -> None:
    """Types are checked before any instance type is known."""
    with pytest.raises(KubeletError, match=r"kubeReserved\.cpu: 'vcpus \* 1\.5' has int") as caught:
        parse_kubelet({"kubeReserved": {"cpu": "vcpus * 1.5"}})
    assert caught.value.reason == EXPRESSION_INVALID


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("100 / (vcpus - 4)", id="division by zero"),
        pytest.param("vcpus - 5", id="negative"),
        pytest.param("1.0 / 0.0", id="infinite"),
        pytest.param("2147483648 + 0", id="more than kubelet can count"),
    ],
)
def test_an_expression_without_a_value_fails_for_its_instance_type(source: str) -> None:
    """It may be fine for another one."""
    kubelet = parse_kubelet({"maxPods": source})
    with pytest.raises(KubeletError, match=r"maxPods.*for instance type m5\.xlarge") as caught:
        resolve_kubelet(kubelet, FACTS)
    assert caught.value.reason == EXPRESSION_EVALUATION_FAILED


def test_expressions_need_the_gate() -> None:
    """The gate is asked before expressions are compiled, and after values are checked."""
    garbage = {"kubeReserved": {"cpu": "what is this"}}
    with pytest.raises(KubeletError, match="--aws-feature-gates NodeClassCEL=true") as caught:
        parse_kubelet(garbage, has_gate=False)
    assert caught.value.reason == EXPRESSIONS_DISABLED
    with pytest.raises(KubeletError, match="podsPerCore"):
        parse_kubelet(garbage | {"podsPerCore": -1}, has_gate=False)


def test_static_values_remain_without_expressions() -> None:
    """With the gate off, only expressions are dropped."""
    tree = {
        "maxPods": "vcpus * 10",
        "podsPerCore": 3,
        "kubeReserved": {"cpu": "vcpus * 10", "memory": "1Gi"},
    }
    want = {"podsPerCore": 3, "kubeReserved": {"memory": "1Gi"}}
    assert without_expressions(tree) == want
    assert without_expressions({"maxPods": 10}) == {"maxPods": 10}
    assert without_expressions(None) == {}


def test_other_instance_types_give_other_values() -> None:
    """One class, many machines."""
    kubelet = parse_kubelet(
        {"maxPods": "instance_type.startsWith('m5.') ? default_enis * (ips_per_eni - 1) + 2 : 8"}
    )
    other = msgspec.structs.replace(FACTS, instance_type="c5.large")
    assert resolve_kubelet(kubelet, FACTS).max_pods == 58
    assert resolve_kubelet(kubelet, other).max_pods == 8
