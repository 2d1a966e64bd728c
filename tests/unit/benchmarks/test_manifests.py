from __future__ import annotations

from pathlib import Path

import yaml

from benchmarks import manifests
from benchmarks.scenarios import fleet
from dovetail import labels
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, Requirement, requirement
from dovetail.model.taints import Effect, Taint, Toleration
from dovetail.model.topology import (
    NOTHING,
    HostPort,
    LabelSelector,
    NodePolicy,
    NodeTerm,
    PodTerm,
    Spread,
    equality,
)


def test_every_object_is_a_document_of_its_own_without_aliases(tmp_path: Path) -> None:
    """As `kubectl get -o yaml` would write it; shared specs are spelled out."""
    path = tmp_path / "cluster.yaml"
    manifests.write(fleet(300), path)
    text = path.read_text(encoding="utf-8")
    kinds = [document["kind"] for document in yaml.load_all(text, yaml.CSafeLoader)]
    assert kinds == ["NodePool"] * 2 + ["DaemonSet"] * 2 + ["Pod"] * 300
    assert "&id" not in text


def test_constraints_are_spelled_as_kubernetes_spells_them() -> None:
    """Requests, selector, affinity and spread of a spec, in the API's words."""
    own = equality({"app": "web"})
    spec = PodSpec(
        requests={"cpu": 250, "memory": 2**29, "pods": 1},
        node_selector={labels.ARCH: "arm64"},
        required_terms=(NodeTerm((Requirement("disk", values=frozenset({"ssd"})),)),),
        spread=(Spread(labels.ZONE, own, is_hard=False),),
        anti_affinity=(PodTerm(labels.HOSTNAME, own),),
    )
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    disk = {"key": "disk", "operator": "In", "values": ["ssd"]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    assert manifests.pod_spec(spec) == {
        "containers": [
            {"name": "main", "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}}
        ],
        "nodeSelector": {labels.ARCH: "arm64"},
        "topologySpreadConstraints": [
            {
                "topologyKey": labels.ZONE,
                "maxSkew": 1,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": selector,
            }
        ],
        "affinity": {
            "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [disk]}]}},
            "podAntiAffinity": {
                required: [{"topologyKey": labels.HOSTNAME, "labelSelector": selector}]
            },
        },
    }


def test_bounds_of_pods_are_spelled_with_the_operators_that_kubernetes_has() -> None:
    """Pools may say Gte and Lte; pods can only say Gt and Lt."""
    bounds = Requirement("cpus", complement=True, gte=4, lte=16)
    (term,) = _required_terms(PodSpec(requests={}, required_terms=(NodeTerm((bounds,)),)))
    assert term == {
        "matchExpressions": [
            {"key": "cpus", "operator": "Gt", "values": ["3"]},
            {"key": "cpus", "operator": "Lt", "values": ["17"]},
        ]
    }
    assert [one["operator"] for one in manifests.expressions([bounds])] == ["Gte", "Lte"]


def test_fields_of_nodes_are_told_apart_from_their_labels() -> None:
    """A term may name a node."""
    field = Requirement(labels.NODE_NAME_FIELD, values=frozenset({"n1"}))
    (term,) = _required_terms(PodSpec(requests={}, required_terms=(NodeTerm(fields=(field,)),)))
    assert term == {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
    }


def _required_terms(spec: PodSpec) -> list[object]:
    match manifests.pod_spec(spec):
        case {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [*terms]
                    }
                }
            }
        }:
            return terms
        case other:
            raise AssertionError(other)


def test_what_a_constraint_says_beyond_the_usual_is_spelled_out() -> None:
    """Effects, ports, namespaces, policies; a selector that is not there stays away."""
    term = PodTerm(labels.ZONE, NOTHING, ("other",), LabelSelector(), ("a",), ("b",))
    spread = Spread(
        *(labels.ZONE, NOTHING),
        min_domains=3,
        node_affinity_policy=NodePolicy.IGNORE,
        node_taints_policy=NodePolicy.HONOR,
        match_label_keys=("a",),
    )
    spec = PodSpec(
        requests={},
        priority=7,
        tolerations=(Toleration("k", "Exists", effect=Effect.NO_EXECUTE),),
        host_ports=(HostPort(80),),
        affinity=(term,),
        spread=(spread,),
    )
    found = manifests.pod_spec(spec)
    port = {"containerPort": 80, "hostPort": 80, "protocol": "TCP", "hostIP": HostPort(80).ip}
    assert found["containers"] == [
        {"name": "main", "resources": {"requests": {}}, "ports": [port]},
    ]
    assert found["priority"] == 7
    assert found["tolerations"] == [{"key": "k", "operator": "Exists", "effect": "NoExecute"}]
    assert found["topologySpreadConstraints"] == [
        {
            "topologyKey": labels.ZONE,
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "minDomains": 3,
            "nodeAffinityPolicy": "Ignore",
            "nodeTaintsPolicy": "Honor",
            "matchLabelKeys": ["a"],
        }
    ]
    said = {
        "topologyKey": labels.ZONE,
        "namespaces": ["other"],
        "namespaceSelector": {"matchExpressions": []},
        "matchLabelKeys": ["a"],
        "mismatchLabelKeys": ["b"],
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    assert found["affinity"] == {"podAffinity": {required: [said]}}


def test_a_pool_says_its_weight_labels_limits_and_taints() -> None:
    """And how many values of a label it wants to choose from."""
    pool = NodePool(
        "gpu",
        weight=5,
        requirements=(requirement("family", Operator.EXISTS, min_values=2),),
        labels={"team": "a"},
        taints=(Taint("gpu"),),
        startup_taints=(Taint("booting"),),
        limits={"cpu": 8000},
    )
    assert manifests.node_pool(pool)["spec"] == {
        "template": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {
                "nodeClassRef": manifests.NODE_CLASS,
                "requirements": [
                    {"key": "family", "operator": "Exists", "values": [], "minValues": 2},
                ],
                "taints": [{"key": "gpu", "value": "", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "booting", "value": "", "effect": "NoSchedule"}],
            },
        },
        "weight": 5,
        "limits": {"cpu": "8"},
    }


def test_a_pod_that_runs_says_where() -> None:
    """One that waits says nothing of it."""
    bound = Pod("p", "default", PodSpec(requests={}), node_name="n1", phase="Running")
    waiting = Pod("p", "default", PodSpec(requests={}))
    assert [_node_name(one) for one in (bound, waiting)] == ["n1", None]


def _node_name(pod: Pod) -> object:
    match manifests.pod(pod):
        case {"spec": {"nodeName": name}}:
            return name
        case _:
            return None
