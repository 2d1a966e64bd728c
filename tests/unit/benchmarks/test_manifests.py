from __future__ import annotations

from pathlib import Path

import yaml

from benchmarks import manifests
from benchmarks.scenarios import fleet
from dovetail import labels
from dovetail.model.pod import PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.topology import NodeTerm, PodTerm, Spread, equality


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
