"""Templates to PodSpecs: everything scheduling reads, and one object for one template."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.model.pod import PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.taints import Toleration
from dovetail.model.topology import NOTHING, HostPort, LabelSelector, NodeTerm, PodTerm, Spread
from dovetail.model.verdict import Reason
from dovetail.state.specs import Templates

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def has(key: str, *values: str) -> Requirement:
    """key In values."""
    return Requirement(key, False, frozenset(values))


def spec_of(templates: Templates | None = None, **fields: Any) -> PodSpec:
    """The noun of a pod spec with these fields."""
    wire = api.decode(api.PodSpec, {"containers": [{"name": "c"}], **fields})
    return (templates or Templates()).make(wire, "default")[0]


def test_node_affinity_keeps_alternatives_and_weights() -> None:
    """Terms are alternatives, expressions and fields within one must all hold."""
    term = {
        "matchExpressions": [
            {"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In", "values": ["a"]},
            {"key": "size", "operator": "Gt", "values": ["4"]},
        ],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}],
    }
    want = NodeTerm(
        (has(ZONE, "a"), Requirement("size", True, gte=5)),
        (Requirement("metadata.name", True, frozenset({"n"})),),
    )
    got = spec_of(
        affinity={
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [term, {}]},
                PREFERRED: [{"weight": 7, "preference": term}],
            }
        }
    )
    assert got.required_terms == (want, NodeTerm())
    assert got.preferred_terms == ((7, want),)


def test_pod_affinity_keeps_namespaces_and_selectors_apart() -> None:
    """No selector selects nothing, an empty one everything; so for namespaces."""
    full = {
        "topologyKey": "failure-domain.beta.kubernetes.io/zone",
        "labelSelector": {
            "matchLabels": {"beta.kubernetes.io/arch": "x"},
            "matchExpressions": [
                {"key": "b", "operator": "NotIn", "values": ["1"]},
                {"key": "c", "operator": "Exists"},
                {"key": "d", "operator": "DoesNotExist"},
            ],
        },
        "namespaces": ["z", "y"],
        "namespaceSelector": {},
        "matchLabelKeys": ["k"],
        "mismatchLabelKeys": ["m"],
    }
    bare = {"topologyKey": "kubernetes.io/hostname"}
    want = PodTerm(
        ZONE,
        LabelSelector(
            (
                has("beta.kubernetes.io/arch", "x"),
                Requirement("b", True, frozenset({"1"})),
                Requirement("c", True),
                Requirement("d"),
            )
        ),
        ("y", "z"),
        LabelSelector(),
        ("k",),
        ("m",),
    )
    want_bare = PodTerm("kubernetes.io/hostname", NOTHING)
    got = spec_of(
        affinity={
            "podAffinity": {REQUIRED: [full], PREFERRED: [{"weight": 1, "podAffinityTerm": bare}]},
            "podAntiAffinity": {
                REQUIRED: [bare],
                PREFERRED: [{"weight": 2, "podAffinityTerm": full}],
            },
        }
    )
    assert (got.affinity, got.preferred_affinity) == ((want,), ((1, want_bare),))
    assert (got.anti_affinity, got.preferred_anti_affinity) == ((want_bare,), ((2, want),))


def test_spread_constraints_keep_every_field() -> None:
    """Defaults are those of Kubernetes: one domain, Honor affinity, Ignore taints."""
    got = spec_of(
        topologySpreadConstraints=[
            {
                "maxSkew": 2,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
                "minDomains": 3,
                "nodeAffinityPolicy": "Ignore",
                "nodeTaintsPolicy": "Honor",
                "matchLabelKeys": ["pod-template-hash"],
            },
            {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
        ]
    )
    assert got.spread == (
        Spread(
            ZONE,
            LabelSelector((has("app", "a"),)),
            2,
            3,
            True,
            "Ignore",
            "Honor",
            ("pod-template-hash",),
        ),
        Spread("rack", NOTHING, 1, 1, False),
    )


def test_tolerations_compare_by_equality_unless_they_say_otherwise() -> None:
    """An absent operator is Equal."""
    got = spec_of(tolerations=[{"key": "a", "value": "b"}, {"operator": "Exists"}])
    assert got.tolerations == (Toleration("a", "Equal", "b", ""), Toleration("", "Exists", "", ""))


def test_host_ports_come_from_containers_and_sidecars() -> None:
    """On the host's network each container port is one; an init container's is free again."""
    ports = [{"containerPort": 80}, {"containerPort": 53, "hostPort": 5353, "protocol": "UDP"}]
    fields: dict[str, Any] = {
        "containers": [{"name": "c", "ports": ports}],
        "initContainers": [
            {"name": "i", "ports": [{"containerPort": 1, "hostPort": 1}]},
            {
                "name": "s",
                "restartPolicy": "Always",
                "ports": [{"containerPort": 2, "hostPort": 2, "hostIP": "10.0.0.1"}],
            },
        ],
    }
    assert spec_of(**fields).host_ports == (HostPort(2, "TCP", "10.0.0.1"), HostPort(5353, "UDP"))
    on_host = spec_of(**fields, hostNetwork=True)
    assert HostPort(80) in on_host.host_ports


def test_gates_devices_scheduler_and_grace_are_kept() -> None:
    """What keeps a pod from being planned is visible."""
    plain = spec_of()
    assert (plain.is_gated, plain.uses_dynamic_resources) == (False, False)
    assert (plain.scheduler_name, plain.termination_grace_seconds) == ("default-scheduler", 30)
    got = spec_of(
        schedulingGates=[{"name": "g"}],
        resourceClaims=[{"name": "r"}],
        schedulerName="other",
        terminationGracePeriodSeconds=0,
    )
    assert (got.is_gated, got.uses_dynamic_resources) == (True, True)
    assert (got.scheduler_name, got.termination_grace_seconds) == ("other", 0)


def test_old_label_keys_are_renewed_in_node_selectors() -> None:
    """Nodes are known by current labels."""
    got = spec_of(nodeSelector={"beta.kubernetes.io/arch": "arm64", "team": "a"})
    assert got.node_selector == {"kubernetes.io/arch": "arm64", "team": "a"}


def test_a_runtime_class_adds_its_overhead_and_scheduling() -> None:
    """What admission would write into the pod, unless it is there already."""
    runtime = api.decode(
        api.RuntimeClass,
        {
            "metadata": {"name": "kata"},
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {
                "nodeSelector": {"kata": "yes"},
                "tolerations": [{"key": "kata", "operator": "Exists"}],
            },
        },
    )
    templates = Templates(runtime_classes=[runtime])
    got = spec_of(templates, runtimeClassName="kata")
    assert got.requests == {"cpu": 250, "pods": 1}
    assert got.node_selector == {"kata": "yes"}
    assert got.tolerations == (Toleration("kata", "Exists"),)
    assert (
        spec_of(templates, runtimeClassName="kata", overhead={"cpu": "1"}).requests["cpu"] == 1000
    )


def classes(*stated: tuple[str, int, bool]) -> Templates:
    """Templates of a cluster with these priority classes."""
    return Templates(
        priority_classes=[
            api.decode(
                api.PriorityClass,
                {"metadata": {"name": name}, "value": value, "globalDefault": is_default},
            )
            for name, value, is_default in stated
        ]
    )


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({}, (50, "low"), id="the default class"),
        pytest.param({"priorityClassName": "high"}, (900, "high"), id="by name"),
        pytest.param({"priority": 7, "priorityClassName": "gone"}, (7, "gone"), id="by number"),
        pytest.param(
            {"priorityClassName": "system-cluster-critical"},
            (2_000_000_000, "system-cluster-critical"),
            id="built in",
        ),
        pytest.param(
            {"priorityClassName": "system-node-critical"},
            (2_000_001_000, "system-node-critical"),
            id="built in, the highest",
        ),
    ],
)
def test_priority_is_the_number_else_the_class_else_the_default(
    fields: dict[str, Any], want: tuple[int, str]
) -> None:
    """Of several default classes the lowest counts."""
    templates = classes(("high", 900, False), ("low", 50, True), ("mid", 60, True))
    got = spec_of(templates, **fields)
    assert (got.priority, got.priority_class) == want


def test_a_missing_priority_class_is_a_problem_of_the_pod() -> None:
    """The pod is reported; nothing else suffers."""
    wire = api.decode(api.PodSpec, {"priorityClassName": "gone"})
    _, problems = Templates().make(wire, "default")
    assert [one.reason for one in problems] == [Reason.PRIORITY_CLASS_NOT_FOUND]
    assert "gone" in problems[0].message


def test_nonsense_that_was_not_checked_is_a_problem_of_the_pod() -> None:
    """Whatever a cluster contains, it is no exception."""
    wire = api.decode(
        api.PodSpec, {"containers": [{"name": "c", "resources": {"requests": {"cpu": "x"}}}]}
    )
    _, problems = Templates().make(wire, "default")
    assert [one.reason for one in problems] == [Reason.INVALID_POD]


def test_pods_of_one_template_share_one_spec() -> None:
    """Node, volumes and token mounts differ from pod to pod; the spec does not."""
    templates = Templates()

    def admitted(at: int, cpu: str = "1") -> PodSpec:
        wire = api.decode(
            api.PodSpec,
            {
                "containers": [
                    {
                        "name": "c",
                        "resources": {"requests": {"cpu": cpu}},
                        "volumeMounts": [{"name": f"token-{at}", "mountPath": "/t"}],
                    }
                ],
                "nodeName": f"n{at}",
                "volumes": [{"name": f"token-{at}"}],
            },
        )
        return templates.admit(wire, api.core.PodStatus())[0]

    assert admitted(1) is admitted(2)
    assert admitted(1) is not admitted(1, cpu="2")


def test_what_containers_were_given_tells_specs_apart() -> None:
    """A resized pod is not its template any more."""
    templates = Templates()
    wire = api.decode(
        api.PodSpec, {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    )

    def given(cpu: str) -> PodSpec:
        status: Any = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": cpu}}]}
        return templates.admit(wire, api.decode(api.core.PodStatus, status))[0]

    assert given("2").requests["cpu"] == 2000
    assert given("2") is given("2")
    assert given("500m").requests["cpu"] == 1000


def test_limit_ranges_bind_pods_yet_to_be_made_in_their_namespace() -> None:
    """An API server has already filled in what it stores."""
    limit_range = api.decode(
        api.LimitRange,
        {
            "metadata": {"name": "l", "namespace": "a"},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]},
        },
    )
    templates = Templates(limit_ranges={"a": [limit_range]})
    wire = api.decode(api.PodSpec, {"containers": [{"name": "c"}]})
    assert templates.make(wire, "a")[0].requests == {"cpu": 1000, "pods": 1}
    assert templates.make(wire, "b")[0].requests == {"pods": 1}
    assert templates.admit(wire, api.core.PodStatus())[0].requests == {"pods": 1}
