"""Does a real API server take what is installed, and are the controller's rights what they say?"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail import api
from dovetail.api.crds import stream
from dovetail.clock import LoopTimer, SystemClock
from dovetail.controllers.feed import watched_kinds
from dovetail.kube.errors import ForbiddenError
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import World
from dovetail.kube.seam import Deletion, Kube, Patch, Ref, Scope
from dovetail.present.installation import manifests
from dovetail.present.installation.choices import Choices
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.settings.readings import FEATURE_GATES
from tests.controlplane.charts import CHARTS, Tree, controller_kubeconfig, helm, rendered
from tests.controlplane.plane import ControlPlane
from tests.installing import KWOK
from tests.unit.api.manifests import CLAIM

pytestmark = pytest.mark.xdist_group("controlplane")

NAMESPACE = "installed"
PAGE = (CHARTS.parent / "docs" / "install.md").read_text(encoding="utf-8")
# Of the Prometheus Operator, as far as it matters here: somebody who takes ServiceMonitors.
MONITORS: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
VALUES: dict[str, Tree] = {
    "as they come": {},
    "nothing by default": {
        "replicas": 0,
        "revisionHistoryLimit": 0,
        "terminationGracePeriodSeconds": 0,
        "affinity": None,
        "nodeSelector": None,
        "strategy": None,
        "podSecurityContext": None,
        "tolerations": [],
        "topologySpreadConstraints": [],
        "priorityClassName": "",
        "logLevel": "",
        "podDisruptionBudget": {"maxUnavailable": 0},
        "controller": {"metrics": {"port": 0}, "healthProbe": {"port": 0}},
    },
    "everything": {
        "nameOverride": "scaler",
        "additionalLabels": {"team": "platform"},
        "additionalAnnotations": {"contact": "someone@example.com"},
        "imagePullPolicy": "Always",
        "imagePullSecrets": [{"name": "registry"}],
        "service": {"annotations": {"a": "b"}},
        "serviceAccount": {"annotations": {"role": "arn"}},
        "additionalClusterRoleRules": [
            {"apiGroups": ["apps"], "resources": ["daemonsets/scale"], "verbs": ["get"]}
        ],
        "serviceMonitor": {
            "enabled": True,
            "additionalLabels": {"release": "prometheus"},
            "endpointConfig": {"interval": "15s"},
            "relabelings": [{"action": "labeldrop", "regex": "pod"}],
            "metricRelabelings": [{"action": "drop", "regex": "x"}],
        },
        "replicas": 3,
        "strategy": {"type": "Recreate", "rollingUpdate": None},
        "podLabels": {"tier": "control"},
        "podAnnotations": {"scrape": "no"},
        "podDisruptionBudget": {"name": "keep-some", "maxUnavailable": "30%"},
        "terminationGracePeriodSeconds": 60,
        "hostNetwork": True,
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["10.0.0.10"]},
        "schedulerName": "other",
        "affinity": {
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                ]
            }
        },
        "extraVolumes": [{"name": "types", "configMap": {"name": "types"}}],
        "controller": {
            "image": {"repository": "here/dovetail", "tag": "7", "digest": f"sha256:{'0' * 64}"},
            "env": [{"name": "AWS_REGION", "value": "eu-west-1"}],
            "envFrom": [{"secretRef": {"name": "keys"}}],
            "resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}},
            "extraVolumeMounts": [{"name": "types", "mountPath": "/types"}],
            "sidecarContainer": [{"name": "proxy", "image": "proxy:1"}],
            "sidecarVolumeMounts": [{"name": "types", "mountPath": "/more"}],
        },
        "settings": {
            "kubelets": True,
            "schedulerConfig": "podTopologySpread:\n  defaultConstraints: []\n",
            "instanceTypesFilePath": "/types/types.json",
            "kubeClientQPS": 1000000,
            "featureGates": {"nodeOverlay": True},
        },
    },
    "an account of one's own": {
        "serviceAccount": {"create": False, "name": "mine"},
        "podDisruptionBudget": {"maxUnavailable": None},
        "settings": {"provider": "other", "leaderElectionName": "other"},
    },
}
MAY = (
    ("create", "nodeclaims.karpenter.sh", ""),
    ("patch", "nodeclaims.karpenter.sh/status", ""),
    ("delete", "nodeclaims.karpenter.sh", ""),
    ("patch", "nodepools.karpenter.sh", ""),
    ("patch", "nodepools.karpenter.sh/status", ""),
    ("patch", "nodeoverlays.karpenter.sh/status", ""),
    ("patch", "kwoknodeclasses.karpenter.kwok.sh/status", ""),
    ("patch", "capacitybuffers.autoscaling.x-k8s.io/status", "default"),
    ("create", "nodes", ""),
    ("patch", "nodes", ""),
    ("delete", "nodes", ""),
    ("create", "pods/eviction", "default"),
    ("delete", "pods", "default"),
    ("patch", "pods/status", "default"),
    ("create", "events", "default"),
    ("create", "leases.coordination.k8s.io", NAMESPACE),
    ("patch", "leases.coordination.k8s.io/karpenter-leader-election", NAMESPACE),
    ("delete", "leases.coordination.k8s.io", "kube-node-lease"),
)
MAY_NOT = (
    ("get", "secrets", "default"),
    ("get", "secrets", NAMESPACE),
    ("create", "pods", NAMESPACE),
    ("patch", "pods", "default"),
    ("update", "nodes", ""),
    ("patch", "nodes/status", ""),
    ("create", "pods/exec", "default"),
    ("create", "serviceaccounts/token", NAMESPACE),
    ("patch", "deployments.apps", "default"),
    ("create", "nodepools.karpenter.sh", ""),
    ("delete", "nodepools.karpenter.sh", ""),
    ("create", "clusterrolebindings.rbac.authorization.k8s.io", ""),
    ("escalate", "clusterroles.rbac.authorization.k8s.io", ""),
    ("impersonate", "users", ""),
    ("patch", "leases.coordination.k8s.io/another", NAMESPACE),
    ("get", "leases.coordination.k8s.io", "default"),
    ("list", "leases.coordination.k8s.io", NAMESPACE),
    ("patch", "events", "default"),
    ("create", "leases.coordination.k8s.io", "kube-node-lease"),
    ("create", "leases.coordination.k8s.io", "default"),
    ("get", "customresourcedefinitions.apiextensions.k8s.io", ""),
    ("patch", "customresourcedefinitions.apiextensions.k8s.io", ""),
)


@pytest.fixture(scope="module")
def namespace(plane: ControlPlane) -> Iterator[str]:
    """Where things are installed, held to the strictest standard for pods; and monitors."""
    plane.kubectl("create", "namespace", "charts")
    plane.kubectl("apply", "-f", "-", given=json.dumps(MONITORS))
    plane.kubectl("wait", "--for=condition=Established", "crd", MONITORS["metadata"]["name"])
    yield "charts"
    plane.kubectl("delete", "crd", MONITORS["metadata"]["name"], "--wait=false")
    plane.kubectl("delete", "namespace", "charts", "--wait=false")


@pytest.fixture(scope="module")
def controller(plane: ControlPlane) -> Iterator[Path]:
    """How the installed controller reaches the API."""
    with controller_kubeconfig(plane, namespace=NAMESPACE) as path:
        yield path


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_real_api_server_takes_what_the_chart_makes(
    plane: ControlPlane, namespace: str, values: Tree
) -> None:
    """Strictly: no field that it does not know, none twice, and nothing it warns of."""
    made = rendered(values, namespace=namespace)
    said = plane.kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-"),
        given=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}),
    )
    assert len(said.splitlines()) == len(made)


def test_a_real_api_server_takes_what_the_command_prints(plane: ControlPlane) -> None:
    """Namespace, definitions and all, in the order in which they are printed; then it goes."""
    text = stream(manifests(Choices(version="1", image="dovetail:1", namespace="printed", **KWOK)))
    own = (
        text[: text.index("---\napiVersion: apiext")]
        + text[text.index("---\napiVersion: v1\nkind: Ser") :]
    )
    try:
        said = plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=text)
        assert said.count("serverside-applied") == text.count("\nkind: ")
    finally:
        plane.kubectl("delete", "--wait=false", "-f", "-", given=own)


def test_pods_meet_the_strictest_standard(plane: ControlPlane) -> None:
    """Kubernetes' "restricted" pod security standard."""
    label = "pod-security.kubernetes.io/enforce=restricted"
    plane.kubectl("create", "namespace", "restricted")
    try:
        plane.kubectl("label", "namespace", "restricted", label)
        (deployment,) = [one for one in rendered() if one["kind"] == "Deployment"]
        pod = deployment["spec"]["template"] | {"apiVersion": "v1", "kind": "Pod"}
        pod["metadata"] |= {"name": "controller", "namespace": "restricted"}
        create = ("create", "--dry-run=server", "-f", "-")
        plane.kubectl(*create, given=json.dumps(pod))
        pod["spec"]["containers"][0]["securityContext"] = {}
        assert "violates PodSecurity" in plane.kubectl(*create, given=json.dumps(pod), check=False)
    finally:
        plane.kubectl("delete", "namespace", "restricted", "--wait=false")


def test_the_page_about_installing_can_be_followed(plane: ControlPlane) -> None:
    """Every helm command on it works on a real API server; and the definitions outlive them."""
    lines = [line.strip() for line in PAGE.splitlines() if line.strip().startswith("helm ")]
    lines.sort(key=lambda line: "--take-ownership" not in line)  # here somebody else made them
    assert len(lines) == 6
    where = ("--kubeconfig", str(plane.kubeconfig))
    for line in lines:
        _, *words = shlex.split(line.replace(" charts/", f" {CHARTS}/"))
        done = helm(*words, *where)
        assert done.returncode == 0, done.stderr
        if "dovetail" in words:
            home = words[words.index("--namespace") + 1]
            deployment = plane.kubectl("get", "deployment", "dovetail", "-n", home, "-o", "name")
            assert deployment.strip() == "deployment.apps/dovetail"
            upgraded = (*words, "--reset-then-reuse-values", "--set", "replicas=0", *where)
            assert helm(*upgraded).returncode == 0
            assert helm("uninstall", "dovetail", "--namespace", home, *where).returncode == 0
    gone = helm("uninstall", "dovetail-crd", *where)
    assert gone.stdout.count("CustomResourceDefinition") == 6, gone
    assert plane.kubectl("get", "nodepools", "-o", "name", check=False).count("rror") == 0
    plane.kubectl("delete", "namespace", "dovetail", "--wait=false")


def allowed(plane: ControlPlane, controller: Path, verb: str, resource: str, home: str) -> bool:
    """What the API server answers the controller about its own rights."""
    words = ["--kubeconfig", str(controller), "auth", "can-i", verb, *resource_words(resource)]
    words += ["--namespace", home] if home else []
    answer = plane.kubectl(*words, check=False).split()
    assert {"yes", "no"} & set(answer), answer
    return "yes" in answer


def resource_words(resource: str) -> list[str]:
    """`kind/name` stands for an object, but where the second word is a subresource."""
    kind, _, second = resource.partition("/")
    if second in {"status", "eviction", "exec", "token"}:
        return [kind, f"--subresource={second}"]
    return [resource]


@pytest.mark.parametrize(("verb", "resource", "home"), MAY)
def test_the_controller_may(
    plane: ControlPlane, controller: Path, verb: str, resource: str, home: str
) -> None:
    """What its parts do."""
    assert allowed(plane, controller, verb, resource, home)


@pytest.mark.parametrize(("verb", "resource", "home"), MAY_NOT)
def test_the_controller_may_not(
    plane: ControlPlane, controller: Path, verb: str, resource: str, home: str
) -> None:
    """What none of its parts does."""
    assert not allowed(plane, controller, verb, resource, home)


async def test_the_controller_reads_all_that_it_decides_by(controller: Path) -> None:
    """Every kind of the feed, listed and watched; and nothing beside it."""
    node_class = kwok_node_class.KIND
    secrets = api.Kind("", "v1", "Secret", "secrets", api.Object)
    async with HttpKube(kubeconfig.load({}, path=str(controller)), world()) as kube:
        for kind in watched_kinds([node_class], dict.fromkeys(FEATURE_GATES, True)):
            page = await kube.list(Scope(kind), limit=1)
            await watched_for_a_moment(kube, Scope(kind), page.resource_version)
        with pytest.raises(ForbiddenError):
            await kube.list(Scope(secrets), limit=1)
    await asyncio.sleep(0.02)  # connections over TLS say goodbye before they are closed


async def watched_for_a_moment(kube: Kube, scope: Scope, since: str) -> None:
    """A watch that is refused says so at once."""
    try:
        async with asyncio.timeout(0.05):
            async for _ in kube.watch(scope, since=since):
                return
    except TimeoutError:
        return


async def test_the_controller_writes_what_it_must(controller: Path) -> None:
    """A claim from beginning to end."""
    kind = api.KINDS["karpenter.sh", "NodeClaim"]
    body = CLAIM | {"metadata": {"name": "by-the-controller"}}
    ref = Ref(kind, "by-the-controller")
    async with HttpKube(kubeconfig.load({}, path=str(controller)), world()) as kube:
        await kube.create(kind, body)
        await kube.patch(ref, Patch({"metadata": {"labels": {"a": "b"}}}))
        await kube.patch(ref, Patch({"status": {"nodeName": "n"}}, subresource="status"))
        await kube.delete(ref, Deletion())
    await asyncio.sleep(0.02)  # connections over TLS say goodbye before they are closed


def world() -> World:
    """The clock on the wall, and no chance."""
    return World(SystemClock(), LoopTimer(), lambda: 0.5)
