"""What do the Helm charts make of their values?"""

from __future__ import annotations

import json
import tomllib
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import yaml

import dovetail.api.crds as definitions
from dovetail.cloud.registry import extensions
from dovetail.present.installation import manifests
from dovetail.present.installation.choices import Choices
from dovetail.providers.aws.plugin import PLUGIN as AWS_PLUGIN
from dovetail.providers.aws.settings import AwsSettings
from dovetail.settings import sources
from tests.controlplane.charts import CHARTS, Tree, helm, rendered
from tests.installing import AWS, KWOK

pytestmark = pytest.mark.xdist_group("controlplane")

VERSION = tomllib.loads((CHARTS.parent / "pyproject.toml").read_text())["project"]["version"]
HELMS_OWN = ("helm.sh/chart", "app.kubernetes.io/managed-by")


def by_identity(trees: list[Any]) -> dict[tuple[str, str, str], Tree]:
    """Objects by kind, namespace and name, without the labels that say who made them."""
    found = {}
    for tree in json.loads(json.dumps(trees)):
        metadata = tree["metadata"]
        for label in HELMS_OWN:
            metadata.get("labels", {}).pop(label, None)
        found[tree["kind"], metadata.get("namespace", ""), metadata["name"]] = tree
    return found


def one(kind: str, values: Tree) -> Tree:
    """The only object of its kind."""
    (found,) = [tree for tree in rendered(values) if tree["kind"] == kind]
    return found


def kinds(values: Tree) -> set[str]:
    """Which kinds there are."""
    return {tree["kind"] for tree in rendered(values)}


def pod(values: Tree) -> Tree:
    """The pods' spec."""
    spec: Tree = one("Deployment", values)["spec"]["template"]["spec"]
    return spec


def container(values: Tree) -> Tree:
    """The controller's container."""
    found: Tree = pod(values)["containers"][0]
    return found


def environment(values: Tree) -> dict[str, str]:
    """The variables that have a value."""
    return {said["name"]: said["value"] for said in container(values)["env"] if "value" in said}


@pytest.mark.parametrize("chart", ["dovetail", "dovetail-crd"])
def test_a_chart_has_nothing_that_helm_frowns_upon(chart: str) -> None:
    """Not even a warning."""
    said = helm("lint", "--strict", str(CHARTS / chart))
    assert said.returncode == 0, said.stdout + said.stderr
    about = yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (VERSION, VERSION)


@pytest.mark.parametrize(
    ("values", "choices"),
    [
        ({}, {}),
        ({"replicas": 0, "settings": {"kubelets": True}}, {"replicas": 0, "kubelets": True}),
        ({"settings": {"provider": "aws"}}, {"provider": "aws"}),
        (
            {"settings": {"provider": "aws", "clusterName": "prod", "interruptionQueue": "prod"}},
            {
                "provider": "aws",
                "environment": (("CLUSTER_NAME", "prod"), ("INTERRUPTION_QUEUE", "prod")),
            },
        ),
        (
            {"controller": {"image": {"repository": "here/dovetail", "tag": "7"}}},
            {"image": "here/dovetail:7"},
        ),
    ],
    ids=[
        "as they come",
        "stand-ins",
        "another provider",
        "settings of a provider",
        "another image",
    ],
)
def test_whoever_has_no_helm_installs_the_same(values: Tree, choices: Tree) -> None:
    """`dovetail install --dry-run` and the two charts make the same objects."""
    image = {"version": VERSION, "image": f"dovetail:{VERSION}", "namespace": "scaling"}
    plugin = AWS if choices.get("provider") == "aws" else KWOK
    ours = by_identity(list(manifests(Choices(**plugin | image | choices))))
    assert ours.pop(("Namespace", "", "scaling"))
    of_charts = by_identity(rendered(values, namespace="scaling"))
    definition_names = {key for key in ours if key[0] == "CustomResourceDefinition"}
    assert {key: tree for key, tree in ours.items() if key not in definition_names} == of_charts
    # The chart of definitions serves every provider, and is compared by itself below.
    assert definition_names < by_identity(rendered(chart="dovetail-crd")).keys()


def test_the_definitions_are_those_of_the_command() -> None:
    """File by file; `keep` adds the annotation by which Helm leaves them when it goes."""
    files = sorted((CHARTS / "dovetail-crd" / "files").glob("*.yaml"))
    trees = [yaml.safe_load(path.read_text()) for path in files]
    wanted = by_identity(list(definitions.crds(extensions())))
    assert by_identity(trees) == wanted, "run tools/make_crds.py"
    kept = rendered(chart="dovetail-crd")
    assert len(kept) == len(wanted)
    for tree in kept:
        assert tree["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert by_identity(kept) == wanted


def test_definitions_take_labels_and_annotations() -> None:
    """Beside the one that keeps them."""
    values = {"additionalLabels": {"team": "a"}, "additionalAnnotations": {"why": "b"}}
    for tree in rendered(values, chart="dovetail-crd"):
        assert tree["metadata"]["labels"] == {"team": "a"}
        assert tree["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep", "why": "b"}


def test_zero_is_a_number() -> None:
    """Nothing becomes a default because it is zero."""
    values: Tree = {
        "replicas": 0,
        "revisionHistoryLimit": 0,
        "terminationGracePeriodSeconds": 0,
        "podDisruptionBudget": {"maxUnavailable": 0},
        "settings": {"kubeClientQPS": 0, "batchIdleDuration": "0s"},
    }
    spec = one("Deployment", values)["spec"]
    assert spec["replicas"] == 0
    assert spec["revisionHistoryLimit"] == 0
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 0
    assert one("PodDisruptionBudget", values)["spec"]["maxUnavailable"] == 0
    assert environment(values)["KUBE_CLIENT_QPS"] == "0"
    assert environment(values)["BATCH_IDLE_DURATION"] == "0s"


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        ({}, ("0", "-1")),
        ({"leastSavingPerEviction": 0.002, "mostEvictionsPerDay": 2}, ("0.002", "2")),
        ({"leastSavingPerEviction": 1.5, "mostEvictionsPerDay": 0}, ("1.5", "0")),
        ({"leastSavingPerEviction": 0.00001, "mostEvictionsPerDay": 1}, ("0.00001", "1")),
    ],
    ids=["as they come", "some", "none", "very little"],
)
def test_how_calm_it_is_can_be_chosen(settings: Tree, want: tuple[str, str]) -> None:
    """In numbers that the program reads, however small."""
    said = environment({"settings": settings})
    names = ("DOVETAIL_LEAST_SAVING_PER_EVICTION", "DOVETAIL_MOST_EVICTIONS_PER_DAY")
    assert tuple(said[name] for name in names) == want
    read = sources.read({}, {name: said[name] for name in names})
    assert read.policy.least_saving_nanousd == round(float(want[0]) * 1e9)


def test_port_zero_opens_nothing() -> None:
    """Neither a Service nor probes point at a port that nobody knows."""
    values: Tree = {"controller": {"metrics": {"port": 0}, "healthProbe": {"port": 0}}}
    assert "Service" not in kinds(values)
    assert not {"ports", "livenessProbe", "readinessProbe"} & container(values).keys()
    assert environment(values)["METRICS_PORT"] == "0"
    assert environment(values)["HEALTH_PROBE_PORT"] == "0"


def test_false_is_no_default() -> None:
    """A switch that is on by default can be switched off."""
    gates = dict.fromkeys(("reservedCapacity", "nodeRepair"), False)
    values: Tree = {
        "serviceAccount": {"create": False, "name": "mine"},
        "settings": {
            "ignoreDRARequests": False,
            "discourageScheduling": False,
            "disableControllerWarmup": False,
            "featureGates": gates,
        },
    }
    assert "ServiceAccount" not in kinds(values)
    assert pod(values)["serviceAccountName"] == "mine"
    bindings = [tree for tree in rendered(values) if tree["kind"].endswith("Binding")]
    assert {tree["subjects"][0]["name"] for tree in bindings} == {"mine"}
    said = environment(values)
    assert said["IGNORE_DRA_REQUESTS"] == said["DISABLE_CONTROLLER_WARMUP"] == "false"
    assert said["DOVETAIL_DISCOURAGE_SCHEDULING"] == "false"
    assert "ReservedCapacity=false" in said["FEATURE_GATES"]
    assert "hostNetwork" not in pod({"hostNetwork": False})
    assert pod({"hostNetwork": True})["hostNetwork"] is True


def test_empty_is_empty() -> None:
    """Lists and maps that are emptied stay so, and an empty word is a word."""
    values: Tree = {
        "affinity": None,
        "nodeSelector": None,
        "podSecurityContext": None,
        "strategy": None,
        "topologySpreadConstraints": [],
        "tolerations": [],
        "priorityClassName": "",
        "logLevel": "",
        "logOutputPaths": [],
    }
    spec = pod(values)
    gone = {"affinity", "nodeSelector", "topologySpreadConstraints", "tolerations"}
    assert not gone & spec.keys()
    assert not {"priorityClassName", "securityContext"} & spec.keys()
    assert "strategy" not in one("Deployment", values)["spec"]
    assert environment(values)["LOG_LEVEL"] == ""
    assert "LOG_OUTPUT_PATHS" not in environment(values)


def test_null_leaves_it_to_the_program() -> None:
    """Or to the cluster."""
    values: Tree = {
        "logLevel": None,
        "podDisruptionBudget": {"maxUnavailable": None},
        "settings": {"batchMaxDuration": None, "disableLeaderElection": None},
    }
    said = environment(values)
    assert not {"BATCH_MAX_DURATION", "DISABLE_LEADER_ELECTION", "LOG_LEVEL"} & said.keys()
    assert "KUBE_CLIENT_QPS" not in said
    assert "PodDisruptionBudget" not in kinds(values)


AWS_VALUES: Tree = {
    "clusterName": "prod",
    "clusterEndpoint": "https://example.com",
    "clusterCABundle": "Y2E=",
    "interruptionQueue": "prod",
    "replaceOnRebalanceRecommendation": True,
    "isolatedVPC": True,
    "eksControlPlane": True,
    "vmMemoryOverheadPercent": 0,
    "reservedENIs": 1,
    "disableDryRun": False,
    "enableZonalShift": True,
    "amiRefreshInterval": "2m",
    "subnetRefreshInterval": "3m",
    "awsFeatureGates": {"nodeClassCEL": True},
}


def test_settings_of_aws_are_those_of_the_provider() -> None:
    """Every value becomes a variable that it reads, zero and false as well; null becomes none."""
    changed = environment({"settings": AWS_VALUES})
    variables = {name: changed[name] for name in changed.keys() - environment({}).keys()}
    assert len(variables) == len(AWS_VALUES)
    got = sources.read_table(AWS_PLUGIN.settings, {}, variables)
    want = AwsSettings(
        cluster_name="prod",
        cluster_endpoint="https://example.com",
        cluster_ca_bundle="Y2E=",
        interruption_queue="prod",
        replace_on_rebalance_recommendation=True,
        isolated_vpc=True,
        eks_control_plane=True,
        vm_memory_overhead_percent=Decimal(0),
        reserved_enis=1,
        enable_zonal_shift=True,
        ami_refresh_interval=timedelta(minutes=2),
        subnet_refresh_interval=timedelta(minutes=3),
        node_class_cel=True,
    )
    assert got == want


def test_the_service_account_takes_the_annotation_of_a_role() -> None:
    """By which IAM roles for service accounts are given."""
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/dovetail-prod"}
    account = one("ServiceAccount", {"serviceAccount": {"annotations": role}})
    assert account["metadata"]["annotations"] == role


def test_a_security_context_is_changed_field_by_field() -> None:
    """What is not named stays as strict as it was."""
    strict = container({})["securityContext"]
    values: Tree = {"controller": {"securityContext": {"runAsUser": 1000, "seLinuxOptions": {}}}}
    assert container(values)["securityContext"] == {
        **strict,
        "runAsUser": 1000,
        "seLinuxOptions": {},
    }


def test_containers_can_run_before_the_controller() -> None:
    """As they are given."""
    first = {"name": "first", "image": "busybox"}
    assert "initContainers" not in pod({})
    assert pod({"initContainers": [first]})["initContainers"] == [first]


def test_large_numbers_are_written_out() -> None:
    """Helm reads numbers as floating point; a million stays a million."""
    values: Tree = {
        "settings": {"kubeClientBurst": 1000000},
        "podSecurityContext": {"fsGroup": 1000650000},
    }
    assert environment(values)["KUBE_CLIENT_BURST"] == "1000000"
    assert pod(values)["securityContext"]["fsGroup"] == 1000650000


def test_terms_about_pods_mean_our_pods_unless_they_say_whose() -> None:
    """In affinities, required and preferred, and in spread constraints."""
    ours = {"app.kubernetes.io/name": "dovetail", "app.kubernetes.io/instance": "dovetail"}
    theirs = {"matchLabels": {"app": "web"}}
    preferred = [
        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}},
        {"weight": 2, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": theirs}},
    ]
    values: Tree = {
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 2, "topologyKey": "zone", "labelSelector": theirs},
        ],
    }
    spec = pod(values)
    required = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms = spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert required[0]["labelSelector"] == {"matchLabels": ours}
    assert terms[0]["podAffinityTerm"]["labelSelector"] == {"matchLabels": ours}
    assert terms[1]["podAffinityTerm"]["labelSelector"] == theirs
    selectors = [said["labelSelector"] for said in spec["topologySpreadConstraints"]]
    assert selectors == [{"matchLabels": ours}, theirs]


def test_names_can_be_chosen() -> None:
    """By release, by name and in full."""
    assert one("Deployment", {})["metadata"]["name"] == "dovetail"
    assert one("Deployment", {"fullnameOverride": "full"})["metadata"]["name"] == "full"
    scaler = rendered({"nameOverride": "scaler"}, release="blue")
    assert {tree["metadata"]["name"] for tree in scaler if tree["kind"] == "Deployment"} == {
        "blue-scaler"
    }
    assert (
        one("PodDisruptionBudget", {"podDisruptionBudget": {"name": "pdb"}})["metadata"]["name"]
        == "pdb"
    )


def test_names_that_look_like_numbers_stay_names() -> None:
    """YAML would read them as something else."""
    values: Tree = {
        "fullnameOverride": "123",
        "serviceAccount": {"name": "1e3"},
        "priorityClassName": "on",
        "additionalLabels": {"a": "true"},
        "podAnnotations": {"b": "007"},
        "controller": {"containerName": "0x1"},
    }
    trees = rendered(values, namespace="456")
    names = {tree["metadata"]["name"] for tree in trees}
    assert names == {"123", "123-admin", "123-kwok", "123-node-leases", "1e3"}
    assert {tree["metadata"].get("namespace") for tree in trees} == {None, "456", "kube-node-lease"}
    assert {tree["metadata"]["labels"]["a"] for tree in trees} == {"true"}
    bindings = [tree for tree in trees if tree["kind"].endswith("Binding")]
    assert {tree["subjects"][0]["name"] for tree in bindings} == {"1e3"}
    assert {tree["roleRef"]["name"] for tree in bindings} == {"123", "123-kwok", "123-node-leases"}
    spec = pod(values)
    assert spec["serviceAccountName"] == "1e3"
    assert spec["priorityClassName"] == "on"
    assert spec["containers"][0]["name"] == "0x1"


def test_an_image_can_be_pinned_by_its_digest() -> None:
    """Beside its tag."""
    digest = "sha256:" + "0" * 64
    values = {"controller": {"image": {"digest": digest}}}
    assert container(values)["image"] == f"dovetail:{VERSION}@{digest}"


def test_limits_are_told_to_the_controller_only_where_there_are_any() -> None:
    """Without a limit, the cluster would name the memory of the whole node."""
    none = {said["name"] for said in container({})["env"]}
    assert not {"MEMORY_LIMIT", "CPU_REQUESTS"} & none
    resources = {"limits": {"memory": "1Gi"}, "requests": {"cpu": 1}}
    some = {
        said["name"]: said for said in container({"controller": {"resources": resources}})["env"]
    }
    assert some["MEMORY_LIMIT"]["valueFrom"]["resourceFieldRef"]["resource"] == "limits.memory"
    assert some["CPU_REQUESTS"]["valueFrom"]["resourceFieldRef"]["divisor"] == "1m"


def test_the_schedulers_defaults_are_mounted() -> None:
    """The program reads them from a file, and pods are replaced when they change."""
    config = "podTopologySpread:\n  defaultConstraints: []\n"
    values: Tree = {"settings": {"schedulerConfig": config}}
    assert one("ConfigMap", values)["data"] == {"scheduler.yaml": config}
    assert environment(values)["SCHEDULER_CONFIG"] == "/etc/dovetail/scheduler.yaml"
    assert container(values)["volumeMounts"][0]["mountPath"] == "/etc/dovetail"
    template = one("Deployment", values)["spec"]["template"]
    assert "checksum/scheduler-config" in template["metadata"]["annotations"]


def test_the_lease_by_another_name_can_be_taken() -> None:
    """The right goes with the setting."""
    values = {"settings": {"leaderElectionName": "other"}}
    (role,) = [
        tree
        for tree in rendered(values)
        if tree["kind"] == "Role" and tree["metadata"]["namespace"] == "dovetail"
    ]
    assert role["rules"][1]["resourceNames"] == ["other"]
    assert environment(values)["LEADER_ELECTION_NAME"] == "other"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": "two"}, "/replicas"),
        ({"replicas": -1}, "/replicas"),
        ({"replica": 2}, "replica"),
        ({"hostNetwork": "no"}, "/hostNetwork"),
        ({"logLevel": "loud"}, "/logLevel"),
        ({"tolerations": {"key": "x"}}, "/tolerations"),
        ({"nodeSelector": {"a": 1}}, "/nodeSelector/a"),
        (
            {"podDisruptionBudget": {"maxUnavailable": "150%"}},
            "/podDisruptionBudget/maxUnavailable",
        ),
        ({"controller": {"metrics": {"port": 70000}}}, "/controller/metrics/port"),
        ({"controller": {"image": {"digest": "latest"}}}, "/controller/image/digest"),
        ({"settings": {"batchMaxDuration": "ten seconds"}}, "/settings/batchMaxDuration"),
        ({"settings": {"batchMaxDuration": 10}}, "/settings/batchMaxDuration"),
        ({"settings": {"preferencePolicy": "Maybe"}}, "/settings/preferencePolicy"),
        ({"settings": {"featureGates": {"noSuchGate": True}}}, "noSuchGate"),
        (
            {"settings": {"featureGates": {"nodeRepair": "yes"}}},
            "/settings/featureGates/nodeRepair",
        ),
        ({"settings": {"clusterNames": "mine"}}, "clusterNames"),
        ({"settings": {"clusterName": "two words"}}, "/settings/clusterName"),
        ({"settings": {"clusterEndpoint": "http://here"}}, "/settings/clusterEndpoint"),
        ({"settings": {"vmMemoryOverheadPercent": 1}}, "/settings/vmMemoryOverheadPercent"),
        ({"settings": {"awsFeatureGates": {"noSuchGate": True}}}, "noSuchGate"),
        ({"settings": {"provider": "two words"}}, "/settings/provider"),
        ({"fullnameOverride": "Not A Name"}, "/fullnameOverride"),
        (
            {"serviceMonitor": {"enabled": True}, "controller": {"metrics": {"port": 0}}},
            "nothing to monitor",
        ),
    ],
    ids=str,
)
def test_nonsense_is_refused(values: Tree, message: str) -> None:
    """With a message that names the value."""
    with pytest.raises(AssertionError, match="dovetail") as refused:
        rendered(values)
    assert message in str(refused.value)


def test_every_value_is_described_by_the_schema() -> None:
    """And every value of the schema has its default in the file that users read."""
    schema = json.loads((CHARTS / "dovetail" / "values.schema.json").read_text())
    values = yaml.safe_load((CHARTS / "dovetail" / "values.yaml").read_text())

    def compare(said: Tree, held: Tree, path: str) -> list[str]:
        properties = said.get("properties", {})
        odd = [f"{path}{key}" for key in properties.keys() ^ held.keys() if key != "global"]
        for key, inner in properties.items():
            if isinstance(held.get(key), dict) and "properties" in inner:
                odd += compare(inner, held[key], f"{path}{key}.")
        return odd

    assert compare(schema, values, "") == []
